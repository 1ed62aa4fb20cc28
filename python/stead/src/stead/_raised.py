"""Which component of several an exception is of."""


class raised_by:
    """What is raised within is of this component, unless it is known to be of one that this one called."""

    __slots__ = ("_id",)

    def __init__(self, id):
        self._id = id

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # Where exceptions have no attributes, nobody is named.
        if error is not None and "_stead_component" not in getattr(error, "__dict__", {"_stead_component": None}):
            error.__dict__["_stead_component"] = self._id
        return False
