"""What Python code sees of stead: tensors, documents, queries, requests, models, and the classes of components.

Inside a stead server everything here is there without an installation. Outside, `stead.testing` runs components in
tests, and `stead.InferenceSession` runs models in this process by the names of ONNX Runtime's Python API.
"""

from . import models
from .component import Component, DocumentProcessor, Embedder, Model, RequestHandler, Searcher, TensorSpec
from .documents import Document, DocumentId, DocumentPut, DocumentRemove, DocumentUpdate
from .embedders import Embedders
from .errors import ComponentError, HostError, InvalidInput, Overloaded
from .http import Headers, Request, Response
from .models import Evaluator, Models
from .query import Hit, Query, Result
from .settings import Settings
from .tensor import Tensor
from .tensor_type import Dimension, TensorType
from .values import Position

__version__ = "0.1.0"

__all__ = [
    "Component",
    "ComponentError",
    "Dimension",
    "Document",
    "DocumentId",
    "DocumentProcessor",
    "DocumentPut",
    "DocumentRemove",
    "DocumentUpdate",
    "Embedder",
    "Embedders",
    "Evaluator",
    "Headers",
    "Hit",
    "HostError",
    "InvalidInput",
    "Model",
    "Models",
    "Overloaded",
    "Position",
    "Query",
    "Request",
    "RequestHandler",
    "Response",
    "Result",
    "Searcher",
    "Settings",
    "Tensor",
    "TensorSpec",
    "TensorType",
    "models",
]

# Of the module `stead.inference`, which only the wheel has: its names are looked up when they are asked for.
_INFERENCE = {
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
}


def __getattr__(name):
    if name not in _INFERENCE:
        raise AttributeError(f"module 'stead' has no attribute {name!r}")
    try:
        from . import _engine
    except ImportError:
        raise ImportError(
            f"stead.{name} needs the native module of the wheel `stead`, which is not here. Inside a stead server models "
            "are evaluated through stead.Models; elsewhere install the wheel of your platform"
        ) from None
    from importlib import import_module

    if name == "capi":
        return import_module("stead.capi")
    found = globals()[name] = getattr(import_module("stead.inference"), name)
    return found
