"""Blocks of a tensor as JSON and literals give them: in any order, whole or cell by cell."""

import math

from . import _cells

MAX_CELLS = 1 << 26
MAX_LABEL = 64 << 10

_NAMED = {"NaN": math.nan, "nan": math.nan}
_NAMED.update({f"{sign}{name}": float(f"{sign}inf") for sign in ("", "+", "-") for name in ("inf", "Infinity")})


def number(found, cell):
    """A number of whichever form."""
    if found is None:
        return math.nan
    if isinstance(found, bool):
        if cell == "bool":
            return int(found)
    elif isinstance(found, (int, float)):
        return found
    elif isinstance(found, str):
        if found in _NAMED:
            return _NAMED[found]
        try:
            return int(found) if found.lstrip("+-").isdigit() else float(found)
        except ValueError:
            pass
    raise ValueError(f"expected a number, found {shown(found)}")


def shown(found):
    if isinstance(found, (list, tuple)):
        return "an array"
    if isinstance(found, dict):
        return "an object"
    return repr(found)[:40]


class Blocks:
    """What is read of a tensor of a type whose sizes are known."""

    def __init__(self, kind):
        self.kind, self.size = kind, kind.block_size
        self.blocks = {}
        self.given = {}

    def place(self, labels):
        """The cells of the block of these labels; zeros if it is new."""
        for label in labels:
            if len(label.encode()) > MAX_LABEL:
                raise ValueError(f"a label of {len(label.encode())} bytes; {MAX_LABEL} is the most")
        if labels not in self.blocks:
            if (len(self.blocks) + 1) * self.size > MAX_CELLS:
                raise ValueError(f"more than {MAX_CELLS} cells")
            self.blocks[labels] = [0] * self.size
            self.given[labels] = set()
        return self.blocks[labels]

    def _twice(self, labels):
        places = ",".join(f"{d.name}:{label}" for d, label in zip(self.kind.mapped, labels))
        return ValueError(f"the cell {{{places}}} stands twice")

    def cell(self, labels, offset, value):
        block = self.place(labels)
        if offset in self.given[labels]:
            raise self._twice(labels)
        self.given[labels].add(offset)
        block[offset] = value

    def block(self, labels, values):
        """All cells of a block: nested or flat lists, or hexadecimal digits."""
        if isinstance(values, str):
            values = self._digits(values)
        else:
            flat = []
            _flatten(values, flat, max(1, len(self.kind.indexed)), self.kind.cell)
            values = flat
        if len(values) != self.size:
            raise ValueError(f"{self.kind} needs {self.size} cells in a block, got {len(values)}")
        block = self.place(labels)
        if self.given[labels]:
            raise self._twice(labels)
        self.given[labels].update(range(self.size))
        block[:] = values

    def _digits(self, digits):
        expected = 2 * self.size * _cells.size(self.kind.cell)
        if len(digits) != expected:
            raise ValueError(f"{self.kind} needs {expected} hexadecimal digits in a block, got {len(digits)}")
        try:
            data = bytes.fromhex(digits)
        except ValueError:
            raise ValueError(f'"{digits[:20]}" is no hexadecimal number') from None
        cells = _cells.of_bytes(self.kind.cell, data)
        return cells if isinstance(cells, list) else cells.tolist()

    def address(self, places):
        """Labels and offset of an address: names of dimensions to places."""
        for name in places:
            if self.kind.dimension(name) is None:
                raise ValueError(f"{self.kind} has no dimension {name}")
        labels, offset = [], 0
        for d in self.kind.dimensions:
            if d.name not in places:
                raise ValueError(f"an address without dimension {d.name}")
            if d.is_mapped:
                labels.append(str(places[d.name]))
            else:
                offset = offset * d.size + index(places[d.name], d)
        return tuple(labels), offset

    def finish(self):
        """The labels of each block and all cells."""
        if self.kind.is_dense:
            self.place(())
        numbers = [value for block in self.blocks.values() for value in block]
        return tuple(self.blocks), _cells.of_numbers(self.kind.cell, numbers)


def index(text, dimension):
    """A place along an indexed dimension."""
    text = str(text)
    if not (text.isascii() and text.isdigit() and int(text) < dimension.size):
        raise ValueError(f'"{text}" is no index below {dimension.size} along dimension {dimension.name}')
    return int(text)


def _flatten(values, flat, depth, cell):
    if isinstance(values, (list, tuple)) and depth:
        for value in values:
            _flatten(value, flat, depth - 1, cell)
    else:
        flat.append(number(values, cell))
