"""Packages that were unpacked, and the tree of files."""

import io
import os
import unittest
from textwrap import dedent

from . import test_resources
from .common import PackageTestCase, exported, imported, needs_numpy, numpy
from stead_package import ArchiveError, PackageImporter


class TestDirectoryReader(PackageTestCase):
    @needs_numpy
    def test_loading_pickle(self):
        """The unpacked form loads what the archive loads."""
        from package_a import PackageAObject

        weight = numpy.arange(6, dtype="float32").reshape(2, 3)

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("model", "model.pkl", PackageAObject([weight, weight.T]))

        package = exported(fill)
        zipped, unzipped = PackageImporter(package), PackageImporter(self.unzipped(package))
        for importer in (zipped, unzipped):
            one, other = importer.load_pickle("model", "model.pkl").obj
            self.assertTrue((one == weight).all())
            self.assertTrue(numpy.shares_memory(one, other))
            self.assertFalse(one.flags.writeable)
            importer.verify()

    def test_loading_module(self):
        def fill(exporter):
            exporter.intern("**")
            exporter.save_module("package_a")

        importer = PackageImporter(self.unzipped(exported(fill)))
        self.assertEqual(importer.import_module("package_a").result, "package_a")

    def test_loading_has_record(self):
        importer = PackageImporter(self.unzipped(exported(lambda e: e.save_text("a", "b.txt", "x"))))
        self.assertTrue(importer.file_structure().has_file("a/b.txt"))
        self.assertFalse(importer.file_structure().has_file("a/c.txt"))

    def test_links_are_refused(self):
        folder = self.unzipped(exported(lambda e: e.save_text("a", "b.txt", "x")))
        os.symlink("/etc/passwd", folder / "a" / "link.txt")
        with self.assertRaisesRegex(ArchiveError, "'a/link.txt' is a link or a special file"):
            PackageImporter(folder)

    def test_linked_folders_are_refused(self):
        folder = self.unzipped(exported(lambda e: e.save_text("a", "b.txt", "x")))
        os.symlink(folder / "a", folder / "again")
        with self.assertRaisesRegex(ArchiveError, "'again' is a link"):
            PackageImporter(folder)

    def test_pipes_are_refused(self):
        folder = self.unzipped(exported(lambda e: e.save_text("a", "b.txt", "x")))
        os.mkfifo(folder / "pipe")
        with self.assertRaisesRegex(ArchiveError, "'pipe' is a link or a special file"):
            PackageImporter(folder)

    def test_verify_finds_what_was_changed_added_or_removed(self):
        package = exported(lambda e: e.save_text("a", "b.txt", "x") or e.save_source_string("m", "y = 1"))
        for change, message in [
            (lambda folder: (folder / "a/b.txt").write_text("z"), "'a/b.txt' is damaged"),
            (lambda folder: (folder / "m.py").unlink(), "'m.py' is listed in the manifest and missing"),
            (lambda folder: (folder / "extra.py").write_text(""), "'extra.py' is not listed"),
        ]:
            folder = self.unzipped(io.BytesIO(package.getvalue()))
            change(folder)
            with self.assertRaisesRegex(ArchiveError, message):
                PackageImporter(folder).verify()
            for file in folder.rglob("*.py"):
                file.unlink()

    def test_what_python_leaves_in_folders_is_passed_over(self):
        folder = self.unzipped(exported(lambda e: e.save_source_string("m", "y = 1")))
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / "m.cpython-39.pyc").write_bytes(b"junk")
        PackageImporter(folder).verify()


class TestResourcesOfFolders(test_resources.TestResources):
    """All that packaged code does with its files, in a package that was unpacked."""

    def open(self, fill):
        return PackageImporter(self.unzipped(exported(fill)))


class TestFileStructure(PackageTestCase):
    def fill(self, exporter):
        exporter.intern("**")
        exporter.save_module("package_a")
        exporter.save_module("package_a.subpackage")
        exporter.save_text("main", "main.txt", "x")

    def test_file_structure(self):
        path = self.temp("shop.pkg")
        path.write_bytes(exported(self.fill).getvalue())
        importer = PackageImporter(str(path))
        bar, tee, corner, dash = "\u2502", "\u251c", "\u2514", "\u2500"
        expected = dedent(
            f"""\
            {dash * 3} {path}
                {tee}{dash * 2} .data
                {bar}   {corner}{dash * 2} manifest.json
                {tee}{dash * 2} main
                {bar}   {corner}{dash * 2} main.txt
                {corner}{dash * 2} package_a
                    {tee}{dash * 2} __init__.py
                    {corner}{dash * 2} subpackage.py
            """
        )
        self.assertEqual(str(importer.file_structure()), expected)

    def test_filters(self):
        importer = imported(self.fill)
        shown = str(importer.file_structure(include=["**/subpackage.py", "**/*.txt"]))
        self.assertIn("subpackage.py", shown)
        self.assertIn("main.txt", shown)
        self.assertNotIn("__init__.py", shown)
        shown = str(importer.file_structure(include="**", exclude="**/*.py"))
        self.assertNotIn(".py", shown)

    def test_file_structure_has_file(self):
        tree = imported(self.fill).file_structure()
        for name, expected in [
            ("package_a/subpackage.py", True),
            ("package_a/subpackage", False),
            ("package_a", False),
            ("package_a/__init__.py/x", False),
        ]:
            self.assertEqual(tree.has_file(name), expected, name)


if __name__ == "__main__":
    unittest.main()
