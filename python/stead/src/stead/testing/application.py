"""An application of a test: its components, and what stands around them."""

import itertools
from urllib.parse import parse_qsl, unquote, urlsplit

from .. import _components, _host, _registry
from .._search import raw_query
from ..component import DocumentProcessor, Embedder, Model, RequestHandler, Searcher
from ..http import Headers, Response
from ..query import Query
from ..values import decode, encode
from .host import StandIn, operation_of, raw_operation
from .passing import passed

_KINDS = {
    "handler": RequestHandler,
    "processor": DocumentProcessor,
    "searcher": Searcher,
    "model": Model,
    "embedder": Embedder,
}
_generations = itertools.count(1)


class Created:
    """A component of an application."""

    def __init__(self, id, instance, description):
        self.id, self.instance, self.description = id, instance, description


class Application:
    """Components as stead would call them. To be used in a `with` statement, at whose end components are closed.

    Args:
        models: names to functions, which take inputs by their names and give an array, a tensor or a dict of outputs,
            or to paths of ONNX files, for which ONNX Runtime has to be installed.
        documents: types of documents to dicts of fields and their types, as in schemas; without it fields are not
            checked.
        backend: a function that takes a `stead.Query` and gives the `stead.Result` that the documents would give.
        embedders: names to functions that take a text and a `stead.TensorType`.
    """

    def __init__(self, models=None, documents=None, backend=None, embedders=None):
        self._stand_in = StandIn(models or {}, backend, embedders or {})
        self._types = documents or {}
        self._generation = next(_generations)
        self._package = f"test {self._generation}"
        self._numbers = itertools.count(1)
        self._standing = None

    def __enter__(self):
        self._standing = _host.standing_in(self._stand_in.ask)
        self._standing.__enter__()
        return self

    def __exit__(self, *error):
        _components.forget(self._package)
        self._standing.__exit__(*error)

    def create(self, kind, settings=None, id=None):
        """A component of a class, made as stead makes it."""
        known = next((name for name, base in _KINDS.items() if issubclass(kind, base)), None)
        if known is None:
            raise TypeError(
                f"{kind.__qualname__} is derived from none of stead.RequestHandler, DocumentProcessor, Searcher, "
                "Model, Embedder"
            )
        id = id or f"{kind.__qualname__}-{next(self._numbers)}"
        spec = {
            "id": id,
            "generation": self._generation,
            "kind": known,
            "package": self._package,
            "module": kind.__module__,
            "class": kind,
            "settings": passed(settings or {}, "the settings"),
        }
        description = passed(_components.create(spec, {"documents": self._types}), "the description")
        if known in ("model", "embedder"):
            # Others may ask for it by its id.
            seen = {name: spec[name] for name in ("id", "generation", "package", "settings")}
            self._stand_in.created.append({**seen, "role": known, "here": True})
        return Created(id, _registry.get(id, self._generation).instance, description)

    def _call(self, function, components, argument):
        components = [components] if isinstance(components, Created) else components
        ids = [component.id for component in components]
        return passed(function(ids, self._generation, passed(argument, "the argument")), "the result")

    def handle(self, component, target, method="GET", body=b"", headers=()):
        """The response of a handler to a request for a path with its query."""
        parts, headers = urlsplit(target), Headers(headers)
        parameters = parse_qsl(parts.query, keep_blank_values=True)
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            parameters += parse_qsl(body.decode(), keep_blank_values=True)
        argument = {
            "method": method,
            "path": unquote(parts.path),
            "query": parts.query,
            "parameters": parameters,
            "headers": [[name.lower(), value] for name, value in headers],
            "body": bytes(body),
        }
        found = self._call(_components.handle, component, argument)
        return Response(found["body"], found["status"], [tuple(pair) for pair in found["headers"]])

    def process(self, components, operations):
        """What is done in place of operations on documents."""
        raw = [raw_operation(operation) for operation in operations]
        found = self._call(_components.process, components, {"operations": raw})
        return [operation_of(operation, passed(raw, "an operation"), self._types) for operation in found["operations"]]

    def search(self, components, query):
        """The result of a chain of searchers, in front of the backend."""
        query = query if isinstance(query, Query) else Query(query)
        return self._stand_in.result(self._call(_components.search, components, {"query": raw_query(query)}))

    def infer(self, component, inputs, state=None):
        """The outputs of a model; of one with a state a pair of outputs and state."""
        argument = {"inputs": encode(inputs), "parameters": {}, "state": None if state is None else encode(state)}
        found = self._call(_components.infer, component, argument)
        outputs = decode(found["outputs"])
        return outputs if found["state"] is None else (outputs, decode(found["state"]))

    def embed(self, component, texts, type):
        """The tensors of an embedder for texts."""
        return [
            decode(value)
            for value in self._call(_components.embed, component, {"texts": list(texts), "type": str(type)})
        ]
