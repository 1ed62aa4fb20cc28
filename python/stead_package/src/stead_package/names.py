"""Names of archive entries, and how they correspond to names of modules."""

from __future__ import annotations

from typing import Optional, Tuple

from .errors import ArchiveError

DATA = ".data/"
"""Everything that is not source or a resource lies below this folder."""


def check_entry_name(name: str, where: str) -> None:
    """Refuses names that could leave the folder into which an archive is unpacked.

    Raises:
        ArchiveError: empty, absolute, with a drive, a backslash, a NUL, or with an empty, `.` or `..` segment.
    """
    problem = None
    if not name:
        problem = "is empty"
    elif name.startswith("/") or (len(name) > 1 and name[1] == ":"):
        problem = "is absolute"
    elif "\\" in name:
        problem = "has a backslash"
    elif "\0" in name:
        problem = "has a NUL character"
    else:
        for segment in name.split("/"):
            if segment in ("", ".", ".."):
                problem = f"has the segment {segment!r}"
                break
    if problem:
        raise ArchiveError(f"{where}: entry name {name!r} {problem}")


def module_entry(module: str, is_package: bool) -> str:
    """The entry of a module's source: `a.b` lies in `a/b.py`, or in `a/b/__init__.py` if it is a package."""
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if is_package else f"{path}.py"


def entry_module(entry: str) -> Optional[Tuple[str, bool]]:
    """The module whose source an entry is, and whether it is a package; None for other entries."""
    if not entry.endswith(".py") or entry.startswith(DATA):
        return None
    path = entry[: -len(".py")]
    is_package = path.endswith("/__init__")
    if is_package:
        path = path[: -len("/__init__")]
    return path.replace("/", "."), is_package


def resource_entry(package: str, resource: str) -> str:
    """The entry of a resource of a package; the empty package is the root of the archive.

    Raises:
        ValueError: a resource that is not one plain path below its package.
    """
    if not isinstance(package, str) or not isinstance(resource, str):
        raise TypeError("names of packages and resources are strings")
    name = f"{package.replace('.', '/')}/{resource}" if package else resource
    check_entry_name(name, "resource")
    return name


def parents(module: str) -> Tuple[str, ...]:
    """Enclosing packages, outermost first: `a.b.c` gives `a`, `a.b`."""
    parts = module.split(".")
    return tuple(".".join(parts[:i]) for i in range(1, len(parts)))


def is_missing(error: ModuleNotFoundError, module: str) -> bool:
    """Whether it is this module or a package around it that is missing, not one that it imports."""
    return error.name is None or module == error.name or module.startswith(f"{error.name}.")
