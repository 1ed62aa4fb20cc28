"""Models of Python: runs of them for requests, and for components in the same interpreter."""

from . import _arrays, _beside
from ._numpy import numpy
from ._run import finish
from .errors import ComponentError, HostError, InvalidInput, Overloaded
from .tensor import Tensor
from .values import decode, encode


def infer(entry, inputs, state):
    """Outputs and state after a step, None of a model without state; each array by its name, as stead takes it."""
    model = entry.instance
    with _beside.running(entry):
        if not model.state:
            return _checked(entry, "output", model.outputs, finish(model.infer(inputs))), None
        state = _first_state(model, inputs) if state is None else state
        found = finish(model.infer(inputs, state))
    if not isinstance(found, tuple) or len(found) != 2:
        raise ComponentError(f"{entry.id}.infer gave {_what(found)}; expected a pair of outputs and state")
    outputs, state = found
    return _checked(entry, "output", model.outputs, outputs), _checked(entry, "state", model.state, state)


def evaluated(entry, given, wanted):
    """Outputs of a model that a component asks for in its interpreter, as stead answers where it is another one.

    Raises:
        HostError: of inputs that are missing, unknown or do not fit; of what the model raises.
    """
    model = entry.instance
    if model.state:
        raise HostError(
            f"model {entry.id} is one of sequences, whose state is with its clients; a component cannot ask for it",
            "invalid",
        )
    for name in wanted:
        if name not in model.outputs:
            raise _invalid(entry, f"has no output {name}; it has {', '.join(model.outputs)}")
    inputs = _inputs(entry, given)
    try:
        outputs, _ = infer(entry, inputs, None)
    except HostError:
        raise
    except InvalidInput as error:
        raise HostError(f"component {entry.id}: {error}", "invalid") from error
    except Overloaded as error:
        raise HostError(f"component {entry.id}: {error}", "unavailable") from error
    except ComponentError as error:
        raise HostError(f"component {entry.id}: {error}", "internal") from error
    except Exception as error:
        raise HostError(f"component {entry.id}: its code raised {type(error).__qualname__}", "internal") from error
    return {name: _arrays.frozen(value) for name, value in outputs.items() if name in wanted or not wanted}


def _what(value):
    return "nothing" if value is None else f"a value of type {type(value).__name__}"


def _invalid(entry, text):
    return HostError(f"model {entry.id} {text}", "invalid")


def _first_state(model, inputs):
    """The state before the first step, for as many rows as the inputs have."""
    state = model.first_state()
    if model.max_batch <= 0:
        return state
    rows = len(next(iter(inputs.values())))
    return {name: _arrays.repeated(value, rows) for name, value in state.items()}


def _checked(entry, what, specs, found):
    """Arrays by their names, checked against what the model declares."""
    if not isinstance(found, dict):
        raise ComponentError(f"{entry.id}.infer gave {_what(found)}; expected a dict of {', '.join(specs)}")
    arrays, np = {}, numpy()
    for name, spec in specs.items():
        if name not in found:
            raise ComponentError(f"{entry.id}.infer gave no {what} {name}; expected {spec}")
        value = found[name]
        value = value.to_numpy() if isinstance(value, Tensor) else value
        if isinstance(value, (list, tuple, bool, int, float, str, bytes)):
            try:
                value = _arrays.of_lists(value, spec.dtype)
            except ValueError as error:
                raise ComponentError(f"{entry.id}.infer: {what} {name}: {error}; expected {spec}") from None
        problem = spec.problem(value)
        if problem:
            raise ComponentError(f"{entry.id}.infer: {what} {name} {problem}; expected {spec}")
        # A scalar of numpy is an array of rank 0, not a number.
        arrays[name] = value if np is None else encode(np.asarray(value))
    unknown = sorted(set(found) - set(specs))
    if unknown:
        raise ComponentError(f"{entry.id}.infer gave the {what} {', '.join(unknown)}, which it does not declare")
    return arrays


def _inputs(entry, given):
    model = entry.instance
    for name in given:
        if name not in model.inputs:
            raise _invalid(entry, f"has no input {name}; it has {', '.join(model.inputs)}")
    inputs = {}
    for name, spec in model.inputs.items():
        if name not in given:
            raise _invalid(entry, f"needs the input {name}; it has {', '.join(model.inputs)}")
        try:
            inputs[name] = _arrays.taken(decode(given[name]), spec)
        except ValueError as error:
            raise _invalid(entry, f"cannot take the input {name}: {error}") from None
    rows = {value.shape[0] for value in inputs.values()} if model.max_batch > 0 else {0}
    if len(rows) > 1 or max(rows) > max(model.max_batch, 0):
        shown = ", ".join(map(str, sorted(rows)))
        raise _invalid(entry, f"takes as many rows of each input, at most {model.max_batch}, and not {shown}")
    return inputs
