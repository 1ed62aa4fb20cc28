"""What stead calls: the way from its values to components and back. Each function but `create` and `forget` takes the
ids of components, their generation and one argument."""

from . import _beside, _infer, _registry, _search
from ._embed import tensors
from ._operations import Operations
from ._raised import raised_by
from ._run import finish
from .errors import ComponentError
from .http import Request, Response
from .tensor_type import TensorType
from .values import decode, tensor

create = _registry.create
forget = _registry.forget


def _entries(ids, generation):
    return [_registry.get(id, generation) for id in ids]


def _what(value):
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def handle(ids, generation, argument):
    """The response to a request: what `Request` takes, by its names or in its order."""
    (id,) = ids
    entry = _registry.get(id, generation)
    request = Request(*argument) if type(argument) is list else Request(**argument)
    response = entry.instance.handle(request)
    if type(response) is not Response:
        response = finish(response)
        if not isinstance(response, Response):
            raise ComponentError(f"{id}.handle gave {_what(response)}; expected a stead.Response")
    status, body = response.status, response.body
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 599:
        raise ComponentError(f"{id}.handle gave the status {status!r}; expected a number of HTTP")
    if not isinstance(body, bytes):
        raise ComponentError(f"{id}.handle gave a response whose body is {_what(body)}; expected bytes")
    return {"status": int(status), "headers": list(response.headers), "body": body}


def process(ids, generation, argument):
    """What is done in place of operations."""
    entries = _entries(ids, generation)
    raw = argument["operations"]
    types = entries[0].types
    known = Operations(raw, types)
    operations = list(known.all)
    for entry in entries:
        _registry.get(entry.id, generation)
        with raised_by(entry.id):
            operations = finish(entry.instance.process(operations))
            encoded = known.encoded(operations, entry.id)
        operations = list(operations)
    return {"operations": encoded}


def search(ids, generation, argument):
    """The result of a query."""
    chain = _search.Chain([(entry.id, entry.instance) for entry in _entries(ids, generation)])
    return chain.search(_search.query_of(argument["query"]))


def infer(ids, generation, argument):
    """The outputs of a model."""
    (entry,) = _entries(ids, generation)
    state = argument.get("state")
    outputs, state = _infer.infer(entry, decode(argument["inputs"]), None if state is None else decode(state))
    return {"outputs": outputs, "state": state}


def embed(ids, generation, argument):
    """A tensor for each text."""
    (entry,) = _entries(ids, generation)
    kind = TensorType.from_spec(argument["type"])
    with _beside.running(entry):
        return [tensor(found) for found in tensors(entry.instance, entry.id, argument["texts"], kind)]
