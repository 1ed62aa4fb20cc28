"""numpy, where it is installed."""

_found = []


def numpy():
    """The module, or None."""
    if not _found:
        try:
            import numpy as found
        except ImportError:
            found = None
        _found.append(found)
    return _found[0]
