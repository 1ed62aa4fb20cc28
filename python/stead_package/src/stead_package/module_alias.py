"""What `sys.modules` holds of a packaged module: a weak stand-in under its mangled name."""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any, Iterable, List


class ModuleAlias(types.ModuleType):
    """Has the attributes of a module, `__dict__` included, as long as that lives; afterwards none.

    Not a `weakref.proxy`: programs put modules into sets, and ask modules that are gone for attributes.
    """

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        object.__setattr__(self, "_aliased", weakref.ref(module))

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return ModuleAlias
        module = object.__getattribute__(self, "_aliased")()
        if module is None:
            raise AttributeError(f"the package of this module was closed: {name}")
        return getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        module = object.__getattribute__(self, "_aliased")()
        if module is not None:
            setattr(module, name, value)

    def __dir__(self) -> List[str]:
        module = object.__getattribute__(self, "_aliased")()
        return [] if module is None else dir(module)

    def __repr__(self) -> str:
        module = object.__getattribute__(self, "_aliased")()
        return "<module of a package that was closed>" if module is None else repr(module)


def make_visible(module: types.ModuleType) -> None:
    """Puts a stand-in into `sys.modules` under the module's name."""
    sys.modules[module.__name__] = ModuleAlias(module)


def remove(names: Iterable[str]) -> None:
    """Takes stand-ins out of `sys.modules`."""
    for name in names:
        if type(sys.modules.get(name)) is ModuleAlias:
            del sys.modules[name]
