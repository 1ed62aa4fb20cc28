"""Pickling with names that are looked up through importers, so that objects of packages can be pickled too."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any, Dict, List, Optional, Tuple

from .errors import PackageError
from .importer import Importer, attribute_of, sys_importer
from .mangling import is_mangled
from .unpickler import GETTER, GLOBAL

_PLAIN = frozenset([int, float, complex, bool, str, bytes, bytearray, tuple, list, dict, set, frozenset, type(None)])
_UNNAMED_TYPES = (type(None), type(NotImplemented), type(Ellipsis))


class _Getter:
    """Stands for a function that returns a global; pickled as a persistent id."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> None:
        raise TypeError("only its name is pickled")  # pickle takes nothing for a function that cannot be called


class NamingPickler(pickle.Pickler):
    """Pickles one object; `apart` says what else than names is not in the pickle itself.

    Attributes:
        globals: pairs of module and name that stand in persistent ids, which opcodes do not show.
    """

    def __init__(self, file: Any, protocol: int, importer: Importer) -> None:
        super().__init__(file, protocol=protocol)
        self._protocol = protocol
        self._importer = importer
        self._pids: Dict[int, Tuple[Any, Any]] = {}
        self.globals: List[Tuple[str, str]] = []

    def persistent_id(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        """How an object is named that is not in the pickle itself; None for all others."""
        kind = type(obj)
        if kind in _PLAIN:
            return None
        if isinstance(obj, type) or kind is types.FunctionType:
            return self._global(obj)
        if kind is _Getter:
            return (GETTER, obj.module, obj.name)
        return self.apart(obj)

    def apart(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        """As `persistent_id`, for what is no global."""
        return None

    def _global(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        if obj.__module__ == "builtins" or obj in _UNNAMED_TYPES:
            return None
        if self._importer is sys_importer and not is_mangled(obj.__module__ or ""):
            return None  # pickle itself looks such names up
        kept = self._pids.get(id(obj))
        if kept is None:
            try:
                module, name = self._importer.get_name(obj)
            except PackageError as error:
                raise pickle.PicklingError(str(error)) from error
            kept = self._pids[id(obj)] = (self._pid(obj, module, name), obj)
        return kept[0]

    def _pid(self, obj: Any, module: str, name: str) -> Optional[Tuple[Any, ...]]:
        try:
            if attribute_of(sys.modules[module], name) is obj:
                return None  # the interpreter's own: pickle's opcodes are shorter
        except (KeyError, AttributeError):
            pass
        self.globals.append((module, name))
        return (GLOBAL, module, name)

    def reducer_override(self, obj: Any) -> Any:
        """For objects of packages that reduce to their name: pickle would look it up in the wrong place."""
        kind = type(obj)
        if isinstance(obj, type) or not is_mangled(kind.__module__ or ""):
            return NotImplemented
        if kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__:
            return NotImplemented
        reduced = obj.__reduce_ex__(self._protocol)
        if not isinstance(reduced, str):
            return reduced
        try:
            module, name = self._importer.get_name(obj, reduced)
        except PackageError as error:
            raise pickle.PicklingError(str(error)) from error
        self.globals.append((module, name))
        return (_Getter(module, name), ())
