"""Arrays of inputs and outputs of models: of numpy, or memoryviews where there is no numpy."""

import struct

from ._numpy import numpy
from .tensor import Tensor

# How memoryviews name the types of elements. What is not here needs numpy.
_FORMATS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
_NAMES = {**{code: name for name, code in _FORMATS.items()}, "l": "int64", "L": "uint64"}


def dtype_of(value):
    """The name of the elements of an array; None of what is no array."""
    if isinstance(value, memoryview):
        return _NAMES.get(value.format.lstrip("@=<"))
    dtype = getattr(value, "dtype", None)
    if dtype is None or not hasattr(value, "shape"):
        return None
    return "string" if dtype.kind in "OSU" else dtype.name


def of_lists(value, dtype):
    """An array of elements of a type, of a number, a text or nested lists of them.

    Raises:
        ValueError: lists of different lengths, and elements that are not of this type.
    """
    np = numpy()
    if np is not None:
        if dtype == "string":
            array = np.empty(_shape(value), dtype=object)
            array.reshape(-1)[:] = _flat(value, array.shape)
            return array
        try:
            array = np.array(value)
        except ValueError:
            raise ValueError("its lists are of different lengths") from None
        return converted(array, dtype)
    shape = _shape(value)
    flat = _flat(value, shape)
    if dtype == "string":
        return {"$": "strings", "shape": list(shape), "values": flat}
    code = _FORMATS.get(dtype)
    if code is None or 0 in shape:
        raise ValueError(f"{'an empty array' if code else 'an array of ' + dtype} cannot be made without numpy")
    try:
        packed = struct.pack(f"={len(flat)}{code}", *flat)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"not all of its elements are of {dtype}: {error}") from None
    return memoryview(packed).cast(code, list(shape))


def plain(value):
    """An array of nested lists, a number or a text, of the type that its elements have, where there is no numpy."""
    kinds = {type(element) for element in _flat(value, _shape(value))}
    if kinds <= {str, bytes}:
        return of_lists(value, "string")
    return of_lists(value, "bool" if kinds == {bool} else "int64" if kinds <= {int, bool} else "float64")


def converted(array, dtype):
    """An array with elements of another type: those that this does not have exactly are none, but for fractions, which
    become the nearest."""
    np, name = numpy(), dtype_of(array)
    if name == dtype:
        return array
    if np is None:
        return of_lists(array.tolist(), dtype)
    if "string" in (name, dtype):
        raise ValueError(f"elements of {name} become no {dtype}")
    with np.errstate(all="ignore"):
        found = array.astype(dtype)
        is_exact = array.dtype.kind == found.dtype.kind == "f" or np.array_equal(found.astype(array.dtype), array)
    if not is_exact:
        raise ValueError(f"not all of its elements are of {dtype}")
    return found


def taken(value, spec):
    """What is given for an input, as an array that is as its spec says.

    Raises:
        ValueError: it cannot be.
    """
    if isinstance(value, Tensor):
        raise ValueError(f"expected an array, found a {value.type}")
    array = of_lists(value, spec.dtype) if dtype_of(value) is None else converted(value, spec.dtype)
    problem = None if isinstance(array, dict) else spec.problem(array)
    if problem:
        raise ValueError(f"it {problem}; expected {spec}")
    return frozen(array)


def frozen(value):
    """An array that nobody can write to."""
    np = numpy()
    if np is not None and isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def zeros(spec):
    """Zeros of a type and shape; 1 for sizes that may be any."""
    np, shape = numpy(), [abs(size) for size in spec.shape]
    if np is not None:
        return np.zeros(shape, spec.dtype)
    nested = 0
    for size in reversed(shape):
        nested = [nested] * size
    return of_lists(nested, spec.dtype)


def repeated(value, rows):
    """The same row so many times; what has several rows stays as it is."""
    np = numpy()
    if len(value) != 1:
        return value
    return of_lists(value.tolist() * rows, dtype_of(value)) if np is None else np.repeat(value, rows, axis=0)


def _shape(value):
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        value = value[0] if value else None
    return tuple(shape)


def _flat(value, shape):
    if not shape:
        if isinstance(value, str):
            return [value.encode()]
        if isinstance(value, (list, tuple)) or value is None:
            raise ValueError("its lists are of different lengths")
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise ValueError("its lists are of different lengths")
    return [element for part in value for element in _flat(part, shape[1:])]
