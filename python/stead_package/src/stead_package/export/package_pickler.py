"""Pickling objects into a package: names are looked up through the exporter's importers, arrays become records."""

from __future__ import annotations

import pickle
from typing import Any, Dict, Optional, Tuple

from ..importer import Importer
from ..naming_pickler import NamingPickler
from ..tensor_writer import TensorWriter
from ..unpickler import REDUCED, TENSOR


class ReducedObjects:
    """Persistent ids of objects with `__reduce_package__`, which is asked once for all pickles of a package."""

    def __init__(self) -> None:
        self._pids: Dict[int, Tuple[Tuple[Any, ...], Any]] = {}

    def knows(self, obj: Any) -> bool:
        """Whether an object was asked."""
        return id(obj) in self._pids

    def pid(self, obj: Any, exporter: Any) -> Tuple[Any, ...]:
        """The persistent id of an object.

        Raises:
            pickle.PicklingError: the method returned something else than a tuple.
        """
        if id(obj) not in self._pids:
            if type(obj).__module__.startswith("torch.jit"):
                raise pickle.PicklingError("TorchScript objects cannot be packaged; save the module they were made of")
            value = obj.__reduce_package__(exporter)
            if not isinstance(value, tuple) or not value:
                raise pickle.PicklingError(f"{type(obj).__name__}.__reduce_package__ must return (function, ...)")
            self._pids[id(obj)] = ((REDUCED, str(len(self._pids)), *value), obj)
        return self._pids[id(obj)][0]


class PackagePickler(NamingPickler):
    """Pickles one object into a package."""

    def __init__(
        self, file: Any, protocol: int, exporter: Any, importer: Importer, tensors: TensorWriter, kept: ReducedObjects
    ) -> None:
        super().__init__(file, protocol, importer)
        self._exporter = exporter
        self._tensors = tensors
        self._kept = kept
        self._numbers: Dict[int, Tuple[int, Any]] = {}

    def apart(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        if id(obj) in self._numbers:
            return (TENSOR, self._numbers[id(obj)][0])
        number = self._tensors.note(obj)
        if number is not None:
            self._numbers[id(obj)] = (number, obj)
            return (TENSOR, number)
        if hasattr(type(obj), "__reduce_package__"):
            return self._kept.pid(obj, self._exporter)
        return None

    def knows(self, obj: Any) -> bool:
        """Whether an object was reduced by `__reduce_package__`, which must not happen twice."""
        return self._kept.knows(obj)
