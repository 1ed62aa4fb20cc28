"""Opening packages: modules, objects and files, apart from everything else in the interpreter.

This half of the library needs nothing of the other, `stead_package.export`.
"""

from __future__ import annotations

import types
from typing import Any, Callable, Dict, List, Optional

from . import environment, manifest as manifests, torch_archive
from .archive import Archive, open_archive
from .contents import Contents
from .directory import Directory, directory_of
from .errors import ArchiveError, EnvironmentMismatchError
from .examples import Replay, replay
from .glob_group import GlobPattern
from .importer import Importer, attribute_of
from .mangling import PackageMangler, demangle, is_mangled
from .manifest import EntryPoint, Manifest
from .module_source import ModuleSource
from .module_table import ModuleTable
from .names import resource_entry
from .resources import PackageResourceReader
from .tensors import TensorTable
from .unpickler import PackageUnpickler


class PackageImporter(Importer):
    """An opened package.

    Args:
        file_or_buffer: the path of a package or of the folder into which one was unpacked, a binary file object, or
            anything with the buffer protocol (for instance a memoryview over a mapped file, which is not copied).
            Packages that `torch.package` wrote can be opened as well.
        module_allowed: asked for each extern module; a package that needs one for which it says no is refused.
        name: how messages call the package instead of by its path.

    Raises:
        ArchiveError: damaged, or not a package.
        EnvironmentMismatchError: it names a minor version of Python that is not the running one.
        ImportError: `module_allowed` refuses an extern.

    Loading modules and pickles runs code of the package: open only packages of those whom you let run code.
    """

    def __init__(
        self,
        file_or_buffer: Any,
        module_allowed: Callable[[str], bool] = lambda module_name: True,
        *,
        name: Optional[str] = None,
    ) -> None:
        archive = open_archive(file_or_buffer, name)
        self._torch: Optional[torch_archive.TorchArchive] = None
        if not archive.has(manifests.ENTRY):
            self._torch = torch_archive.TorchArchive(archive)
            archive, manifest = self._torch.archive, self._torch.manifest
            contents = Contents(archive, manifest, ("numpy", "torch"))
        else:
            manifest = read_manifest(archive)
            contents = Contents(archive, manifest)
        for extern in manifest.externs:
            if not module_allowed(extern.module):
                raise ImportError(
                    f"package {archive.where} needs the extern module {extern.module!r}, which module_allowed refuses",
                    name=extern.module,
                )
        wrong = environment.wrong_python(manifest)
        if wrong:
            raise EnvironmentMismatchError(f"package {archive.where} {wrong}")
        self.filename = archive.where
        self.manifest = manifest
        self._archive = archive
        self._contents = contents
        self._mangler = PackageMangler()
        self._table = ModuleTable(contents, self, self._mangler)
        self._tensors = TensorTable(archive, manifest.tensors)
        self._kept: Dict[str, Any] = {}

    @property
    def modules(self) -> Dict[str, types.ModuleType]:
        """Modules that were loaded, by their names inside the package."""
        return self._table.modules

    @property
    def extern_modules(self) -> List[str]:
        """Modules that the package takes from the interpreter."""
        return [extern.module for extern in self.manifest.externs]

    @property
    def tensors(self) -> TensorTable:
        """Arrays over the records of the package."""
        return self._tensors if self._torch is None else self._torch.tensors

    def id(self) -> str:
        """A name of this importer that no other of the process has: the prefix of its modules' names."""
        return self._mangler.parent_name()

    def python_version(self) -> Optional[str]:
        """The version of Python that exported the package; None if it does not say."""
        return self.manifest.python or None

    def file_structure(self, *, include: GlobPattern = "**", exclude: GlobPattern = ()) -> Directory:
        """The files whose paths match, as a tree."""
        return directory_of(self.filename, self._archive.names(), include, exclude)

    # Modules

    def import_module(self, name: str, package: Optional[str] = None) -> Any:
        """Loads a module of the package, or one of its externs.

        Args:
            package: what a relative name (`.b`) is relative to.

        Raises:
            ModuleNotFoundError: naming the package and the externs that it may take.
        """
        name = demangle(name)
        level = len(name) - len(name.lstrip("."))
        if level:
            if not package:
                raise TypeError(f"a package is required to import the relative name {name!r}")
            name = self._table.resolve(name[level:], {"__package__": package}, level)
        if not name:
            raise ValueError("empty module name")
        return self._table.import_name(name)

    def find_source(self, module_name: str) -> ModuleSource:
        """The source of a packaged module, for packaging it again."""
        kind = self._contents.kind(module_name)
        if kind in ("module", "package"):
            path = f"{self._mangler.parent_name()}/{self._contents.filename(module_name)}"
            return ModuleSource("source", self._contents.source(module_name), kind == "package", path)
        if kind in ("mock", "folder"):
            return ModuleSource(kind, is_package=kind == "folder")
        raise ModuleNotFoundError(self._contents.missing(module_name), name=module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        found = getattr(obj, "__module__", None)
        if found is not None:
            return found
        for module_name, module in list(self.modules.items()):
            if module_name == "__main__" or not isinstance(module, types.ModuleType):
                continue
            try:
                if attribute_of(module, name) is obj:
                    return module_name
            except AttributeError:
                continue
        return "__main__"

    def described(self) -> str:
        return f"the importer of {self.filename}"

    def get_source(self, fullname: str) -> Optional[str]:
        """The source of a packaged module (`importlib.abc.InspectLoader`); None for packages without source."""
        name = demangle(fullname)
        kind = self._contents.kind(name)
        if kind in ("module", "package"):
            return self._contents.source(name)
        if kind in ("folder", "mock"):
            return None
        raise ModuleNotFoundError(self._contents.missing(name), name=name)

    def is_package(self, fullname: str) -> bool:
        """Whether a module may have submodules (`importlib.abc.InspectLoader`)."""
        return self._contents.kind(demangle(fullname)) in ("package", "folder")

    def get_resource_reader(self, fullname: str) -> Optional[PackageResourceReader]:
        """Files beside a module (`importlib.abc.Loader`); None if it is not a package."""
        name = demangle(fullname)
        return PackageResourceReader(self._archive, name) if self.is_package(name) else None

    # Files

    def load_binary(self, package: str, resource: str) -> bytes:
        """The bytes of a resource.

        Raises:
            ResourceNotFoundError: there is none.
            ArchiveError: its checksum is wrong.
        """
        return bytes(self.view_binary(package, resource))

    def view_binary(self, package: str, resource: str) -> memoryview:
        """The bytes of a resource where they lie in the package: no copy, read-only, aligned to 64 bytes."""
        return self._archive.read(resource_entry(package, resource))

    def load_text(self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The text of a resource. Raises as `load_binary`."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None, *, writable: bool = False) -> Any:
        """Unpickles a resource.

        numpy arrays are read-only views into the package. torch tensors share its memory where it is private to this
        process (packages opened by path); without torch they become numpy arrays.

        Args:
            map_location: device to which torch tensors are moved, by name or `torch.device`.
            writable: arrays in memory of their own; those that shared memory at export share it again.
        """
        entry = resource_entry(package, resource)
        return self._unpickled(entry, map_location, writable)

    def _unpickled(self, entry: str, map_location: Any, writable: bool) -> Any:
        data = self._archive.read(entry)
        if self._torch is not None:
            return self._torch.load(data, entry, self._table.import_name, self, map_location)
        tensors: Any = TensorTable(self._archive, self.manifest.tensors) if writable else self._tensors
        if map_location is not None:
            tensors = torch_archive.Moved(tensors, map_location)
        arguments = (self._table.import_name, tensors, self, self._kept, writable)
        return PackageUnpickler(data, f"{self.filename}/{entry}", *arguments).load()

    # What the manifest offers

    def entry_points(self) -> List[str]:
        """Names of the entry points."""
        return [entry.name for entry in self.manifest.entry_points]

    def load_entry_point(self, name: str) -> Any:
        """The callable that an entry point names.

        Raises:
            KeyError: there is none of that name.
        """
        for entry in self.manifest.entry_points:
            if entry.name == name:
                return self._resolved(entry)
        raise KeyError(f"package {self.filename} has no entry point {name!r}; it has {self.entry_points()}")

    def _resolved(self, entry: EntryPoint) -> Any:
        if entry.module is not None:
            found = self.import_module(entry.module)
        else:
            found = self.load_pickle(entry.package or "", entry.resource or "")
        return attribute_of(found, entry.attribute) if entry.attribute else found

    def examples(self) -> List[str]:
        """Names of the recorded examples."""
        return [example.name for example in self.manifest.examples]

    def load_example(self, name: str) -> Any:
        """Inputs and outputs of a recorded example.

        Raises:
            KeyError: there is none of that name.
        """
        for example in self.manifest.examples:
            if example.name == name:
                return self._unpickled(example.record, None, False)
        raise KeyError(f"package {self.filename} has no example {name!r}; it has {self.examples()}")

    def replay(self, name: str) -> Replay:
        """Runs an example's entry point on the recorded inputs and compares with the recorded outputs."""
        inputs, outputs = self.load_example(name)
        example = next(example for example in self.manifest.examples if example.name == name)
        return replay(example, self.load_entry_point(example.entry_point), inputs, outputs)

    def unpack_bundles(self, cache_dir: Any, *, activate: bool = True) -> List[str]:
        """Unpacks bundled distributions below `cache_dir`, once for each content, and lets imports find them.

        Raises:
            EnvironmentMismatchError: a bundle is for another interpreter or platform, or another version of it is
                active in this interpreter.
        """
        # Few packages have any, and every interpreter has the memory of what this imports.
        from . import bundles

        return bundles.unpack(self._archive, self.manifest, cache_dir, activate)

    def environment_problems(self) -> List[str]:
        """What stands between the package and this interpreter: externs that are missing or of another version."""
        return environment.problems(self.manifest)

    def verify(self) -> None:
        """Compares every file and tensor record with its recorded digest; reads the whole package.

        Raises:
            ArchiveError: something differs, is missing, or is not listed.
        """
        verify(self._archive, self.manifest)


def read_manifest(archive: Archive) -> Manifest:
    """The manifest of an archive that has one.

    Raises:
        ArchiveError: damaged or of a later version.
    """
    if len(archive.view(manifests.ENTRY)) > manifests.MAX_BYTES:
        raise ArchiveError(f"{archive.where}: {manifests.ENTRY} is larger than {manifests.MAX_BYTES} bytes")
    return manifests.parse(bytes(archive.read(manifests.ENTRY)), archive.where)


def verify(archive: Archive, manifest: Manifest) -> None:
    """As `PackageImporter.verify`, without an importer: runs no code."""
    import hashlib

    TensorTable(archive, manifest.tensors).verify()
    records = {entry.record for entry in manifest.tensors}
    for name in archive.names():
        archive.check(name)
        listed = manifest.files.get(name)
        if name in records or name == manifests.ENTRY:
            continue
        if listed is None:
            if manifest.files:
                raise ArchiveError(f"{archive.where}: {name!r} is not listed in the manifest")
        elif hashlib.sha256(archive.view(name)).hexdigest() != listed.sha256:
            raise ArchiveError(f"{archive.where}: {name!r} is damaged (its SHA-256 differs)")
    for name in manifest.files:
        if not archive.has(name):
            raise ArchiveError(f"{archive.where}: {name!r} is listed in the manifest and missing")


__all__ = ["PackageImporter", "is_mangled"]
