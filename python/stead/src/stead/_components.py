"""What stead calls: the way from its values to components and back. Each function but `create` and `forget` takes the
ids of components, their generation and one argument."""

from . import _registry, _search
from ._embed import tensors
from ._numpy import numpy
from ._operations import Operations
from ._raised import raised_by
from ._run import finish
from .errors import ComponentError
from .http import Request, Response
from .tensor import Tensor
from .tensor_type import TensorType
from .values import decode, encode, tensor

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
    model = entry.instance
    inputs = decode(argument["inputs"])
    if not model.state:
        return {"outputs": _arrays(entry, "output", model.outputs, finish(model.infer(inputs))), "state": None}
    state = argument.get("state")
    state = _first_state(model, inputs) if state is None else decode(state)
    found = finish(model.infer(inputs, state))
    if not isinstance(found, tuple) or len(found) != 2:
        raise ComponentError(f"{entry.id}.infer gave {_what(found)}; expected a pair of outputs and state")
    outputs, state = found
    return {
        "outputs": _arrays(entry, "output", model.outputs, outputs),
        "state": _arrays(entry, "state", model.state, state),
    }


def _first_state(model, inputs):
    """The state before the first step, for as many rows as the inputs have."""
    state = model.first_state()
    if model.max_batch <= 0:
        return state
    rows, np = len(next(iter(inputs.values()))), numpy()
    return {name: np.repeat(value, rows, axis=0) if len(value) == 1 else value for name, value in state.items()}


def _arrays(entry, what, specs, found):
    """Arrays by their names, checked against what the model declares."""
    if not isinstance(found, dict):
        raise ComponentError(f"{entry.id}.infer gave {_what(found)}; expected a dict of {', '.join(specs)}")
    arrays, np = {}, numpy()
    for name, spec in specs.items():
        if name not in found:
            raise ComponentError(f"{entry.id}.infer gave no {what} {name}; expected {spec}")
        value = found[name]
        value = value.to_numpy() if isinstance(value, Tensor) else value
        problem = spec.problem(value)
        if problem:
            raise ComponentError(f"{entry.id}.infer: {what} {name} {problem}; expected {spec}")
        # A scalar of numpy is an array of rank 0, not a number.
        arrays[name] = encode(np.asarray(value) if np is not None else value)
    unknown = sorted(set(found) - set(specs))
    if unknown:
        raise ComponentError(f"{entry.id}.infer gave the {what} {', '.join(unknown)}, which it does not declare")
    return arrays


def embed(ids, generation, argument):
    """A tensor for each text."""
    (entry,) = _entries(ids, generation)
    kind = TensorType.from_spec(argument["type"])
    return [tensor(found) for found in tensors(entry.instance, entry.id, argument["texts"], kind)]
