"""Where modules and the names of objects come from: the interpreter, a package, or several of them in order."""

from __future__ import annotations

import importlib
import pickle
import types
from abc import ABC, abstractmethod
from typing import Any, Optional, Tuple

from .errors import PackageError
from .mangling import demangle, get_mangle_prefix, is_mangled
from .module_source import ModuleSource, find_system_source, source_of_module
from .names import is_missing


class ObjNotFoundError(PackageError, LookupError):
    """An object cannot be found under the name that it says it has."""


class ObjMismatchError(PackageError, LookupError):
    """Under the name of an object there is another one."""


class Importer(ABC):
    """Finds modules by name, and objects by module and name."""

    @abstractmethod
    def import_module(self, module_name: str) -> types.ModuleType:
        """The module of that name.

        Raises:
            ModuleNotFoundError: there is none.
        """

    def find_source(self, module_name: str) -> ModuleSource:
        """The source of a module; importers that know it without importing the module say so.

        Raises:
            ModuleNotFoundError: there is no such module.
        """
        return source_of_module(self.import_module(module_name), module_name)

    def get_name(self, obj: Any, name: Optional[str] = None) -> Tuple[str, str]:
        """Module and qualified name under which this importer finds exactly this object.

        Raises:
            ObjNotFoundError: nothing has that name.
            ObjMismatchError: another object has it.
        """
        if name is None:
            name = _own_name(obj)
        found_in = self.whichmodule(obj, name)
        module_name = demangle(found_in)
        try:
            found = attribute_of(self.import_module(module_name), name)
        except (ImportError, KeyError, AttributeError, ValueError):
            raise ObjNotFoundError(
                f"{obj!r} says it is {found_in}.{name}, but {self.described()} has no {name!r} in {module_name!r}"
                + _advice(found_in)
            ) from None
        if found is obj:
            return module_name, name
        raise ObjMismatchError(_mismatch(self, obj, found, found_in, module_name, name))

    def whichmodule(self, obj: Any, name: str) -> str:
        """The name of the module, mangled if it is one of a package, in which an object can be found."""
        return _which_system_module(obj, name)

    def described(self) -> str:
        """This importer in messages."""
        return type(self).__name__


class _SysImporter(Importer):
    """The interpreter's own modules."""

    def import_module(self, module_name: str) -> types.ModuleType:
        return importlib.import_module(module_name)

    def find_source(self, module_name: str) -> ModuleSource:
        return find_system_source(module_name)

    def described(self) -> str:
        return "sys_importer"


sys_importer = _SysImporter()
"""The interpreter's own modules."""


class OrderedImporter(Importer):
    """Several importers; the first that has a module is the one that it comes from."""

    def __init__(self, *args: Importer) -> None:
        self._importers = list(args)

    def import_module(self, module_name: str) -> types.ModuleType:
        placeholder = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(f"{importer!r} is not an Importer")
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as error:
                if not is_missing(error, module_name):
                    raise
                continue
            if _is_placeholder(module):
                placeholder = placeholder or module
                continue
            return module
        if placeholder is not None:
            return placeholder
        raise ModuleNotFoundError(f"no module {module_name!r} in {self.described()}", name=module_name)

    def find_source(self, module_name: str) -> ModuleSource:
        folder = None
        for importer in self._importers:
            try:
                source = importer.find_source(module_name)
            except ModuleNotFoundError as error:
                if not is_missing(error, module_name):
                    raise
                continue
            if source.kind == "folder":
                folder = folder or source
                continue
            return source
        if folder is not None:
            return folder
        raise ModuleNotFoundError(f"no module {module_name!r} in {self.described()}", name=module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        for importer in self._importers:
            module_name = importer.whichmodule(obj, name)
            if module_name != "__main__":
                return module_name
        return "__main__"

    def described(self) -> str:
        return "(" + ", ".join(importer.described() for importer in self._importers) + ")"


def attribute_of(module: Any, qualified: str) -> Any:
    """Follows a dotted name.

    Raises:
        AttributeError: there is none, or it goes through the locals of a function.
    """
    found = module
    for part in qualified.split("."):
        if part == "<locals>":
            raise AttributeError(f"{qualified!r} is local to a function")
        found = getattr(found, part)
    return found


def _own_name(obj: Any) -> str:
    name = getattr(obj, "__qualname__", None)
    if name is None:
        # Objects such as dtypes say their name by what they reduce to.
        try:
            reduced = obj.__reduce__()
        except Exception:  # whatever a class raises when asked for its state
            reduced = None
        name = reduced if isinstance(reduced, str) else getattr(obj, "__name__", None)
    if not isinstance(name, str):
        raise ObjNotFoundError(f"{obj!r} has no name")
    return name


def _which_system_module(obj: Any, name: str) -> str:
    found = getattr(obj, "__module__", None)
    return found if found is not None else pickle.whichmodule(obj, name)  # type: ignore[attr-defined]


def _is_placeholder(module: types.ModuleType) -> bool:
    """A folder without `__init__.py` may hold nothing of what is looked for."""
    name = getattr(module, "__name__", "")
    return is_mangled(name) and getattr(module, "__file__", None) is None and not getattr(module, "_is_mock", False)


def _advice(found_in: str) -> str:
    if is_mangled(found_in):
        return f"; it comes from the package {get_mangle_prefix(found_in)}, whose importer must be given to the exporter"
    return ""


def _mismatch(importer: Importer, obj: Any, found: Any, found_in: str, module_name: str, name: str) -> str:
    def origin(which: str) -> str:
        return f"the package {get_mangle_prefix(which)}" if is_mangled(which) else "the interpreter's own modules"

    other = getattr(found, "__module__", None) or module_name
    return (
        f"{obj!r} cannot be pickled as {module_name}.{name}: {importer.described()} finds another object there. "
        f"It comes from {origin(found_in)}, and the one that is found from {origin(other)}. To save it, put "
        + (f"the importer of {origin(found_in)}" if is_mangled(found_in) else "sys_importer")
        + " first in the exporter's `importer`"
    )
