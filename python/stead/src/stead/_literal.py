"""Tensors as the literals of expressions: `tensor<float>(x{}):{a:1.5}`."""

import re

from . import _cells
from .tensor_type import Dimension, TensorType

_SPACE = re.compile(r"\s*")
_WORD = re.compile(r"[A-Za-z0-9_]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[A-Za-z]+)")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_HEX = re.compile(r"[0-9A-Fa-f]+")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f"}
_MAX_DEPTH = 32


def parts(text, kind):
    """The type that the literal or `kind` says, and its cells as JSON has them."""
    reader = _Reader(text)
    reader.space()
    if text.startswith("tensor", reader.at):
        colon = text.find(":", reader.at)
        if colon < 0:
            raise reader.unexpected(": and the cells after the type")
        named = TensorType.from_spec(text[reader.at : colon])
        if kind is not None and not kind.with_cell(named.cell).takes(named):
            raise ValueError(f"expected a {kind}, found a {named}")
        kind = named if kind is None else named.with_cell(kind.cell)
        reader.at = colon + 1
        reader.space()
    rest = text[reader.at :].strip()
    is_bracketed = rest[:1] in ("[", "{")
    if kind is not None and kind.dimensions and not is_bracketed:
        if not kind.is_dense or not _HEX.fullmatch(rest):
            raise reader.unexpected(f"the cells of {kind}")
        return kind, rest
    cells = reader.value(0) if is_bracketed else reader.number()
    reader.space()
    if reader.at != len(text):
        raise reader.unexpected("the end of the tensor")
    if kind is None:
        kind = _guessed(cells)
    if kind.is_double:
        return kind, _number_alone(cells)
    if isinstance(cells, dict) and len(kind.mapped) > 1:
        cells = _addressed(kind, cells)
    return kind, cells


def _number_alone(cells):
    """`5`, `{5}` or `{{}:5}`."""
    if cells == {}:
        return [0]
    if isinstance(cells, list) and len(cells) == 1 and cells[0].get("address") == {}:
        return [cells[0]["value"]]
    if isinstance(cells, (list, dict)):
        raise ValueError("expected a number")
    return [cells]


def _guessed(cells):
    """The type of a literal that says none: a number, or one with labels only."""
    if isinstance(cells, (int, float, str)):
        return TensorType()
    if isinstance(cells, list) and cells and isinstance(cells[0], dict):
        return TensorType("double", [Dimension(name, is_mapped=True) for name in cells[0]["address"]])
    raise ValueError("a literal without a type has addresses, as in {{x:a}:1}; say the type before it or by type=")


def _addressed(kind, cells):
    """`{a:{b:1}}` as a list of addresses with what stands there."""
    names = [d.name for d in kind.mapped]
    found = []

    def visit(value, labels):
        if len(labels) == len(names):
            key = "values" if isinstance(value, list) else "value"
            if key == "value" and kind.indexed:
                key, value = "values", [value]
            found.append({"address": dict(zip(names, labels)), key: value})
        elif isinstance(value, dict):
            for label, inner in value.items():
                visit(inner, labels + [label])
        else:
            raise ValueError(f"expected {len(names)} labels for each cell of {kind}")

    visit(cells, [])
    return found


class _Reader:
    def __init__(self, text):
        self.text, self.at = text, 0

    def space(self):
        self.at = _SPACE.match(self.text, self.at).end()

    def peek(self):
        self.space()
        return self.text[self.at : self.at + 1]

    def take(self, sign):
        found = self.peek() == sign
        self.at += found
        return found

    def expect(self, sign):
        if not self.take(sign):
            raise self.unexpected(sign)

    def unexpected(self, expected):
        found = self.text[self.at :].strip()[:20]
        return ValueError(
            f"expected {expected} at character {self.at}, found {found!r}"
            if found
            else f"expected {expected}, found the end"
        )

    def match(self, pattern, expected):
        self.space()
        found = pattern.match(self.text, self.at)
        if not found:
            raise self.unexpected(expected)
        self.at = found.end()
        return found

    def number(self):
        # What is no number among the words is found where cells are made of it.
        return self.match(_NUMBER, "a number")[0]

    def label(self):
        if self.peek() in ("'", '"'):
            found = self.match(_QUOTED, "a quoted label")
            text = found[1] if found[1] is not None else found[2]
            return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text, flags=re.DOTALL)
        sign = "-" if self.take("-") else ""
        return sign + self.match(_WORD, "a label")[0]

    def value(self, depth):
        """Cells: a list, labels, addresses or a number."""
        if depth > _MAX_DEPTH:
            raise self.unexpected(f"brackets nested at most {_MAX_DEPTH} deep")
        if self.take("["):
            return self.list(depth)
        if self.take("{"):
            return self.braces(depth)
        return self.number()

    def list(self, depth):
        found = []
        while not self.take("]"):
            found.append(self.value(depth + 1))
            if not self.take(",") and self.peek() != "]":
                raise self.unexpected(", or ]")
        return found

    def braces(self, depth):
        cells, labels = [], {}
        while not self.take("}"):
            if self.take("{"):
                address = self.address()
                self.expect(":")
                cells.append({"address": address, "value": self.number()})
            else:
                start = self.at
                label = self.label()
                if not labels and self.peek() == "}":
                    # A number in braces.
                    self.at = start
                    found = self.number()
                    self.expect("}")
                    return found
                self.expect(":")
                if label in labels:
                    raise ValueError(f"the cell {{{label}}} stands twice")
                labels[label] = self.value(depth + 1)
            if not self.take(",") and self.peek() != "}":
                raise self.unexpected(", or } after a cell")
        if cells and labels:
            raise self.unexpected("either addresses or labels")
        return cells or labels

    def address(self):
        places = {}
        while not self.take("}"):
            if places:
                self.expect(",")
            name = self.match(_WORD, "the name of a dimension")[0]
            self.expect(":")
            if name in places:
                raise ValueError(f"dimension {name} stands twice in an address")
            places[name] = self.label()
        return places


def written(tensor):
    """The shortest literal of a tensor; of a number just that."""
    kind = tensor.type
    numbers = [_number(number) for number in _cells.shortest(kind.cell, tensor.flat)]
    if kind.is_double:
        return numbers[0]
    if kind.is_dense:
        return f"{kind}:{_block(kind, numbers)}"
    cells, size = [], kind.block_size
    for at in tensor.in_order():
        block = numbers[at * size : (at + 1) * size]
        if len(kind.mapped) == 1:
            cell = _block(kind, block) if kind.indexed else block[0]
            cells.append(f"{_label(tensor.labels[at][0])}:{cell}")
            continue
        for offset, number in enumerate(block):
            places = ",".join(f"{name}:{_label(place)}" for name, place in tensor.address(at, offset).items())
            cells.append(f"{{{places}}}:{number}")
    return f"{kind}:{{{','.join(cells)}}}"


def _block(kind, numbers):
    for inner in (*reversed(kind.shape[1:]), kind.block_size):
        numbers = [f"[{','.join(numbers[i : i + inner])}]" for i in range(0, len(numbers), inner)]
    return numbers[0]


def _number(number):
    if isinstance(number, float) and number.is_integer() and abs(number) < 1e16:
        return "-0" if str(number) == "-0.0" else str(int(number))
    return "NaN" if number != number else repr(number)


def _label(label):
    if _WORD.fullmatch(label):
        return label
    signs = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "'" + "".join(signs.get(sign, sign) for sign in label) + "'"
