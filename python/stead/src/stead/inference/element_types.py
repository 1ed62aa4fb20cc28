"""Element types: ONNX's names and numbers, numpy's types, and those of ml_dtypes that numpy does not have."""

import numpy as np

# The number in TensorProto.DataType and the type of numpy, by the name inside of `tensor(...)`.
NUMPY = {
    "float": (1, np.dtype(np.float32)),
    "uint8": (2, np.dtype(np.uint8)),
    "int8": (3, np.dtype(np.int8)),
    "uint16": (4, np.dtype(np.uint16)),
    "int16": (5, np.dtype(np.int16)),
    "int32": (6, np.dtype(np.int32)),
    "int64": (7, np.dtype(np.int64)),
    "string": (8, np.dtype(object)),
    "bool": (9, np.dtype(np.bool_)),
    "float16": (10, np.dtype(np.float16)),
    "double": (11, np.dtype(np.float64)),
    "uint32": (12, np.dtype(np.uint32)),
    "uint64": (13, np.dtype(np.uint64)),
    "complex64": (14, np.dtype(np.complex64)),
    "complex128": (15, np.dtype(np.complex128)),
}

# The number, the name in ml_dtypes and the bits of one element.
OTHERS = {
    "bfloat16": (16, "bfloat16", 16),
    "float8e4m3fn": (17, "float8_e4m3fn", 8),
    "float8e4m3fnuz": (18, "float8_e4m3fnuz", 8),
    "float8e5m2": (19, "float8_e5m2", 8),
    "float8e5m2fnuz": (20, "float8_e5m2fnuz", 8),
    "uint4": (21, "uint4", 4),
    "int4": (22, "int4", 4),
    "float4e2m1": (23, "float4_e2m1fn", 4),
    "float8e8m0": (24, "float8_e8m0fnu", 8),
    "uint2": (25, "uint2", 2),
    "int2": (26, "int2", 2),
}

_KINDS = {kind: name for name, (_, kind) in NUMPY.items()}
_NAMES = {name: kind for kind, (_, name, _) in OTHERS.items()}
_NUMBERS = {entry[0]: kind for kind, entry in (*NUMPY.items(), *OTHERS.items())}


def kind_of(dtype):
    """The name inside of `tensor(...)` of a type of numpy or ml_dtypes; None if there is none."""
    dtype = np.dtype(dtype)
    if dtype.kind in "USO":
        return "string"
    return _KINDS.get(dtype.newbyteorder("=")) or _NAMES.get(dtype.name)


def kind_of_number(number):
    """The name inside of `tensor(...)` of a number of TensorProto.DataType."""
    if number not in _NUMBERS:
        raise ValueError(f"{number} is no element type of ONNX")
    return _NUMBERS[number]


def number_of(kind):
    """The number in TensorProto.DataType."""
    return (NUMPY.get(kind) or OTHERS[kind])[0]


def ml_dtype(kind):
    """The type of ml_dtypes for one that numpy does not have."""
    name = OTHERS[kind][1]
    try:
        import ml_dtypes
    except ImportError:
        raise NotImplementedError(f"tensor({kind}): numpy has no such type; install ml_dtypes") from None
    if not hasattr(ml_dtypes, name):
        raise NotImplementedError(f"tensor({kind}): ml_dtypes {ml_dtypes.__version__} has no {name}")
    return np.dtype(getattr(ml_dtypes, name))
