"""The import system of one package: its own table of modules, its own `import` statement, its own lock."""

from __future__ import annotations

import builtins
import importlib
import linecache
import threading
import types
import weakref
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any, Dict, Optional, Sequence, Set

from .importlib_facade import facade
from .mangling import demangle
from .mock_module import MockedModule
from .module_alias import make_visible, remove
from .names import is_missing, module_entry, parents

if TYPE_CHECKING:
    from .contents import Contents

PSEUDO_MODULES = ("stead_package_importer", "torch_package_importer")
"""Names under which packaged code imports the importer that it came from."""


_MOVED = {"numpy._core": "numpy.core", "numpy.core": "numpy._core"}
"""Externs that other versions of their library have under another name; pickles of numpy name them."""


class ModuleTable:
    """Loads modules of one package.

    Modules stand in `modules` under their own names. `sys.modules` holds them under their mangled names, weakly: what
    looks classes up by `__module__` (dataclasses, typing, inspect, pickle) finds them, nothing else can, and they go
    when the importer goes.
    """

    def __init__(self, contents: "Contents", owner: Any, mangler: Any) -> None:
        self.modules: Dict[str, types.ModuleType] = {}
        self._contents = contents
        self._owner = weakref.ref(owner)
        self._mangler = mangler
        self._ready: Set[str] = set()
        # One lock for all modules: another thread waits until an import has ended, whatever it imports in turn.
        self._lock = threading.RLock()
        self._builtins = dict(builtins.__dict__)
        self._builtins["__import__"] = self.dunder_import
        self._facades: Dict[str, types.ModuleType] = {}
        self._traces: Set[str] = set()
        # Around all mangled names, for what imports the first part of a name before the whole.
        self._root = types.ModuleType(mangler.parent_name())
        self._root.__path__ = []
        self._show(self._root)
        weakref.finalize(self, _forget, self._traces).atexit = False

    def import_name(self, name: str) -> Any:
        """The module of that name, loaded with the packages around it if need be.

        Raises:
            ModuleNotFoundError: neither packaged nor allowed as extern, or an extern that is not installed.
        """
        if name in self._ready:
            return self.modules[name]
        with self._lock:
            if name not in self.modules:
                self._load(name)
                self._ready.add(name)
            return self.modules[name]

    def dunder_import(
        self,
        name: str,
        globals: Optional[Dict[str, Any]] = None,
        locals: Optional[Dict[str, Any]] = None,
        fromlist: Optional[Sequence[str]] = (),
        level: int = 0,
    ) -> Any:
        """`__import__` of packaged code."""
        full = self.resolve(name, globals or {}, level) if level else name
        if not full:
            raise ValueError("empty module name")
        if _is_from_c(globals, locals, fromlist) and self._contents.kind(full) is None and full not in PSEUDO_MODULES:
            return importlib.import_module(full)
        module = self.import_name(full)
        if fromlist:
            return self._with_submodules(module, full, fromlist)
        if level == 0:
            return self.import_name(full.partition(".")[0])
        if not name:
            return module
        beyond_first = len(name) - len(name.partition(".")[0])
        return self.import_name(full[: len(full) - beyond_first])

    def resolve(self, name: str, globals: Dict[str, Any], level: int) -> str:
        """The absolute name of a relative one, as seen from a module with these globals.

        Raises:
            ImportError: there is no package around the module, or not that many.
        """
        package = globals.get("__package__")
        if package is None:
            package = globals.get("__name__", "")
            if "__path__" not in globals:
                package = package.rpartition(".")[0]
        package = demangle(package)
        if not package:
            raise ImportError("attempted relative import with no known parent package")
        for _ in range(level - 1):
            package, dot, _ = package.rpartition(".")
            if not dot:
                raise ImportError("attempted relative import beyond top-level package")
        return f"{package}.{name}" if name else package

    def _with_submodules(self, module: Any, full: str, names: Sequence[str]) -> Any:
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"names to import from {full!r} are strings, not {type(name).__name__}")
            if name == "*":
                exported = getattr(module, "__all__", None)
                if exported is not None and "*" not in exported:
                    self._with_submodules(module, full, exported)
                continue
            submodule = f"{full}.{name}"
            # A submodule stands on its package before it has run; another thread must wait for that.
            running = submodule in self.modules and submodule not in self._ready
            if running or (not hasattr(module, name) and hasattr(module, "__path__")):
                try:
                    self.import_name(submodule)
                except ModuleNotFoundError as error:
                    if error.name != submodule:
                        raise
        return module

    def _load(self, name: str) -> None:
        owner = self._owner()
        if name in PSEUDO_MODULES and owner is not None:
            self.modules[name] = owner
            return
        parent = None
        for parent_name in parents(name):
            parent = self.import_name(parent_name)
        if name in self.modules:
            return  # the parent imported it
        kind = self._contents.kind(name)
        if parent is not None and kind != "extern" and not hasattr(parent, "__path__"):
            raise self._missing(name)
        child = name.rpartition(".")[2]
        if kind == "extern":
            self.modules[name] = self._extern(name)
            if parent is not None and parent.__dict__.get("__stead_package__"):
                # An extern's own parent has it already.
                setattr(parent, child, self.modules[name])
            return
        if kind is None:
            raise self._missing(name)
        module = self._made(name, kind)
        self.modules[name] = module
        if parent is not None:
            setattr(parent, child, module)
        try:
            if kind in ("module", "package"):
                self._run(name, module)
        except BaseException:
            # A module that failed half-way must be tried again, not be found.
            self.modules.pop(name, None)
            remove([module.__name__])
            if parent is not None and parent.__dict__.get(child) is module:
                delattr(parent, child)
            raise

    def _made(self, name: str, kind: str) -> types.ModuleType:
        mangled = self._mangler.mangle(name)
        module = (MockedModule if kind == "mock" else types.ModuleType)(mangled)
        # Of a mock nobody knows whether it was a package; others may be mocked below it.
        is_package = kind in ("package", "folder", "mock")
        entry = module_entry(name, is_package)
        origin = f"{self._mangler.parent_name()}/{entry}"
        has_source = kind in ("module", "package")
        spec = ModuleSpec(name, self._owner(), origin=origin if has_source else None, is_package=is_package)
        spec.has_location = has_source
        module.__spec__ = spec
        module.__loader__ = spec.loader
        module.__package__ = mangled if is_package else mangled.rpartition(".")[0]
        if is_package:
            module.__path__ = [origin.rpartition("/")[0]]
            spec.submodule_search_locations = list(module.__path__)
        if has_source:
            module.__file__ = origin
        module.__dict__["__builtins__"] = self._builtins
        module.__dict__["__torch_package__"] = True
        module.__dict__["__stead_package__"] = True
        self._show(module)
        return module

    def _show(self, module: types.ModuleType) -> None:
        self._traces.add(module.__name__)
        make_visible(module)

    def _run(self, name: str, module: types.ModuleType) -> None:
        source = self._contents.source(name)
        file = module.__file__ or ""
        contents = weakref.ref(self._contents)
        # An entry of one element is one that linecache asks when it needs lines.
        linecache.cache[file] = (lambda: _lines(contents, name),)  # type: ignore[assignment]
        self._traces.add(file)
        exec(compile(source, file, "exec", dont_inherit=True), module.__dict__)

    def _extern(self, name: str) -> Any:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if not is_missing(error, name):
                raise
            moved = _imported_as_moved(name)
            if moved is None:
                raise ModuleNotFoundError(self._contents.missing_extern(name), name=name) from error
            return moved
        if name in ("importlib", "importlib.resources"):
            if name not in self._facades:
                self._facades[name] = facade(module, self)
            return self._facades[name]
        return module

    def _missing(self, name: str) -> ModuleNotFoundError:
        return ModuleNotFoundError(self._contents.missing(name), name=name)


def _imported_as_moved(name: str) -> Optional[types.ModuleType]:
    root = ".".join(name.split(".")[:2])
    if root not in _MOVED:
        return None
    other = _MOVED[root] + name[len(root) :]
    try:
        return importlib.import_module(other)
    except ModuleNotFoundError as error:
        if not is_missing(error, other):
            raise
        return None


def _lines(contents: Any, name: str) -> Optional[str]:
    found = contents()
    return None if found is None else found.source(name)


def _is_from_c(globals: Any, locals: Any, fromlist: Any) -> bool:
    """Whether code in C imports something for itself while packaged code calls it, as `time.strptime` and numpy's methods do.

    `PyImport_Import` asks the caller's `__import__`, with an empty list as no `import` statement does, and then takes the module from
    `sys.modules`. What it wants is its own affair: the package neither names nor sees it.
    """
    return isinstance(fromlist, list) and not fromlist and globals is not None and globals is locals


def _forget(names: Set[str]) -> None:
    for name in names:
        linecache.cache.pop(name, None)
    remove(names)
