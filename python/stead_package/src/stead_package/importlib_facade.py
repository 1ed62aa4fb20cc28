"""`importlib` and `importlib.resources` as packaged code sees them: names mean modules of the package."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING, Any, Optional

from .mangling import demangle
from .resources import PackageFolder

if TYPE_CHECKING:
    from .module_table import ModuleTable


def facade(real: types.ModuleType, table: "ModuleTable") -> types.ModuleType:
    """A module that behaves as `real` but imports through `table`."""
    kind = _Resources if real.__name__ == "importlib.resources" else _Importlib
    return kind(real, table)


class _Facade(types.ModuleType):
    def __init__(self, real: types.ModuleType, table: "ModuleTable") -> None:
        super().__init__(real.__name__, real.__doc__)
        for name in ("__spec__", "__loader__", "__package__", "__path__", "__file__", "__all__"):
            if hasattr(real, name):
                setattr(self, name, getattr(real, name))
        self.__dict__["_real"] = real
        self.__dict__["_table"] = table

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)

    def __dir__(self) -> Any:
        return dir(self.__dict__["_real"])


class _Importlib(_Facade):
    def __getattr__(self, name: str) -> Any:
        if name == "resources":
            return self.__dict__["_table"].import_name("importlib.resources")
        return super().__getattr__(name)

    def import_module(self, name: str, package: Optional[str] = None) -> Any:
        """As `importlib.import_module`, hermetic."""
        level = len(name) - len(name.lstrip("."))
        if level:
            if not package:
                raise TypeError(f"a package is required to import the relative name {name!r}")
            name = self._table.resolve(name[level:], {"__package__": package}, level)
        return self._table.import_name(demangle(name))

    def __import__(self, *args: Any, **kwargs: Any) -> Any:
        return self._table.dunder_import(*args, **kwargs)


class _Resources(_Facade):
    """Functions take a package by name as well: outside it would be looked for in `sys.modules`."""

    def files(self, anchor: Any = None, *, package: Any = None) -> Any:
        """As `importlib.resources.files`; without an argument, of the calling module's package."""
        anchor = package if anchor is None else anchor
        if anchor is None:
            anchor = sys._getframe(1).f_globals.get("__package__")
        module = self._module(anchor)
        spec = module.__spec__
        reader = getattr(spec.loader, "get_resource_reader", None)
        found = reader(spec.name) if reader is not None and getattr(module, "__stead_package__", False) else None
        return found.files() if found is not None else self._real.files(module)

    def _module(self, anchor: Any) -> Any:
        return self._table.import_name(demangle(anchor)) if isinstance(anchor, str) else anchor

    def _file(self, anchor: Any, names: Any) -> Any:
        where = self.files(anchor)
        if not isinstance(where, PackageFolder) and len(names) == 1:
            return where.joinpath(names[0])
        for name in names:
            where = where.joinpath(name)
        return where

    def open_binary(self, anchor: Any, *names: str) -> Any:
        """A binary stream over a resource."""
        return self._file(anchor, names).open("rb")

    def open_text(self, anchor: Any, *names: str, encoding: str = "utf-8", errors: str = "strict") -> Any:
        """A text stream over a resource."""
        return self._file(anchor, names).open("r", encoding=encoding, errors=errors)

    def read_binary(self, anchor: Any, *names: str) -> bytes:
        """The bytes of a resource."""
        return self._file(anchor, names).read_bytes()

    def read_text(self, anchor: Any, *names: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a resource."""
        with self.open_text(anchor, *names, encoding=encoding, errors=errors) as stream:
            return stream.read()

    def is_resource(self, anchor: Any, *names: str) -> bool:
        """Whether there is a file of that name."""
        return self._file(anchor, names).is_file()

    def contents(self, anchor: Any, *names: str) -> Any:
        """Names of files and folders."""
        return (child.name for child in self._file(anchor, names).iterdir())

    def path(self, anchor: Any, *names: str) -> Any:
        """A context manager that gives a path in the file system, of a copy if need be."""
        return self._real.as_file(self._file(anchor, names))
