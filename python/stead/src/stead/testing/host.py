"""What stands in for stead in tests."""

from .._operations import decoded
from .._search import query_of
from ..documents import DocumentPut, DocumentUpdate, json_value
from ..errors import HostError
from ..query import Hit, Result
from ..tensor import Tensor
from ..tensor_type import TensorType
from ..values import decode, encode, tensor
from .models import external_data, model_of
from .passing import passed


class StandIn:
    """Answers what components ask for from what a test gives."""

    def __init__(self, models, backend, embedders):
        # Models and embedders that the test has created.
        self.created = []
        self.models = {name: model_of(name, given) for name, given in models.items()}
        self.backend, self.embedders = backend, embedders
        self.hits, self.results = [], []

    def ask(self, name, *arguments):
        """An answer, as stead gives it."""
        answers = {
            "models.list": self._list,
            "models.describe": self._describe,
            "models.evaluate": self._evaluate,
            "models.open": self._open,
            "search.next": self._search,
            "embed": self._embed,
            "components": self._components,
        }
        if name not in answers:
            raise HostError(f"there is no {name}", "not_found")
        arguments = passed(list(arguments), f"the arguments of {name}")
        return passed(answers[name](*arguments), f"the answer of {name}")

    def _model(self, name):
        if name not in self.models:
            raise HostError(
                f"there is no model {name}; the test has {', '.join(sorted(self.models)) or 'none'}", "not_found"
            )
        return self.models[name]

    def _components(self):
        return {"components": list(self.created), "complete": False}

    def _list(self):
        return sorted([*self.models, *(spec["id"] for spec in self.created if spec["role"] == "model")])

    def _describe(self, name):
        return self._model(name).describe()

    def _evaluate(self, name, inputs, outputs):
        found = self._model(name).run(inputs)
        lacking = [output for output in outputs if output not in found]
        if lacking:
            raise HostError(f"model {name} has no output {lacking[0]}; it has {', '.join(found)}", "not_found")
        return {output: found[output] for output in outputs or found}

    def _open(self, digest, data, files=None):
        name = f"sha256:{digest}"
        if name not in self.models:
            if data is None:
                return None
            data, needed = bytes(data), external_data(bytes(data))
            if needed and files is None:
                return {"needs": needed}
            files = {location: bytes(content) for location, content in (files or {}).items()}
            self.models[name] = model_of(name, data, files)
        return name

    def _embed(self, text, name, type):
        if name == "" and len(self.embedders) == 1:
            (name,) = self.embedders
        if name not in self.embedders:
            raise HostError(
                f"there is no embedder {name!r}; the test has {', '.join(sorted(self.embedders)) or 'none'}",
                "not_found",
            )
        kind = TensorType.from_spec(type)
        return tensor(Tensor(kind, self.embedders[name](text, kind)))

    def _search(self, raw):
        """A result of the test's documents; its hits get numbers, by which they come back."""
        if self.backend is None:
            raise HostError("the test has no backend= for searches", "unavailable")
        result = self.backend(query_of(raw))
        if not isinstance(result, Result):
            raise TypeError(f"backend gave {type(result).__name__}; expected a stead.Result")
        self.results.append(result)
        hits = []
        for hit in result.hits:
            hits.append(
                {
                    "ref": len(self.hits),
                    "id": hit.id,
                    "relevance": float(hit.relevance),
                    "source": hit.source,
                    "fields": {name: encode(value) for name, value in hit.fields.items()},
                }
            )
            self.hits.append(hit)
        return {
            "ref": len(self.results) - 1,
            "total": result.total,
            "hits": hits,
            "errors": [{"code": code, "message": message} for code, message in result.errors],
        }

    def result(self, raw):
        """A result that came back."""
        hits = []
        for found in raw["hits"]:
            hit = Hit(found["id"], found["relevance"], source=found["source"])
            if found["ref"] is not None:
                hit.fields.update(self.hits[found["ref"]].fields)
            hit.fields.update({name: decode(value) for name, value in found["fields"].items()})
            for name in found["removed"]:
                del hit.fields[name]
            hits.append(hit)
        result = Result(hits, raw["total"], [(error["code"], error["message"]) for error in raw["errors"]])
        if raw["ref"] is not None:
            result.coverage = self.results[raw["ref"]].coverage
        return result


def operation_of(operation, raw, types):
    """An operation that came back; those that were sent tell what did not change."""
    if isinstance(operation, int):
        return decoded(raw[operation], types)
    if operation.get("ref") is not None:
        before = raw[operation["ref"]]["fields"]
        fields = {name: value for name, value in before.items() if name not in operation["removed"]}
        operation = {**operation, "fields": {**fields, **operation["fields"]}}
    return decoded(operation, types)


def raw_operation(operation):
    """An operation as stead sends it."""
    found = {"id": str(operation.id), "type": operation.id.type, "condition": operation.condition}
    if isinstance(operation, DocumentPut):
        fields = operation.document.fields
        return {"op": "put", **found, "create": operation.create, "fields": fields.encoded()}
    if isinstance(operation, DocumentUpdate):
        return {"op": "update", **found, "create": operation.create, "fields": json_value(operation.fields)}
    return {"op": "remove", **found}
