"""What components ask of stead."""

import contextlib
import sys

from .errors import HostError

_stand_in = None


def ask(name, *arguments):
    """The answer of stead; of the stand-in of `stead.testing` outside."""
    if _stand_in is not None:
        return _stand_in(name, *arguments)
    runtime = sys.modules.get("_stead_runtime")
    if runtime is None:
        raise HostError(
            f"{name}: this is no interpreter of stead; stead.testing stands in for it in tests", "unavailable"
        )
    return runtime.host(name, *arguments)


@contextlib.contextmanager
def standing_in(function):
    """Has a function answer in place of stead."""
    global _stand_in
    before, _stand_in = _stand_in, function
    try:
        yield
    finally:
        _stand_in = before
