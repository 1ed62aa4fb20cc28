"""Models of tests: functions, or files that ONNX Runtime computes."""

import os

from .._numpy import numpy
from ..errors import HostError
from ..tensor import Tensor
from ..values import decode, encode

# Names of ONNX Runtime's types of elements.
_TYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool", "string": "string"}


def model_of(name, given):
    """A model of a function of arrays by their names, or of the path of an ONNX file."""
    if callable(given):
        return FunctionModel(name, given)
    if isinstance(given, (str, os.PathLike, bytes)):
        return OnnxModel(name, given)
    raise TypeError(f"model {name} is a function or the path of an ONNX file, not {type(given).__name__}")


class FunctionModel:
    """A function that takes inputs by their names and gives an array, a tensor, or a dict of outputs."""

    def __init__(self, name, function):
        self.name, self.function = name, function

    def describe(self):
        raise HostError(f"model {self.name} of this test is a function, which does not tell its inputs", "unavailable")

    def run(self, inputs):
        found = self.function(**{name: decode(value) for name, value in inputs.items()})
        found = found if isinstance(found, dict) else {"output": found}
        return {name: encode(_array(value)) for name, value in found.items()}


def _array(value):
    if isinstance(value, Tensor):
        return value
    np = numpy()
    return value if np is None else np.asarray(value)


class OnnxModel:
    """A file, or the bytes of one, that ONNX Runtime computes."""

    def __init__(self, name, file):
        try:
            import onnxruntime
        except ImportError:
            raise ImportError(
                f"model {name} is an ONNX file, which needs the package onnxruntime in tests: "
                "pip install onnxruntime, or give a function in its place"
            ) from None
        self.name = name
        self.session = onnxruntime.InferenceSession(
            file if isinstance(file, bytes) else os.fspath(file), providers=["CPUExecutionProvider"]
        )

    def describe(self):
        return {
            "inputs": [_described(one) for one in self.session.get_inputs()],
            "outputs": [_described(one) for one in self.session.get_outputs()],
        }

    def run(self, inputs):
        wanted = {one.name: _described(one) for one in self.session.get_inputs()}
        unknown = sorted(set(inputs) - set(wanted))
        lacking = sorted(set(wanted) - set(inputs))
        if unknown or lacking:
            raise HostError(
                f"model {self.name} has the inputs {', '.join(wanted)}; not known: {unknown}, not bound: {lacking}",
                "invalid",
            )
        given = {name: self._converted(name, value, wanted[name]["dtype"]) for name, value in inputs.items()}
        names = [one.name for one in self.session.get_outputs()]
        try:
            return dict(zip(names, self.session.run(names, given)))
        except Exception as error:
            raise HostError(f"model {self.name}: {error}", "invalid") from None

    def _converted(self, name, value, dtype):
        """Elements of the type of the input, where nothing is lost."""
        np = numpy()
        found = np.asarray(decode(value))
        converted = found.astype(dtype)
        if dtype != "float32" and not np.array_equal(converted.astype(found.dtype), found):
            raise HostError(
                f"model {self.name}: input {name} is {dtype}, which not all elements of {found.dtype} fit", "invalid"
            )
        return converted


def _described(one):
    kind = one.type[len("tensor(") : -1]
    return {
        "name": one.name,
        "dtype": _TYPES.get(kind, kind),
        "shape": [size if isinstance(size, int) else -1 for size in one.shape],
    }
