"""Stand-ins for modules that a package imports and never uses."""

from __future__ import annotations

import types
from typing import Any, NoReturn


class MockedObject:
    """Whatever code takes from a mocked module. Holding it is allowed; every use fails and names it."""

    _name: str

    def __new__(cls, *args: Any, **kwargs: Any) -> "MockedObject":
        if not kwargs.get("_made_by_importer"):
            raise NotImplementedError(f"object of class {cls.__name__} of a mocked module: mocks cannot be constructed")
        return super().__new__(cls)

    def __init__(self, name: str, *, _made_by_importer: bool = False) -> None:
        object.__setattr__(self, "_name", name)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        name = object.__getattribute__(self, "_name")
        raise NotImplementedError(
            f"`{name}` was mocked when the package was made, and is used now: export it with intern() or extern() instead"
        )

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            # Protocols that ask whether an object takes part (pickle, copy, inspect) must hear no, not an error.
            raise AttributeError(attribute)
        return self._refuse()

    def __repr__(self) -> str:
        return f"<mock of {object.__getattribute__(self, '_name')}>"


_OPERATORS = """
call setattr delattr getitem setitem delitem len iter next contains reversed bool enter exit await aiter anext
add radd iadd sub rsub isub mul rmul imul matmul rmatmul imatmul truediv rtruediv itruediv floordiv rfloordiv ifloordiv
mod rmod imod divmod rdivmod pow rpow ipow lshift rlshift ilshift rshift rrshift irshift and rand iand or ror ior
xor rxor ixor neg pos abs invert int float complex index round trunc floor ceil lt le gt ge
instancecheck subclasscheck mro_entries str bytes format
""".split()

for _operator in _OPERATORS:
    setattr(MockedObject, f"__{_operator}__", MockedObject._refuse)


class MockedModule(types.ModuleType):
    """A module of which every attribute is a `MockedObject`."""

    _is_mock = True

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return MockedObject(f"{self.__spec__.name}.{attribute}", _made_by_importer=True)
