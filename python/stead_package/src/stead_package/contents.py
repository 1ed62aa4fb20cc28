"""What an archive holds, as modules, mocks and externs."""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Set, Tuple

from .archive import Archive
from .errors import ArchiveError
from .manifest import Extern, Manifest
from .names import DATA, entry_module, parents
from .standard_library import is_implicit_extern


class Contents:
    """The modules of an opened package by kind, and its texts about those that are missing."""

    def __init__(self, archive: Archive, manifest: Manifest, always_allowed: Iterable[str] = ()) -> None:
        self.archive = archive
        self.manifest = manifest
        self._packaged: Dict[str, Tuple[str, bool]] = {}
        self._folders: Set[str] = set()
        self._externs: Dict[str, Extern] = {extern.module: extern for extern in manifest.externs}
        self._mocks: Set[str] = set(manifest.mocks)
        self._always = {"builtins", *always_allowed}
        for entry in archive.names():
            if entry.startswith(DATA):
                continue
            # Dots in names of files are not steps into packages.
            self._folders.update(parents(entry.replace(".", " ").replace("/", ".")))
            module = entry_module(entry)
            if module is not None:
                self._add(module[0], entry, module[1])
        # Code is checked before any of it runs; tensors when someone asks.
        for entry, _ in self._packaged.values():
            archive.read(entry)
        for mock in self._mocks:
            self._folders.update(parents(mock))
        # A package around an extern one is not allowed with it, except where all of it is: `import os.path` means `os`.
        for extern in self._externs:
            if is_implicit_extern(extern):
                self._always.update(parents(extern))
            else:
                self._folders.update(parents(extern))
        self._folders -= set(self._packaged)

    def _add(self, module: str, entry: str, is_package: bool) -> None:
        other = self._packaged.get(module)
        # As in Python's own import system a package hides a module of the same name.
        if other is None or is_package:
            self._packaged[module] = (entry, is_package)

    def kind(self, name: str) -> Optional[str]:
        """`module`, `package`, `mock`, `extern` or `folder` (a package without source); None if there is none."""
        packaged = self._packaged.get(name)
        if packaged is not None:
            return "package" if packaged[1] else "module"
        if name in self._mocks:
            return "mock"
        if any(one in self._externs or one in self._always for one in (name, *parents(name))):
            return "extern"
        return "folder" if name in self._folders else None

    def source(self, name: str) -> str:
        """The source text of a packaged module.

        Raises:
            ArchiveError: it is not UTF-8.
        """
        entry = self._packaged[name][0]
        try:
            return bytes(self.archive.read(entry)).decode("utf-8")
        except UnicodeDecodeError:
            raise ArchiveError(f"{self.archive.where}: {entry!r} is not UTF-8") from None

    def modules(self) -> List[str]:
        """Names of packaged modules, sorted."""
        return sorted(self._packaged)

    def filename(self, name: str) -> str:
        """The entry of a packaged module."""
        return self._packaged[name][0]

    def missing(self, name: str) -> str:
        """What to say when a module is neither packaged nor allowed."""
        externs = ", ".join(sorted(self._externs)) or "none"
        return (
            f"package {self.archive.where} has no module {name!r}, and may not take it from outside. "
            f"It may take: {externs}. Export it again with intern({name!r}) or extern({name!r})"
        )

    def missing_extern(self, name: str) -> str:
        """What to say when an allowed module is not installed."""
        seen = self._extern_of(name)
        text = f"package {self.archive.where} needs the extern module {name!r}, which is not installed here"
        if seen is not None and seen.distribution:
            return f"{text}: pip install {seen.distribution}=={seen.version} (the version seen at export)"
        if seen is not None and self.manifest.python:
            return f"{text}; it was exported with Python {self.manifest.python}"
        return text

    def _extern_of(self, name: str) -> Optional[Extern]:
        for candidate in (name, *reversed(parents(name))):
            if candidate in self._externs:
                return self._externs[candidate]
        return None
