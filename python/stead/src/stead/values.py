"""Values as they pass between stead and components, and types of fields that Python does not have."""

import typing

from . import _cells
from ._numpy import numpy
from .tensor import Tensor
from .tensor_type import TensorType

# Stands in a dict for what it is, if that is no plain dict.
_TAG = "$"


class Position(typing.NamedTuple):
    """A place on earth, in degrees."""

    lat: float
    lng: float


def encode(value):
    """A value as None, bool, int, float, str, bytes, list, dict and arrays."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, Tensor):
        return tensor(value)
    if isinstance(value, Position):
        return {_TAG: "position", "lat": float(value.lat), "lng": float(value.lng)}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value) and _TAG not in value:
            return {key: encode(item) for key, item in value.items()}
        return {_TAG: "dict", "items": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, bytearray) or isinstance(value, memoryview) and value.format == "B":
        return bytes(value)
    if isinstance(value, memoryview):
        # An array, where there is no numpy.
        return value
    np = numpy()
    if np is not None and isinstance(value, np.ndarray):
        return _strings(value) if value.dtype.kind in "OSU" else value
    if np is not None and isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"a value of type {type(value).__name__}: use None, bool, int, float, str, bytes, list, dict, "
        "stead.Tensor, stead.Position or an array of numpy"
    )


def tensor(value):
    """A tensor as stead takes it."""
    kind = value.type
    return {
        _TAG: "tensor",
        "type": str(kind),
        "labels": [label for block in value.labels for label in block],
        "cells": _cells.to_wire(kind.cell, value.flat),
    }


def _strings(array):
    values = [item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1).tolist()]
    return {_TAG: "strings", "shape": list(array.shape), "values": values}


def decode(value):
    """The value that stead gave."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = value.get(_TAG)
    if tag is None:
        return {key: decode(item) for key, item in value.items()}
    if tag == "tensor":
        kind = TensorType.from_spec(value["type"])
        names, labels = len(kind.mapped), value["labels"]
        blocks = tuple(tuple(labels[at : at + names]) for at in range(0, len(labels), names)) if names else ((),)
        return Tensor._of(kind, blocks, _cells.of_wire(kind.cell, value["cells"]))
    if tag == "position":
        return Position(value["lat"], value["lng"])
    if tag == "dict":
        return {decode(key): decode(item) for key, item in value["items"]}
    if tag == "strings":
        return _of_strings(value["shape"], value["values"])
    raise ValueError(f"stead gave a value of unknown kind {tag!r}")


def _of_strings(shape, values):
    np = numpy()
    if np is not None:
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array.reshape(shape)
    for size in reversed(shape[1:]):
        values = [values[at : at + size] for at in range(0, len(values), size)]
    return values if shape else values[0]
