"""Element types of tensor records, by the names that numpy, torch and stead share."""

from __future__ import annotations

from typing import Any, Dict, Optional

SIZES: Dict[str, int] = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}
"""Bytes of one element; all little-endian."""

NOT_NUMPY = frozenset(["bfloat16", "float8_e4m3fn", "float8_e5m2"])
"""Types that numpy itself does not have."""


def numpy_dtype(name: str) -> Any:
    """The numpy type of that name; types that numpy does not have come from `ml_dtypes` where that is installed.

    Raises:
        ImportError: numpy or `ml_dtypes` is missing.
    """
    import numpy

    if name in NOT_NUMPY:
        try:
            import ml_dtypes
        except ImportError:
            raise ImportError(f"numpy has no type {name}: install torch or ml_dtypes", name="ml_dtypes") from None
        return numpy.dtype(getattr(ml_dtypes, name))
    return numpy.dtype(name)


def of_numpy(dtype: Any) -> Optional[str]:
    """The name of a numpy type whose elements can lie in a record; None for objects, texts, structures, dates and
    types of the other byte order."""
    if not dtype.isnative or dtype.metadata or dtype.name not in SIZES:
        return None
    return dtype.name


def of_torch(dtype: Any) -> Optional[str]:
    """The name of a torch type, None if it has no place in a record (quantised types)."""
    name = str(dtype).replace("torch.", "")
    return name if name in SIZES else None
