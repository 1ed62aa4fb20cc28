"""A zip file of stored entries whose data begin at multiples of 64 bytes.

Written front to back, so any stream will do. Same input, same bytes: all times are the first that zip can say.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from typing import Any, Dict, List, Set, Tuple

from ..errors import PackageError
from ..names import check_entry_name
from ..tensors import ALIGNMENT

_PADDING_ID = 0x5453
"""Header id of the extra field that pads; not registered by anyone in APPNOTE 4.5.2."""
_ZIP64_ID = 0x0001
_IN_ZIP64 = 0xFFFFFFFF
"""Stands in a field of 4 bytes whose value is in the zip64 field."""
_WIDE_FROM = 0xFFFFFFFF
"""The least value that is written so."""
_UTF8_NAME = 0x0800
_VERSION = 45
"""4.5 is the first version with zip64; said always, so that sizes do not change other bytes."""
_DOS_DATE = (0 << 9) | (1 << 5) | 1  # 1980-01-01
_UNIX_FILE = (3 << 8) | _VERSION
_MODE = (0o100644) << 16


class ZipWriter:
    """Writes entries to a binary stream, from where it stands."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        try:
            self._at = stream.tell()
        except (AttributeError, OSError):
            self._at = 0
        self._entries: List[Tuple[bytes, int, int, int]] = []
        self.digests: Dict[str, Tuple[int, str]] = {}
        """Size and SHA-256 of what was written, by name."""
        self.folders: Set[str] = set()
        """Folders in which something was written."""

    def write(self, name: str, data: Any) -> None:
        """Adds an entry.

        Raises:
            PackageError: an entry of that name was written before, or is a folder.
        """
        check_entry_name(name, "package")
        if name in self.digests or name in self.folders:
            raise PackageError(f"{name!r} was saved before; a package has every file once")
        parts = name.split("/")
        folders = {"/".join(parts[:i]) for i in range(1, len(parts))}
        for folder in folders:
            if folder in self.digests:
                raise PackageError(f"{folder!r} was saved as a file and cannot be a folder of {name!r}")
        self.folders |= folders
        view = memoryview(data).cast("B")
        crc, size, encoded = zlib.crc32(view), len(view), name.encode("utf-8")
        wide = size >= _WIDE_FROM
        extra = struct.pack("<HHQQ", _ZIP64_ID, 16, size, size) if wide else b""
        start = self._at + 30 + len(encoded) + len(extra) + 4
        padding = -start % ALIGNMENT
        extra += struct.pack("<HH", _PADDING_ID, padding) + bytes(padding)
        said = _IN_ZIP64 if wide else size
        fields = (_VERSION, _UTF8_NAME, 0, 0, _DOS_DATE, crc, said, said, len(encoded), len(extra))
        self._entries.append((encoded, crc, size, self._at))
        self._put(struct.pack("<4s5H3I2H", b"PK\3\4", *fields) + encoded + extra)
        self._put(view)
        self.digests[name] = (size, hashlib.sha256(view).hexdigest())

    def finish(self) -> None:
        """Writes the directory; nothing can be added afterwards."""
        start = self._at
        for encoded, crc, size, offset in self._entries:
            wide = [value for value in (size, size, offset) if value >= _WIDE_FROM]
            extra = struct.pack(f"<HH{len(wide)}Q", _ZIP64_ID, 8 * len(wide), *wide) if wide else b""
            said, at = _narrow(size), _narrow(offset)
            fields = (_UNIX_FILE, _VERSION, _UTF8_NAME, 0, 0, _DOS_DATE, crc, said, said, len(encoded), len(extra))
            self._put(struct.pack("<4s6H3I5H2I", b"PK\1\2", *fields, 0, 0, 0, _MODE, at) + encoded + extra)
        count, size, end = len(self._entries), self._at - start, self._at
        if count >= 0xFFFF or start >= _WIDE_FROM or size >= _WIDE_FROM:
            self._put(struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, _VERSION, _VERSION, 0, 0, count, count, size, start))
            self._put(struct.pack("<4sIQI", b"PK\6\7", 0, end, 1))
        few = min(count, 0xFFFF)
        self._put(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, few, few, _narrow(size), _narrow(start), 0))
        if hasattr(self._stream, "flush"):
            self._stream.flush()

    def _put(self, data: Any) -> None:
        self._stream.write(data)
        self._at += len(data)


def _narrow(value: int) -> int:
    return _IN_ZIP64 if value >= _WIDE_FROM else value
