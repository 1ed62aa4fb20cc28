"""The files of a package, whether they lie in a zip file, in memory or in a folder.

Names are those inside the package. Reading checks the checksum of an entry once; `view` does not, for tensors that
may be larger than memory.
"""

from __future__ import annotations

import io
import mmap
import os
import stat
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

from .errors import ArchiveError, ResourceNotFoundError
from .names import check_entry_name
from .zip_entries import read_zip_entries


class Archive:
    """A read-only set of named files.

    Attributes:
        where: the path, or how the archive was handed over; for messages.
        folder: the folder in which it lies unpacked, else None.
    """

    def __init__(
        self,
        where: str,
        views: Dict[str, Callable[[], memoryview]],
        crcs: Dict[str, int],
        folder: Optional[Path] = None,
    ) -> None:
        self.where = where
        self.folder = folder
        self._views = views
        self._crcs = crcs
        self._checked = set()

    def names(self) -> List[str]:
        """All files, in the archive's order."""
        return list(self._views)

    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""
        return name in self._views

    def view(self, name: str) -> memoryview:
        """The bytes of a file where they lie, unchecked.

        Raises:
            ResourceNotFoundError: no such file.
        """
        view = self._views.get(name)
        if view is None:
            raise ResourceNotFoundError(f"{self.where}: has no file {name!r}")
        return view()

    def read(self, name: str) -> memoryview:
        """The bytes of a file where they lie, read-only, after their checksum was found right.

        Raises:
            ResourceNotFoundError: no such file.
            ArchiveError: the checksum is wrong.
        """
        view = self.view(name).toreadonly()
        if name not in self._checked:
            self.check(name)
            self._checked.add(name)
        return view

    def check(self, name: str) -> None:
        """Compares the checksum of a file with the zip directory; files in folders have none.

        Raises:
            ArchiveError: they differ.
        """
        expected = self._crcs.get(name)
        if expected is not None and zlib.crc32(self.view(name)) != expected:
            raise ArchiveError(f"{self.where}: entry {name!r} is damaged (its CRC-32 is not the recorded one)")

    def below(self, root: str) -> "Archive":
        """The same archive seen from a folder that holds all its files.

        Raises:
            ArchiveError: a file that lies elsewhere.
        """
        for name in self._views:
            if not name.startswith(root):
                raise ArchiveError(f"{self.where}: {name!r} does not lie in {root!r}")
        views = {name[len(root) :]: view for name, view in self._views.items()}
        crcs = {name[len(root) :]: crc for name, crc in self._crcs.items()}
        folder = self.folder / root if self.folder else None
        return Archive(self.where, views, crcs, folder)


def open_archive(source: Any, where: Optional[str] = None) -> Archive:
    """Opens a path (zip file or folder), anything with the buffer protocol, or a binary file object.

    A zip file at a path is mapped privately: memory is shared with all other readers until it is written to. A writable
    buffer is taken to be the caller's to write to. File objects are read whole.

    Raises:
        ArchiveError: not a zip file that a package may be.
        OSError: the path cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fspath(source))
        name = where or str(path)
        return _open_folder(path, name) if path.is_dir() else _open_zip(_mapped(path), name)
    if isinstance(source, (bytes, bytearray, memoryview, mmap.mmap)):
        return _open_zip(memoryview(source), where or "<buffer>")
    if isinstance(source, io.IOBase) or hasattr(source, "read"):
        name = getattr(source, "name", None)
        source.seek(0)
        data = source.read()
        if not isinstance(data, bytes):
            raise TypeError("a package is read from a file opened in binary mode")
        return _open_zip(memoryview(data), where or (name if isinstance(name, str) else "<file>"))
    try:
        return _open_zip(memoryview(source), where or "<buffer>")
    except TypeError:
        raise TypeError(f"a package is opened from a path, a buffer or a file, not {type(source).__name__}") from None


def _mapped(path: Path) -> memoryview:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return memoryview(b"")
        try:
            # Private and writable: torch tensors cannot be read-only, and a write to a read-only page kills the process.
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except (OSError, ValueError):
            # Machines that promise no more memory than they have may refuse it.
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _open_zip(data: memoryview, where: str) -> Archive:
    if data.format != "B" or data.ndim != 1:
        data = data.cast("B")
    entries = read_zip_entries(data, where)
    views = {e.name: (lambda e=e: data[e.offset : e.offset + e.size]) for e in entries.values()}
    return Archive(where, views, {e.name: e.crc for e in entries.values()})


def _open_folder(root: Path, where: str) -> Archive:
    """A package that was unpacked, for instance with `unzip`. Files are mapped when they are first used."""
    paths: Dict[str, Path] = {}
    pending = [root]
    while pending:
        folder = pending.pop()
        with os.scandir(folder) as found:
            children = sorted(found, key=lambda child: child.name)
        for child in children:
            path = Path(child.path)
            name = path.relative_to(root).as_posix()
            mode = child.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                if child.name != "__pycache__":
                    pending.append(path)
            elif stat.S_ISREG(mode):
                check_entry_name(name, where)
                paths[name] = path
            else:
                raise ArchiveError(f"{where}: {name!r} is a link or a special file")
    kept: Dict[str, memoryview] = {}

    def view(name: str) -> memoryview:
        if name not in kept:
            kept[name] = _mapped(paths[name])
        return kept[name]

    return Archive(where, {name: (lambda n=name: view(n)) for name in paths}, {}, root)
