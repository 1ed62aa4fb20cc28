"""The source of a module, found without running it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import types
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class ModuleSource:
    """What there is to package of a module.

    `kind` is `source` (then `text` is set), `folder` (a namespace package: nothing to save), `mock`, `extension`,
    `builtin`, `no file` (made by a program) or `no source` (`filename` says of what).
    """

    kind: str
    text: Optional[str] = None
    is_package: bool = False
    filename: Optional[str] = None


def find_system_source(name: str) -> ModuleSource:
    """Looks for a module as the import system would, but runs neither it nor its parents.

    Raises:
        ModuleNotFoundError: there is none.
    """
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None) if module is not None else find_spec(name)
    if spec is None:
        if module is None:
            raise ModuleNotFoundError(f"no module named {name!r}", name=name)
        return source_of_module(module, name)
    found = _of_spec(spec, name)
    return source_of_module(module, name) if module is not None and found.kind == "no source" else found


def find_spec(name: str) -> Optional[Any]:
    """The spec of a module by the finders of `sys.meta_path`, descending from its outermost package."""
    path = None
    spec = None
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        full = ".".join(parts[:i])
        loaded = sys.modules.get(full)
        spec = getattr(loaded, "__spec__", None)
        if spec is None:
            spec = _ask_finders(full, path)
        if spec is None:
            return None
        path = getattr(loaded, "__path__", None)
        if path is None:
            path = spec.submodule_search_locations
        if path is None and i < len(parts):
            return None
    return spec


def _ask_finders(name: str, path: Any) -> Optional[Any]:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        if find is None:
            continue
        # Asked for a full name, this finder needs the package around it in `sys.modules`.
        by_path = path is not None and finder is importlib.machinery.PathFinder
        # With all three arguments, as the import system does: not every finder has defaults.
        spec = find(name.rpartition(".")[2] if by_path else name, path, None)
        if spec is not None:
            return spec
    return None


def _of_spec(spec: Any, name: str) -> ModuleSource:
    loader, is_package = spec.loader, spec.submodule_search_locations is not None
    if isinstance(loader, importlib.machinery.ExtensionFileLoader):
        return ModuleSource("extension", filename=spec.origin)
    if loader is importlib.machinery.BuiltinImporter:
        return ModuleSource("builtin")
    if is_package and (loader is None or spec.origin is None):
        return ModuleSource("folder", is_package=True)
    text = _text_by(loader, spec.name)
    filename = spec.origin if spec.has_location else None
    if text is None:
        return ModuleSource("no source" if filename else "no file", is_package=is_package, filename=filename)
    return ModuleSource("source", text, is_package, filename)


def source_of_module(module: types.ModuleType, name: str) -> ModuleSource:
    """The source of a module that is loaded, for importers that know nothing better."""
    filename = getattr(module, "__file__", None)
    is_package = hasattr(module, "__path__")
    text = _text_by(getattr(module, "__loader__", None), name)
    if text is not None:
        return ModuleSource("source", text, is_package, filename)
    if filename is None:
        return ModuleSource("folder" if is_package else "no file", is_package=is_package)
    if filename.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)):
        return ModuleSource("extension", filename=filename)
    try:
        with open(filename, "rb") as file:
            text = importlib.util.decode_source(file.read())
    except (OSError, UnicodeDecodeError, SyntaxError):
        return ModuleSource("no source", is_package=is_package, filename=filename)
    return ModuleSource("source", text, is_package, filename)


def _text_by(loader: Any, name: str) -> Optional[str]:
    get_source = getattr(loader, "get_source", None)
    if get_source is None:
        return None
    try:
        return get_source(name)
    except (ImportError, OSError, SyntaxError, UnicodeDecodeError):
        return None
