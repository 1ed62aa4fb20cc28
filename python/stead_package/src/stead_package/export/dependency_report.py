"""Errors about dependencies: all of them at once, grouped by reason, each with the way to it."""

from __future__ import annotations

from enum import Enum
from typing import Dict, List

from ..errors import PackageError
from ..mangling import demangle
from .digraph import DiGraph


class PackagingErrorReason(Enum):
    """Why a module cannot be packaged; the value is the heading in the report."""

    NO_ACTION = "no rule says what to do with the module: intern(), extern() or mock() it"
    DENIED = "a deny() rule forbids the module"
    IS_EXTENSION_MODULE = "the module is a C extension, and packages hold Python source only: extern() or bundle() it"
    NO_DUNDER_FILE = "the module was made by a program and has no file: give its source to save_source_string()"
    SOURCE_FILE_NOT_FOUND = "the source of the module cannot be read"
    NOT_FOUND = "there is no such module in the exporting process"
    DEPENDENCY_RESOLUTION_FAILED = "dependency resolution failed"
    MOCKED_BUT_STILL_USED = "the module was mocked, but a pickle holds objects of it: intern() or extern() it"
    UNDER_EXTERN = "the module would be packaged inside a package that is extern, where imports would not find it"


_SECURITY_NOTE = (
    "reaches the interpreter's own state and files, so it is never extern by itself: "
    "extern() it if code of this package may do that"
)


class PackagingError(PackageError):
    """Modules that the package needs cannot be packaged.

    Attributes:
        dependency_graph: with `error` (a PackagingErrorReason) in the attributes of each broken module.
    """

    def __init__(self, dependency_graph: DiGraph, debug: bool = False) -> None:
        self.dependency_graph = dependency_graph
        super().__init__(_report(dependency_graph, debug))

    def broken(self) -> Dict[PackagingErrorReason, List[str]]:
        """Names of broken modules by reason, sorted."""
        return broken_modules(self.dependency_graph)


class EmptyMatchError(PackageError):
    """A rule with `allow_empty=False` matched no module."""


def broken_modules(graph: DiGraph) -> Dict[PackagingErrorReason, List[str]]:
    """Names of modules with an error by reason, in the order of `PackagingErrorReason`, sorted."""
    found: Dict[PackagingErrorReason, List[str]] = {}
    for reason in PackagingErrorReason:
        names = sorted(str(name) for name, node in graph.nodes.items() if node.get("error") is reason)
        if names:
            found[reason] = names
    return found


def _report(graph: DiGraph, debug: bool) -> str:
    lines = []
    for reason, names in broken_modules(graph).items():
        lines.append(f"\n* {reason.value}:")
        for name in names:
            node = graph.nodes[name]
            lines.append(f"    {name}")
            if node.get("filename"):
                lines.append(f"      file: {node['filename']}")
            if node.get("error_context"):
                lines.append(f"      because: {node['error_context']}")
            if reason is PackagingErrorReason.NO_ACTION and demangle(name) in ("sys", "io"):
                lines.append(f"      note: {name} {_SECURITY_NOTE}")
            path = graph.first_path(name)
            if len(path) > 1:
                lines.append(f"      needed by: {' -> '.join(str(one) for one in path)}")
            if debug:
                users = [str(one) for one in graph.predecessors(name)]
                lines += [f"      imported in: {user}" for user in users]
    return "\n".join(lines) + "\n"
