"""Arrays of numpy and tensors of torch as records, those that share memory in one record.

While an object is pickled its arrays are only noted. Afterwards one record is written for the part of each block of
memory that its arrays touch, so a small view of a large array does not bring all of it.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import dtypes
from .manifest import TensorEntry
from .names import DATA
from .tensors import ALIGNMENT, extent


@dataclass
class _View:
    """An array that was noted; addresses are those of this process."""

    kind: str
    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    address: int
    low: int
    high: int
    base: int
    requires_grad: bool


@dataclass
class _Record:
    low: int
    high: int
    name: str
    sha256: str


class TensorWriter:
    """The tensor table of a package, or of a movable object, that is being written.

    Args:
        write: adds a record and answers its SHA-256.
    """

    def __init__(self, write: Callable[[str, Any], str]) -> None:
        self._write = write
        self.entries: List[TensorEntry] = []
        self._noted: List[_View] = []
        self._records: Dict[int, List[_Record]] = {}
        self._count = 0
        # Addresses mean something as long as what lies there lives.
        self._alive: Dict[int, Any] = {}

    def note(self, value: Any) -> Optional[int]:
        """The number that an array will have; None for everything that is not an array or has no place in a record."""
        if sys.byteorder != "little":
            return None
        view = _numpy_view(value, self._alive)
        if view is None:
            view = _torch_view(value, self._alive)
        if view is None:
            return None
        self._noted.append(view)
        return len(self.entries) + len(self._noted) - 1

    def forget(self) -> None:
        """Drops what was noted: the pickle failed."""
        self._noted.clear()

    def flush(self, title: str) -> None:
        """Writes the records of what was noted. `title` names the entries."""
        wanted: Dict[int, Tuple[int, int]] = {}
        for view in self._noted:
            if self._record_of(view) is None:
                low, high = wanted.get(view.base, (view.low, view.high))
                wanted[view.base] = (min(low, view.low), max(high, view.high))
        for base, (low, high) in wanted.items():
            # Rows of a matrix keep the alignment that they have in memory.
            low = base + (low - base) // ALIGNMENT * ALIGNMENT
            name = f"{DATA}tensors/{self._count}.bin"
            self._count += 1
            data = (ctypes.c_char * (high - low)).from_address(low) if high > low else b""
            self._records.setdefault(base, []).append(_Record(low, high, name, self._write(name, data)))
        for number, view in enumerate(self._noted):
            record = self._record_of(view)
            assert record is not None
            offset = view.address - record.low if view.high > view.low else 0
            self.entries.append(
                TensorEntry(
                    name=f"{title}#{number}",
                    kind=view.kind,
                    dtype=view.dtype,
                    shape=view.shape,
                    strides=view.strides,
                    offset=offset,
                    record=record.name,
                    sha256=record.sha256,
                    requires_grad=view.requires_grad,
                )
            )
        self._noted.clear()

    def _record_of(self, view: _View) -> Optional[_Record]:
        for record in self._records.get(view.base, ()):
            if record.low <= view.low and view.high <= record.high:
                return record
        return None


def _numpy_view(value: Any, alive: Dict[int, Any]) -> Optional[_View]:
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) not in (numpy.ndarray, numpy.memmap):
        return None
    dtype = dtypes.of_numpy(value.dtype)
    if dtype is None:
        return None
    owner = value
    while isinstance(owner.base, numpy.ndarray):
        owner = owner.base
    alive[id(owner)] = owner
    base = _lowest(owner)
    address = value.__array_interface__["data"][0]
    if value.size == 0:
        return _View("numpy", dtype, value.shape, value.strides, 0, 0, 0, 0, False)
    low, high = extent(value.shape, value.strides, value.itemsize)
    return _View("numpy", dtype, value.shape, value.strides, address, address + low, address + high, base, False)


def _lowest(array: Any) -> int:
    """The first address of the memory in which an array lies."""
    address = array.__array_interface__["data"][0]
    if array.size == 0:
        return address
    return address + extent(array.shape, array.strides, array.itemsize)[0]


def _torch_view(value: Any, alive: Dict[int, Any]) -> Optional[_View]:
    torch = sys.modules.get("torch")
    if torch is None or type(value) not in (torch.Tensor, torch.nn.Parameter):
        return None
    dtype = dtypes.of_torch(value.dtype)
    if dtype is None or value.layout != torch.strided or value.is_quantized or value.device.type == "meta":
        return None  # torch's own reduction takes these apart into plain tensors, or refuses
    kind = "parameter" if type(value) is torch.nn.Parameter else "torch"
    tensor = value.detach().resolve_conj().resolve_neg().cpu()
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    # torch makes a new Python object for the storage each time, so addresses are what is kept.
    alive[storage.data_ptr()] = (value, tensor)
    size = dtypes.SIZES[dtype]
    strides = tuple(stride * size for stride in tensor.stride())
    shape = tuple(tensor.shape)
    if 0 in shape:
        return _View(kind, dtype, shape, strides, 0, 0, 0, 0, value.requires_grad)
    address = tensor.data_ptr()
    low, high = extent(shape, strides, size)
    base = storage.data_ptr()
    return _View(kind, dtype, shape, strides, address, address + low, address + high, base, value.requires_grad)
