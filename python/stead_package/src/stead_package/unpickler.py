"""Reading the pickles of a package: classes come from its modules, tensors from its records."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any, Callable, Dict

from .errors import ArchiveError
from .importer import attribute_of

if TYPE_CHECKING:
    from .tensors import TensorTable

TENSOR = "stead.tensor"
"""Persistent id `(TENSOR, number)`: an array of the manifest's tensor table."""
GLOBAL = "stead.global"
"""Persistent id `(GLOBAL, module, name)`: a class or function, where pickle's own opcode cannot be written."""
GETTER = "stead.getter"
"""Persistent id `(GETTER, module, name)`: a function without arguments that returns the global."""
REDUCED = "stead.reduced"
"""Persistent id `(REDUCED, id, function, arguments...)`: what `__reduce_package__` said."""


class PackageUnpickler(pickle.Unpickler):
    """Unpickles one file.

    Args:
        import_module: the hermetic import.
        kept: objects of `__reduce_package__` by id; one table for all pickles of an importer.
    """

    def __init__(
        self,
        data: Any,
        where: str,
        import_module: Callable[[str], Any],
        tensors: "TensorTable",
        owner: Any,
        kept: Dict[str, Any],
        writable: bool = False,
    ) -> None:
        super().__init__(io.BytesIO(data))
        self._where = where
        self._import = import_module
        self._tensors = tensors
        self._owner = owner
        self._kept = kept
        self._writable = writable
        # Within one pickle two references to one array are one array.
        self._arrays: Dict[int, Any] = {}

    def find_class(self, module_name: str, name: str) -> Any:
        """The object of that name in a module of the package or one of its externs."""
        return attribute_of(self._import(module_name), name)

    def persistent_load(self, pid: Any) -> Any:
        """What pickle itself does not carry."""
        if not isinstance(pid, tuple) or not pid:
            raise ArchiveError(f"{self._where}: persistent id {pid!r} is not one of a package")
        if pid[0] == TENSOR and len(pid) == 2:
            if pid[1] not in self._arrays:
                self._arrays[pid[1]] = self._tensors.load(pid[1], self._writable)
            return self._arrays[pid[1]]
        if pid[0] == GLOBAL and len(pid) == 3:
            return self.find_class(pid[1], pid[2])
        if pid[0] == GETTER and len(pid) == 3:
            found = self.find_class(pid[1], pid[2])
            return lambda: found
        if pid[0] == REDUCED and len(pid) >= 3:
            if pid[1] not in self._kept:
                self._kept[pid[1]] = pid[2](self._owner, *pid[3:])
            return self._kept[pid[1]]
        raise ArchiveError(f"{self._where}: persistent id {pid[0]!r} is not one of a package")
