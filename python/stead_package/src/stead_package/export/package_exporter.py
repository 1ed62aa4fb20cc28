"""Writing packages."""

from __future__ import annotations

import importlib.util
import io
import os
import pickle
import platform
import warnings
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from .. import __version__, manifest as manifests
from ..errors import PackageError
from ..glob_group import GlobGroup, GlobPattern
from ..importer import Importer, OrderedImporter, sys_importer
from ..bundles import digest
from ..mangling import demangle, is_mangled
from ..manifest import Bundle, EntryPoint, Example, FileEntry, Manifest
from ..names import DATA, module_entry, resource_entry
from ..tensor_writer import TensorWriter
from .bundled_files import bundled_files
from .culprits import find_culprits
from .dependencies import Dependencies
from .dependency_report import EmptyMatchError, PackagingError, PackagingErrorReason, broken_modules
from .extern_versions import extern_versions
from .graph_svg import graph_svg
from .output import Output
from .package_pickler import PackagePickler, ReducedObjects
from .pickle_dependencies import pickle_dependencies
from .rules import Action, Hook, HookHandle, Hooks, Rule, Rules


class PackagingWarning(UserWarning):
    """The package may lack something that only running its code could tell."""


class PackageExporter:
    """Writes a package: code, pickled objects with the code of their classes, and files.

    Use it as a context manager; leaving it writes the package, unless an exception leaves it too.

    Args:
        f: a path, or a binary stream that is written front to back. A path appears when the package is complete.
        importer: where classes and sources are looked up; several in order. Objects that were loaded from a package are
            packaged again with `(importer_of_that_package, sys_importer)`.
        debug: let reports name every module that imports a broken one, not only one way to it.
    """

    def __init__(
        self, f: Any, importer: Union[Importer, Sequence[Importer]] = sys_importer, debug: bool = False
    ) -> None:
        self.importer = importer if isinstance(importer, Importer) else OrderedImporter(*importer)
        self.debug = debug
        self.warnings: List[str] = []
        self._output = Output(f)
        self._zip = self._output.zip
        self._rules = Rules()
        self._hooks = {action: Hooks() for action in (Action.INTERN, Action.EXTERN, Action.MOCK)}
        self._dependencies = Dependencies(self.importer, self._rules, self._warned)
        self._tensors = TensorWriter(self._write_record)
        self._kept = ReducedObjects()
        self._manifest = Manifest()
        self._unique = 0
        self._closed = False

    # Code

    def save_source_file(self, module_name: str, file_or_directory: Any, dependencies: bool = True) -> None:
        """Adds a file as the source of a module, or all `.py` files of a folder as a package and its modules."""
        path = Path(os.fspath(file_or_directory))
        if not path.is_dir():
            is_package = path.name == "__init__.py"
            self._add_source(module_name, _text_of(path), is_package, dependencies, str(path))
            return
        found = []
        for file in sorted(path.rglob("*.py")):
            steps = list(file.relative_to(path).with_suffix("").parts)
            is_package = steps[-1] == "__init__"
            name = ".".join([module_name, *(steps[:-1] if is_package else steps)])
            found.append((name, _text_of(file), is_package, str(file)))
        # All are known before the imports of the first are followed.
        for name, text, is_package, file_name in found:
            self._add_source(name, text, is_package, False, file_name)
        for name, text, is_package, file_name in found if dependencies else []:
            self._add_source(name, text, is_package, True, file_name)

    def save_source_string(
        self, module_name: str, src: str, is_package: bool = False, dependencies: bool = True
    ) -> None:
        """Adds a text as the source of a module."""
        self._add_source(module_name, src, is_package, dependencies, None)

    def _add_source(self, name: str, text: str, is_package: bool, follow: bool, filename: Optional[str]) -> None:
        if is_mangled(name):
            raise ValueError(f"{name!r} is the name of a module in another package")
        self._dependencies.add_source(name, text, is_package, follow, filename)

    def save_module(self, module_name: str, dependencies: bool = True) -> None:
        """Adds the source of a module that the importer finds, whatever the rules say."""
        if not isinstance(module_name, str):
            raise TypeError("save_module takes the name of a module; for objects there is save_pickle")
        self._dependencies.save(demangle(module_name), dependencies)

    def add_dependency(self, module_name: str, dependencies: bool = True) -> None:
        """Adds a module as if saved code imported it."""
        if dependencies:
            self._dependencies.need(module_name)
        else:
            self._dependencies.save(module_name, False)

    # Data

    def save_pickle(
        self, package: str, resource: str, obj: Any, dependencies: bool = True, pickle_protocol: int = 4
    ) -> None:
        """Pickles an object, and packages the modules of its classes by the rules.

        Arrays of numpy and tensors of torch become records that are mapped, not read, when the package is loaded.

        Raises:
            pickle.PicklingError: naming what in the object cannot be pickled, and the way to it.
        """
        # Named as modules are, after where it lies.
        title = f"<{package}.{resource}>"
        self._save_pickle(title, resource_entry(package, resource), obj, dependencies, pickle_protocol)

    def _save_pickle(self, title: str, entry: str, obj: Any, follow: bool, protocol: int) -> None:
        if protocol not in (3, 4):
            raise ValueError(f"pickle protocol {protocol}: packages use 3 or 4")
        data = io.BytesIO()
        pickler = self._pickler(data, PackagePickler, protocol)
        try:
            pickler.dump(obj)
        except Exception as error:
            self._tensors.forget()
            raise self._unpicklable(entry, obj, error) from error
        self._tensors.flush(entry)
        needed = [*pickle_dependencies(data.getvalue()), *pickler.globals]
        hidden = [f"{module}.{name}" for module, name in needed if is_mangled(module)]
        if hidden:
            raise pickle.PicklingError(
                f"{entry} would name {', '.join(hidden)}, which other processes do not have: "
                "give the importer of that package to the exporter"
            )
        self._zip.write(entry, data.getvalue())
        if follow:
            self._dependencies.add_pickle(title)
            for module, _ in needed:
                self._dependencies.need(module, title)
                node = self._dependencies.graph.nodes[module]
                if node.get("action") is Action.MOCK:
                    node["error"] = PackagingErrorReason.MOCKED_BUT_STILL_USED

    def _pickler(self, file: Any, kind: Any, protocol: int = 4, tensors: Optional[TensorWriter] = None) -> Any:
        return kind(file, protocol, self, self.importer, tensors or self._tensors, self._kept)

    def _unpicklable(self, entry: str, obj: Any, error: Exception) -> pickle.PicklingError:
        scratch = TensorWriter(lambda name, data: "")
        found = find_culprits(obj, lambda file, kind: self._pickler(file, kind, 4, scratch))
        lines = "".join(f"\n  {line}" for line in found) or f" {type(error).__name__}: {error}"
        return pickle.PicklingError(f"{entry} cannot be pickled:{lines}")

    def save_text(self, package: str, resource: str, text: str) -> None:
        """Adds a text, in UTF-8."""
        self.save_binary(package, resource, text.encode("utf-8"))

    def save_binary(self, package: str, resource: str, binary: Any) -> None:
        """Adds bytes, for instance of an ONNX model."""
        self._zip.write(resource_entry(package, resource), binary)

    def get_unique_id(self) -> str:
        """A text that this exporter gives only once, for names of resources."""
        self._unique += 1
        return str(self._unique - 1)

    def _write_record(self, name: str, data: Any) -> str:
        self._zip.write(name, data)
        return self._zip.digests[name][1]

    # Rules

    def intern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules whose names match are packaged, and what they import follows.

        Rules are tried in the order in which they were made; the first that matches decides. The standard library and
        torch are extern unless a rule names them without wildcards in the first segment.

        Args:
            allow_empty: with False the export fails if no module matched.
        """
        self._rules.add(Rule(GlobGroup(include, exclude=exclude), Action.INTERN, allow_empty))

    def extern(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules whose names match, and theirs below, are taken from the interpreter that loads the package."""
        self._rules.add(Rule(GlobGroup(include, exclude=exclude), Action.EXTERN, allow_empty))

    def mock(self, include: GlobPattern, *, exclude: GlobPattern = (), allow_empty: bool = True) -> None:
        """Modules whose names match are replaced by stand-ins that can be imported and fail when used."""
        self._rules.add(Rule(GlobGroup(include, exclude=exclude), Action.MOCK, allow_empty))

    def deny(self, include: GlobPattern, *, exclude: GlobPattern = ()) -> None:
        """Modules whose names match are errors."""
        self._rules.add(Rule(GlobGroup(include, exclude=exclude), Action.DENY, True))

    def register_intern_hook(self, hook: Hook) -> HookHandle:
        """Calls `hook(exporter, module_name)` for each interned module when the package is written."""
        return self._hooks[Action.INTERN].register(hook)

    def register_extern_hook(self, hook: Hook) -> HookHandle:
        """Calls `hook(exporter, module_name)` for each extern module when the package is written."""
        return self._hooks[Action.EXTERN].register(hook)

    def register_mock_hook(self, hook: Hook) -> HookHandle:
        """Calls `hook(exporter, module_name)` for each mocked module when the package is written."""
        return self._hooks[Action.MOCK].register(hook)

    # What the package says about itself

    def require_python(self, minor: str) -> None:
        """Lets only that minor version load the package: `3.11`."""
        parts = minor.split(".")
        if len(parts) != 2 or not all(part.isdigit() for part in parts):
            raise ValueError(f"{minor!r} is not a minor version of Python such as '3.11'")
        self._manifest.requires_python = minor

    def set_environment(self, name: str) -> None:
        """Names the virtual environment, as the server knows it, in which the package runs."""
        self._manifest.environment = name

    def save_entry_point(self, name: str, target: str) -> None:
        """Gives a name to something that can be called.

        Args:
            target: `module:attribute`, or `package/resource.pkl` with an optional `:attribute`. The module is added as a
                dependency.
        """
        place, _, attribute = target.partition(":")
        if any(entry.name == name for entry in self._manifest.entry_points):
            raise PackageError(f"entry point {name!r} was saved before")
        if "/" in place:
            package, _, resource = place.rpartition("/")
            entry = EntryPoint(name, None, package.replace("/", "."), resource, attribute or None)
        elif attribute:
            self.add_dependency(place)
            entry = EntryPoint(name, place, attribute=attribute)
        else:
            raise ValueError(f"entry point {target!r}: write module:attribute or package/resource.pkl")
        self._manifest.entry_points.append(entry)

    def save_example(
        self, name: str, inputs: Any, outputs: Any, *, entry_point: str, rtol: float = 1e-5, atol: float = 1e-7
    ) -> None:
        """Records inputs of an entry point and what it must answer, for replays wherever the package is loaded.

        Args:
            inputs: keyword arguments as a dict, or positional ones as a list or tuple.
            rtol, atol: floats agree within `atol + rtol * |recorded|`.
        """
        if not isinstance(inputs, (dict, list, tuple)):
            raise TypeError("inputs are a dict of keyword arguments, or a list or tuple of positional ones")
        if any(example.name == name for example in self._manifest.examples):
            raise PackageError(f"example {name!r} was saved before")
        record = f"{DATA}examples/{len(self._manifest.examples)}.pkl"
        self._save_pickle(f"<example {name}>", record, (inputs, outputs), True, 4)
        self._manifest.examples.append(Example(name, entry_point, record, float(rtol), float(atol)))

    def bundle(self, requirement: str) -> None:
        """Stores a wheel file, or an installed distribution by name, with its shared libraries. Its modules are extern
        for the rest of the package; the importer's `unpack_bundles` makes them importable."""
        found = bundled_files(requirement)
        folder = f"{DATA}bundles/{len(self._manifest.bundles)}"
        for path in sorted(found.files):
            self._zip.write(f"{folder}/{path}", found.files[path]())
        sha256 = digest((path, self._zip.digests[f"{folder}/{path}"][1]) for path in found.files)
        bundle = Bundle(found.name, found.version, found.tags, folder, sha256, found.modules())
        self._manifest.bundles.append(bundle)
        for module in bundle.modules:
            self.extern([module, f"{module}.**"])

    # Questions

    def dependency_graph_string(self) -> str:
        """The graph of modules and pickles in the language of Graphviz."""
        return self._dependencies.graph.to_dot()

    def dependency_graph_svg(self) -> str:
        """The graph of modules and pickles as a drawing."""
        return graph_svg(self._dependencies.graph)

    def all_paths(self, src: str, dst: str) -> str:
        """The part of the graph between two modules, in the language of Graphviz."""
        return self._dependencies.graph.all_paths(src, dst)

    def get_rdeps(self, module_name: str) -> List[str]:
        """Modules and pickles that import a module, sorted; none for one that is not in the package."""
        if module_name not in self._dependencies.graph:
            return []
        return sorted(str(name) for name in self._dependencies.graph.predecessors(module_name))

    def _with_action(self, action: Action) -> List[str]:
        nodes = self._dependencies.graph.nodes
        return sorted(str(name) for name, node in nodes.items() if node.get("action") is action)

    def externed_modules(self) -> List[str]:
        """Modules that are extern so far, sorted."""
        return self._with_action(Action.EXTERN)

    def interned_modules(self) -> List[str]:
        """Modules that are packaged so far, sorted."""
        return self._with_action(Action.INTERN)

    def mocked_modules(self) -> List[str]:
        """Modules that are mocked so far, sorted."""
        return self._with_action(Action.MOCK)

    def denied_modules(self) -> List[str]:
        """Modules that are denied so far, sorted."""
        return self._with_action(Action.DENY)

    # Writing

    def __enter__(self) -> "PackageExporter":
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        if exc_type is not None:
            # The reason of this exception must be seen, not what is missing because of it.
            self._abandon()
        else:
            self.close()

    def close(self) -> None:
        """Checks all dependencies and writes the package. A second call does nothing.

        Raises:
            PackagingError: all modules that cannot be packaged.
            EmptyMatchError: rules that had to match and did not.
        """
        if self._closed:
            return
        try:
            self._dependencies.check_externs()
            graph = self._dependencies.graph
            if broken_modules(graph):
                raise PackagingError(graph, self.debug)
            unused = self._rules.unused()
            if unused:
                listed = "; ".join(f"{rule.action.value}({rule.group})" for rule in unused)
                raise EmptyMatchError(f"no module of the package matched {listed}, and allow_empty is False")
            self._dependencies.tell_absent(self._zip.folders)
            self._write_modules()
            self._write_manifest()
        except BaseException:
            self._abandon()
            raise
        self._closed = True
        self._output.commit()

    def _write_modules(self) -> None:
        nodes = self._dependencies.graph.nodes
        for name, node in list(nodes.items()):
            action = node.get("action")
            if action in self._hooks:
                self._hooks[action].call(self, str(name))
        for name, node in nodes.items():
            if node.get("source") is not None:
                self._zip.write(module_entry(str(name), node["is_package"]), node["source"].encode("utf-8"))

    def _write_manifest(self) -> None:
        manifest = self._manifest
        names = {entry.name for entry in manifest.entry_points}
        for example in manifest.examples:
            if example.entry_point not in names:
                raise PackageError(f"example {example.name!r} is of entry point {example.entry_point!r}; saved are {names}")
        manifest.writer = f"stead_package {__version__}"
        manifest.python = platform.python_version()
        manifest.externs = extern_versions(self.externed_modules())
        manifest.mocks = self.mocked_modules()
        manifest.tensors = self._tensors.entries
        records = {entry.record for entry in manifest.tensors}
        written: Dict[str, Any] = {name: at for name, at in self._zip.digests.items() if name not in records}
        manifest.files = {name: FileEntry(size, sha256) for name, (size, sha256) in written.items()}
        self._zip.write(manifests.ENTRY, manifest.to_json())

    def _abandon(self) -> None:
        if not self._closed:
            self._closed = True
            self._output.abandon()

    def _warned(self, text: str) -> None:
        self.warnings.append(text)
        warnings.warn(text, PackagingWarning, stacklevel=2)


def _text_of(path: Path) -> str:
    return importlib.util.decode_source(path.read_bytes())
