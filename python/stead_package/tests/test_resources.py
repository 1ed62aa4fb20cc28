"""Files beside modules."""

import importlib.resources
import io
import sys
import unittest
from textwrap import dedent

from .common import PackageTestCase, exported, imported
from stead_package import PackageImporter, ResourceNotFoundError


def files(exporter):
    exporter.save_text("one", "a.txt", "hello, a!")
    exporter.save_text("one", "b.txt", "hello, b!")
    exporter.save_text("one", "c.txt", "hello, c!")
    exporter.save_text("one.two", "a.txt", "hello, two a!")
    exporter.save_text("one.two", "b.txt", "hello, two b!")
    exporter.save_text("one.two.three", "a.txt", "hello, three a!")


class TestResources(PackageTestCase):
    """Of archives; test_directory runs the same on packages that were unpacked."""

    def open(self, fill):
        return imported(fill)

    def test_resource_reader(self):
        importer = self.open(files)
        reader = importer.get_resource_reader("one")
        self.assertEqual(sorted(reader.contents()), ["a.txt", "b.txt", "c.txt", "two"])
        self.assertTrue(reader.is_resource("a.txt"))
        self.assertEqual(reader.open_resource("a.txt").getbuffer(), b"hello, a!")
        self.assertFalse(reader.is_resource("missing.txt"))
        self.assertFalse(reader.is_resource("two"))
        with self.assertRaises(FileNotFoundError):
            reader.open_resource("missing.txt")
        inner = importer.get_resource_reader("one.two")
        self.assertEqual(sorted(inner.contents()), ["a.txt", "b.txt", "three"])
        self.assertIsNone(importer.get_resource_reader("nonexistent_package"))

    def test_package_resource_access(self):
        """Packaged code reaches its files by importlib.resources."""
        text = """\
            import importlib.resources
            import my_cool_resources

            def secret_message():
                return importlib.resources.read_text(my_cool_resources, "sekrit.txt")
        """

        def fill(exporter):
            # A folder of files is a package for importlib, saved here after the code that uses it.
            exporter.save_source_string("foo.bar", dedent(text))
            exporter.save_text("my_cool_resources", "sekrit.txt", "my sekrit plays")

        self.assertEqual(self.open(fill).import_module("foo.bar").secret_message(), "my sekrit plays")

    def test_every_function_of_importlib_resources(self):
        text = """\
            import importlib.resources as r

            def all_of_them(anchor):
                with r.path(anchor, "a.txt") as path:
                    by_path = path.read_text()
                return [
                    r.read_text(anchor, "a.txt"),
                    r.read_binary(anchor, "a.txt"),
                    r.open_text(anchor, "a.txt").read(),
                    r.open_binary(anchor, "a.txt").read(),
                    r.files(anchor).joinpath("a.txt").read_text(),
                    (r.files(anchor) / "sub" / "b.txt").read_bytes(),
                    by_path,
                    r.is_resource(anchor, "a.txt"),
                    r.is_resource(anchor, "sub"),
                    sorted(r.contents(anchor)),
                ]
        """

        def fill(exporter):
            exporter.save_source_string("pack", dedent(text), is_package=True)
            exporter.save_text("pack", "a.txt", "A")
            exporter.save_text("pack", "sub/b.txt", "B")

        module = self.open(fill).import_module("pack")
        expected = ["A", b"A", "A", b"A", "A", b"B", "A", True, False, ["__init__.py", "a.txt", "sub"]]
        for anchor in (module, "pack", module.__name__):
            self.assertEqual(module.all_of_them(anchor), expected)

    def test_importlib_resources_from_outside(self):
        importer = self.open(lambda e: files(e) or e.save_source_string("one", "", is_package=True))
        module = importer.import_module("one")
        if sys.version_info >= (3, 10):
            self.assertEqual(importlib.resources.files(module).joinpath("a.txt").read_text(), "hello, a!")
        else:
            self.assertEqual(importlib.resources.read_text(module, "a.txt"), "hello, a!")

    def test_resource_access_by_path(self):
        text = """\
            import importlib.resources
            import string_module

            with importlib.resources.path(string_module, "my_string") as path:
                with open(path) as file:
                    s = file.read()
        """

        def fill(exporter):
            exporter.save_binary("string_module", "my_string", b"my string")
            exporter.save_source_string("main", dedent(text), is_package=True)

        self.assertEqual(self.open(fill).import_module("main").s, "my string")

    def test_importer_access(self):
        """Packaged code asks its importer, by its name here and in torch.package."""
        for pseudo in ("torch_package_importer", "stead_package_importer"):
            text = f"""\
                import {pseudo} as importer
                from {pseudo} import load_text

                a = importer.load_text("my_cool_resources", "sekrit.txt")
                b = importer.load_binary("my_cool_resources", "sekrit.txt")
                c = importer.load_pickle("my_cool_resources", "sekrit.pkl")
                d = load_text("my_cool_resources", "sekrit.txt")
            """

            def fill(exporter):
                exporter.save_text("my_cool_resources", "sekrit.txt", "my sekrit plays")
                exporter.save_pickle("my_cool_resources", "sekrit.pkl", {"plays": 7})
                exporter.save_source_string("main", dedent(text))

            main = self.open(fill).import_module("main")
            self.assertEqual((main.a, main.b, main.c), ("my sekrit plays", b"my sekrit plays", {"plays": 7}))
            self.assertEqual(main.d, main.a)

    def test_text_binary_and_their_errors(self):
        def fill(exporter):
            exporter.save_text("a.b", "text.txt", "gr\u00fc\u00dfe")
            exporter.save_binary("a.b", "deep/er/model.onnx", bytes(range(256)))
            exporter.save_binary("", "top.bin", bytearray(b"top"))
            exporter.save_binary("a", "view.bin", memoryview(b"xyz"))

        importer = self.open(fill)
        self.assertEqual(importer.load_text("a.b", "text.txt"), "gr\u00fc\u00dfe")
        self.assertEqual(importer.load_text("a.b", "text.txt", "ascii", "ignore"), "gre")
        self.assertEqual(importer.load_binary("a.b", "deep/er/model.onnx"), bytes(range(256)))
        self.assertEqual(importer.load_binary("", "top.bin"), b"top")
        view = importer.view_binary("a", "view.bin")
        self.assertEqual((bytes(view), view.readonly), (b"xyz", True))
        with self.assertRaisesRegex(ResourceNotFoundError, "'a/gone.bin'"):
            importer.load_binary("a", "gone.bin")
        for name in ("../up.txt", "/abs.txt", "a//b", "", "a\\b"):
            with self.assertRaises(ValueError, msg=name):
                importer.load_binary("a", name)

            def wrong(exporter, name=name):
                exporter.save_binary("a", name, b"")

            with self.assertRaises(ValueError, msg=name):
                exported(wrong)

    def test_walking_folders(self):
        folder = self.open(files).get_resource_reader("one").files()
        self.assertTrue(folder.is_dir())
        self.assertEqual(sorted(child.name for child in folder.iterdir()), ["a.txt", "b.txt", "c.txt", "two"])
        self.assertEqual((folder / "two" / ".." / "a.txt").read_text(), "hello, a!")
        self.assertFalse((folder / "two" / "none").is_dir())
        self.assertTrue((folder / "two/three/a.txt").is_file())
        with self.assertRaises(ValueError):
            (folder / "a.txt").open("w")


class TestSources(PackageTestCase):
    def test_path_only_for_directories(self):
        with self.assertRaisesRegex(FileNotFoundError, "is an archive"):
            imported(files).get_resource_reader("one").resource_path("a.txt")
        importer = PackageImporter(self.unzipped(exported(files)))
        path = importer.get_resource_reader("one.two").resource_path("a.txt")
        with open(path) as file:
            self.assertEqual(file.read(), "hello, two a!")
        with self.assertRaises(FileNotFoundError):
            importer.get_resource_reader("one").resource_path("missing.txt")

    def test_a_file_object_a_buffer_a_path_and_a_folder_hold_the_same(self):
        import mmap

        data = exported(files).getvalue()
        path = self.temp("name.with.dots")
        path.write_bytes(data)
        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            opened = [PackageImporter(file), PackageImporter(mapped), PackageImporter(memoryview(mapped))]
        opened += [PackageImporter(str(path)), PackageImporter(path), PackageImporter(self.unzipped(io.BytesIO(data)))]
        for importer in opened:
            self.assertEqual(importer.load_text("one.two", "b.txt"), "hello, two b!")
            importer.verify()

    def test_a_name_for_messages(self):
        importer = PackageImporter(exported(files).getvalue(), name="shop 3")
        self.assertEqual(importer.filename, "shop 3")
        with self.assertRaisesRegex(ModuleNotFoundError, "package shop 3 has no module 'x'"):
            importer.import_module("x")

    def test_what_is_no_package(self):
        for source, error in [(3, TypeError), (io.StringIO("text"), TypeError), (b"", ValueError), (b"PK", ValueError)]:
            with self.assertRaises(error, msg=repr(source)):
                PackageImporter(source)
        with self.assertRaises(FileNotFoundError):
            PackageImporter(self.temp("gone"))


if __name__ == "__main__":
    unittest.main()
