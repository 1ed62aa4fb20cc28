"""Inputs that the engine cannot borrow as they are, and outputs of types that numpy does not have."""

import numpy as np

from .element_types import NUMPY, OTHERS, kind_of, ml_dtype
from .errors import Fail, InvalidArgument, error
from .values import OrtValue


def feed(value, kind, name):
    """What the engine borrows for a value of the input `name` of type `tensor(kind)`: an array of numpy's type, or its bytes
    and dimensions where numpy has no such type, or texts and dimensions."""
    if isinstance(value, OrtValue):
        if value.kind != kind:
            raise _unexpected(value.kind, kind)
        value = value.array if value.raw is None else value.raw
        if kind in OTHERS and kind_of(value.dtype) != kind:
            return np.ascontiguousarray(value), value.shape
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, (list, tuple)):
        value = np.asarray(value, dtype=NUMPY[kind][1] if kind in NUMPY else ml_dtype(kind))
    if not isinstance(value, np.ndarray):
        raise RuntimeError(f"Unable to handle object of type {type(value)}")
    actual = kind_of(value.dtype)
    if actual is None:
        raise error(InvalidArgument, f"input {name!r}: arrays of {value.dtype} are no tensors of ONNX")
    if actual != kind:
        raise _unexpected(actual, kind)
    if kind == "string":
        return [_text(text) for text in value.flat], value.shape
    if kind in NUMPY:
        # Elements in another order, of another byte order or at odd addresses: the one case in which inputs are copied.
        return np.array(value, dtype=NUMPY[kind][1], order="C", copy=True)
    if OTHERS[kind][2] < 8:
        return _packed(value, OTHERS[kind][2]), value.shape
    if not value.flags.c_contiguous:
        value = np.array(value, order="C")
    return value.view(np.uint16 if value.itemsize == 2 else np.uint8), value.shape


def fetch(data, kind, dims):
    """The array of an output of which the engine has given texts, or bytes as an array."""
    if kind == "string":
        array = np.empty(len(data), dtype=object)
        array[:] = data
        return array.reshape(dims)
    if kind == "float16":
        return data.view(np.float16)
    bits, dtype = OTHERS[kind][2], ml_dtype(kind)
    return data.view(dtype) if bits >= 8 else _unpacked(data, bits, dtype, dims)


def _unexpected(actual, expected):
    text = f"Unexpected input data type. Actual: (tensor({actual})) , expected: (tensor({expected}))"
    return error(InvalidArgument, text)


def _text(text):
    if isinstance(text, bytes):
        return bytes(text)
    try:
        return str(text).encode()
    except UnicodeEncodeError as reason:
        raise error(Fail, f"a text that has no UTF-8: {reason}") from None


def _packed(array, bits):
    """Elements of less than a byte, one for each byte of an array of ml_dtypes, as ONNX packs them."""
    codes = np.array(array, order="C").reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    each = 8 // bits
    rows = np.concatenate([codes, np.zeros(-len(codes) % each, dtype=np.uint8)]).reshape(-1, each)
    return np.bitwise_or.reduce(rows << np.arange(0, 8, bits, dtype=np.uint8), axis=1)


def _unpacked(data, bits, dtype, dims):
    """Elements of less than a byte, of which the first lies in the lowest bits, one for each byte: the one kind of outputs
    that is copied."""
    codes = (data.reshape(-1, 1) >> np.arange(0, 8, bits, dtype=np.uint8)) & ((1 << bits) - 1)
    codes = codes.reshape(-1)[: int(np.prod(dims))].reshape(dims)
    if dtype.name.startswith("int"):
        return (codes.astype(np.int8) - ((codes >> (bits - 1)).astype(np.int8) << bits)).astype(dtype)
    return codes.astype(dtype) if dtype.name.startswith("uint") else codes.view(dtype)
