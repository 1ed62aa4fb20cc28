"""Names that tell modules of packages from ordinary modules, and those of two packages from each other.

A module `net` of the third package that a process opened is called `<stead_package_2>.net`: no import statement can
say such a name, so it never collides.
"""

from __future__ import annotations

import itertools
import re
from typing import Any

_numbers = itertools.count()
_PREFIX = re.compile(r"<(?:stead|torch)_package_\d+>")


class PackageMangler:
    """Gives names a prefix that no other mangler of the process has."""

    def __init__(self) -> None:
        self._prefix = f"<stead_package_{next(_numbers)}>"

    def mangle(self, name: str) -> str:
        """The name with this mangler's prefix.

        Raises:
            ValueError: the name is empty.
        """
        if not name:
            raise ValueError("an empty name cannot be mangled")
        return f"{self._prefix}.{name}"

    def demangle(self, mangled: str) -> str:
        """The name without this mangler's prefix; other names as they are."""
        start = self._prefix + "."
        return mangled[len(start) :] if mangled.startswith(start) else mangled

    def parent_name(self) -> str:
        """The prefix alone."""
        return self._prefix


def is_mangled(name: str) -> bool:
    """Whether a name begins with the prefix of some mangler."""
    return _PREFIX.match(name) is not None


def demangle(name: str) -> str:
    """The name without the prefix of whichever mangler; a bare prefix becomes the empty name."""
    if not is_mangled(name):
        return name
    return name.partition(".")[2]


def get_mangle_prefix(name: str) -> str:
    """The prefix of a mangled name; other names as they are."""
    return name.partition(".")[0] if is_mangled(name) else name


def is_from_package(obj: Any) -> bool:
    """Whether a module, class, function or instance comes from an opened package."""
    import types

    if isinstance(obj, types.ModuleType):
        return is_mangled(obj.__name__)
    if isinstance(obj, (type, types.FunctionType)):
        return is_mangled(obj.__module__ or "")
    return is_mangled(type(obj).__module__ or "")
