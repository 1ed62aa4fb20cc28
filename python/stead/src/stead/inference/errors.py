"""Exceptions of the kinds, names and codes that ONNX Runtime raises. `stead.capi.onnxruntime_pybind11_state` holds them too."""


class Fail(Exception):
    """A failure of no other kind, and a run that was told to end."""


class InvalidArgument(Exception):
    """Inputs or names that do not suit the model."""


class NoSuchFile(Exception):
    """There is no such file."""


class NoModel(Exception):
    """There is no model."""


class EngineError(Exception):
    """Never raised; here for code that catches it."""


class RuntimeException(Exception):
    """A run that failed for want of memory, or by a fault of the engine."""


class InvalidProtobuf(Exception):
    """Bytes that are no model."""


class ModelLoaded(Exception):
    """Never raised; here for code that catches it."""


class NotImplemented(Exception):
    """An operator or a type that the engine does not have."""


class InvalidGraph(Exception):
    """A model that contradicts itself."""


class EPFail(Exception):
    """Never raised; here for code that catches it."""


_CODES = {
    Fail: (1, "FAIL"),
    InvalidArgument: (2, "INVALID_ARGUMENT"),
    NoSuchFile: (3, "NO_SUCHFILE"),
}


def error(kind, text):
    """An exception of a kind, its text behind its code as the engine writes it."""
    number, code = _CODES[kind]
    return kind(f"[stead] : {number} : {code} : {text}")
