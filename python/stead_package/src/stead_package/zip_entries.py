"""Reading the table of contents of a zip file that nobody vouches for.

Only what packages need is accepted: stored entries, each once, none overlapping another, every name harmless. All
checks read headers only; no data is touched and nothing is allocated in proportion to a size that a header claims.
Source: PKWARE's APPNOTE 6.3.10, sections 4.3 (records), 4.4 (fields), 4.5.3 (zip64).
"""

from __future__ import annotations

import stat
import struct
from dataclasses import dataclass
from typing import Dict, Tuple

from .errors import ArchiveError
from .names import check_entry_name

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_ZIP64_EXTRA = 0x0001
_ENCRYPTED = 0x0001
_SIZES_FOLLOW = 0x0008
_STORED = 0
_TORCHSCRIPT = "/.data/ts_code/"
"""Below this folder torch.package puts what TorchScript needs, some of it compressed. Nobody reads it here, so what is
compressed there is left out instead of making the whole archive unreadable."""


@dataclass(frozen=True)
class ZipEntry:
    """Where the bytes of one entry lie in the file, and what they must add up to."""

    name: str
    offset: int
    size: int
    crc: int


@dataclass(frozen=True)
class _Directory:
    offset: int
    size: int
    count: int


def read_zip_entries(data: memoryview, where: str) -> Dict[str, ZipEntry]:
    """All file entries of a zip file by name, in the order of its directory.

    Raises:
        ArchiveError: naming `where`, the entry and what is wrong with it.
    """
    directory = _find_directory(data, where)
    entries: Dict[str, ZipEntry] = {}
    spans = []
    at = directory.offset
    end = directory.offset + directory.size
    for _ in range(directory.count):
        header, name, extra, at = _central_header(data, at, end, where)
        is_folder = name.endswith("/")
        check_entry_name(name[:-1] if is_folder else name, where)
        if header[4] != _STORED and _TORCHSCRIPT in f"/{name}":
            continue
        entry, header_offset = _checked(data, header, name, extra, directory.offset, where)
        spans.append((header_offset, entry.offset + entry.size, name))
        if is_folder:
            if entry.size:
                raise ArchiveError(f"{where}: folder entry {name!r} has data")
            continue
        if name in entries:
            raise ArchiveError(f"{where}: two entries are named {name!r}")
        entries[name] = entry
    if at != end:
        raise ArchiveError(f"{where}: the directory holds more than its {directory.count} entries")
    _check_spans(spans, where)
    _check_folders(entries, where)
    return entries


def _find_directory(data: memoryview, where: str) -> _Directory:
    end = len(data) - _END.size
    if end < 0 or bytes(data[end : end + 4]) != b"PK\5\6":
        raise ArchiveError(f"{where}: not a zip file, truncated, or followed by other data (no end record)")
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack_from(data, end)
    if comment:
        raise ArchiveError(f"{where}: truncated (its comment is missing)")
    disks: Tuple[int, int] = (disk, first_disk)
    locator = end - _END64_LOCATOR.size
    if locator >= 0 and bytes(data[locator : locator + 4]) == b"PK\6\7":
        _, disk, at, _ = _END64_LOCATOR.unpack_from(data, locator)
        if at + _END64.size > locator or bytes(data[at : at + 4]) != b"PK\6\6":
            raise ArchiveError(f"{where}: the zip64 end record is not where its locator says")
        _, _, _, _, disk, first_disk, here, count, size, offset = _END64.unpack_from(data, at)
        disks = (disk, first_disk)
        end = at
    if disks != (0, 0) or here != count:
        raise ArchiveError(f"{where}: is one of several volumes")
    if offset + size != end:
        raise ArchiveError(f"{where}: truncated or damaged (the directory does not end before the end record)")
    if count * _CENTRAL.size > size:
        raise ArchiveError(f"{where}: the directory is too small for {count} entries")
    return _Directory(offset, size, count)


def _central_header(data: memoryview, at: int, end: int, where: str):
    if at + _CENTRAL.size > end or bytes(data[at : at + 4]) != b"PK\1\2":
        raise ArchiveError(f"{where}: the directory is damaged at byte {at}")
    header = _CENTRAL.unpack_from(data, at)
    name_size, extra_size, comment_size = header[10:13]
    at += _CENTRAL.size
    after = at + name_size + extra_size + comment_size
    if after > end:
        raise ArchiveError(f"{where}: the directory is damaged at byte {at}")
    name = _decoded(bytes(data[at : at + name_size]), where)
    extra = bytes(data[at + name_size : at + name_size + extra_size])
    return header, name, extra, after


def _decoded(name: bytes, where: str) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise ArchiveError(f"{where}: entry name {name!r} is not UTF-8") from None


def _checked(data: memoryview, header, name: str, extra: bytes, limit: int, where: str) -> Tuple[ZipEntry, int]:
    flags, method = header[3], header[4]
    crc, packed, size = header[7], header[8], header[9]
    disk, mode, offset = header[13], header[15] >> 16, header[16]
    wide = _zip64_fields(extra, [size, packed, offset], f"{where}: entry {name!r}")
    size, packed, offset = wide
    if flags & _ENCRYPTED:
        raise ArchiveError(f"{where}: entry {name!r} is encrypted")
    if method != _STORED or packed != size:
        raise ArchiveError(f"{where}: entry {name!r} is compressed; packages hold stored entries only")
    if disk != 0:
        raise ArchiveError(f"{where}: entry {name!r} lies in another volume")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ArchiveError(f"{where}: entry {name!r} is a link or a special file")
    if offset + _LOCAL.size > limit or bytes(data[offset : offset + 4]) != b"PK\3\4":
        raise ArchiveError(f"{where}: entry {name!r} has no header at byte {offset}")
    local = _LOCAL.unpack_from(data, offset)
    name_size, extra_size = local[9], local[10]
    start = offset + _LOCAL.size + name_size + extra_size
    if start + size > limit:
        raise ArchiveError(f"{where}: entry {name!r} is truncated or overlaps the directory")
    name_at = offset + _LOCAL.size
    if bytes(data[name_at : name_at + name_size]) != name.encode("utf-8"):
        raise ArchiveError(f"{where}: entry {name!r} has another name in its own header")
    if local[3] != method or local[2] & _ENCRYPTED:
        raise ArchiveError(f"{where}: entry {name!r} is stored in another way than the directory says")
    if not local[2] & _SIZES_FOLLOW:
        local_extra = bytes(data[start - extra_size : start])
        sizes = _zip64_fields(local_extra, [local[8], local[7]], f"{where}: entry {name!r}")
        if sizes != [size, size] or local[6] != crc:
            raise ArchiveError(f"{where}: entry {name!r} has another size or checksum in its own header")
    return ZipEntry(name, start, size, crc), offset


def _zip64_fields(extra: bytes, values, where: str):
    """`values` with those that are all ones replaced, in order, by the 8-byte fields of the zip64 extra field."""
    if 0xFFFFFFFF not in values:
        return values
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        body = extra[at + 4 : at + 4 + size]
        at += 4 + size
        if kind != _ZIP64_EXTRA:
            continue
        wide = [v[0] for v in struct.iter_unpack("<Q", body[: len(body) // 8 * 8])]
        out = []
        for value in values:
            if value == 0xFFFFFFFF:
                if not wide:
                    break
                value = wide.pop(0)
            out.append(value)
        if len(out) == len(values):
            return out
    raise ArchiveError(f"{where} has no zip64 sizes")


def _check_spans(spans, where: str) -> None:
    """Two headers that share data are how a small file claims to be a large one."""
    reached, previous = 0, ""
    for start, end, name in sorted(spans):
        if start < reached:
            raise ArchiveError(f"{where}: entries {previous!r} and {name!r} overlap")
        reached, previous = end, name


def _check_folders(entries: Dict[str, ZipEntry], where: str) -> None:
    for name in entries:
        at = name.find("/")
        while at >= 0:
            if name[:at] in entries:
                raise ArchiveError(f"{where}: {name[:at]!r} is a file and a folder")
            at = name.find("/", at + 1)
