"""Requests and responses of HTTP."""

import json

from .tensor import Tensor


class Headers:
    """Headers by their names, in any case; of a name that stands twice the first."""

    def __init__(self, pairs=()):
        pairs = pairs.items() if isinstance(pairs, dict) else pairs
        self.pairs = [(str(name), str(value)) for name, value in pairs]

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


class Request:
    """A request.

    `matched` is what each `*` of the binding stands for. `parameters` are pairs of the query, then of the form in the
    body.
    """

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
        self.parameters = [(name, value) for name, value in parameters]
        self.headers, self.matched = Headers(headers), list(matched)
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
        if isinstance(body, (bytes, bytearray, memoryview)):
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
        if content_type or "content-type" not in self.headers:
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
