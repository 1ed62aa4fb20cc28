"""Cells of tensors: a flat array of numpy, or a list of numbers where there is no numpy.

Cells of bfloat16 are kept as the float32 numbers that they are; every other type as itself.
"""

import array
import math
import struct

from ._numpy import numpy

_BFLOAT16 = "bfloat16"

# The type of elements in numpy, the code in the module struct, the number in the binary format.
_TYPES = {
    "double": ("float64", "d", 0),
    "float": ("float32", "f", 1),
    _BFLOAT16: ("float32", "H", 2),
    "int8": ("int8", "b", 3),
    "float16": ("float16", "e", 16),
    "int16": ("int16", "h", 17),
    "int32": ("int32", "i", 18),
    "int64": ("int64", "q", 19),
    "uint8": ("uint8", "B", 20),
    "bool": ("bool", "?", 21),
}

CELL_TYPES = tuple(_TYPES)

# Vespa's own types: numbers are rounded into them.
_ROUNDED = ("double", "float", _BFLOAT16, "int8")
_RANGES = {
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint8": (0, 255),
    "bool": (0, 1),
}


def numpy_name(cell):
    """The name in numpy of the elements that stand for cells of a type."""
    return _TYPES[cell][0]


def of_numpy_name(name):
    """The type of cells for elements of numpy; None of those that are no cells."""
    for cell, (known, _, _) in _TYPES.items():
        if known == name and cell != _BFLOAT16:
            return cell
    return None


def binary_number(cell):
    return _TYPES[cell][2]


def of_binary_number(number):
    for cell, (_, _, known) in _TYPES.items():
        if known == number:
            return cell
    raise ValueError(f"no cell type has the number {number}")


def size(cell):
    """Bytes of a cell."""
    return struct.calcsize("=" + _TYPES[cell][1])


def is_whole(cell):
    return cell in _RANGES or cell == "int8"


def _narrow(number, code):
    """A float as the nearest one of a narrower type."""
    try:
        return struct.unpack(f"<{code}", struct.pack(f"<{code}", float(number)))[0]
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _bfloat16_bits(number):
    (bits,) = struct.unpack("<I", struct.pack("<f", _narrow(number, "f")))
    if math.isnan(number):
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def _of_bfloat16_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def one(cell, number):
    """A number as a cell: rounded into Vespa's own types, exact in others, ValueError where that cannot be."""
    if isinstance(number, bool):
        number = int(number)
    if cell == "double":
        return float(number)
    if cell == "float":
        return _narrow(number, "f")
    if cell == _BFLOAT16:
        return _of_bfloat16_bits(_bfloat16_bits(float(number)))
    if cell == "int8":
        if isinstance(number, float) and math.isnan(number):
            return 0
        return max(-128, min(127, number)) if math.isinf(number) else max(-128, min(127, int(number)))
    if cell == "float16":
        found = _narrow(number, "e")
        if math.isinf(found) and not math.isinf(number) or number == int_or_none(number) and found != number:
            raise ValueError(f"{number} is no float16")
        return found
    whole = int_or_none(number)
    least, most = _RANGES[cell]
    if whole is None or not least <= whole <= most:
        raise ValueError(f"{number} is no {cell}")
    return bool(whole) if cell == "bool" else whole


def int_or_none(number):
    """A number that is whole as an int."""
    if isinstance(number, float) and not number.is_integer():
        return None
    return int(number)


def of_numbers(cell, numbers):
    """Cells of numbers of Python."""
    np = numpy()
    if np is not None and cell in ("double", "float"):
        with np.errstate(over="ignore"):
            return np.array(numbers, dtype=np.float64).astype(numpy_name(cell))
    found = [one(cell, number) for number in numbers]
    return found if np is None else np.array(found, dtype=numpy_name(cell))


def of_array(cell, values):
    """Cells of a flat array of numpy: themselves where the type is the same."""
    np = numpy()
    if values.dtype == np.dtype(numpy_name(cell)) and cell != _BFLOAT16:
        return values
    if cell in ("double", "float") and values.dtype.kind in "fiub":
        with np.errstate(over="ignore"):
            return values.astype(numpy_name(cell))
    return of_numbers(cell, values.tolist())


def zeros(cell, count):
    return of_numbers(cell, [0] * count)


def shortest(cell, cells):
    """Cells as numbers of Python; of those narrower than double the fewest digits that are the same float32."""
    np = numpy()
    numbers = cells if isinstance(cells, list) else cells.tolist()
    if cell == "double" or is_whole(cell):
        return [int(number) for number in numbers] if cell == "bool" else numbers
    if np is not None:
        return np.asarray(cells, dtype=np.float32).astype("U").astype(np.float64).tolist()
    return [_shortest(number) for number in numbers]


def _shortest(number):
    if not math.isfinite(number):
        return number
    digits = (float(f"{number:.{digits}g}") for digits in range(6, 10))
    return next((found for found in digits if _narrow(found, "f") == number), number)


def item(cells, at):
    """A cell as a number of Python."""
    found = cells[at]
    return found if isinstance(found, (int, float)) and type(found) in (int, float, bool) else found.item()


def same(a, b):
    """Whether cells of the same type are equal, NaN to NaN."""
    np = numpy()
    if np is not None:
        return np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
    return len(a) == len(b) and all(x == y or x != x and y != y for x, y in zip(a, b))


def to_bytes(cell, cells):
    """Big-endian bytes."""
    numbers = cells if isinstance(cells, list) else cells.tolist()
    if cell == _BFLOAT16:
        numbers = [_bfloat16_bits(number) for number in numbers]
    return struct.pack(f">{len(numbers)}{_TYPES[cell][1]}", *numbers)


def of_bytes(cell, data):
    """Cells of big-endian bytes."""
    if cell == "bool" and any(byte > 1 for byte in data):
        raise ValueError(f"{next(byte for byte in data if byte > 1)} is no bool")
    numbers = list(struct.unpack(f">{len(data) // size(cell)}{_TYPES[cell][1]}", data))
    if cell == _BFLOAT16:
        numbers = [_of_bfloat16_bits(bits) for bits in numbers]
    np = numpy()
    return numbers if np is None else np.array(numbers, dtype=numpy_name(cell))


def to_wire(cell, cells):
    """What stead takes: an array, of bits where cells are bfloat16."""
    np = numpy()
    if np is None:
        if cell == _BFLOAT16:
            return array.array("H", [_bfloat16_bits(number) for number in cells])
        if cell in ("float16", "bool"):
            raise ImportError(
                f"a tensor with cells of type {cell} leaves this interpreter with numpy only, which is not installed"
            )
        return array.array(_TYPES[cell][1], cells)
    if cell == _BFLOAT16:
        return (np.ascontiguousarray(cells).view(np.uint32) >> 16).astype(np.uint16)
    return cells


def of_wire(cell, values):
    """Cells of what stead gives: a flat array of numpy, or a memoryview without numpy."""
    np = numpy()
    if np is None:
        numbers = values.tolist()
        return [_of_bfloat16_bits(bits) for bits in numbers] if cell == _BFLOAT16 else numbers
    values = np.asarray(values).reshape(-1)
    if cell == _BFLOAT16:
        return (values.astype(np.uint32) << 16).view(np.float32)
    return values
