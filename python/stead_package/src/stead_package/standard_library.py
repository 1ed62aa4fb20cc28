"""Modules that every interpreter has, and those that are taken to be there."""

from __future__ import annotations

import functools
import sys
from typing import FrozenSet

NEVER_IMPLICIT = frozenset(["sys", "io"])
"""Modules that reach the interpreter's state and its files: a package that uses them must say so."""

PROVIDED = frozenset(["stead", "torch"])
"""What is there besides: stead's own module inside its server, and torch, as with `torch.package`."""


@functools.lru_cache(maxsize=None)
def standard_library() -> FrozenSet[str]:
    """Names of the top-level modules of the standard library."""
    names = getattr(sys, "stdlib_module_names", None)
    if names is not None:
        return frozenset(names)
    # Python 3.9 has no list: its modules are those that are built in or lie in the folders of the library.
    import pkgutil
    import sysconfig

    folders = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    folders |= {f"{folder}/lib-dynload" for folder in folders}
    found = {module.name for module in pkgutil.iter_modules(sorted(folders))}
    return frozenset(found | set(sys.builtin_module_names)) - {"site-packages"}


def is_standard(module: str) -> bool:
    """Whether a module belongs to the standard library."""
    return module.partition(".")[0] in standard_library()


def is_implicit_extern(module: str) -> bool:
    """Whether a package may use a module without a rule that says so."""
    root = module.partition(".")[0]
    return root in PROVIDED or (root in standard_library() and root not in NEVER_IMPLICIT)
