"""Objects as bytes, with their arrays beside them, for other interpreters that have opened the same package.

Arrays that lie in the package are named by their place in it. The memory of all others is handed over once and shared
by every interpreter, read-only; arrays that shared memory do so again.
"""

from __future__ import annotations

import ctypes
import importlib
import io
import json
import pickle
from dataclasses import asdict
from typing import Any, Dict, List, Optional, Tuple

from .errors import ArchiveError, ResourceNotFoundError
from .importer import OrderedImporter, attribute_of, sys_importer
from .manifest import TensorEntry
from .naming_pickler import NamingPickler
from .package_importer import PackageImporter
from .tensor_writer import TensorWriter
from .tensors import TensorTable
from .unpickler import GETTER, GLOBAL, REDUCED, TENSOR, PackageUnpickler

PLACED = "stead.placed"
"""Persistent id `(PLACED, number)`: an array that lies in the package."""

_PROTOCOL = 5
"""Never kept: written and read by interpreters of one version."""


class Dumped:
    """An object on its way.

    Attributes:
        pickle: its bytes.
        table: JSON, what the arrays are.
        records: the memory of arrays, to be copied while this object is there.
    """

    def __init__(self, importer: PackageImporter, obj: Any) -> None:
        """Pickles an object.

        Raises:
            pickle.PicklingError: something in it cannot be pickled, or comes from another package.
        """
        self.records: List[Any] = []
        names: List[str] = []

        def write(name: str, data: Any) -> str:
            if len(data):
                names.append(name)
                self.records.append((ctypes.c_ubyte * len(data)).from_buffer(data))
            return ""

        # It also keeps alive what was made only to be pickled.
        self._writer = TensorWriter(write)
        data = io.BytesIO()
        pickler = _MovablePickler(data, importer, self._writer)
        pickler.dump(obj)
        self._writer.flush("movable")
        self.pickle = data.getvalue()
        entries = {"tensors": self._writer.entries, "placed": pickler.placed}
        table = {name: [asdict(entry) for entry in listed] for name, listed in entries.items()}
        self.table = json.dumps({"records": names, **table})


def load(importer: PackageImporter, data: bytes, table: str, records: List[Any]) -> Any:
    """A new object of what `Dumped` gave.

    Args:
        records: anything with the buffer protocol; arrays lie in it, so it must neither change nor move.
    """
    parsed = json.loads(table)
    beside = _Records(dict(zip(parsed["records"], records)))
    tensors = TensorTable(beside, [_entry(one) for one in parsed["tensors"]])  # type: ignore[arg-type]
    return _MovableUnpickler(data, importer, tensors, [_entry(one) for one in parsed["placed"]]).load()


def _entry(fields: Dict[str, Any]) -> TensorEntry:
    return TensorEntry(**{**fields, "shape": tuple(fields["shape"]), "strides": tuple(fields["strides"])})


class _Records:
    """Memory by name, as an archive shows it."""

    where = "<movable object>"

    def __init__(self, records: Dict[str, Any]) -> None:
        self._views = {name: memoryview(record).cast("B").toreadonly() for name, record in records.items()}

    def has(self, name: str) -> bool:
        return True  # what is not there has no bytes

    def view(self, name: str) -> memoryview:
        return self._views.get(name, memoryview(b""))


class _MovablePickler(NamingPickler):
    def __init__(self, file: Any, importer: PackageImporter, tensors: TensorWriter) -> None:
        super().__init__(file, _PROTOCOL, OrderedImporter(importer, sys_importer))
        self._package = importer
        self._tensors = tensors
        # Objects are kept with their ids, which would else be those of others.
        self._known: Dict[int, Tuple[Tuple[Any, ...], Any]] = {}
        self.placed: List[TensorEntry] = []

    def apart(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        known = self._known.get(id(obj))
        if known is None:
            pid = self._array(obj) or self._reduced(obj)
            if pid is None:
                return None
            known = self._known[id(obj)] = (pid, obj)
        return known[0]

    def _array(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        entry = self._package.tensors.place(obj)
        if entry is not None:
            self.placed.append(entry)
            return (PLACED, len(self.placed) - 1)
        number = self._tensors.note(obj)
        return None if number is None else (TENSOR, number)

    def _reduced(self, obj: Any) -> Optional[Tuple[Any, ...]]:
        kind = type(obj)
        if not hasattr(kind, "__reduce_deploy__"):
            return None
        reduced = obj.__reduce_deploy__(self._package)
        if not isinstance(reduced, tuple) or not reduced:
            raise pickle.PicklingError(f"{kind.__name__}.__reduce_deploy__ must return (function, ...)")
        return (REDUCED, str(len(self._known)), *reduced)


class _MovableUnpickler(PackageUnpickler):
    def __init__(self, data: bytes, importer: PackageImporter, tensors: TensorTable, placed: List[TensorEntry]) -> None:
        super().__init__(data, _Records.where, importer.import_module, tensors, importer, {})
        self._package = importer
        self._placed = placed
        self._placed_arrays: Dict[int, Any] = {}

    def find_class(self, module_name: str, name: str) -> Any:
        # What stands in opcodes was the interpreter's own; what is the package's has a persistent id.
        return attribute_of(importlib.import_module(module_name), name)

    def persistent_load(self, pid: Any) -> Any:
        if pid[0] in (GLOBAL, GETTER):
            found = super().find_class(pid[1], pid[2])
            return found if pid[0] == GLOBAL else lambda: found
        if pid[0] == PLACED:
            if pid[1] not in self._placed_arrays:
                self._placed_arrays[pid[1]] = self._in_package(self._placed[pid[1]])
            return self._placed_arrays[pid[1]]
        return super().persistent_load(pid)

    def _in_package(self, entry: TensorEntry) -> Any:
        try:
            return self._package.tensors.load_entry(entry)
        except ResourceNotFoundError:
            raise ArchiveError(f"{self._where}: was made with another version of {self._package.filename}") from None
