"""Files of an installed distribution or of a wheel, for storing them in a package."""

from __future__ import annotations

import email.parser
import importlib.metadata
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

from ..errors import PackageError
from ..names import check_entry_name


@dataclass(frozen=True)
class BundledFiles:
    """A distribution with its files by path, relative to the folder in which it is installed."""

    name: str
    version: str
    tags: Tuple[str, ...]
    files: Dict[str, Callable[[], bytes]]
    """Each is read when it is asked for: some distributions are larger than memory."""

    def modules(self) -> Tuple[str, ...]:
        """Top-level modules and packages."""
        found = set()
        for path in self.files:
            root, slash, _ = path.partition("/")
            if slash and not root.endswith((".dist-info", ".libs", ".data")) and root.isidentifier():
                found.add(root)
            elif not slash and root.endswith((".py", ".so", ".pyd")):
                found.add(root.partition(".")[0])
        return tuple(sorted(found))


def bundled_files(requirement: str) -> BundledFiles:
    """Reads a wheel file, or the installed distribution of that name.

    Raises:
        PackageError: no such distribution, not a wheel, one whose files are not below one folder, or one installed in
            editable form.
    """
    if str(requirement).endswith(".whl"):
        return _of_wheel(Path(os.fspath(requirement)))
    try:
        distribution = importlib.metadata.distribution(requirement)
    except importlib.metadata.PackageNotFoundError:
        raise PackageError(f"bundle: no distribution {requirement!r} is installed, and it is no path of a wheel") from None
    return _of_distribution(distribution, requirement)


def _of_wheel(path: Path) -> BundledFiles:
    wheel = zipfile.ZipFile(path)
    names = [info.filename for info in wheel.infolist() if not info.is_dir()]
    files: Dict[str, Callable[[], bytes]] = {name: (lambda n=name: wheel.read(n)) for name in names}
    for name in files:
        check_entry_name(name, str(path))
        if ".data/" in name.partition("/")[0] + "/":
            raise PackageError(f"bundle: {path.name} installs {name!r} outside its folder; install it, then bundle by name")
    metadata = [name for name in files if name.endswith(".dist-info/METADATA") and name.count("/") == 1]
    if len(metadata) != 1:
        raise PackageError(f"bundle: {path.name} is not a wheel (no METADATA)")
    headers = _headers(files[metadata[0]]())
    wheel_file = metadata[0].replace("/METADATA", "/WHEEL")
    tags = _tags(files[wheel_file]() if wheel_file in files else b"", path.name)
    return BundledFiles(headers["Name"], headers["Version"], tags, files)


def _of_distribution(distribution: Any, requirement: str) -> BundledFiles:
    files: Dict[str, Callable[[], bytes]] = {}
    for file in distribution.files or []:
        name = file.as_posix()
        if name.startswith("..") or "__pycache__/" in name or name.endswith(".pyc"):
            continue  # scripts, and what the interpreter makes again
        check_entry_name(name, requirement)
        if name.startswith("__editable__"):
            raise PackageError(f"bundle: {requirement} is installed in editable form; build a wheel of it")
        files[name] = Path(str(distribution.locate_file(file))).read_bytes
    if not files:
        raise PackageError(f"bundle: the installation of {requirement!r} does not list its files")
    wheel = distribution.read_text("WHEEL") or ""
    name, version = distribution.metadata["Name"], distribution.version
    return BundledFiles(name, version, _tags(wheel.encode("utf-8"), requirement), files)


def _headers(data: bytes) -> Any:
    return email.parser.Parser().parsestr(data.decode("utf-8", "replace"), headersonly=True)


def _tags(wheel: bytes, title: str) -> Tuple[str, ...]:
    tags: List[str] = _headers(wheel).get_all("Tag") or []
    if not tags:
        raise PackageError(f"bundle: {title} does not say for which interpreters it is (no Tag in WHEEL)")
    return tuple(tags)
