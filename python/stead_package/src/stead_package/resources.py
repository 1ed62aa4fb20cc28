"""Files of a package beside its modules, in the terms of `importlib.resources`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, Optional

from .archive import Archive


class PackageFolder:
    """A file or folder of a package: what `importlib.resources.files` answers (the Traversable protocol)."""

    def __init__(self, archive: Archive, path: str) -> None:
        self._archive = archive
        self._path = path

    @property
    def name(self) -> str:
        """The last segment."""
        return self._path.rpartition("/")[2]

    def _below(self) -> str:
        return f"{self._path}/" if self._path else ""

    def _children(self) -> List[str]:
        start = self._below()
        found: Dict[str, None] = {}
        for name in self._archive.names():
            if name.startswith(start) and not name.startswith(".data/"):
                found[name[len(start) :].partition("/")[0]] = None
        return list(found)

    def iterdir(self) -> Iterator["PackageFolder"]:
        """Files and folders right below."""
        return iter([PackageFolder(self._archive, self._below() + name) for name in self._children()])

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self._archive.has(self._path)

    def is_dir(self) -> bool:
        """Whether it is a folder with something in it."""
        return not self.is_file() and bool(self._children())

    def joinpath(self, *names: str) -> "PackageFolder":
        """What lies at a path below; whether there is anything shows when it is used."""
        path = self
        for segment in "/".join(str(name) for name in names).split("/"):
            if segment == "..":
                path = PackageFolder(self._archive, path._path.rpartition("/")[0])
            elif segment not in ("", "."):
                path = PackageFolder(self._archive, path._below() + segment)
        return path

    __truediv__ = joinpath

    def read_bytes(self) -> bytes:
        """All bytes of a file."""
        return bytes(self._archive.read(self._path))

    def read_text(self, encoding: Optional[str] = None, errors: Optional[str] = None) -> str:
        """The text of a file."""
        with self.open("r", encoding=encoding, errors=errors) as stream:
            return stream.read()

    def open(
        self, mode: str = "r", *, encoding: Optional[str] = None, errors: Optional[str] = None, **options: Any
    ) -> IO[Any]:
        """A stream over a file, `r` or `rb`."""
        if mode not in ("r", "rb", "rt"):
            raise ValueError(f"packages are read-only: mode {mode!r}")
        stream = io.BytesIO(self.read_bytes())
        if mode == "rb":
            return stream
        return io.TextIOWrapper(stream, encoding=encoding or "utf-8", errors=errors, **options)

    def __str__(self) -> str:
        return f"{self._archive.where}/{self._path}"

    def __repr__(self) -> str:
        return f"<{self}>"


class PackageResourceReader:
    """What `importlib` asks for the files beside a module (`importlib.abc.ResourceReader`)."""

    def __init__(self, archive: Archive, package: str) -> None:
        self._archive = archive
        self._folder = package.replace(".", "/")

    def files(self) -> PackageFolder:
        """The folder of the package."""
        return PackageFolder(self._archive, self._folder)

    def open_resource(self, resource: str) -> IO[bytes]:
        """A binary stream."""
        return io.BytesIO(bytes(self._archive.read(f"{self._folder}/{resource}")))

    def resource_path(self, resource: str) -> str:
        """A path in the file system; there is one only for packages that were unpacked.

        Raises:
            FileNotFoundError: the package is an archive, or has no such file.
        """
        folder = self._archive.folder
        if folder is None:
            raise FileNotFoundError(f"{self._archive.where} is an archive: its {resource!r} has no path")
        path = Path(folder) / self._folder / resource
        if not path.is_file():
            raise FileNotFoundError(f"{self._archive.where} has no {self._folder}/{resource}")
        return str(path)

    def is_resource(self, name: str) -> bool:
        """Whether it is a file right beside the module."""
        return self._archive.has(f"{self._folder}/{name}")

    def contents(self) -> Iterator[str]:
        """Names of files and folders beside the module."""
        return (child.name for child in self.files().iterdir())
