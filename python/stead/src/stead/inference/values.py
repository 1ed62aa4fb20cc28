"""Tensors that belong to nobody in particular."""

import numpy as np

from .element_types import NUMPY, OTHERS, kind_of, kind_of_number, ml_dtype, number_of


def check_device(device, device_id=0):
    """Refuses everything but the processor."""
    if str(device).lower() != "cpu":
        raise NotImplementedError(f"stead has no device {device!r}: it computes on the cpu")
    return device_id


def array_type(element_type):
    """The element type of ONNX and numpy's for a type of numpy or a number of TensorProto.DataType."""
    if isinstance(element_type, int):
        kind = kind_of_number(element_type)
        return kind, NUMPY[kind][1] if kind in NUMPY else ml_dtype(kind)
    kind = kind_of(element_type)
    if kind is None:
        raise ValueError(f"{element_type!r} is no element type of ONNX")
    return kind, np.dtype(element_type)


class OrtValue:
    """A tensor: an array of numpy, which it shares."""

    __slots__ = ("array", "kind", "raw")

    def __init__(self, array, kind=None, raw=None):
        self.array = array
        self.kind = kind or kind_of(array.dtype)
        # Bits of a type that numpy does not have, as somebody brought them along.
        self.raw = raw

    @staticmethod
    def ortvalue_from_numpy(numpy_obj, device_type="cpu", device_id=0, vendor_id=-1):
        check_device(device_type)
        if kind_of(numpy_obj.dtype) is None:
            raise ValueError(f"arrays of {numpy_obj.dtype} are no tensors of ONNX")
        return OrtValue(numpy_obj)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data, onnx_element_type):
        kind = kind_of_number(onnx_element_type)
        bits = OTHERS[kind][2] if kind in OTHERS else 8 * NUMPY[kind][1].itemsize
        if 8 * data.dtype.itemsize != bits:
            raise ValueError(f"elements of {data.dtype} are not as large as those of tensor({kind})")
        if kind in NUMPY:
            return OrtValue(np.ascontiguousarray(data).view(NUMPY[kind][1]), kind)
        return OrtValue(data, kind, raw=data)

    @staticmethod
    def ortvalue_from_shape_and_type(shape, element_type=np.float32, device_type="cpu", device_id=0, vendor_id=-1):
        check_device(device_type)
        kind, dtype = array_type(element_type)
        return OrtValue(np.zeros(tuple(shape), dtype), kind)

    @classmethod
    def from_dlpack(cls, data):
        return cls(np.from_dlpack(data))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor):
        raise NotImplementedError("OrtValue.ort_value_from_sparse_tensor: stead has no sparse tensors")

    def as_sparse_tensor(self):
        raise NotImplementedError("OrtValue.as_sparse_tensor: stead has no sparse tensors")

    def numpy(self):
        return self.array

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype=dtype, copy=copy)

    def shape(self):
        return list(self.array.shape)

    def data_type(self):
        return f"tensor({self.kind})"

    def element_type(self):
        return number_of(self.kind)

    def data_ptr(self):
        return self.array.ctypes.data

    def tensor_size_in_bytes(self):
        return self.array.nbytes

    def device_name(self):
        return "cpu"

    def has_value(self):
        return True

    def is_tensor(self):
        return True

    def is_sparse_tensor(self):
        return False

    def is_tensor_sequence(self):
        return False

    def update_inplace(self, np_arr):
        if np_arr.dtype != self.array.dtype or np_arr.shape != self.array.shape:
            raise ValueError(
                f"an array of {np_arr.dtype} and shape {np_arr.shape} for one of {self.array.dtype} and {self.array.shape}"
            )
        np.copyto(self.array, np_arr)
