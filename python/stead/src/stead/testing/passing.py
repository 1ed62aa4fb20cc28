"""Values as they pass between processes: the same types, no object of the other side."""

import array

from .._numpy import numpy

_PLAIN = (type(None), bool, int, float, str, bytes)
_MOST = 1 << 63
MAX_DEPTH = 64


def passed(value, place, depth=0):
    """What the other side gets; TypeError for what does not pass."""
    if depth > MAX_DEPTH:
        raise TypeError(f"{place} is nested deeper than {MAX_DEPTH}")
    if isinstance(value, int) and not isinstance(value, bool) and not -_MOST <= value < _MOST:
        raise TypeError(f"{place} is an int that does not fit 64 bits")
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (list, tuple)):
        return [passed(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{place} has a key of type {type(key).__name__}")
        return {key: passed(item, f'{place}["{key}"]', depth + 1) for key, item in value.items()}
    np = numpy()
    if np is not None and isinstance(value, np.ndarray) and value.dtype.kind in "fiubc":
        copy = np.array(value, order="C")
        copy.flags.writeable = False
        return copy
    if isinstance(value, (array.array, memoryview)):
        if np is not None:
            return passed(np.asarray(value), place, depth)
        view = memoryview(value)
        copy = memoryview(view.tobytes())
        return copy if 0 in view.shape else copy.cast(view.format, view.shape)
    raise TypeError(f"{place} is of type {type(value).__name__}")
