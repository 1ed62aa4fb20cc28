"""Questions about code that is to be packaged."""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterable, List, Set, Tuple

from .mangling import is_from_package

__all__ = ["is_from_package", "trace_dependencies"]


def trace_dependencies(callable: Callable[..., Any], inputs: Iterable[Tuple[Any, ...]]) -> List[str]:
    """Names of the modules whose functions ran while `callable` was called once with each tuple of arguments.

    What a program imports and what it uses are often far apart: the rest is what `mock` is for.
    """
    used: Set[str] = set()

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            name = frame.f_globals.get("__name__")
        elif event == "c_call":
            name = getattr(argument, "__module__", None)
        else:
            return
        if isinstance(name, str):
            used.add(name)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for arguments in inputs:
            callable(*arguments)
    finally:
        sys.setprofile(before)
    return sorted(used - {__name__})
