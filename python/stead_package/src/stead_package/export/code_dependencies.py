"""Which modules a source file imports, read from its syntax tree.

Seen: `import`, `from ... import`, `__import__` and `importlib.import_module` with constant arguments. Calls whose
arguments are not constants cannot be followed and are reported. Blocks under `if TYPE_CHECKING:` never run, so what
they import is left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import List, Optional, Set, Tuple


@dataclass(frozen=True)
class Dependency:
    """A module, and with `from module import name` the name, which may be a submodule."""

    module: str
    name: Optional[str]
    line: int
    optional: bool = False
    """Whether the code does without it: an import whose failure it catches."""


@dataclass
class CodeDependencies:
    """What a file imports, in the order of its text, and lines with imports that cannot be followed."""

    found: List[Dependency] = field(default_factory=list)
    unfollowed: List[Tuple[int, str]] = field(default_factory=list)


def code_dependencies(source: str, module: str, is_package: bool, filename: str = "<source>") -> CodeDependencies:
    """Reads a source file.

    Raises:
        SyntaxError: not Python of the running version.
        ImportError: a relative import that leaves the outermost package.
    """
    tree = ast.parse(source, filename)
    aliases = _Aliases()
    aliases.visit(tree)
    visitor = _Imports(module if is_package else module.rpartition(".")[0], aliases)
    visitor.visit(tree)
    return visitor.result


class _Aliases(ast.NodeVisitor):
    """Names under which a file has `importlib` and its functions."""

    def __init__(self) -> None:
        self.importlib: Set[str] = set()
        self.import_module: Set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == "importlib" or (alias.name.startswith("importlib.") and not alias.asname):
                self.importlib.add(alias.asname or "importlib")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module == "importlib" and not node.level:
            for alias in node.names:
                if alias.name == "import_module":
                    self.import_module.add(alias.asname or alias.name)


class _Imports(ast.NodeVisitor):
    def __init__(self, package: str, aliases: _Aliases) -> None:
        self._package = package
        self._aliases = aliases
        self._seen: Set[Tuple[str, Optional[str]]] = set()
        self._catching = 0
        self.result = CodeDependencies()

    def _add(self, module: str, name: Optional[str], line: int) -> None:
        if module and (module, name) not in self._seen:
            self._seen.add((module, name))
            self.result.found.append(Dependency(module, name, line, self._catching > 0))

    def visit_Try(self, node: ast.Try) -> None:
        catches = any(_catches_import_errors(handler.type) for handler in node.handlers)
        self._catching += catches
        for statement in node.body:
            self.visit(statement)
        self._catching -= catches
        for statement in [*node.handlers, *node.orelse, *node.finalbody]:
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        test = node.test
        name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else None
        for statement in node.orelse if name == "TYPE_CHECKING" else [*node.body, *node.orelse]:
            self.visit(statement)
        self.visit(test)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, None, node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = _absolute(self._package, node.module or "", node.level, node.lineno)
        for alias in node.names:
            self._add(module, None if alias.name == "*" else alias.name, node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            if function.id == "__import__":
                self._dunder_import(node)
            elif function.id in self._aliases.import_module:
                self._import_module(node)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            owner = function.value.id
            if function.attr == "import_module" and owner in self._aliases.importlib:
                self._import_module(node)
            elif function.attr == "__import__" and (owner in self._aliases.importlib or owner == "builtins"):
                self._dunder_import(node)
        self.generic_visit(node)

    def _dunder_import(self, node: ast.Call) -> None:
        try:
            name = _constant(_argument(node, 0, "name"), str)
            fromlist = _argument(node, 3, "fromlist")
            level_node = _argument(node, 4, "level")
            level = 0 if level_node is None else _constant(level_node, int)
            names = [] if fromlist is None else ast.literal_eval(fromlist) or []
            if not all(isinstance(one, str) for one in names):
                raise ValueError
        except (ValueError, TypeError):
            self.result.unfollowed.append((node.lineno, "__import__ with arguments that are not constants"))
            return
        module = _absolute(self._package, name, level, node.lineno)
        for one in names:
            self._add(module, None if one == "*" else one, node.lineno)
        if not names:
            self._add(module, None, node.lineno)

    def _import_module(self, node: ast.Call) -> None:
        try:
            name = _constant(_argument(node, 0, "name"), str)
            level = len(name) - len(name.lstrip("."))
            package = _argument(node, 1, "package") if level else None
            own = isinstance(package, ast.Name) and package.id in ("__package__", "__name__")
            base = self._package if own or not level else _constant(package, str)
        except ValueError:
            self.result.unfollowed.append((node.lineno, "importlib.import_module with arguments that are not constants"))
            return
        self._add(_absolute(base, name[level:], level, node.lineno), None, node.lineno)


def _catches_import_errors(caught: Optional[ast.expr]) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_catches_import_errors(one) for one in caught.elts)
    return caught is None or (
        isinstance(caught, ast.Name)
        and caught.id in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
    )


def _absolute(package: str, name: str, level: int, line: int) -> str:
    if level == 0:
        return name
    for _ in range(level - 1):
        package = package.rpartition(".")[0]
    if not package:
        raise ImportError(f"line {line}: relative import beyond the top-level package: {'.' * level}{name}")
    return f"{package}.{name}" if name else package


def _argument(node: ast.Call, index: int, keyword: str) -> Optional[ast.expr]:
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        raise ValueError("arguments that are not constants")
    if index < len(node.args):
        return node.args[index]
    for candidate in node.keywords:
        if candidate.arg is None:
            raise ValueError("arguments that are not constants")
        if candidate.arg == keyword:
            return candidate.value
    return None


def _constant(node: Optional[ast.expr], kind: type):
    if isinstance(node, ast.Constant) and isinstance(node.value, kind):
        return node.value
    raise ValueError("not a constant")
