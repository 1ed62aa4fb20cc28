"""The components of this interpreter."""

import inspect
import itertools
import sys
import threading

from . import component as kinds
from . import logs
from ._inject import construct
from .errors import ComponentError, NotCreated

# Of which class a component of a kind is, and what it must have.
_KINDS = {
    "handler": (kinds.RequestHandler, "handle"),
    "processor": (kinds.DocumentProcessor, "process"),
    "searcher": (kinds.Searcher, "search"),
    "model": (kinds.Model, "infer"),
    "embedder": (kinds.Embedder, "embed"),
}
# What a component may be that is declared as no more than that.
_OF_CLASSES = ("model", "embedder")
# Counts calls of components, so that it is known which were used last.
_uses = itertools.count()


class Entry:
    """A component and what stead said of it."""

    def __init__(self, spec, kind, instance, types):
        self.id, self.kind, self.package = spec["id"], kind, spec["package"]
        self.instance, self.types, self.used = instance, types, -1
        # Whoever asks for it in this interpreter waits until it is free.
        self.lock = threading.Lock()


_entries = {}
# The deployment whose component was called or made last: calls of one interpreter do not overlap.
_generation = None
_current = None


def generation():
    """The deployment of the component that runs; None before there is one."""
    return _generation


def create(spec, context):
    """Makes a component, in place of one of its id and generation, and gives its description."""
    global _generation
    _generation = spec["generation"]
    called(spec["id"])
    logs.install()
    kind, found = _class(spec)
    instance = construct(found, spec["id"], spec["settings"], spec["generation"])
    entry = Entry(spec, kind, instance, context.get("documents", {}))
    found = describe(entry)
    key = (spec["generation"], spec["id"])
    _close(_entries.pop(key, None))
    _entries[key] = entry
    _drop_old(spec["package"], spec["generation"])
    return found


def _kind(spec, found, name):
    """The kind of a component: what stead says, or what its class is derived from."""
    kind = spec["kind"]
    if kind == "component":
        is_class = inspect.isclass(found)
        kind = next((one for one in _OF_CLASSES if is_class and issubclass(found, _KINDS[one][0])), None)
        if kind is None:
            raise ComponentError(
                f"{spec['id']}: {name} is no class derived from stead.Model or stead.Embedder, as a component is"
            )
    if kind not in _KINDS:
        raise ComponentError(f"there is no kind of components {kind!r}; there are {', '.join(_KINDS)}")
    return kind


def _class(spec):
    """The kind and the class of a component."""
    found, name = spec["class"], f"{spec['module']}:{spec['class']}"
    # Tests give the class itself.
    if isinstance(found, str):
        found = sys.modules["_stead_runtime"].module_of(spec["package"], spec["module"])
        for part in spec["class"].split("."):
            found = getattr(found, part, None)
            if found is None:
                raise ComponentError(f"{spec['id']}: there is no {name}")
    kind = _kind(spec, found, name)
    base, method = _KINDS[kind]
    if not (inspect.isclass(found) and issubclass(found, base)):
        raise ComponentError(f"{spec['id']}: {name} is no class derived from stead.{base.__name__}, as a {kind} is")
    if getattr(found, method) is getattr(base, method) and not _has_other(found, base):
        raise ComponentError(f"{spec['id']}: {name} has no method {method}")
    return kind, found


def _has_other(found, base):
    return base is kinds.Embedder and found.embed_all is not base.embed_all


def describe(entry):
    """What stead is told of a component."""
    instance = entry.instance
    kind = type(instance)
    found = {"kind": entry.kind, "class": f"{kind.__module__}.{kind.__qualname__}"}
    for name in ("provides", "before", "after"):
        names = getattr(instance, name)
        if isinstance(names, str) or not all(isinstance(one, str) for one in names):
            raise ComponentError(f"{entry.id}: {name} is a list of names")
        found[name] = list(names)
    if entry.kind == "model":
        for name in ("inputs", "outputs", "state"):
            found[name] = _specs(entry, name)
        if not found["inputs"] or not found["outputs"]:
            raise ComponentError(
                f"{entry.id}: {kind.__qualname__} has no inputs or no outputs: dicts of names and stead.TensorSpec"
            )
        found["max_batch"] = int(instance.max_batch)
        found["durability"] = str(instance.durability)
    return found


def _specs(entry, name):
    specs = getattr(entry.instance, name)
    if not isinstance(specs, dict) or not all(isinstance(spec, kinds.TensorSpec) for spec in specs.values()):
        raise ComponentError(f"{entry.id}: {name} is a dict of names and stead.TensorSpec")
    return [{"name": key, "dtype": spec.dtype, "shape": spec.shape} for key, spec in specs.items()]


def get(id, generation):
    """A component; NotCreated where there is none."""
    global _generation
    entry = _entries.get((generation, id))
    if entry is None:
        raise NotCreated(id)
    _generation = generation
    entry.used = next(_uses)
    called(id)
    return entry


def find(spec):
    """A component that another one in this interpreter asks for, made if it is not there yet."""
    entry = _entries.get((spec["generation"], spec["id"]))
    if entry is None:
        create(spec, {})
    return get(spec["id"], spec["generation"])


def forget(package=None):
    """Closes and drops all components of a package, or all that there are."""
    for key in [key for key, entry in _entries.items() if package in (None, entry.package)]:
        _close(_entries.pop(key))


def _drop_old(package, generation):
    """Closes the components of all other generations of a package but that which was called last: calls of it still
    run, or it goes on being served while others are only prepared."""
    others = {}
    for (other, _), entry in _entries.items():
        if entry.package == package and other != generation:
            others[other] = max(entry.used, others.get(other, -1))
    kept = {generation, max(others, key=others.get, default=None)}
    for key in [key for key, entry in _entries.items() if entry.package == package and key[0] not in kept]:
        _close(_entries.pop(key))


def _close(entry):
    if entry is not None:
        try:
            entry.instance.close()
        except Exception:
            import logging

            logging.getLogger(entry.id).exception("close() failed")


def current():
    """The component that was called last."""
    return _current


def called(id):
    """What is printed from here on is of this component."""
    global _current
    _current = id
    runtime = sys.modules.get("_stead_runtime")
    if runtime is not None:
        runtime.called(id)
