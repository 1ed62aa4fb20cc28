"""Models of the application that is served: `stead.models.evaluator("name").bind("input", x).evaluate()`."""

import io
import sys

from . import _cells, _host
from ._numpy import numpy
from .tensor import Tensor
from .tensor_type import Dimension, TensorType
from .values import decode, encode

# Elements of outputs that no cells of tensors have, as Vespa takes them.
_WIDER = {"uint16": "float32", "uint32": "float64", "uint64": "float64"}
_CODES = {_cells._TYPES[cell][1]: cell for cell in _cells.CELL_TYPES if cell != "bfloat16"}


class Models:
    """The models that components may evaluate."""

    def names(self):
        """The names of all models."""
        return _host.ask("models.list")

    def evaluator(self, name, output=None):
        """An evaluator of a model; of one output, where the model has several."""
        return Evaluator(name, output)

    def open(self, name):
        """An evaluator of an ONNX model in the package of the code that calls this, or in a file; all interpreters
        share its weights."""
        return Evaluator(_opened(_bytes_of(name, sys._getframe(1))), None)


class Evaluator:
    """A model and the inputs that are bound to it."""

    def __init__(self, model, output):
        self.model, self.output, self._inputs = model, output, {}

    def bind(self, name, value):
        """Binds an input: a `stead.Tensor`, whose dimensions in the order of their names are the axes, an array, a
        number or nested lists."""
        self._inputs[name] = _input(value)
        return self

    def describe(self):
        """Names, types and shapes of inputs and outputs."""
        return _host.ask("models.describe", self.model)

    def run(self):
        """All outputs, or the one that was asked for, as arrays by their names."""
        wanted = [self.output] if self.output else []
        return _host.ask("models.evaluate", self.model, self._inputs, wanted)

    def evaluate(self):
        """The output as a `stead.Tensor` with dimensions d0, d1, ...; the first one, where the model has several."""
        outputs = self.run()
        if not outputs:
            raise ValueError(f"model {self.model} gave no output")
        return _output(outputs[self.output] if self.output in outputs else next(iter(outputs.values())))

    def evaluate_all(self):
        """All outputs as tensors by their names."""
        return {name: _output(value) for name, value in self.run().items()}

    async def evaluate_async(self):
        """As `evaluate`, while other coroutines run."""
        import asyncio

        return await asyncio.get_running_loop().run_in_executor(None, self.evaluate)

    def __repr__(self):
        return f"Evaluator({self.model!r})"


def _input(value):
    np = numpy()
    if isinstance(value, Tensor):
        if not value.type.is_dense:
            return encode(value)
        if np is not None:
            return value.to_numpy()
        flat = memoryview(_cells.to_wire(value.type.cell, value.flat)).cast("B")
        return flat.cast(_cells._TYPES[value.type.cell][1], list(value.type.shape))
    if np is not None and not isinstance(value, (dict, str, bytes)):
        return encode(np.asarray(value))
    return encode(value)


def _output(value):
    value = decode(value)
    if isinstance(value, Tensor):
        return value
    np = numpy()
    if np is not None:
        value = np.asarray(value)
        return Tensor.from_numpy(value.astype(_WIDER[value.dtype.name]) if value.dtype.name in _WIDER else value)
    cell = _CODES[value.format]
    kind = TensorType(cell, [Dimension(f"d{axis}", False, size) for axis, size in enumerate(value.shape)])
    flat = value.cast("B").cast(value.format).tolist()
    return Tensor._of(kind, ((),), _cells.of_numbers(kind.cell, flat))


def _bytes_of(name, caller):
    """The model, read from the package of the code that opens it, or from a file."""
    importer = caller.f_globals.get("__loader__")
    if not hasattr(importer, "view_binary"):
        with io.open(name, "rb") as file:
            return file.read()
    folder, _, resource = name.rpartition("/")
    beside = importer.id() + "."
    package = caller.f_globals.get("__package__") or ""
    package = package[len(beside) :] if package.startswith(beside) else ""
    # From the root of the package, or beside the code.
    places = [folder.replace("/", "."), ".".join(filter(None, [package, folder.replace("/", ".")]))]
    for place in places[:-1]:
        try:
            return importer.view_binary(place, resource)
        except FileNotFoundError:
            pass
    return importer.view_binary(places[-1], resource)


def _opened(data):
    """The name by which stead knows a model of these bytes."""
    import hashlib

    digest = hashlib.sha256(data).hexdigest()
    found = _host.ask("models.open", digest, None)
    if found is None:
        found = _host.ask("models.open", digest, _array(data))
    return found


def _array(data):
    np = numpy()
    return memoryview(data).cast("B") if np is None else np.frombuffer(data, dtype="uint8")


def names():
    """The names of all models."""
    return Models().names()


def evaluator(name, output=None):
    """An evaluator of a model; of one output, where the model has several."""
    return Evaluator(name, output)


def open(name):
    """An evaluator of an ONNX model in the package of the code that calls this, or in a file."""
    return Evaluator(_opened(_bytes_of(name, sys._getframe(1))), None)
