"""Queries and their results."""

from .fields import Fields, HasFields
from .tensor import Tensor

_PREFIXES = ("input.query(", "ranking.features.query(")


class Query:
    """A query: the parameters of its request, and values of `query(name)` of the rank profile.

    Parameters are texts: `query["hits"] = 5`, `query.yql = "select * from doc where true"`.
    """

    def __init__(self, parameters=None, features=None):
        pairs = parameters.items() if isinstance(parameters, dict) else parameters or ()
        self.parameters = {}
        for name, value in pairs:
            self[name] = value
        self.features = Features(self.parameters)
        for name, value in (features or {}).items():
            self.features[name] = value

    def __getitem__(self, name):
        return self.parameters[name]

    def __setitem__(self, name, value):
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"parameter {name} is a text or a number, not {type(value).__name__}")
        self.parameters[name] = str(value)

    def __delitem__(self, name):
        del self.parameters[name]

    def __contains__(self, name):
        return name in self.parameters

    def get(self, name, default=None):
        """The text of a parameter."""
        return self.parameters.get(name, default)

    @property
    def yql(self):
        """What is searched for, or None."""
        return self.get("yql")

    @yql.setter
    def yql(self, text):
        self["yql"] = text

    @property
    def hits(self):
        """How many hits are wanted."""
        return int(self.get("hits", 10))

    @hits.setter
    def hits(self, count):
        self["hits"] = int(count)

    @property
    def offset(self):
        """How many hits are left out before."""
        return int(self.get("offset", 0))

    @offset.setter
    def offset(self, count):
        self["offset"] = int(count)

    @property
    def profile(self):
        """The name of the rank profile."""
        return self.get("ranking.profile", "default")

    @profile.setter
    def profile(self, name):
        self["ranking.profile"] = name

    def clone(self):
        """Another query that is the same, for a search of its own."""
        return Query(self.parameters, self.features.own)

    def __repr__(self):
        return f"Query({self.parameters!r}, {self.features.own!r})"


class Features:
    """Values of `query(name)`: tensors, numbers and texts. Those of the request are read from its parameters."""

    def __init__(self, parameters):
        self._parameters, self.own = parameters, {}

    @staticmethod
    def _name(name):
        return name[len("query(") : -1] if name.startswith("query(") and name.endswith(")") else name

    def _text(self, name):
        return next((self._parameters[p + name + ")"] for p in _PREFIXES if p + name + ")" in self._parameters), None)

    def __getitem__(self, name):
        name = self._name(name)
        if name in self.own:
            return self.own[name]
        text = self._text(name)
        if text is None:
            raise KeyError(f"query({name})")
        try:
            return float(text)
        except ValueError:
            pass
        # A literal without its type has to be read with that of the rank profile.
        return Tensor.from_literal(text) if text.lstrip().startswith("tensor") else text

    def __setitem__(self, name, value):
        if isinstance(value, (bool, int)):
            value = float(value)
        if not isinstance(value, (Tensor, float, str)):
            raise TypeError(f"{name} is a stead.Tensor, a number or a text, not {type(value).__name__}")
        self.own[self._name(name)] = value

    def __contains__(self, name):
        name = self._name(name)
        return name in self.own or self._text(name) is not None

    def get(self, name, default=None):
        """The value, or the default."""
        return self[name] if name in self else default


class Hit(HasFields):
    """A hit: id, relevance, where it is from, and its fields by their names, `hit["title"]`."""

    def __init__(self, id, relevance=0.0, fields=None, source=""):
        self.id, self.relevance, self.source = id, relevance, source
        self.fields = Fields()
        self.fields.update(fields or {})
        self._ref = None

    def __repr__(self):
        return f"Hit({self.id!r}, {self.relevance!r})"


class Result:
    """A result: hits, how many documents matched, and errors as pairs of code and message."""

    def __init__(self, hits=(), total=None, errors=()):
        self.hits, self.errors = list(hits), list(errors)
        self.total = len(self.hits) if total is None else total
        self.coverage = None
        self._ref = None

    def sort(self):
        """Brings the hits in the order of their relevance, the best first."""
        self.hits.sort(key=lambda hit: -hit.relevance)

    def __repr__(self):
        return f"Result({self.hits!r}, total={self.total})"
