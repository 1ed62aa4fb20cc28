"""`.data/manifest.json`: what a package says about itself. docs/python-packages.md describes each field."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from .errors import ArchiveError
from .names import DATA, check_entry_name

ENTRY = DATA + "manifest.json"
FORMAT = "stead-package"
VERSION = 1
MAX_BYTES = 64 << 20
"""A manifest larger than this is refused before it is parsed: JSON takes many times its size in memory."""


@dataclass(frozen=True)
class Extern:
    """A module that the package takes from the interpreter in which it is loaded."""

    module: str
    distribution: Optional[str] = None
    version: Optional[str] = None
    """The version of the distribution that was seen at export; None for the standard library."""


@dataclass(frozen=True)
class EntryPoint:
    """A name under which something of the package can be called: `module:attribute`, or a pickle and an attribute."""

    name: str
    module: Optional[str] = None
    package: Optional[str] = None
    resource: Optional[str] = None
    attribute: Optional[str] = None


@dataclass(frozen=True)
class TensorEntry:
    """Where the elements of one array lie.

    `strides` and `offset` are in bytes, `offset` being where the element at index 0, 0, ... begins in `record`.
    """

    name: str
    kind: str
    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    offset: int
    record: str
    sha256: str
    """Of the whole record."""
    requires_grad: bool = False


@dataclass(frozen=True)
class Example:
    """Recorded inputs of an entry point and what it answered."""

    name: str
    entry_point: str
    record: str
    rtol: float
    atol: float


@dataclass(frozen=True)
class Bundle:
    """An installed distribution or wheel whose files lie below `folder`."""

    name: str
    version: str
    tags: Tuple[str, ...]
    folder: str
    sha256: str
    modules: Tuple[str, ...]


@dataclass(frozen=True)
class FileEntry:
    """Size and digest of a file that is not a tensor record."""

    size: int
    sha256: str


@dataclass
class Manifest:
    """All of it."""

    version: int = VERSION
    writer: str = ""
    python: str = ""
    """Version of the interpreter that exported."""
    requires_python: Optional[str] = None
    """`3.11`: the only minor version that may load the package; None lets any."""
    environment: Optional[str] = None
    externs: List[Extern] = field(default_factory=list)
    mocks: List[str] = field(default_factory=list)
    entry_points: List[EntryPoint] = field(default_factory=list)
    tensors: List[TensorEntry] = field(default_factory=list)
    examples: List[Example] = field(default_factory=list)
    bundles: List[Bundle] = field(default_factory=list)
    files: Dict[str, FileEntry] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """The bytes of the entry."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1).encode("ascii")


def parse(data: bytes, where: str) -> Manifest:
    """Reads the bytes of the entry. Fields of later writers that this version does not know are passed over, so a later
    writer that changes the meaning of anything must raise `version`.

    Raises:
        ArchiveError: not a manifest, one of a later version, or a field of the wrong type.
    """
    try:
        root = json.loads(data)
    except (ValueError, RecursionError):
        raise ArchiveError(f"{where}: {ENTRY} is not JSON") from None
    if not isinstance(root, dict) or root.get("format") != FORMAT:
        raise ArchiveError(f"{where}: {ENTRY} does not say format {FORMAT!r}")
    version = root.get("version")
    if version != VERSION:
        raise ArchiveError(f"{where}: format version {version!r}; this stead_package reads version {VERSION}")
    read = _Reader(where)
    manifest = Manifest(
        writer=read.text(root, "writer"),
        python=read.text(root, "python"),
        requires_python=read.maybe_text(root, "requires_python"),
        environment=read.maybe_text(root, "environment"),
        externs=[
            Extern(read.text(e, "module"), read.maybe_text(e, "distribution"), read.maybe_text(e, "version"))
            for e in read.objects(root, "externs")
        ],
        mocks=read.texts(root, "mocks"),
        entry_points=[
            EntryPoint(
                read.text(e, "name"),
                *(read.maybe_text(e, key) for key in ("module", "package", "resource", "attribute")),
            )
            for e in read.objects(root, "entry_points")
        ],
        tensors=[_tensor(read, e) for e in read.objects(root, "tensors")],
        examples=[
            Example(
                read.text(e, "name"),
                read.text(e, "entry_point"),
                read.entry(e, "record"),
                read.number(e, "rtol"),
                read.number(e, "atol"),
            )
            for e in read.objects(root, "examples")
        ],
        bundles=[
            Bundle(
                read.text(e, "name"),
                read.text(e, "version"),
                tuple(read.texts(e, "tags")),
                read.entry(e, "folder"),
                read.text(e, "sha256"),
                tuple(read.texts(e, "modules")),
            )
            for e in read.objects(root, "bundles")
        ],
    )
    files = root.get("files")
    if not isinstance(files, dict):
        raise read.wrong("files")
    manifest.files = {name: FileEntry(read.size(e, "size"), read.text(e, "sha256")) for name, e in files.items()}
    return manifest


def _tensor(read: "_Reader", entry: Dict[str, Any]) -> TensorEntry:
    return TensorEntry(
        name=read.text(entry, "name"),
        kind=read.text(entry, "kind"),
        dtype=read.text(entry, "dtype"),
        shape=read.integers(entry, "shape"),
        strides=read.integers(entry, "strides"),
        offset=read.size(entry, "offset"),
        record=read.entry(entry, "record"),
        sha256=read.text(entry, "sha256"),
        requires_grad=entry.get("requires_grad") is True,
    )


class _Reader:
    """Typed access to JSON; errors name the field."""

    def __init__(self, where: str) -> None:
        self.where = where

    def wrong(self, key: str) -> ArchiveError:
        return ArchiveError(f"{self.where}: field {key!r} of {ENTRY} is missing or has a wrong type")

    def text(self, entry: Any, key: str) -> str:
        value = entry.get(key) if isinstance(entry, dict) else None
        if not isinstance(value, str):
            raise self.wrong(key)
        return value

    def maybe_text(self, entry: Dict[str, Any], key: str) -> Optional[str]:
        return None if entry.get(key) is None else self.text(entry, key)

    def entry(self, entry: Dict[str, Any], key: str) -> str:
        name = self.text(entry, key)
        check_entry_name(name, self.where)
        return name

    def size(self, entry: Any, key: str) -> int:
        value = entry.get(key) if isinstance(entry, dict) else None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            raise self.wrong(key)
        return value

    def number(self, entry: Dict[str, Any], key: str) -> float:
        value = entry.get(key)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise self.wrong(key)
        return float(value)

    def integers(self, entry: Dict[str, Any], key: str) -> Tuple[int, ...]:
        value = entry.get(key)
        plain = isinstance(value, list) and all(isinstance(v, int) and not isinstance(v, bool) for v in value)
        if not plain or any(not -(1 << 63) < v < 1 << 63 for v in value):
            raise self.wrong(key)
        return tuple(value)

    def texts(self, entry: Dict[str, Any], key: str) -> List[str]:
        value = entry.get(key)
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise self.wrong(key)
        return value

    def objects(self, entry: Dict[str, Any], key: str) -> List[Dict[str, Any]]:
        value = entry.get(key)
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise self.wrong(key)
        return value
