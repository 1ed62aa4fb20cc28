"""Bundled distributions: unpacked once for each content, then importable like any installed library."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterable, List, Tuple

from . import wheel_tags
from .archive import Archive, open_archive
from .errors import ArchiveError, EnvironmentMismatchError
from . import manifest as manifests
from .manifest import Bundle, Manifest


def digest(files: Iterable[Tuple[str, str]]) -> str:
    """What a bundle is called in a cache: SHA-256 over the sorted lines `<sha256 of a file> <path>`."""
    lines = sorted(f"{sha256} {path}\n" for path, sha256 in files)
    return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()


def unpack_file(package: str, cache_dir: str, name: str) -> List[str]:
    """As `unpack`, of the package in a file: runs nothing of it, and this interpreter imports nothing from the folders."""
    archive = open_archive(package, name)
    if not archive.has(manifests.ENTRY):  # torch.package bundles nothing
        return []
    manifest = manifests.parse(bytes(archive.read(manifests.ENTRY)), archive.where)
    return unpack(archive, manifest, cache_dir, False)


def unpack(archive: Archive, manifest: Manifest, cache_dir: Any, activate: bool) -> List[str]:
    """The folders of all bundles, unpacked below `cache_dir` and, if wanted, put first in `sys.path`.

    A bundle lies in the folder named by its digest, written under another name and renamed when complete, so several
    processes may share a cache. Contents are compared with the digest when they are written; a folder that is there already
    has to have all files in their sizes, or it is written anew.

    Raises:
        EnvironmentMismatchError: naming the bundle.
        ArchiveError: its files are not those of the manifest.
    """
    for bundle in manifest.bundles:
        if not wheel_tags.fits(bundle.tags):
            raise EnvironmentMismatchError(
                f"package {archive.where}: bundle {bundle.name} {bundle.version} is for {', '.join(bundle.tags)}, "
                f"and this is {wheel_tags.here()}; {wheel_tags.remedy(bundle.tags)}"
            )
    cache = Path(os.fspath(cache_dir))
    cache.mkdir(parents=True, exist_ok=True)
    folders = []
    for bundle in manifest.bundles:
        target = cache / bundle.sha256
        if activate:
            _refuse_other_version(archive, bundle, target)
        if not _is_complete(archive, bundle, target):
            _write(archive, bundle, target)
        folders.append(str(target))
    if activate:
        sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    return folders


def _files(archive: Archive, bundle: Bundle) -> Dict[str, str]:
    start = bundle.folder + "/"
    return {name[len(start) :]: name for name in archive.names() if name.startswith(start)}


def _is_complete(archive: Archive, bundle: Bundle, target: Path) -> bool:
    def has(path: str, entry: str) -> bool:
        try:
            return (target / path).stat().st_size == len(archive.view(entry))
        except OSError:
            return False

    return target.is_dir() and all(has(path, entry) for path, entry in _files(archive, bundle).items())


def _write(archive: Archive, bundle: Bundle, target: Path) -> None:
    files = _files(archive, bundle)
    found = digest((path, hashlib.sha256(archive.read(entry)).hexdigest()) for path, entry in files.items())
    if found != bundle.sha256:
        raise ArchiveError(f"{archive.where}: bundle {bundle.name} is damaged (its digest differs)")
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
    try:
        for path, entry in files.items():
            file = partial / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(entry))
        partial.chmod(0o755)
        # Interpreters of stead write no bytecode; without it each of them would compile everything again.
        import compileall

        compileall.compile_dir(str(partial), quiet=2, stripdir=str(partial), prependdir=str(target))
        if target.is_dir():
            damaged = Path(tempfile.mkdtemp(prefix=".damaged-", dir=target.parent))
            try:
                target.rename(damaged / "files")
            except FileNotFoundError:
                pass  # another process has mended it, or does
            shutil.rmtree(damaged, ignore_errors=True)
        try:
            partial.rename(target)
        except OSError:
            if not _is_complete(archive, bundle, target):  # else another process was faster
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _refuse_other_version(archive: Archive, bundle: Bundle, target: Path) -> None:
    """An interpreter can hold one version of a library; the one that is there must not silently win."""
    for module in bundle.modules:
        loaded = sys.modules.get(module)
        file = getattr(loaded, "__file__", None)
        if file is not None and target.resolve() not in Path(file).resolve().parents:
            raise EnvironmentMismatchError(
                f"package {archive.where}: bundle {bundle.name} {bundle.version} cannot be used, "
                f"{module!r} was already imported from {file}"
            )
