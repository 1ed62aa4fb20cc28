"""Archives that `torch.package` wrote, with or without torch at hand.

Sources, texts, bytes and pickles without tensors need nothing. Tensors become torch's where torch is installed, else
numpy arrays. TorchScript objects are refused.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, Callable, Dict, Tuple

from . import dtypes
from .archive import Archive
from .errors import ArchiveError, UnsupportedError
from .importer import attribute_of
from .manifest import Extern, Manifest, TensorEntry
from .tensors import TensorTable, check_layout, has_torch

_VERSION = ".data/version"
_EXTERNS = ".data/extern_modules"

STORAGES: Dict[str, str] = {
    "BoolStorage": "bool",
    "CharStorage": "int8",
    "ShortStorage": "int16",
    "IntStorage": "int32",
    "LongStorage": "int64",
    "ByteStorage": "uint8",
    "HalfStorage": "float16",
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
    "BFloat16Storage": "bfloat16",
    "UntypedStorage": "uint8",
}
"""Element types by the names of torch's storage classes, which stand in the pickles."""


class TorchArchive:
    """Such an archive, seen as a package.

    Raises:
        ArchiveError: it is not one either.
    """

    def __init__(self, archive: Archive) -> None:
        root = _root_of(archive)
        self.archive = archive.below(root) if root else archive
        self.manifest = Manifest(writer="torch.package")
        version = bytes(self.archive.read(_VERSION)).strip()
        self.manifest.version = int(version) if version.isdigit() and len(version) < 10 else 0
        externs = bytes(self.archive.read(_EXTERNS)).decode("utf-8", "replace").split()
        self.manifest.externs = [Extern(name) for name in externs]
        if self.archive.has(".data/python_version"):
            self.manifest.python = bytes(self.archive.read(".data/python_version")).decode("ascii", "replace").strip()
        byteorder = bytes(self.archive.read("byteorder")).strip() if self.archive.has("byteorder") else b"little"
        if byteorder != b"little":
            raise UnsupportedError(f"{archive.where}: tensors of byte order {byteorder!r}")
        # One table, so that tensors of several pickles share the memory of a storage.
        self.tensors = TensorTable(self.archive, [])
        self.kept: Dict[Any, Any] = {}

    def load(self, data: Any, entry: str, import_module: Callable[[str], Any], owner: Any, device: Any) -> Any:
        """Unpickles one file."""
        return _TorchUnpickler(data, f"{self.archive.where}/{entry}", self, import_module, owner, device).load()


class Moved:
    """A tensor table whose torch tensors are moved to a device."""

    def __init__(self, table: TensorTable, device: Any) -> None:
        self._table = table
        self._device = device

    def load(self, index: int, writable: bool = False) -> Any:
        """As `TensorTable.load`."""
        return moved(self._table.load(index, writable), self._device)


def moved(tensor: Any, device: Any) -> Any:
    """A torch tensor on a device; arrays of numpy as they are.

    Raises:
        UnsupportedError: a function or table, which torch would ask for each storage.
    """
    if device is None or not hasattr(tensor, "to"):
        return tensor
    if callable(device) or isinstance(device, dict):
        raise UnsupportedError("map_location is the name of a device or a torch.device here, no function and no dict")
    return tensor.to(device)


def _root_of(archive: Archive) -> str:
    """The folder that holds everything, which torch names after the file."""
    if archive.has(_VERSION) and archive.has(_EXTERNS):
        return ""
    for name in archive.names():
        root, slash, rest = name.partition("/")
        if rest == _VERSION and archive.has(f"{root}/{_EXTERNS}"):
            return root + slash
    raise ArchiveError(f"{archive.where}: not a package, or one whose export did not finish (it has no manifest)")


class _StorageType:
    """A storage class of torch where torch is not installed."""

    def __init__(self, name: str) -> None:
        self.name = name


class _Storage:
    def __init__(self, record: str, dtype: str, view: memoryview) -> None:
        self.record = record
        self.dtype = dtype
        self.view = view


class _TorchUnpickler(pickle.Unpickler):
    def __init__(self, data: Any, where: str, package: TorchArchive, load: Any, owner: Any, device: Any) -> None:
        super().__init__(io.BytesIO(data))
        self._where = where
        self._archive = package.archive
        self._tensors = package.tensors
        self._kept = package.kept
        self._import = load
        self._owner = owner
        self._device = device
        self._has_torch = has_torch()

    def find_class(self, module_name: str, name: str) -> Any:
        """As in any package; what makes tensors of storages is ours, so that it works with every torch and without."""
        if module_name in ("torch", "torch.storage") and name in STORAGES:
            return _StorageType(name)
        if module_name == "torch._utils" and name in ("_rebuild_tensor", "_rebuild_tensor_v2"):
            return self._tensor
        if module_name == "torch._utils" and name == "_rebuild_parameter":
            return self._parameter
        return attribute_of(self._import(module_name), name)

    def persistent_load(self, pid: Any) -> Any:
        """torch's persistent ids: storages, and objects with `__reduce_package__`."""
        kind = pid[0] if isinstance(pid, tuple) and pid else None
        if kind == "storage" and len(pid) >= 5 and isinstance(pid[1], _StorageType):
            record = f".data/{pid[2]}.storage"
            return _Storage(record, STORAGES[pid[1].name], self._archive.view(record))
        if kind == "reduce_package":
            if len(pid) == 2:
                raise UnsupportedError(f"{self._where}: objects of torch's first package format")
            if getattr(pid[2], "__module__", "").startswith("torch.jit"):
                raise UnsupportedError(f"{self._where}: TorchScript objects; export the Python module instead")
            if pid[1] not in self._kept:
                self._kept[pid[1]] = pid[2](self._owner, *pid[3:])
            return self._kept[pid[1]]
        raise ArchiveError(f"{self._where}: persistent id {kind!r} is not one of torch.package")

    def _tensor(
        self, storage: Any, offset: int, shape: Tuple[int, ...], strides: Tuple[int, ...], *rest: Any
    ) -> Any:
        if not isinstance(storage, _Storage):
            raise ArchiveError(f"{self._where}: a tensor has no storage")
        size = dtypes.SIZES[storage.dtype]
        entry = TensorEntry(
            name=storage.record,
            kind="torch",
            dtype=storage.dtype,
            shape=tuple(shape),
            strides=tuple(stride * size for stride in strides),
            offset=offset * size,
            record=storage.record,
            sha256="",
            requires_grad=bool(rest and rest[0]),
        )
        check_layout(entry, len(storage.view), self._where)
        return moved(self._tensors.load_entry(entry), self._device)

    def _parameter(self, data: Any, requires_grad: bool, hooks: Any = None) -> Any:
        if not self._has_torch:
            return data
        import torch

        return torch.nn.Parameter(data, requires_grad=requires_grad)
