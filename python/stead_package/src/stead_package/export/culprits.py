"""Finding what in an object cannot be pickled, and the way to it.

Each object is pickled alone, everything that it refers to replaced by a name. One that fails then is itself the
culprit, whatever else fails because it holds it.
"""

from __future__ import annotations

import io
from collections import deque
from typing import Any, Callable, Deque, List, Optional, Tuple, Type

from ..unpickler import REDUCED
from .package_pickler import PackagePickler

PicklerFactory = Callable[[Any, Type[PackagePickler]], PackagePickler]
"""Makes a pickler of a class that writes to a file."""

_MAX_OBJECTS = 1_000_000
_MAX_CULPRITS = 10
_ATOMS = (int, float, complex, bool, str, bytes, bytearray, type(None))


def find_culprits(root: Any, pickler: PicklerFactory) -> List[str]:
    """One line for each culprit, shortest paths first; none if the object fails only as a whole (too deep)."""
    found: List[str] = []
    seen = {id(root)}
    # Reductions are made on the way and must outlive their ids.
    alive = [root]
    pending: Deque[Tuple[Any, str, bool]] = deque([(root, "obj", False)])
    while pending and len(alive) < _MAX_OBJECTS and len(found) < _MAX_CULPRITS:
        obj, path, is_state = pending.popleft()
        children, error = _pickled_alone(obj, pickler)
        if error is not None:
            found.append(f"{path} ({_kind(obj)}): {error}")
            continue
        for child, label, child_is_state in _labelled(obj, children, path, is_state):
            if id(child) not in seen and type(child) not in _ATOMS:
                seen.add(id(child))
                alive.append(child)
                pending.append((child, label, child_is_state))
    return found


def _kind(obj: Any) -> str:
    return f"{type(obj).__module__}.{type(obj).__qualname__}".replace("builtins.", "")


def _pickled_alone(obj: Any, make: PicklerFactory) -> Tuple[List[Any], Optional[str]]:
    """What an object refers to directly, and why it cannot be pickled even with all of that replaced."""
    children: List[Any] = []

    class Alone(PackagePickler):
        def persistent_id(self, other: Any) -> Any:
            if other is obj:
                return REDUCED if self.knows(obj) else super().persistent_id(other)
            if type(other) in _ATOMS:
                return None
            children.append(other)
            return "child"

    try:
        make(io.BytesIO(), Alone).dump(obj)
    except Exception as error:  # whatever a class raises when asked for its state
        return children, f"{type(error).__name__}: {error}"
    return children, None


def _labelled(obj: Any, children: List[Any], path: str, is_state: bool):
    """Children with the expression that leads to each, and whether one is the table of an object's attributes."""
    if type(obj) is dict:
        for key, value in obj.items():
            shown = _short(key)
            yield key, f"{path} key {shown}", False
            yield value, f"{path}.{key}" if is_state and isinstance(key, str) else f"{path}[{shown}]", False
    elif type(obj) in (list, tuple):
        for i, value in enumerate(obj):
            # A state of two tables: that of `__dict__` and that of `__slots__`.
            tables = is_state and len(obj) == 2 and type(value) is dict
            yield value, path if tables else f"{path}[{i}]", tables
    elif type(obj) in (set, frozenset):
        for value in obj:
            yield value, f"{path} member {_short(value)}", False
    else:
        places = {id(value): f".{name}" for name, value in getattr(obj, "__dict__", {}).items()}
        if isinstance(obj, dict):
            places.update({id(value): f"[{_short(key)}]" for key, value in obj.items()})
        elif isinstance(obj, (list, tuple)):
            places.update({id(value): f"[{i}]" for i, value in enumerate(obj)})
        elif isinstance(obj, (set, frozenset)):
            places.update({id(value): f" member {_short(value)}" for value in obj})
        for i, child in enumerate(children):
            if child is type(obj):
                yield child, f"type({path})", False
            elif id(child) in places:
                yield child, path + places[id(child)], False
            elif isinstance(child, type):
                yield child, f"{path} -> {child.__qualname__}", False
            elif type(child) is dict or (type(child) is tuple and len(child) == 2 and i == len(children) - 1):
                yield child, path, True
            else:
                yield child, path if type(child) is tuple else f"{path} -> {_kind(child)}", False


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except Exception:
        text = f"<{_kind(value)}>"
    return text if len(text) <= 60 else text[:57] + "..."
