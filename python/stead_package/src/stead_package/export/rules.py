"""What to do with the modules that a package needs: rules in the order in which they were made, and hooks."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum
from typing import Any, Callable, Dict, List, Optional

from ..glob_group import GlobGroup

Hook = Callable[[Any, str], None]
"""Called with the exporter and the name of a module."""


class Action(Enum):
    """What happens to a module."""

    INTERN = "intern"
    EXTERN = "extern"
    MOCK = "mock"
    DENY = "deny"
    SKIP = "skip"
    """The package's own importer: nothing."""


@dataclass
class Rule:
    """An action for names that match."""

    group: GlobGroup
    action: Action
    allow_empty: bool
    was_used: bool = False


class Rules:
    """Rules, of which the first that matches decides."""

    def __init__(self) -> None:
        self._rules: List[Rule] = []

    def add(self, rule: Rule) -> None:
        """Adds one behind all others."""
        self._rules.append(rule)

    def match(self, module: str, naming_it: bool = False) -> Optional[Action]:
        """The action of the first rule that matches; with `naming_it`, of rules whose pattern names the module's
        root instead of covering it by a wildcard."""
        for rule in self._rules:
            if naming_it and not rule.group.names_a_root(module.partition(".")[0]):
                continue
            if rule.group.matches(module):
                rule.was_used = True
                return rule.action
        return None

    def takes_missing(self, module: str) -> bool:
        """Whether the rule for a module is one that needs no source."""
        for rule in self._rules:
            if rule.group.matches(module):
                return rule.action is not Action.INTERN
        return False

    def unused(self) -> List[Rule]:
        """Rules that must match something and did not."""
        return [rule for rule in self._rules if not rule.allow_empty and not rule.was_used]


class HookHandle:
    """Removes a hook."""

    def __init__(self, hooks: Dict[int, Hook], number: int) -> None:
        self._hooks = hooks
        self._number = number

    def remove(self) -> None:
        """From now on the hook is not called; twice is once."""
        self._hooks.pop(self._number, None)


class Hooks:
    """Hooks for one action, called in the order in which they were registered."""

    def __init__(self) -> None:
        self._hooks: Dict[int, Hook] = {}
        self._numbers = itertools.count()

    def register(self, hook: Hook) -> HookHandle:
        """Adds a hook behind all others."""
        number = next(self._numbers)
        self._hooks[number] = hook
        return HookHandle(self._hooks, number)

    def call(self, exporter: Any, module: str) -> None:
        """Calls all of them."""
        for hook in list(self._hooks.values()):
            hook(exporter, module)
