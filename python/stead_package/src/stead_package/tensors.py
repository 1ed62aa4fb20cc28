"""Tensor records as arrays, without copies where that is safe.

numpy arrays are read-only views into the package. torch has no read-only tensors, so they share memory only when writing
to it harms nobody (a private mapping, a writable buffer of the caller); else they are copies.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import dtypes
from .archive import Archive
from .errors import ArchiveError
from .manifest import TensorEntry

ALIGNMENT = 64
"""Of records: a cache line, and what the widest vector loads want."""
_MAX_RANK = 32
"""What every numpy version can hold."""


def check_layout(entry: TensorEntry, record_size: int, where: str) -> None:
    """Refuses a view that reaches outside its record.

    Raises:
        ArchiveError: an unknown type, ranks that differ, negative sizes, or elements outside the record.
    """
    name = f"{where}: tensor {entry.name!r}"
    size = dtypes.SIZES.get(entry.dtype)
    if size is None:
        raise ArchiveError(f"{name} has the unknown element type {entry.dtype!r}")
    if entry.kind not in ("numpy", "torch", "parameter"):
        raise ArchiveError(f"{name} is of the unknown kind {entry.kind!r}")
    if len(entry.shape) != len(entry.strides) or len(entry.shape) > _MAX_RANK or min(entry.shape, default=0) < 0:
        raise ArchiveError(f"{name} has shape {list(entry.shape)} and strides {list(entry.strides)}")
    if 0 in entry.shape:
        return
    low, high = extent(entry.shape, entry.strides, size)
    if entry.offset + low < 0 or entry.offset + high > record_size:
        raise ArchiveError(f"{name} reaches outside its record {entry.record!r} of {record_size} bytes")


def extent(shape: Tuple[int, ...], strides: Tuple[int, ...], itemsize: int) -> Tuple[int, int]:
    """The bytes that an array of at least one element touches, as a range around that of its first element."""
    reach = [(n - 1) * stride for n, stride in zip(shape, strides)]
    return sum(r for r in reach if r < 0), sum(r for r in reach if r > 0) + itemsize


def has_torch() -> bool:
    """Whether torch is installed; a folder that happens to be called so is not torch."""
    spec = importlib.util.find_spec("torch")
    return spec is not None and spec.origin is not None


class TensorTable:
    """The tensors of a package by their number."""

    def __init__(self, archive: Archive, entries: List[TensorEntry]) -> None:
        self._archive = archive
        self._entries = entries
        self._bases: Dict[Any, Any] = {}
        # Of arrays over whole records, which are kept above, by their ids.
        self._records: Dict[int, str] = {}
        for entry in entries:
            if not archive.has(entry.record):
                raise ArchiveError(f"{archive.where}: tensor {entry.name!r} has no record {entry.record!r}")
            check_layout(entry, len(archive.view(entry.record)), archive.where)

    def load(self, index: int, writable: bool = False) -> Any:
        """A new array over the record: a torch tensor if one was exported and torch is installed, else a numpy array.

        `writable` gives arrays whose memory is private to this table; those that shared memory still do.

        Raises:
            ArchiveError: no tensor of that number.
            ImportError: neither library can hold it.
        """
        if not isinstance(index, int) or not 0 <= index < len(self._entries):
            raise ArchiveError(f"{self._archive.where}: a pickle names tensor {index!r}; there is none of that number")
        return self.load_entry(self._entries[index], writable)

    def load_entry(self, entry: TensorEntry, writable: bool = False) -> Any:
        """As `load`, for a layout that is not in the table but was checked."""
        if entry.kind != "numpy" and has_torch():
            return self._torch(entry, writable)
        return self._numpy(entry, writable)

    def place(self, value: Any) -> Optional[TensorEntry]:
        """Where a numpy array lies in the records, so that `load_entry` gives the same elements; None of all others."""
        numpy = sys.modules.get("numpy")
        if numpy is None or type(value) is not numpy.ndarray or not value.size:
            return None
        dtype = dtypes.of_numpy(value.dtype)
        owner = value
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        record = self._records.get(id(owner))
        if dtype is None or record is None:
            return None
        start, first = (a.__array_interface__["data"][0] for a in (owner, value))
        return TensorEntry(record, "numpy", dtype, value.shape, value.strides, first - start, record, "")

    def verify(self) -> None:
        """Compares every record with its SHA-256 and its CRC-32.

        Raises:
            ArchiveError: they differ.
        """
        import hashlib

        checked: Dict[str, str] = {}
        for entry in self._entries:
            if entry.record not in checked:
                self._archive.check(entry.record)
                checked[entry.record] = hashlib.sha256(self._archive.view(entry.record)).hexdigest()
            if checked[entry.record] != entry.sha256:
                raise ArchiveError(f"{self._archive.where}: record {entry.record!r} is damaged (its SHA-256 differs)")

    def _bytes(self, record: str, writable: bool) -> Any:
        """The memory of a record, one object for all arrays that share it."""
        view = self._archive.view(record)
        if not writable:
            return view
        key = ("private", record)
        if key not in self._bases:
            self._bases[key] = bytearray(view)
        return memoryview(self._bases[key])

    def _numpy(self, entry: TensorEntry, writable: bool) -> Any:
        import numpy

        dtype = dtypes.numpy_dtype(entry.dtype)
        if 0 in entry.shape:
            return numpy.empty(entry.shape, dtype)
        key = ("numpy", entry.record, writable)
        if key not in self._bases:
            data = self._bytes(entry.record, writable)
            self._bases[key] = numpy.frombuffer(data if writable else data.toreadonly(), numpy.uint8)
            if not writable:
                self._records[id(self._bases[key])] = entry.record
        return numpy.ndarray(entry.shape, dtype, self._bases[key], entry.offset, entry.strides)

    def _torch(self, entry: TensorEntry, writable: bool) -> Any:
        import torch

        dtype = getattr(torch, entry.dtype)
        size = dtypes.SIZES[entry.dtype]
        if 0 in entry.shape:
            tensor = torch.empty(entry.shape, dtype=dtype)
        else:
            if entry.offset % size or any(stride % size for stride in entry.strides):
                raise ArchiveError(f"{self._archive.where}: tensor {entry.name!r} is not aligned to its elements")
            key = ("torch", entry.record, writable, entry.dtype)
            if key not in self._bases:
                data = self._bytes(entry.record, writable or self._archive.view(entry.record).readonly)
                self._bases[key] = torch.frombuffer(data, dtype=dtype, count=len(data) // size)
            strides = [stride // size for stride in entry.strides]
            tensor = torch.as_strided(self._bases[key], entry.shape, strides, entry.offset // size)
        if entry.kind == "parameter":
            return torch.nn.Parameter(tensor, requires_grad=entry.requires_grad)
        return tensor.requires_grad_(entry.requires_grad)
