"""Embedders of the application that is served."""

from . import _beside, _embed, _host
from .tensor_type import TensorType
from .values import decode


class Embedders:
    """The embedders that components may use."""

    def __init__(self, generation=None):
        self._generation = generation

    def embed(self, text, type, embedder=""):
        """The `stead.Tensor` of a type such as `tensor<float>(x[384])` for a text; the embedder by its name, where
        there are several."""
        entry = _beside.find("embedder", self._generation, embedder)
        if entry is None:
            return decode(_host.ask("embed", text, embedder, str(type)))
        with _beside.running(entry):
            return _embed.tensors(entry.instance, entry.id, [text], TensorType.from_spec(type))[0]
