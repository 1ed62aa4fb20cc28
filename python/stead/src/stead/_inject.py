"""What constructors of components get."""

import dataclasses
import inspect
import logging
import typing

from . import embedders, models
from .errors import ComponentError
from .settings import Settings, of_dataclass

_KNOWN = "stead.Models, stead.Embedders, stead.Settings, dict, a dataclass of settings, logging.Logger"


def construct(kind, name, settings, generation):
    """A component of a class: each parameter of its constructor by its annotation."""
    constructor = kind.__init__
    if constructor is object.__init__:
        return kind()
    parameters = list(inspect.signature(constructor).parameters.values())[1:]
    try:
        annotations = typing.get_type_hints(constructor)
    except Exception as error:
        raise ComponentError(
            f"{name}: the annotations of {kind.__qualname__}.__init__ cannot be read: {error}"
        ) from error
    given = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        annotation = annotations.get(parameter.name)
        found = _value(annotation, name, settings, generation)
        if found is not None:
            given[parameter.name] = found
        elif parameter.default is parameter.empty:
            what = "has no annotation" if annotation is None else f"is annotated with {annotation!r}"
            raise ComponentError(
                f"{name}: the parameter {parameter.name} of {kind.__qualname__}.__init__ {what}; known are {_KNOWN}"
            )
    positional = [given.pop(p.name) for p in parameters if p.kind is p.POSITIONAL_ONLY and p.name in given]
    return kind(*positional, **given)


def _value(annotation, name, settings, generation):
    if annotation is models.Models:
        return models.Models(generation)
    if annotation is embedders.Embedders:
        return embedders.Embedders(generation)
    if annotation is logging.Logger:
        return logging.getLogger(name)
    if annotation is Settings or annotation is dict or typing.get_origin(annotation) is dict:
        return Settings(settings)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return of_dataclass(annotation, settings, name)
    return None
