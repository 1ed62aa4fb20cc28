"""Vespa's typed binary format of tensors.

A tag (bit 0: has mapped dimensions, bit 1: has indexed dimensions, bit 2: has a cell type), the number of the cell
type, the mapped dimensions (count, names), the indexed ones (count, name and size of each), the number of blocks
where there are mapped dimensions or no indexed ones, and for each block its labels and its cells, big-endian. Counts
and lengths take one byte below 128, else four with the highest bit set.
"""

from . import _cells
from .tensor_type import Dimension, TensorType

_MAPPED, _INDEXED, _CELL_TYPE = 1, 2, 4


def parts(data):
    """Type, labels and cells."""
    reader = _Reader(bytes(data))
    tag = reader.count("the tag")
    if tag > _MAPPED | _INDEXED | _CELL_TYPE:
        raise ValueError(f"unknown tag {tag}")
    cell = _cells.of_binary_number(reader.count("the cell type")) if tag & _CELL_TYPE else "double"
    mapped = [
        Dimension(reader.text("a dimension"), is_mapped=True)
        for _ in range(reader.count("the mapped dimensions") if tag & _MAPPED else 0)
    ]
    indexed = [
        Dimension(reader.text("a dimension"), False, reader.count("the size of a dimension"))
        for _ in range(reader.count("the indexed dimensions") if tag & _INDEXED else 0)
    ]
    is_single = not mapped and tag & _INDEXED
    count = 1 if is_single else reader.count("the number of blocks")
    kind = TensorType(cell, mapped + indexed)
    blocks = {}
    for _ in range(count):
        labels = tuple(reader.text("a label") for _ in mapped)
        cells = _cells.of_bytes(cell, reader.take(kind.block_size * _cells.size(cell), "the cells of a block"))
        if mapped and labels in blocks:
            raise ValueError(f"the block {','.join(labels)} stands twice")
        # A number may be sent several times; the last counts.
        blocks[labels] = cells
    if reader.at != len(reader.data):
        raise ValueError(f"{len(reader.data) - reader.at} bytes follow the tensor")
    if not mapped and not blocks:
        blocks[()] = _cells.zeros(cell, kind.block_size)
    numbers = [number for cells in blocks.values() for number in (cells if isinstance(cells, list) else cells.tolist())]
    # A number has cells of type double, whatever was sent.
    return kind, tuple(blocks), _cells.of_numbers(kind.cell, numbers)


def written(tensor):
    kind, out = tensor.type, bytearray()
    has_blocks = kind.mapped or not kind.indexed
    has_type = kind.cell != "double"
    _count(out, (_MAPPED if has_blocks else 0) | (_INDEXED if kind.indexed else 0) | (_CELL_TYPE if has_type else 0))
    if has_type:
        _count(out, _cells.binary_number(kind.cell))
    if has_blocks:
        _count(out, len(kind.mapped))
        for d in kind.mapped:
            _text(out, d.name)
    if kind.indexed:
        _count(out, len(kind.indexed))
        for d in kind.indexed:
            _text(out, d.name)
            _count(out, d.size)
    if has_blocks:
        _count(out, len(tensor.labels))
    size = kind.block_size
    for at, labels in enumerate(tensor.labels):
        for label in labels:
            _text(out, label)
        out += _cells.to_bytes(kind.cell, tensor.flat[at * size : (at + 1) * size])
    return bytes(out)


def _count(out, number):
    out += bytes([number]) if number < 0x80 else (number | 0x8000_0000).to_bytes(4, "big")


def _text(out, text):
    data = text.encode()
    _count(out, len(data))
    out += data


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size, what):
        if size > len(self.data) - self.at:
            raise ValueError(f"the tensor ends after {len(self.data)} bytes in the middle of {what}")
        found = self.data[self.at : self.at + size]
        self.at += size
        return found

    def count(self, what):
        first = self.take(1, what)[0]
        if first < 0x80:
            return first
        return (first & 0x7F) << 24 | int.from_bytes(self.take(3, what), "big")

    def text(self, what):
        try:
            return self.take(self.count(what), what).decode()
        except UnicodeDecodeError:
            raise ValueError(f"{what} is not valid UTF-8") from None
