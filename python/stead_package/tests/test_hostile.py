"""Archives that are damaged or forged are refused by name, before anything large is read."""

import io
import json
import os
import random
import stat
import struct
import sys
import unittest
import zipfile
import zlib

from .common import PackageTestCase, exported, imported, needs_numpy, numpy
from stead_package import ArchiveError, PackageError, PackageImporter
from stead_package import manifest as manifests

MANIFEST = manifests.Manifest(python="3.9.0", writer="test").to_json()


def zipped(entries=(), manifest=MANIFEST, **info_fields):
    """A zip file made by Python's own writer, with a manifest."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            for field, value in info_fields.items():
                setattr(info, field, value)
            archive.writestr(info, data)
        archive.writestr(".data/manifest.json", manifest)
    return buffer.getvalue()


def with_manifest(**fields):
    """A package whose manifest has other fields."""
    root = json.loads(MANIFEST)
    root.update(fields)
    return zipped([("a.bin", b"12345678")], json.dumps(root))


class TestNames(PackageTestCase):
    def test_names_that_leave_the_folder(self):
        for name, problem in [
            ("../evil.py", "segment '..'"),
            ("a/../../evil.py", "segment '..'"),
            ("/etc/passwd", "absolute"),
            ("C:/windows", "absolute"),
            ("a//b", "segment ''"),
            ("./a", "segment '.'"),
            ("a\\b", "backslash"),
        ]:
            data = zipped([("PLACEHOLDER" + "x" * 20, b"")])
            old = b"PLACEHOLDER" + b"x" * 20
            padded = name.encode() + b"x" * (len(old) - len(name))
            with self.assertRaisesRegex(ArchiveError, problem, msg=name):
                PackageImporter(data.replace(old, padded))

    def test_a_name_with_nul(self):
        with self.assertRaisesRegex(ArchiveError, "NUL"):
            PackageImporter(zipped([("aXb", b"")]).replace(b"aXb", b"a\0b"))

    def test_a_name_that_is_not_utf8(self):
        with self.assertRaisesRegex(ArchiveError, "not UTF-8"):
            PackageImporter(zipped([("aXb", b"")]).replace(b"aXb", b"a\xffb"))

    def test_links_and_special_files(self):
        for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK):
            data = zipped([("link", b"/etc/passwd")], external_attr=(kind | 0o777) << 16)
            with self.assertRaisesRegex(ArchiveError, "'link' is a link or a special file"):
                PackageImporter(data)

    def test_duplicates(self):
        with self.assertWarns(UserWarning):
            data = zipped([("a.txt", b"one"), ("a.txt", b"two")])
        with self.assertRaisesRegex(ArchiveError, "two entries are named 'a.txt'"):
            PackageImporter(data)

    def test_a_file_that_is_a_folder_too(self):
        with self.assertRaisesRegex(ArchiveError, "'a' is a file and a folder"):
            PackageImporter(zipped([("a", b""), ("a/b", b"")]))

    def test_folder_entries_are_passed_over(self):
        self.assertEqual(PackageImporter(zipped([("a/", b""), ("a/b.txt", b"x")])).load_text("a", "b.txt"), "x")


class TestHeaders(PackageTestCase):
    def test_compressed_entries(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("bomb.bin", b"\0" * 10_000_000)
            archive.writestr(".data/manifest.json", MANIFEST)
        with self.assertRaisesRegex(ArchiveError, "'bomb.bin' is compressed"):
            PackageImporter(buffer)

    def test_encrypted_entries(self):
        data = bytearray(zipped([("a.txt", b"x")]))
        at = data.index(b"PK\1\2")
        data[at + 8] |= 1
        with self.assertRaisesRegex(ArchiveError, "'a.txt' is encrypted"):
            PackageImporter(data)

    def test_truncated_at_every_length(self):
        data = exported(lambda e: e.save_source_string("m", "x = 1") or e.save_text("a", "b.txt", "y")).getvalue()
        for size in range(0, len(data), 7):
            with self.assertRaises(ArchiveError, msg=size):
                PackageImporter(data[:size])

    def test_data_behind_the_end(self):
        with self.assertRaisesRegex(ArchiveError, "followed by other data"):
            PackageImporter(zipped() + b"tail")
        buffer = io.BytesIO(zipped())
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.comment = b"PK\5\6" * 10
        with self.assertRaises(ArchiveError):
            PackageImporter(buffer)

    def change(self, data, signature, offset, form, value):
        data = bytearray(data)
        struct.pack_into(form, data, data.index(signature) + offset, value)
        return data

    def test_sizes_and_places_that_lie(self):
        data = zipped([("a.txt", b"x" * 50)])
        end, central, local = b"PK\5\6", b"PK\1\2", b"PK\3\4"
        for label, forged, message in [
            ("count too large", self.change(self.change(data, end, 8, "<H", 9), end, 10, "<H", 9), "too small for 9"),
            ("count too small", self.change(self.change(data, end, 8, "<H", 1), end, 10, "<H", 1), "more than its 1"),
            ("count of everything", self.change(self.change(data, end, 8, "<H", 65535), end, 10, "<H", 65535), "too small"),
            ("directory elsewhere", self.change(data, end, 16, "<I", 10), "truncated or damaged"),
            ("volumes", self.change(data, end, 4, "<H", 1), "several volumes"),
            ("size", self.change(self.change(data, central, 20, "<I", 1 << 30), central, 24, "<I", 1 << 30), "truncated"),
            ("packed size", self.change(data, central, 20, "<I", 7), "compressed"),
            ("offset", self.change(data, central, 42, "<I", 3), "no header at byte 3"),
            ("far offset", self.change(data, central, 42, "<I", 1 << 31), "no header"),
            ("local name", data.replace(b"a.txt", b"b.txt", 1), "another name in its own header"),
            ("local size", self.change(data, local, 22, "<I", 49), "another size or checksum"),
            ("local checksum", self.change(data, local, 14, "<I", 1), "another size or checksum"),
            ("local method", self.change(data, local, 8, "<H", 8), "stored in another way"),
            ("zip64 without field", self.change(data, central, 24, "<I", 0xFFFFFFFF), "no zip64 sizes"),
        ]:
            with self.assertRaisesRegex(ArchiveError, message, msg=label):
                PackageImporter(forged)

    def test_entries_that_overlap(self):
        """Two headers over the same bytes: how a small file claims to hold much."""
        inner = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 0, zlib.crc32(b"x"), 1, 1, 5, 0) + b"b.txtx"
        data = bytearray(zipped([("a.txt", inner), ("b.txt", b"x")]))
        central = data.index(b"PK\1\2", data.index(b"PK\1\2") + 4)
        struct.pack_into("<I", data, central + 42, data.index(inner))
        with self.assertRaisesRegex(ArchiveError, "'a.txt' and 'b.txt' overlap"):
            PackageImporter(data)

    def test_checksum_of_code_is_checked_when_it_is_opened(self):
        data = exported(lambda e: e.save_source_string("m", "secret = 1")).getvalue()
        with self.assertRaisesRegex(ArchiveError, "'m.py' is damaged"):
            PackageImporter(data.replace(b"secret = 1", b"secret = 2", 1))

    def test_checksum_of_files_is_checked_when_they_are_read(self):
        data = exported(lambda e: e.save_text("a", "b.txt", "secret = 1")).getvalue()
        importer = PackageImporter(data.replace(b"secret = 1", b"secret = 2", 1))
        with self.assertRaisesRegex(ArchiveError, "'a/b.txt' is damaged"):
            importer.load_text("a", "b.txt")

    @needs_numpy
    def test_checksum_of_tensors_is_checked_on_request(self):
        array = numpy.frombuffer(b"secret_weight_of_24_byte", "uint8")
        data = exported(lambda e: e.save_pickle("a", "b.pkl", array)).getvalue()
        importer = PackageImporter(data.replace(b"secret_weight", b"forged_weight", 1))
        self.assertEqual(bytes(importer.load_pickle("a", "b.pkl"))[:6], b"forged")
        with self.assertRaisesRegex(ArchiveError, "'.data/tensors/0.bin' is damaged"):
            importer.verify()

    def test_every_flipped_byte_is_noticed_or_harmless(self):
        """Whatever is changed: a package error, or exactly what was saved."""

        def fill(exporter):
            exporter.save_source_string("m", "x = [1, 2, 3]")
            exporter.save_pickle("a", "b.pkl", {"k": (1, "two")})
            exporter.save_binary("a", "c.bin", b"bytes")
            exporter.save_entry_point("e", "m:x.count")

        data = exported(fill).getvalue()
        seed = int(os.environ.get("STEAD_SEED", "1"))
        chance = random.Random(seed)
        refused = 0
        for at in range(len(data)):
            forged = bytearray(data)
            forged[at] ^= 1 << chance.randrange(8)
            try:
                importer = PackageImporter(forged)
                importer.verify()
                found = (
                    importer.import_module("m").x,
                    importer.load_pickle("a", "b.pkl"),
                    importer.load_binary("a", "c.bin"),
                )
            except PackageError:
                refused += 1
                continue
            self.assertEqual(found, ([1, 2, 3], {"k": (1, "two")}, b"bytes"), f"STEAD_SEED={seed}, byte {at}")
        self.assertGreater(refused, len(data) // 4)

    def test_zip64(self):
        """The forms for large files are read; Python's own writer makes them for small ones on request."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            with archive.open("a/b.txt", "w", force_zip64=True) as entry:
                entry.write(b"wide")
            archive.writestr(".data/manifest.json", MANIFEST)
        self.assertEqual(PackageImporter(buffer).load_text("a", "b.txt"), "wide")

    def test_zip64_of_our_own(self):
        """More entries than two bytes can count."""

        def fill(exporter):
            for i in range(0x10001):
                exporter._zip.write(f"r/{i}", b"")

        package = exported(fill)
        self.assertEqual(len(zipfile.ZipFile(package).namelist()), 0x10002)
        self.assertEqual(PackageImporter(package).load_binary("r", "65536"), b"")

    def test_wide_fields_of_our_own(self):
        """Large sizes and offsets, with what counts as large lowered."""
        import stead_package.export.zip_writer as writer

        before = writer._WIDE_FROM
        self.addCleanup(setattr, writer, "_WIDE_FROM", before)
        narrow = exported(lambda e: e.save_binary("a", "b.bin", b"x" * 300))
        writer._WIDE_FROM = 100
        wide = exported(lambda e: e.save_binary("a", "b.bin", b"x" * 300))
        self.assertGreater(len(wide.getvalue()), len(narrow.getvalue()))
        for package in (narrow, wide):
            self.assertEqual(PackageImporter(package).load_binary("a", "b.bin"), b"x" * 300)
            PackageImporter(package).verify()
            self.assertIsNone(zipfile.ZipFile(package).testzip())


class TestManifest(PackageTestCase):
    def test_fields_of_wrong_types(self):
        tensor = {"name": "t", "kind": "numpy", "dtype": "int8", "shape": [8], "strides": [1], "offset": 0}
        tensor.update(record="a.bin", sha256="")
        PackageImporter(with_manifest(tensors=[tensor]))
        for label, fields, message in [
            ("format", {"format": "zip"}, "does not say format"),
            ("version", {"version": 2}, "format version 2; this stead_package reads version 1"),
            ("externs", {"externs": "os"}, "'externs'"),
            ("extern", {"externs": [{"module": 1}]}, "'module'"),
            ("mocks", {"mocks": [None]}, "'mocks'"),
            ("files", {"files": []}, "'files'"),
            ("size", {"files": {"a.bin": {"size": -1, "sha256": ""}}}, "'size'"),
            ("python", {"python": None}, "'python'"),
            ("example", {"examples": [{"name": "x", "entry_point": "e", "record": "../x", "rtol": 0, "atol": 0}]}, "segment"),
            ("rtol", {"examples": [{"name": "x", "entry_point": "e", "record": "x", "rtol": "0", "atol": 0}]}, "'rtol'"),
            ("tensor type", {"tensors": [dict(tensor, dtype="object")]}, "unknown element type 'object'"),
            ("tensor kind", {"tensors": [dict(tensor, kind="jax")]}, "unknown kind 'jax'"),
            ("tensor record", {"tensors": [dict(tensor, record="gone")]}, "has no record 'gone'"),
            ("too long", {"tensors": [dict(tensor, shape=[9])]}, "reaches outside its record"),
            ("offset", {"tensors": [dict(tensor, offset=1)]}, "reaches outside"),
            ("before", {"tensors": [dict(tensor, strides=[-1])]}, "reaches outside"),
            ("overflow", {"tensors": [dict(tensor, shape=[2**62, 2**62], strides=[2**62, 2**62])]}, "reaches outside"),
            ("negative size", {"tensors": [dict(tensor, shape=[-1])]}, "has shape"),
            ("ranks", {"tensors": [dict(tensor, strides=[1, 1])]}, "has shape"),
            ("rank", {"tensors": [dict(tensor, shape=[1] * 99, strides=[0] * 99)]}, "has shape"),
            ("not integers", {"tensors": [dict(tensor, shape=[2.5])]}, "'shape'"),
            ("booleans", {"tensors": [dict(tensor, shape=[True])]}, "'shape'"),
            ("huge", {"tensors": [dict(tensor, shape=[2**64])]}, "'shape'"),
        ]:
            with self.assertRaisesRegex(ArchiveError, message, msg=label):
                PackageImporter(with_manifest(**fields))

    def test_text_that_is_no_manifest(self):
        for data in (b"", b"[]", b"{", b"null", b"[" * 100_000, b"\xff\xfe", b'{"format": "stead-package"}'):
            with self.assertRaises(ArchiveError, msg=data[:20]):
                PackageImporter(zipped([], data))

    def test_a_manifest_too_large_to_parse(self):
        before = manifests.MAX_BYTES
        manifests.MAX_BYTES = 100
        self.addCleanup(setattr, manifests, "MAX_BYTES", before)
        with self.assertRaisesRegex(ArchiveError, "larger than 100 bytes"):
            PackageImporter(zipped())

    def test_fields_of_later_writers_are_passed_over(self):
        PackageImporter(with_manifest(colour="blue"))

    def test_pickles_that_name_what_is_not_there(self):
        import pickle

        def package(pid):
            class Named(pickle.Pickler):
                def persistent_id(self, obj):
                    return pid if obj == "marker" else None

            data = io.BytesIO()
            Named(data, protocol=4).dump(["marker"])
            return zipped([("a/b.pkl", data.getvalue())])

        for pid in [("stead.tensor", 0), ("stead.tensor", -1), ("stead.tensor", "0"), ("stead.tensor",), ("x", 1), 5, ()]:
            with self.assertRaises(ArchiveError, msg=repr(pid)):
                PackageImporter(package(pid)).load_pickle("a", "b.pkl")
        with self.assertRaises(ModuleNotFoundError):
            PackageImporter(package(("stead.global", "os", "system"))).load_pickle("a", "b.pkl")

    def test_pickles_reach_declared_modules_only(self):
        import pickle

        data = zipped([("a/b.pkl", pickle.dumps(sys.exit, protocol=4)), ("a/c.pkl", pickle.dumps(os.system, protocol=4))])
        importer = PackageImporter(data)
        for resource in ("b.pkl", "c.pkl"):
            with self.assertRaises(ModuleNotFoundError):
                importer.load_pickle("a", resource)

    def test_source_that_is_not_utf8(self):
        importer = PackageImporter(zipped([("m.py", b"x = '\xff'")]))
        with self.assertRaisesRegex(ArchiveError, "'m.py' is not UTF-8"):
            importer.import_module("m")

    def test_two_sources_of_one_module(self):
        """As in Python's own import system the package hides the module."""
        importer = PackageImporter(zipped([("m.py", b"x = 1"), ("m/__init__.py", b"x = 2")]))
        self.assertEqual(importer.import_module("m").x, 2)

    def test_a_plain_zip_file(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.txt", "x")
        with self.assertRaisesRegex(ArchiveError, "no manifest"):
            PackageImporter(buffer)

    def test_the_exporter_refuses_names_too(self):
        importer = imported(lambda e: e.save_text("", "plain.txt", "x"))
        self.assertEqual(importer.load_text("", "plain.txt"), "x")
        with self.assertRaises(ValueError):
            exported(lambda e: e.save_text("..", "x.txt", ""))


if __name__ == "__main__":
    unittest.main()
