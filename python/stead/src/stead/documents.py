"""Documents and what is done with them."""

import base64
import re

from .fields import Fields, HasFields
from .tensor import Tensor
from .tensor_type import TensorType
from .values import Position

_ID = re.compile(r"id:([^:]*):([^:]+):([^:]*):(.*)", re.DOTALL)
_NUMBERS = {"byte": int, "int": int, "long": int, "float": float, "float16": float, "double": float}


class DocumentId:
    """The id of a document: `id:namespace:type:key:local`."""

    __slots__ = ("namespace", "type", "key", "local")

    def __init__(self, text):
        found = _ID.fullmatch(str(text))
        if not found:
            raise ValueError(f"expected a document id such as id:namespace:type::name, found {str(text)!r}")
        self.namespace, self.type, self.key, self.local = found.groups()

    def __str__(self):
        return f"id:{self.namespace}:{self.type}:{self.key}:{self.local}"

    def __repr__(self):
        return f"DocumentId({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, (DocumentId, str)) and str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


class Document(HasFields):
    """A document: an id and fields by their names, `document["title"]`.

    Inside stead the types of fields are known: a name that the type does not have and a value of another type are
    errors where they are set, and a list or an array for a tensor field becomes a tensor.
    """

    def __init__(self, id, fields=None, *, types=None):
        self.id = id if isinstance(id, DocumentId) else DocumentId(id)
        self._types = types
        self.fields = Fields(check=self._checked)
        for name, value in (fields or {}).items():
            self[name] = value

    @property
    def type(self):
        """The name of its type."""
        return self.id.type

    def _checked(self, name, value):
        if self._types is None:
            return value
        if name not in self._types:
            raise KeyError(
                f"documents of type {self.type} have no field {name}; they have {', '.join(sorted(self._types))}"
            )
        try:
            return checked(self._types[name], value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"field {name} of {self.type} ({self._types[name]}): {error}") from None

    def __repr__(self):
        return f"Document({str(self.id)!r}, {dict(self.fields)!r})"


def checked(kind, value):
    """A value for a field of a type as schemas write it; TypeError or ValueError where it is none."""

    def expect(classes, what):
        if not isinstance(value, classes) or isinstance(value, bool) and bool not in classes:
            raise TypeError(f"expected {what}, found {type(value).__name__}")
        return value

    if kind.startswith("tensor"):
        return Tensor(TensorType.from_spec(kind), value)
    if kind in ("string", "uri", "predicate") or kind.startswith("reference<"):
        return expect((str,), "a text")
    if kind in _NUMBERS:
        return _NUMBERS[kind](expect((int, float) if _NUMBERS[kind] is float else (int,), "a number"))
    if kind == "bool":
        return expect((bool,), "True or False")
    if kind == "raw":
        return bytes(expect((bytes, bytearray, memoryview), "bytes"))
    if kind == "position":
        return Position(*expect((tuple,), "a stead.Position"))
    if kind.startswith("array<"):
        return [checked(kind[len("array<") : -1], item) for item in expect((list, tuple), "a list")]
    if kind.startswith(("map<", "weightedset<")):
        return expect((dict,), "a dict")
    return value


class DocumentPut:
    """A document that is put in place of one of its id. Nothing is done where the condition is not true of that one."""

    def __init__(self, document, condition=None, create=False):
        self.document, self.condition, self.create = document, condition, create

    @property
    def id(self):
        return self.document.id

    def __repr__(self):
        return f"DocumentPut({self.document!r})"


class DocumentUpdate:
    """Changes of fields of a document. `fields` are those of Vespa's JSON: `{"title": {"assign": "x"}}`."""

    def __init__(self, id, fields=None, condition=None, create=False):
        self.id = id if isinstance(id, DocumentId) else DocumentId(id)
        self.fields, self.condition, self.create = dict(fields or {}), condition, create

    def assign(self, field, value):
        """The field has this value from now on; None clears it."""
        self.fields.setdefault(field, {})["assign"] = value
        return self

    def add(self, field, values):
        """Adds elements to an array or set, or cells to a tensor."""
        self.fields.setdefault(field, {})["add"] = values
        return self

    def increment(self, field, by):
        """Adds a number to a numeric field."""
        self.fields.setdefault(field, {})["increment"] = by
        return self

    def __repr__(self):
        return f"DocumentUpdate({str(self.id)!r}, {self.fields!r})"


class DocumentRemove:
    """A document that is removed."""

    def __init__(self, id, condition=None):
        self.id = id if isinstance(id, DocumentId) else DocumentId(id)
        self.condition = condition

    def __repr__(self):
        return f"DocumentRemove({str(self.id)!r})"


def json_value(value):
    """A value as Vespa's JSON has it."""
    if isinstance(value, Tensor):
        return value.to_json_tree()
    if isinstance(value, Position):
        return {"lat": value.lat, "lng": value.lng}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} has no form in JSON")
