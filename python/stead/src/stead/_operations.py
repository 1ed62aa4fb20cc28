"""Operations on documents as stead gives and takes them."""

from .documents import Document, DocumentId, DocumentPut, DocumentRemove, DocumentUpdate, json_value
from .errors import ComponentError
from .fields import Fields


def decoded(operation, types):
    """An operation; `types` are those of fields by the names of documents' types."""
    kind, id = operation["op"], operation["id"]
    condition, create = operation.get("condition"), operation.get("create", False)
    if kind == "put":
        document = Document(id, types=types.get(operation["type"]))
        document.fields = Fields(operation["fields"], document._checked)
        return DocumentPut(document, condition, create)
    if kind == "update":
        return DocumentUpdate(id, operation["fields"], condition, create)
    return DocumentRemove(id, condition)


class Operations:
    """The operations that were given, and what they were."""

    def __init__(self, raw, types):
        self.types = types
        self.all = [decoded(operation, types) for operation in raw]
        self._places = {id(operation): at for at, operation in enumerate(self.all)}
        self._before = [self._state(operation) for operation in self.all]
        self._fields = {at: put.document.fields for at, put in enumerate(self.all) if isinstance(put, DocumentPut)}

    @staticmethod
    def _state(operation):
        state = [type(operation), str(operation.id), operation.condition, getattr(operation, "create", False)]
        if isinstance(operation, DocumentUpdate):
            state.append(json_value(operation.fields))
        return state

    def encoded(self, operations, name):
        """What a processor gave, as stead takes it."""
        if not isinstance(operations, (list, tuple)):
            raise ComponentError(
                f"{name}.process gave {_type(operations)}; it has to give the list of operations to go on with"
            )
        return [self._encoded(operation, name) for operation in operations]

    def _encoded(self, operation, name):
        if not isinstance(operation, (DocumentPut, DocumentUpdate, DocumentRemove)):
            raise ComponentError(
                f"{name}.process gave a list with {_type(operation)}; "
                "it holds stead.DocumentPut, DocumentUpdate and DocumentRemove"
            )
        at = self._places.get(id(operation))
        is_same = at is not None and self._state(operation) == self._before[at]
        found = {"id": str(operation.id), "type": DocumentId(operation.id).type, "condition": operation.condition}
        if isinstance(operation, DocumentRemove):
            return at if is_same else {"op": "remove", **found}
        found["create"] = bool(operation.create)
        if isinstance(operation, DocumentUpdate):
            return at if is_same else {"op": "update", **found, "fields": json_value(operation.fields)}
        fields = operation.document.fields
        try:
            if at is None or fields is not self._fields[at]:
                encoded = fields.encoded()
                typed = self._typed(operation.document, name)
                encoded = encoded if typed is operation.document else typed.fields.encoded()
                return {"op": "put", **found, "fields": encoded}
            changed, gone = fields.changes()
        except TypeError as error:
            raise ComponentError(f"{name}.process gave document {operation.id} with {error}") from None
        if is_same and not changed and not gone:
            return at
        return {"op": "put", "ref": at, **found, "fields": changed, "removed": gone}

    def _typed(self, document, name):
        """A document whose fields are of the types that the application gives them."""
        types = self.types.get(document.type)
        if types is None or document._types is types:
            return document
        try:
            return Document(document.id, dict(document.fields), types=types)
        except (KeyError, TypeError, ValueError) as error:
            reason = error.args[0] if error.args else error
            raise ComponentError(f"{name}.process gave document {document.id}: {reason}") from None


def _type(value):
    return "nothing" if value is None else f"a value of type {type(value).__name__}"
