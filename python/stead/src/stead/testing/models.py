"""Models of tests: functions, or files that ONNX Runtime computes."""

import os
import tempfile

from .._numpy import numpy
from ..errors import HostError
from ..tensor import Tensor
from ..values import decode, encode

# Names of ONNX Runtime's types of elements.
_TYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool", "string": "string"}


def model_of(name, given, files=None):
    """A model of a function of arrays by their names, or of the path of an ONNX file or its bytes with those of its
    files of external data."""
    if callable(given):
        return FunctionModel(name, given)
    if isinstance(given, (str, os.PathLike, bytes)):
        return OnnxModel(name, given, files or {})
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

    def __init__(self, name, file, files):
        try:
            import onnxruntime
        except ImportError:
            raise ImportError(
                f"model {name} is an ONNX file, which needs the package onnxruntime in tests: "
                "pip install onnxruntime, or give a function in its place"
            ) from None
        self.name = name
        file = file if isinstance(file, bytes) else os.fspath(file)
        with tempfile.TemporaryDirectory() as folder:
            if files:
                file = _written(folder, {**files, "model.onnx": file})
            self.session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

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


def _written(folder, files):
    """The path of a model that was written beside its external data."""
    path = folder
    for name, content in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    return path


def external_data(model):
    """The files that the weights of an ONNX file lie in, by their locations."""
    found = set()
    # ModelProto.graph, GraphProto.initializer, TensorProto.external_data, StringStringEntryProto
    for graph in _fields(model, 7):
        for weight in _fields(graph, 5):
            for entry in _fields(weight, 13):
                if b"location" in map(bytes, _fields(entry, 1)):
                    found.update(bytes(value).decode() for value in _fields(entry, 2))
    return sorted(found)


def _fields(message, wanted):
    """The fields of a number in a message of protobuf, those that have bytes."""
    message, at = memoryview(message), 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    while at < len(message):
        key = number()
        kind = key & 7
        if kind == 0:
            number()
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            length = number()
            if key >> 3 == wanted:
                yield message[at : at + length]
            at += length


def _described(one):
    kind = one.type[len("tensor(") : -1]
    return {
        "name": one.name,
        "dtype": _TYPES.get(kind, kind),
        "shape": [size if isinstance(size, int) else -1 for size in one.shape],
    }
