"""Embedders of the application that is served."""

from . import _host
from .values import decode


class Embedders:
    """The embedders that components may use."""

    def embed(self, text, type, embedder=""):
        """The `stead.Tensor` of a type such as `tensor<float>(x[384])` for a text; the embedder by its name, where
        there are several."""
        return decode(_host.ask("embed", text, embedder, str(type)))
