"""Settings of components."""

import dataclasses

from .errors import ComponentError


class Settings(dict):
    """The settings of a component as its configuration has them."""


def of_dataclass(kind, settings, name):
    """A dataclass whose members are the settings; ComponentError for those that it does not have, and that it lacks."""
    members = {member.name: member for member in dataclasses.fields(kind) if member.init}
    unknown = sorted(set(settings) - set(members))
    if unknown:
        raise ComponentError(
            f"{name}: there is no setting {', '.join(unknown)}; there are {', '.join(sorted(members))}"
        )
    lacking = [
        member.name
        for member in members.values()
        if member.name not in settings
        and member.default is dataclasses.MISSING
        and member.default_factory is dataclasses.MISSING
    ]
    if lacking:
        raise ComponentError(f"{name}: the setting {', '.join(lacking)} is missing")
    return kind(**settings)
