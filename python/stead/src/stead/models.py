"""Models of the application that is served: `stead.models.evaluator("name").bind("input", x).evaluate()`."""

import contextvars
import sys

from . import _arrays, _beside, _cells, _host, _infer
from ._opened import Place
from ._numpy import numpy
from .tensor import Tensor
from .tensor_type import Dimension, TensorType
from .values import decode, encode

# What the name of an open model begins with.
_DIGEST = "sha256:"
# Elements of outputs that no cells of tensors have, as Vespa takes them.
_WIDER = {"uint16": "float32", "uint32": "float64", "uint64": "float64"}
_CODES = {_cells._TYPES[cell][1]: cell for cell in _cells.CELL_TYPES if cell != "bfloat16"}


class Models:
    """The models that components may evaluate."""

    def __init__(self, generation=None):
        self._generation = generation

    def names(self):
        """The names of all models."""
        return _host.ask("models.list")

    def evaluator(self, name, output=None):
        """An evaluator of a model; of one output, where the model has several."""
        return Evaluator(name, output, self._generation)

    def open(self, name):
        """An evaluator of an ONNX model in the package of the code that calls this, or in a file; all interpreters
        share its weights. Files of external data lie beside it."""
        return Evaluator(_opened(Place(name, sys._getframe(1))), None)


class Evaluator:
    """A model and the inputs that are bound to it."""

    def __init__(self, model, output, generation=None):
        self.model, self.output, self._inputs, self._generation = model, output, {}, generation

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
        entry = None if self.model.startswith(_DIGEST) else _beside.find("model", self._generation, self.model)
        if entry is not None:
            # In the interpreter of the one who asks: another one might wait for this in its turn.
            outputs = _infer.evaluated(entry, self._inputs, wanted)
        else:
            outputs = _host.ask("models.evaluate", self.model, self._inputs, wanted)
        return {name: decode(value) for name, value in outputs.items()}

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

        # With what is known of who asks: the thread works for it.
        run = contextvars.copy_context().run
        return await asyncio.get_running_loop().run_in_executor(None, run, self.evaluate)

    def __repr__(self):
        return f"Evaluator({self.model!r})"


def _input(value):
    np = numpy()
    if np is None and isinstance(value, (list, tuple, bool, int, float)):
        return _arrays.plain(value)
    if np is None and isinstance(value, memoryview):
        return value
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


def _opened(place):
    """The name by which stead knows the model at a place."""
    data = place.read()
    digest = _sha256(data)
    found = _host.ask("models.open", digest, None)
    if found is None:
        found = _host.ask("models.open", digest, _array(data))
    if isinstance(found, str):
        return found
    # Its weights lie beside it: the model is what it and they are together.
    files = {location: place.beside(location) for location in found["needs"]}
    digests = [digest, *(f"{_sha256(files[location])} {location}" for location in sorted(files))]
    digest = _sha256("\n".join(digests).encode())
    found = _host.ask("models.open", digest, None, {})
    if found is None:
        given = {location: _array(content) for location, content in files.items()}
        found = _host.ask("models.open", digest, _array(data), given)
    return found


def _sha256(data):
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _array(data):
    np = numpy()
    if not data:
        # No view without elements can be cast.
        return b""
    return memoryview(data).cast("B") if np is None else np.frombuffer(data, dtype="uint8")


def names():
    """The names of all models."""
    return Models().names()


def evaluator(name, output=None):
    """An evaluator of a model; of one output, where the model has several."""
    return Evaluator(name, output)


def open(name):
    """An evaluator of an ONNX model in the package of the code that calls this, or in a file."""
    return Evaluator(_opened(Place(name, sys._getframe(1))), None)
