"""A document processor: the vector of a document, of its tokens."""

import stead

from .embedding import vector


class EmbedDocument(stead.DocumentProcessor):
    """Fills `embedding` of documents that are put."""

    def __init__(self, models: stead.Models):
        self.models = models

    def process(self, operations):
        for operation in operations:
            if isinstance(operation, stead.DocumentPut) and "tokens" in operation.document:
                document = operation.document
                document["embedding"] = vector(self.models, document["tokens"])
        return operations
