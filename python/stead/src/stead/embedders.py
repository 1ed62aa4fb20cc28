"""Embedders of the application that is served."""

from . import _host
from .tensor_type import TensorType
from .values import decode

# What stead tells of the embedders of a deployment.
_known = {}


class Embedders:
    """The embedders that components may use."""

    def __init__(self, component=None, generation=None):
        self._component, self._generation = component, generation

    def embed(self, text, type, embedder=""):
        """The `stead.Tensor` of a type such as `tensor<float>(x[384])` for a text; the embedder by its name, where
        there are several."""
        spec = self._here(embedder)
        if spec is None:
            return decode(_host.ask("embed", text, embedder, str(type)))
        from . import _embed, _registry

        # In the interpreter of the one who asks: another one might wait for this in its turn.
        entry = _registry.find(spec)
        try:
            return _embed.tensors(entry.instance, entry.id, [text], TensorType.from_spec(type))[0]
        finally:
            _registry.called(self._component)

    def _here(self, name):
        """What stead says of an embedder that runs in this interpreter."""
        if self._generation is None:
            return None
        if self._generation not in _known:
            # Those of older deployments are asked for again if somebody still needs them.
            _known.clear()
            _known[self._generation] = _host.ask("embedders")
        specs = _known[self._generation]
        if name == "":
            return specs[0] if len(specs) == 1 and specs[0]["here"] else None
        return next((spec for spec in specs if spec["id"] == name and spec["here"]), None)
