"""Patterns over names of modules or files."""

from __future__ import annotations

import re
from typing import Iterable, List, Union

GlobPattern = Union[str, Iterable[str]]
"""One pattern or several."""


class GlobGroup:
    """Names that match one of `include` and none of `exclude`.

    A name is a row of segments. In a pattern, `*` stands for any characters within one segment, and `**`, alone in its
    place, for any number of segments, none included: `torch.**` matches `torch` and `torch.nn`, and `torch.*` only
    names of two segments.

    Raises:
        ValueError: `**` together with other characters in one segment.
    """

    def __init__(self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = ".") -> None:
        self.separator = separator
        self.include = _as_list(include)
        self.exclude = _as_list(exclude)
        self._include = [_compiled(pattern, separator) for pattern in self.include]
        self._exclude = [_compiled(pattern, separator) for pattern in self.exclude]

    def matches(self, candidate: str) -> bool:
        """Whether a name belongs to the group."""
        # With a separator before each segment `**` needs no special case at the start.
        candidate = self.separator + candidate
        included = any(pattern.fullmatch(candidate) for pattern in self._include)
        return included and not any(pattern.fullmatch(candidate) for pattern in self._exclude)

    def names_a_root(self, root: str) -> bool:
        """Whether a pattern of `include` has exactly this first segment, without wildcards."""
        return any(pattern.split(self.separator)[0] == root for pattern in self.include)

    def __str__(self) -> str:
        excluded = f" except {', '.join(self.exclude)}" if self.exclude else ""
        return ", ".join(self.include) + excluded

    def __repr__(self) -> str:
        return f"GlobGroup(include={self.include}, exclude={self.exclude})"


def _as_list(patterns: GlobPattern) -> List[str]:
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _compiled(pattern: str, separator: str) -> "re.Pattern[str]":
    between = re.escape(separator)
    within = f"[^{between}]*"
    parts = []
    for segment in pattern.split(separator):
        if segment == "**":
            parts.append(f"(?:{between}{within[:-1]}+)*")
        elif "**" in segment:
            raise ValueError(f"pattern {pattern!r}: `**` stands for whole segments and can only be one by itself")
        else:
            parts.append(between + within.join(re.escape(literal) for literal in segment.split("*")))
    return re.compile("".join(parts), re.DOTALL)
