"""Tensors of any mix of mapped and indexed dimensions."""

import json as _json_text

from . import _binary, _cells, _json, _literal
from ._numpy import numpy
from .tensor_type import Dimension, TensorType


class Tensor:
    """A tensor as Vespa has them: a type and blocks of cells. It never changes.

    `Tensor(type, value)` takes a number, nested lists, an array of numpy, labels with what stands there (`{"a":
    1.5}`, `{"a": [1, 2]}`, with several mapped dimensions `{("a", "b"): 1}`), or another tensor of the same
    dimensions. Sizes that the type leaves open are those of the value.
    """

    __slots__ = ("type", "labels", "flat")

    def __init__(self, type, value):
        kind = TensorType.from_spec(type)
        if isinstance(value, Tensor):
            if not kind.with_cell(value.type.cell).takes(value.type):
                raise ValueError(f"expected a {kind}, found a {value.type}")
            self._set(value.type.with_cell(kind.cell), value.labels, _of_cells(kind.cell, value.flat))
        elif kind.mapped:
            if not isinstance(value, dict):
                raise ValueError(f"expected labels with the cells of {kind}, found {value.__class__.__name__}")
            self._set_blocks(kind, value)
        else:
            self._set_dense(kind, value)

    def _set(self, kind, labels, flat):
        self.type, self.labels, self.flat = kind, labels, flat if isinstance(flat, list) else _frozen(flat)

    @classmethod
    def _of(cls, kind, labels, flat):
        made = cls.__new__(cls)
        made._set(kind, labels, flat)
        return made

    def _set_dense(self, kind, value):
        shape, flat = _dense(kind, value)
        self._set(kind.bound(shape), ((),), flat)

    def _set_blocks(self, kind, value):
        labels, parts = [], []
        for label, block in value.items():
            label = label if isinstance(label, tuple) else (label,)
            if len(label) != len(kind.mapped):
                raise ValueError(f"{kind} has {len(kind.mapped)} mapped dimensions, found the labels {label}")
            shape, flat = _dense(TensorType(kind.cell, kind.indexed), block, kind.cell)
            kind = kind.bound(shape)
            labels.append(tuple(map(str, label)))
            parts.append(flat)
        if not kind.is_bound:
            raise ValueError(f"the sizes of {kind} are in no cell")
        if len(set(labels)) != len(labels):
            raise ValueError(f"a block of {kind} stands twice")
        self._set(kind, tuple(labels), _joined(kind.cell, parts))

    @classmethod
    def from_literal(cls, text, type=None):
        """A tensor from `tensor<float>(x[2]):[1,2]`; with a type the text may leave it out."""
        kind, cells = _literal.parts(text, type and TensorType.from_spec(type))
        return cls._of(*_json.parts(kind, cells))

    @classmethod
    def from_json(cls, found, type=None):
        """A tensor from JSON, a text or what `json.loads` gave, in any form of Vespa's APIs."""
        if isinstance(found, (str, bytes)):
            found = _json_text.loads(found)
        return cls._of(*_json.parts(type and TensorType.from_spec(type), found))

    @classmethod
    def from_binary(cls, data):
        """A tensor from Vespa's typed binary format."""
        return cls._of(*_binary.parts(data))

    @classmethod
    def from_numpy(cls, array, dimensions=None):
        """A dense tensor over an array, whose axes have these names, by default d0, d1, ..."""
        np = numpy()
        array = np.asarray(array)
        names = [f"d{axis}" for axis in range(array.ndim)] if dimensions is None else list(dimensions)
        if len(names) != array.ndim:
            raise ValueError(f"an array of rank {array.ndim} needs as many names of dimensions, not {len(names)}")
        cell = _cells.of_numpy_name(array.dtype.name)
        if cell is None:
            raise TypeError(f"no tensor has cells of {array.dtype}; convert the array")
        order = sorted(range(array.ndim), key=lambda axis: names[axis])
        kind = TensorType(cell, [Dimension(names[axis], False, array.shape[axis]) for axis in range(array.ndim)])
        return cls._of(kind, ((),), _of_cells(kind.cell, _own(array.transpose(order))))

    def to_literal(self):
        """The shortest literal."""
        return _literal.written(self)

    def to_json(self, form="short"):
        """The text of JSON in the form short, long or hex, with `-value` without the type."""
        return _json_text.dumps(self.to_json_tree(form), separators=(",", ":"))

    def to_json_tree(self, form="short"):
        """What `json.dumps` writes."""
        return _json.written(self, form)

    def to_binary(self):
        """Vespa's typed binary format."""
        return _binary.written(self)

    def to_numpy(self):
        """The cells of a dense tensor, an axis for each dimension in the order of their names: a read-only view."""
        if not self.type.is_dense:
            raise ValueError(f"{self.type} has mapped dimensions: use block(label) or blocks()")
        return self._view(0)

    def block(self, *labels):
        """The dense block of these labels, in the order of the mapped dimensions: a read-only view."""
        try:
            return self._view(self.labels.index(tuple(map(str, labels))))
        except ValueError:
            raise KeyError(f"no block {','.join(map(str, labels))} in a tensor of type {self.type}") from None

    def blocks(self):
        """All blocks: pairs of labels and a read-only view."""
        return [(labels, self._view(at)) for at, labels in enumerate(self.labels)]

    def _view(self, at):
        np = numpy()
        if np is None:
            raise ImportError("views of tensors are arrays of numpy, which is not installed")
        size = self.type.block_size
        return self.flat[at * size : (at + 1) * size].reshape(self.type.shape)

    def cells(self):
        """All cells: pairs of an address, names of dimensions to places, and a number."""
        size = self.type.block_size
        return [
            (self.address(at, offset), _cells.item(self.flat, at * size + offset))
            for at in range(len(self.labels))
            for offset in range(size)
        ]

    def value(self, **address):
        """The cell of an address: `t.value(x="a", y=0)`."""
        wanted = {name: str(place) for name, place in address.items()}
        size = self.type.block_size
        names = [d.name for d in self.type.mapped]
        if set(wanted) != {d.name for d in self.type.dimensions}:
            raise KeyError(f"an address of {self.type} has a place for each of its dimensions")
        for at, labels in enumerate(self.labels):
            if labels == tuple(wanted[name] for name in names):
                offset = 0
                for d in self.type.indexed:
                    offset = offset * d.size + int(wanted[d.name])
                    if not 0 <= int(wanted[d.name]) < d.size:
                        raise KeyError(f"{wanted[d.name]} is no index along {d}")
                return _cells.item(self.flat, at * size + offset)
        raise KeyError(f"no cell {wanted} in a tensor of type {self.type}")

    def address(self, block, offset):
        """The address of a cell of a block by numbers."""
        places, labels = {}, iter(self.labels[block])
        for d in reversed(self.type.indexed):
            offset, places[d.name] = divmod(offset, d.size)
        return {d.name: next(labels) if d.is_mapped else str(places[d.name]) for d in self.type.dimensions}

    def in_order(self):
        """The numbers of the blocks in the order of their labels, whole numbers first."""

        def place(label):
            is_number = label.isascii() and label.isdigit() and str(int(label)) == label
            return (0, int(label), "") if is_number else (1, 0, label)

        return sorted(range(len(self.labels)), key=lambda at: tuple(map(place, self.labels[at])))

    def rename(self, names):
        """The same with other names of dimensions: `t.rename({"x": "d1"})`."""
        for name in names:
            if self.type.dimension(name) is None:
                raise ValueError(f"{self.type} has no dimension {name}")
        renamed = [Dimension(names.get(d.name, d.name), d.is_mapped, d.size) for d in self.type.dimensions]
        kind = TensorType(self.type.cell, renamed)
        mapped = [d for d in renamed if d.is_mapped]
        order = [mapped.index(d) for d in kind.mapped]
        labels = tuple(tuple(block[at] for at in order) for block in self.labels)
        return Tensor._of(kind, labels, self._axes_moved([d.name for d in renamed if not d.is_mapped], kind))

    def _axes_moved(self, names, kind):
        """The cells with the axes, which have these names, in the order of another type."""
        order = [names.index(d.name) for d in kind.indexed]
        if order == sorted(order):
            return self.flat
        np = numpy()
        if np is None:
            raise ImportError("dimensions change their order with numpy only, which is not installed")
        cells = self.flat.reshape((len(self.labels), *self.type.shape))
        return cells.transpose([0, *(axis + 1 for axis in order)]).reshape(-1)

    def with_dimension(self, name):
        """The same with one more indexed dimension of size 1."""
        kind = TensorType(self.type.cell, [*self.type.dimensions, Dimension(name, False, 1)])
        return Tensor._of(kind, self.labels, self.flat)

    def slice(self, **places):
        """The part at these places, without their dimensions: `t.slice(d0=0, d1=0)`."""
        for name in places:
            if self.type.dimension(name) is None:
                raise ValueError(f"{self.type} has no dimension {name}")
        kept = [d for d in self.type.dimensions if d.name not in places]
        kind = TensorType(self.type.cell, kept)
        found = {}
        for at, labels in enumerate(self.labels):
            by_name = dict(zip((d.name for d in self.type.mapped), labels))
            if all(by_name[name] == str(places[name]) for name in by_name if name in places):
                found[tuple(by_name[d.name] for d in kind.mapped)] = self._part(at, places)
        if not kind.mapped and not found:
            raise KeyError(f"nothing of a tensor of type {self.type} is at {places}")
        flat = _joined(kind.cell, [_of_cells(kind.cell, part) for part in found.values()])
        return Tensor._of(kind, tuple(found), flat)

    def _part(self, at, places):
        size, shape = self.type.block_size, self.type.shape
        for d in self.type.indexed:
            if d.name in places and not 0 <= int(places[d.name]) < d.size:
                raise KeyError(f"{places[d.name]} is no index along {d}")
        block = self.flat[at * size : (at + 1) * size]
        np = numpy()
        if np is not None:
            return block.reshape(shape)[
                tuple(int(places[d.name]) if d.name in places else slice(None) for d in self.type.indexed)
            ].reshape(-1)
        part = []
        for offset in range(size):
            address = self.address(at, offset)
            if all(address[d.name] == str(places[d.name]) for d in self.type.indexed if d.name in places):
                part.append(block[offset])
        return part

    def __float__(self):
        if not self.type.is_double:
            raise TypeError(f"a tensor of type {self.type} is no number")
        return float(_cells.item(self.flat, 0))

    def __len__(self):
        return len(self.flat)

    def __eq__(self, other):
        if not isinstance(other, Tensor):
            return NotImplemented
        if self.type != other.type or len(self.labels) != len(other.labels):
            return False
        size, places = self.type.block_size, {labels: at for at, labels in enumerate(other.labels)}
        return set(places) == set(self.labels) and all(
            _cells.same(
                self.flat[at * size : (at + 1) * size], other.flat[places[labels] * size : (places[labels] + 1) * size]
            )
            for at, labels in enumerate(self.labels)
        )

    __hash__ = None

    def __repr__(self):
        text = self.to_literal() if len(self.flat) <= 64 else f"{self.type} with {len(self.labels)} blocks"
        return f"<stead.Tensor {text}>"


def _frozen(array):
    array.flags.writeable = False
    return array


def _own(array):
    """A flat array of the elements: a view where nobody can write to them, else a copy."""
    flat = numpy().ascontiguousarray(array).reshape(-1)
    return flat.copy() if array.flags.writeable and numpy().shares_memory(flat, array) else flat


def _of_cells(cell, flat):
    """Cells of one type as another."""
    if isinstance(flat, list):
        return _cells.of_numbers(cell, flat)
    return _cells.of_array(cell, flat)


def _joined(cell, parts):
    if not parts:
        return _cells.of_numbers(cell, [])
    np = numpy()
    return np.concatenate(parts) if np is not None else [number for part in parts for number in part]


def _dense(kind, value, cell=None):
    """The shape and the cells of a value for a dense type."""
    cell = cell or kind.cell
    np = numpy()
    if np is not None and isinstance(value, (np.ndarray, np.generic)):
        if value.dtype.kind not in "fiub":
            raise TypeError(f"no tensor has cells of {value.dtype}")
        return value.shape, _of_cells(cell, _own(np.asarray(value)))
    shape, inner = [], value
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        inner = inner[0] if inner else None
    numbers = _flattened(value, shape)
    if len(shape) == 1 and kind.is_bound and len(kind.indexed) != 1 and len(numbers) == kind.block_size:
        shape = kind.shape
    return shape, _cells.of_numbers(cell, numbers)


def _flattened(value, shape):
    if not shape:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            if not isinstance(value, bool):
                raise TypeError(f"a cell is a number, not {type(value).__name__}")
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise ValueError(f"nested lists of a tensor have the same length: expected {shape[0]}")
    return [number for inner in value for number in _flattened(inner, shape[1:])]
