"""Fields by their names, which are only read when somebody asks for them."""

from collections.abc import MutableMapping

from .values import decode, encode


class Fields(MutableMapping):
    """A dict of fields that knows what has been changed."""

    def __init__(self, raw=None, check=None):
        self._raw = raw or {}
        self._values = {}
        self._check = check or (lambda name, value: value)

    def __getitem__(self, name):
        if name not in self._values:
            self._values[name] = decode(self._raw[name])
        found = self._values[name]
        if found is _GONE:
            raise KeyError(name)
        return found

    def __setitem__(self, name, value):
        self._values[name] = self._check(name, value)

    def __delitem__(self, name):
        self[name]
        self._values[name] = _GONE

    def __contains__(self, name):
        return self._values[name] is not _GONE if name in self._values else name in self._raw

    def __iter__(self):
        for name in [*self._raw, *(name for name in self._values if name not in self._raw)]:
            if self._values.get(name) is not _GONE:
                yield name

    def __len__(self):
        return sum(1 for _ in self)

    def __repr__(self):
        return repr(dict(self))

    def _is_changed(self, name, value):
        if name not in self._raw:
            return True
        # A list or a dict may have been changed where it is.
        return _differ(value, decode(self._raw[name]))

    def encoded(self):
        """All fields as stead takes them."""
        return {name: encode(self._values[name]) if name in self._values else self._raw[name] for name in self}

    def changes(self):
        """The fields that are new or changed, as stead takes them, and the names of those that are gone."""
        changed, gone = {}, []
        for name, value in self._values.items():
            if value is _GONE:
                gone += [name] if name in self._raw else []
            elif self._is_changed(name, value):
                changed[name] = encode(value)
        return changed, gone


class HasFields:
    """What has `fields`, which are found as in a dict."""

    def __getitem__(self, name):
        return self.fields[name]

    def __setitem__(self, name, value):
        self.fields[name] = value

    def __delitem__(self, name):
        del self.fields[name]

    def __contains__(self, name):
        return name in self.fields

    def __iter__(self):
        return iter(self.fields)

    def get(self, name, default=None):
        """The value of a field, or the default where it has none."""
        return self.fields.get(name, default)


class _Gone:
    def __repr__(self):
        return "(gone)"


_GONE = _Gone()


def _differ(a, b):
    if type(a) is not type(b):
        return True
    if isinstance(a, list):
        return len(a) != len(b) or any(map(_differ, a, b))
    if isinstance(a, dict):
        return list(a) != list(b) or any(_differ(a[key], b[key]) for key in a)
    # An array compares element by element, and counts as another one. So does NaN.
    return (a == b) is not True
