"""Hermetic packages of Python code, data and weights.

`PackageExporter` writes them, `PackageImporter` opens them. Names of classes, methods and arguments are those of
`torch.package`. docs/python-packages.md describes both and the format.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Names are loaded when they are first used: an interpreter that only loads packages has only the importer.
_HOMES = {
    "ArchiveError": "errors",
    "Directory": "directory",
    "EmptyMatchError": "export.dependency_report",
    "EnvironmentMismatchError": "errors",
    "GlobGroup": "glob_group",
    "Importer": "importer",
    "ObjMismatchError": "importer",
    "ObjNotFoundError": "importer",
    "OrderedImporter": "importer",
    "PackageError": "errors",
    "PackageExporter": "export.package_exporter",
    "PackageImporter": "package_importer",
    "PackageMangler": "mangling",
    "PackagingError": "export.dependency_report",
    "PackagingErrorReason": "export.dependency_report",
    "PackagingWarning": "export.package_exporter",
    "ResourceNotFoundError": "errors",
    "UnsupportedError": "errors",
    "is_from_package": "mangling",
    "sys_importer": "importer",
}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from .directory import Directory
    from .errors import (
        ArchiveError,
        EnvironmentMismatchError,
        PackageError,
        ResourceNotFoundError,
        UnsupportedError,
    )
    from .export.dependency_report import EmptyMatchError, PackagingError, PackagingErrorReason
    from .export.package_exporter import PackageExporter, PackagingWarning
    from .glob_group import GlobGroup
    from .importer import Importer, ObjMismatchError, ObjNotFoundError, OrderedImporter, sys_importer
    from .mangling import PackageMangler, is_from_package
    from .package_importer import PackageImporter


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
