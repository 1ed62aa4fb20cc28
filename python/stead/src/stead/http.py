"""Requests and responses of HTTP."""

import json

from .tensor import Tensor


class Headers:
    """Headers by their names, in any case; of a name that stands twice the first."""

    def __init__(self, pairs=()):
        pairs = pairs.items() if isinstance(pairs, dict) else pairs
        self.pairs = [(str(name), str(value)) for name, value in pairs] if pairs else []

    def get(self, name, default=None):
        """The value, or the default."""
        return next((value for known, value in self.pairs if known.lower() == name.lower()), default)

    def all(self, name):
        """All values of a name."""
        return [value for known, value in self.pairs if known.lower() == name.lower()]

    def __getitem__(self, name):
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name):
        return self.get(name) is not None

    def __iter__(self):
        return iter(self.pairs)

    def __repr__(self):
        return f"Headers({self.pairs!r})"


def _headers(sent):
    """Headers of pairs, or of lines as stead sends them: a name, its value, the next name; none of them has line ends."""
    if type(sent) is str:
        lines = sent.split("\n")
        sent = zip(lines[::2], lines[1::2])
    return Headers(sent)


class _Lazy:
    """An attribute that is made when it is first asked for; most requests have some that nobody asks for."""

    def __init__(self, make):
        self.make = make

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        made = instance.__dict__[self.name] = self.make(instance)
        return made


class Request:
    """A request.

    `matched` is what each `*` of the binding stands for. `parameters` are pairs of the query, then of the form in the
    body.
    """

    parameters = _Lazy(lambda request: [(name, value) for name, value in request._parameters])
    headers = _Lazy(lambda request: _headers(request._headers))
    matched = _Lazy(lambda request: list(request._matched))

    def __init__(
        self,
        method="GET",
        path="/",
        query="",
        parameters=(),
        headers=(),
        body=b"",
        matched=(),
        remote=None,
        scheme="http",
        host="",
    ):
        self.method, self.path, self.query, self.body = method, path, query, body
        self._parameters, self._headers, self._matched = parameters, headers, matched
        self.remote, self.scheme, self.host = remote, scheme, host

    def parameter(self, name, default=None):
        """The value of a parameter; of one that stands twice the first."""
        return next((value for known, value in self.parameters if known == name), default)

    def text(self):
        """The body as a text."""
        return self.body.decode("utf-8", "replace")

    def json(self):
        """The body read as JSON; ValueError where it is none."""
        return json.loads(self.body)

    def __repr__(self):
        return f"Request({self.method!r}, {self.path!r})"


class Response:
    """A response. The body is bytes, a text, or what becomes JSON: a dict, a list, a `stead.Tensor`."""

    def __init__(self, body=b"", status=200, headers=(), content_type=None):
        self.status, self.headers = status, Headers(headers)
        if type(body) is bytes:
            self.body, default = body, "application/octet-stream"
        elif isinstance(body, (bytes, bytearray, memoryview)):
            self.body, default = bytes(body), "application/octet-stream"
        elif isinstance(body, str):
            self.body, default = body.encode(), "text/plain; charset=utf-8"
        elif isinstance(body, Tensor):
            self.body, default = body.to_json().encode(), "application/json"
        elif isinstance(body, (dict, list)):
            self.body, default = json.dumps(body).encode(), "application/json"
        else:
            raise TypeError(
                f"the body of a response is bytes, a text, a dict, a list or a stead.Tensor, not {type(body).__name__}"
            )
        if not headers:
            self.headers.pairs = [("content-type", content_type or default)]
        elif content_type or "content-type" not in self.headers:
            self.headers.pairs = [pair for pair in self.headers if pair[0].lower() != "content-type"]
            self.headers.pairs.append(("content-type", content_type or default))

    def json(self):
        """The body read as JSON."""
        return json.loads(self.body)

    def text(self):
        """The body as a text."""
        return self.body.decode()

    def __repr__(self):
        return f"Response(status={self.status}, {len(self.body)} bytes)"
