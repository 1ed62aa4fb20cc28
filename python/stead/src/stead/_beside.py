"""Other components of an application that run in this interpreter: models and embedders that one asks for.

They are called here, and not in an interpreter of their own, since all interpreters could wait for each other then.
"""

import contextlib
import contextvars

from . import _host, _registry
from .errors import HostError

# What stead tells of the models and embedders of a deployment.
_known = {}
# The ids of those that wait for each other here.
_running = contextvars.ContextVar("stead_running", default=())
# How long a thread waits before it looks whether anybody still wants what it waits for.
_MOMENT = 0.5


def find(role, generation, name):
    """A component of a role (`model`, `embedder`) that runs in this interpreter; nothing if stead has to be asked. The
    name may be empty where there is one only."""
    generation = _registry.generation() if generation is None else generation
    if generation is None:
        return None
    specs = [spec for spec in _specs(generation) if spec["role"] == role]
    if name == "":
        specs = specs if len(specs) == 1 else []
    else:
        specs = [spec for spec in specs if spec["id"] == name]
    if not specs or not specs[0]["here"]:
        return None
    before = _registry.current()
    try:
        return _registry.find(specs[0])
    finally:
        _registry.called(before)


def _specs(generation):
    specs = _known.get(generation)
    if specs is None:
        try:
            found = _host.ask("components")
        except HostError as error:
            # A program that has no others to tell of.
            if error.code != "not_found":
                raise
            found = {"components": [], "complete": True}
        specs = found["components"]
        # While an application is made there are more and more of them.
        if found["complete"]:
            # Those of older deployments are asked for again if somebody still needs them.
            _known.clear()
            _known[generation] = specs
    return specs


@contextlib.contextmanager
def running(entry):
    """Runs a model or an embedder: once at a time in this interpreter, whatever threads there are.

    Raises:
        HostError: one that waits for this would wait for itself.
    """
    above = _running.get()
    if entry.id in above:
        circle = " asks ".join([*above[above.index(entry.id) :], entry.id])
        raise HostError(f"{entry.kind} {entry.id} cannot be asked by itself: {circle}", "invalid")
    # Of threads that were started by hand nothing is known: what they wait for may wait for them.
    while not entry.lock.acquire(timeout=_MOMENT):
        _host.ask("components")
    token, before = _running.set((*above, entry.id)), _registry.current()
    _registry.called(entry.id)
    try:
        yield
    finally:
        _registry.called(before)
        _running.reset(token)
        entry.lock.release()


def context():
    """What a thread has to be started with, so that it is known for whom it works."""
    return contextvars.copy_context()
