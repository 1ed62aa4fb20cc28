"""What Python code sees of stead: tensors, documents, queries, requests, models, and the classes of components.

Inside a stead server everything here is there without an installation. Outside, `stead.testing` runs components in
tests.
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
