"""Tensors as JSON, in the forms of Vespa's document and query APIs."""

import math

from . import _cells
from ._blocks import Blocks, index, number, shown
from .tensor_type import TensorType

_KEYS = ("cells", "values", "blocks")
FORMS = ("short", "long", "hex", "short-value", "long-value", "hex-value")


def parts(kind, found):
    """Type with sizes, labels and cells of what was read as JSON; sizes that the type leaves open are those of the
    first block."""
    if kind is None:
        if not (isinstance(found, dict) and isinstance(found.get("type"), str)):
            raise ValueError("a tensor in JSON without a type: say which by type=")
        kind = TensorType.from_spec(found["type"])
    if not kind.is_bound:
        kind = _sized(kind, found)
    if _is_wrapper(found) and isinstance(found.get("type"), str):
        other = found["type"]
        if not TensorType.from_spec(other).with_cell(kind.cell).takes(kind):
            raise ValueError(f"expected a {kind}, found a {other}")
    blocks = Blocks(kind)
    for part in _wrapped(found):
        _part(blocks, part)
    return (kind, *blocks.finish())


def _is_wrapper(found):
    """Whether an object is what stands around the cells, and not labels with cells."""
    return isinstance(found, dict) and (
        isinstance(found.get("type"), str) or any(isinstance(found.get(key), (list, dict, str)) for key in _KEYS)
    )


def _wrapped(found):
    return [found[key] for key in _KEYS if key in found] if _is_wrapper(found) else [found]


def _is_addressed(part):
    return isinstance(part, list) and bool(part) and isinstance(part[0], dict)


def _part(blocks, part):
    kind = blocks.kind
    if _is_addressed(part):
        for cell in part:
            if not isinstance(cell, dict):
                raise ValueError(f"expected a cell with an address, found {shown(cell)}")
            _addressed(blocks, cell)
    elif isinstance(part, list) and not part and not kind.is_dense:
        pass
    elif isinstance(part, (list, str)) and kind.is_dense:
        blocks.block((), part)
    elif isinstance(part, (int, float)) and not isinstance(part, bool) and kind.is_double:
        blocks.block((), [part])
    elif isinstance(part, dict):
        _labelled(blocks, part)
    else:
        raise ValueError(f"expected the cells of {kind}, found {shown(part)}")


def _labelled(blocks, part):
    kind = blocks.kind
    for label, value in part.items():
        if len(kind.mapped) == 1 and not kind.indexed:
            blocks.cell((label,), 0, number(value, kind.cell))
        elif len(kind.mapped) == 1:
            if not isinstance(value, (list, str)):
                raise ValueError(f"expected the cells of {kind}, found {shown(value)}")
            blocks.block((label,), value)
        elif not kind.mapped and len(kind.dimensions) == 1:
            blocks.cell((), index(label, kind.dimensions[0]), number(value, kind.cell))
        else:
            raise ValueError(f"labels alone need one mapped dimension, which {kind} has not")


def _addressed(blocks, cell):
    kind = blocks.kind
    address = cell.get("address", {})
    if "values" in cell:
        for d in kind.mapped:
            if d.name not in address:
                raise ValueError(f"an address without dimension {d.name}")
        unknown = [name for name in address if kind.dimension(name) is None]
        if unknown:
            raise ValueError(f"{kind} has no dimension {unknown[0]}")
        blocks.block(tuple(str(address[d.name]) for d in kind.mapped), cell["values"])
    elif "value" in cell:
        blocks.cell(*blocks.address(address), number(cell["value"], kind.cell))
    else:
        raise ValueError("a block without values")


def _sized(kind, found):
    """The type with the sizes that the JSON says, or that its arrays or indices have."""
    if isinstance(found, dict) and isinstance(found.get("type"), str):
        other = TensorType.from_spec(found["type"]).with_cell(kind.cell)
        if other.is_bound and kind.takes(other):
            return other
    for part in _wrapped(found):
        sizes = _sizes(kind, part)
        if sizes is not None:
            return kind.bound(size if d.size is None else d.size for d, size in zip(kind.indexed, sizes))
    name = next(d.name for d in kind.indexed if d.size is None)
    raise ValueError(f"the size of dimension {name} of {kind} is in no cell")


def _sizes(kind, part):
    if _is_addressed(part):
        return _block_sizes(kind, part[0]["values"]) if "values" in part[0] else _most(kind, part)
    if isinstance(part, (list, str)) and kind.is_dense:
        return _block_sizes(kind, part)
    if isinstance(part, dict) and kind.is_dense:
        places = [{kind.dimensions[0].name: label} for label in part]
        return _most(kind, [{"address": place} for place in places]) if len(kind.dimensions) == 1 else None
    if isinstance(part, dict):
        return _block_sizes(kind, next(iter(part.values()), None))
    return None


def _block_sizes(kind, values):
    rank, nested, inner = len(kind.indexed), [], values
    while isinstance(inner, list) and len(nested) < rank:
        nested.append(len(inner))
        if not inner:
            break
        inner = inner[0]
    if len(nested) == rank:
        return nested
    if isinstance(values, str):
        count = len(values) // (2 * _cells.size(kind.cell))
    elif len(nested) == 1:
        count = nested[0]
    else:
        return None
    is_one_open = sum(d.size is None for d in kind.indexed) == 1
    return [count // kind.block_size if d.size is None else d.size for d in kind.indexed] if is_one_open else None


def _most(kind, cells):
    """One more than the largest index of each dimension."""
    try:
        return [1 + max(int(cell["address"][d.name]) for cell in cells) for d in kind.indexed]
    except (KeyError, TypeError, ValueError):
        return None


def written(tensor, form):
    """A tensor as what `json.dumps` writes."""
    if form not in FORMS:
        raise ValueError(f"no form {form!r} of tensors in JSON; there are {', '.join(FORMS)}")
    kind, form, _, is_value = tensor.type, *form.partition("-")
    size = kind.block_size
    if form == "hex" and (kind.indexed or kind.is_dense):

        def block(at):
            return _cells.to_bytes(kind.cell, tensor.flat[at * size : (at + 1) * size]).hex().upper()

    else:
        numbers = [_plain(number) for number in _cells.shortest(kind.cell, tensor.flat)]

        def block(at):
            return _nested(numbers[at * size : (at + 1) * size], kind.shape)

    order = tensor.in_order()
    if kind.is_dense and form != "long":
        key, cells = "values", block(0)
    elif len(kind.mapped) == 1 and form != "long":
        key = "blocks" if kind.indexed else "cells"
        cells = {tensor.labels[at][0]: block(at) if kind.indexed else numbers[at] for at in order}
    elif kind.indexed and form != "long":
        names = [d.name for d in kind.mapped]
        key, cells = "blocks", [{"address": dict(zip(names, tensor.labels[at])), "values": block(at)} for at in order]
    else:
        places = [(at, offset) for at in order for offset in range(size)]
        key = "cells"
        cells = [{"address": tensor.address(at, offset), "value": numbers[at * size + offset]} for at, offset in places]
    if is_value:
        return cells
    return {"type": "tensor()" if kind.is_double else str(kind), key: cells}


def _plain(number):
    """A number as JSON has it."""
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN" if number != number else "inf" if number > 0 else "-inf"
    return number


def _nested(cells, shape):
    for inner in reversed(shape[1:]):
        cells = [cells[at : at + inner] for at in range(0, len(cells), inner)]
    return cells
