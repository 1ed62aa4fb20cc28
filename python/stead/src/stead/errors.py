"""Errors that components see and raise."""

import sys


class _HostError(Exception):
    """stead did not do what it was asked for. `code` is not_found, invalid, unavailable, deadline or internal."""

    def __init__(self, message, code="internal"):
        super().__init__(message)
        self.code = code


# Inside stead, the class that it raises.
_runtime = sys.modules.get("_stead_runtime")
HostError = _HostError if _runtime is None else _runtime.HostError


class ComponentError(Exception):
    """A component returns or declares something that it should not."""


class InvalidInput(Exception):
    """Raised by a component that refuses what it is given: the client gets the message and status 400."""


class Overloaded(Exception):
    """Raised by a component that can take no more now: the client should come again later."""


class NotCreated(Exception):
    """The component has to be created in this interpreter first; stead does so."""


_HostError.__name__ = _HostError.__qualname__ = "HostError"
for _public in (_HostError, ComponentError, InvalidInput, Overloaded, NotCreated):
    _public.__module__ = "stead"
