"""Tensors of texts by an embedder, checked."""

from ._run import finish
from .component import Embedder
from .errors import ComponentError
from .tensor import Tensor


def tensors(embedder, id, texts, kind):
    """A tensor of a type for each text."""
    is_single = type(embedder).embed_all is Embedder.embed_all
    if is_single:
        found = [finish(embedder.embed(text, kind)) for text in texts]
    else:
        found = finish(embedder.embed_all(texts, kind))
    name = f"{id}.{'embed' if is_single else 'embed_all'}"
    if not isinstance(found, (list, tuple)) or len(found) != len(texts):
        what = "nothing" if found is None else f"a value of type {type(found).__name__}"
        raise ComponentError(f"{name} gave {what}; expected a list of {len(texts)} tensors")
    return [_checked(name, kind, value) for value in found]


def _checked(name, kind, value):
    if value is None:
        raise ComponentError(f"{name} gave nothing; expected a tensor of type {kind}")
    try:
        return Tensor(kind, value)
    except (TypeError, ValueError) as error:
        raise ComponentError(f"{name}: {error}; expected a tensor of type {kind}") from None
