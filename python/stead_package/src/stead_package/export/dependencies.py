"""Which modules a package needs, what happens to each, and what is wrong with them."""

from __future__ import annotations

from typing import Callable, Iterable, List, Optional, Tuple

from ..importer import Importer
from ..mangling import demangle
from ..module_source import ModuleSource
from ..module_table import PSEUDO_MODULES
from ..names import parents
from .code_dependencies import Dependency, code_dependencies
from .dependency_report import PackagingErrorReason
from .digraph import DiGraph
from .rules import Action, Rules
from ..standard_library import is_implicit_extern

_BROKEN_SOURCES = {
    "extension": PackagingErrorReason.IS_EXTENSION_MODULE,
    "builtin": PackagingErrorReason.IS_EXTENSION_MODULE,
    "no file": PackagingErrorReason.NO_DUNDER_FILE,
    "no source": PackagingErrorReason.SOURCE_FILE_NOT_FOUND,
}


class Dependencies:
    """The graph of modules and pickles. Problems become attributes of nodes and are reported together at the end.

    Args:
        importer: where sources come from.
        warn: told about imports that cannot be followed.
    """

    def __init__(self, importer: Importer, rules: Rules, warn: Callable[[str], None]) -> None:
        self.graph = DiGraph()
        self._importer = importer
        self._rules = rules
        self._warn = warn
        # Imports of modules that the exporting process does not have: user, line, module.
        self._absent: List[Tuple[str, int, str]] = []

    def add_pickle(self, title: str) -> None:
        """A pickle as a node from which edges lead."""
        self.graph.add_node(title, is_pickle=True, provided=True)

    def need(self, module: str, needed_by: Optional[str] = None) -> None:
        """A module that must be there when the package is loaded; its rule decides how."""
        self._follow([(needed_by, module)])

    def _follow(self, pending: List[Tuple[Optional[str], str]]) -> None:
        pending.reverse()
        while pending:
            user, name = pending.pop()
            if user is not None:
                self.graph.add_edge(user, name)
            if self._is_provided(name):
                continue
            pending.extend((name, other) for other in reversed(self._decide(name)))

    def save(self, module: str, follow: bool = True) -> None:
        """A module that is packaged whatever the rules say."""
        self._follow([(module, other) for other in self._intern(module, follow)])

    def add_source(
        self, module: str, text: str, is_package: bool, follow: bool = True, filename: Optional[str] = None
    ) -> None:
        """A module with the source that it has in the package."""
        self._follow([(module, other) for other in self._add_source(module, text, is_package, follow, filename)])

    def check_externs(self) -> None:
        """Marks modules that are packaged below an extern package."""
        externs = {name for name, node in self.graph.nodes.items() if node.get("action") is Action.EXTERN}
        for name, node in self.graph.nodes.items():
            if node.get("action") in (Action.INTERN, Action.MOCK) and not node.get("error"):
                above = [parent for parent in parents(str(name)) if parent in externs]
                if above:
                    self._break(str(name), PackagingErrorReason.UNDER_EXTERN, f"{above[0]} is extern")

    def tell_absent(self, folders: Iterable[str]) -> None:
        """Warns of imports that nothing will satisfy: no module or folder of the package, and no extern."""
        there = {folder.replace("/", ".") for folder in folders}
        there.update(parent for name in self.graph for parent in parents(str(name)))
        for user, line, module in self._absent:
            if module not in there and not self._is_provided(module):
                self._warn(
                    f"{user}, line {line}: imports {module}, which the exporting process does not have; "
                    "it is left out, and importing it will fail"
                )

    def _is_provided(self, module: str) -> bool:
        return module in self.graph and bool(self.graph.nodes[module].get("provided"))

    def _decide(self, module: str) -> List[str]:
        if module in PSEUDO_MODULES:
            self.graph.add_node(module, action=Action.SKIP, provided=True)
            return []
        action = self._rules.match(module, naming_it=True)
        if action is None and is_implicit_extern(module):
            action = Action.EXTERN
        if action is None:
            action = self._rules.match(module)
        if action is Action.INTERN:
            return self._intern(module, True)
        self.graph.add_node(module, action=action, provided=True)
        if action is None:
            self._break(module, PackagingErrorReason.NO_ACTION)
        elif action is Action.DENY:
            self._break(module, PackagingErrorReason.DENIED)
        return []

    def _intern(self, module: str, follow: bool) -> List[str]:
        self.graph.add_node(module, action=Action.INTERN, provided=True)
        try:
            found = self._importer.find_source(module)
        except ImportError as error:
            self._break(module, PackagingErrorReason.NOT_FOUND, str(error))
            return []
        if found.kind == "source":
            return self._add_source(module, found.text or "", found.is_package, follow, found.filename)
        self._add_other(module, found)
        return []

    def _add_other(self, module: str, found: ModuleSource) -> None:
        if found.kind == "mock":
            # Packaged again, a mock stays one.
            self.graph.add_node(module, action=Action.MOCK)
        elif found.kind != "folder":
            self.graph.add_node(module, filename=found.filename)
            self._break(module, _BROKEN_SOURCES[found.kind])

    def _add_source(
        self, module: str, text: str, is_package: bool, follow: bool, filename: Optional[str]
    ) -> List[str]:
        found = {"source": text, "is_package": is_package, "filename": filename}
        # A source that is given settles what was missing when something imported it earlier.
        self.graph.add_node(module, action=Action.INTERN, provided=True, error=None, error_context=None, **found)
        for user in [user for user, _, name in self._absent if name == module]:
            self.graph.add_edge(user, module)
        self._absent = [one for one in self._absent if one[2] != module]
        if not follow:
            return []
        try:
            dependencies = code_dependencies(text, module, is_package, filename or module)
        except (SyntaxError, ImportError, ValueError, RecursionError) as error:
            self._break(module, PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED, str(error))
            return []
        for line, what in dependencies.unfollowed:
            self._warn(f"{module}, line {line}: {what} cannot be followed; name the modules with add_dependency()")
        return [name for name in (self._module_of(one, module) for one in dependencies.found) if name is not None]

    def _module_of(self, dependency: Dependency, user: str) -> Optional[str]:
        """The module that an import needs; None for one that the exporting process does not have.

        `from a import b` needs `a.b` where that is a module: then `a` itself is not needed, nor what it imports.
        """
        if dependency.name is not None:
            submodule = f"{dependency.module}.{dependency.name}"
            if self._exists(submodule):
                return submodule
        name = dependency.module
        if self._exists(name) or is_implicit_extern(name) or self._rules.takes_missing(name):
            return name
        # Code often imports what it can do without. What is meant to be in the package may be saved after its user.
        if not dependency.optional:
            self._absent.append((user, dependency.line, name))
        return None

    def _exists(self, module: str) -> bool:
        if module in PSEUDO_MODULES or self._is_provided(module):
            return True
        try:
            self._importer.find_source(module)
        except ImportError:
            return False
        return True

    def _break(self, module: str, reason: PackagingErrorReason, context: Optional[str] = None) -> None:
        self.graph.add_node(demangle(module), error=reason, error_context=context)
