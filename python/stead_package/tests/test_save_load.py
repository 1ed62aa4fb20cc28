"""Code and objects through a package and back."""

import io
import pickle
import sys
import unittest
from textwrap import dedent

from .common import FIXTURES, PackageTestCase, exported, imported
from stead_package import PackageError, PackageExporter, PackageImporter, sys_importer


class TestSaveLoad(PackageTestCase):
    def test_saving_source(self):
        path = self.temp()
        with PackageExporter(path) as exporter:
            exporter.save_source_file("foo", FIXTURES / "module_a.py")
            exporter.save_source_file("foodir", FIXTURES / "package_a")
        importer = PackageImporter(path)
        foo = importer.import_module("foo")
        s = importer.import_module("foodir.subpackage")
        self.assertEqual(foo.result, "module_a")
        self.assertEqual(s.result, "package_a.subpackage")
        self.assertEqual(importer.import_module("foodir").result, "package_a")

    def test_saving_a_directory_knows_all_its_files_first(self):
        """Imports among the files of a folder need no rules."""
        importer = imported(lambda e: e.save_source_file("package_d", str(FIXTURES / "package_d")))
        self.assertEqual(importer.import_module("package_d").indirect.value, "reached through the parent")

    def test_saving_string(self):
        def fill(exporter):
            exporter.extern(["sys"])
            text = """\
                import math
                from os import getcwd
                import sys
                the_math = math
            """
            exporter.save_source_string("my_mod", dedent(text))

        importer = imported(fill)
        module = importer.import_module("my_mod")
        import math
        import os

        self.assertIs(math, module.math)
        self.assertIs(module.getcwd, os.getcwd)
        self.assertIs(module.sys, sys)

    def test_save_module(self):
        def fill(exporter):
            import module_a
            import package_a

            exporter.save_module(module_a.__name__)
            exporter.save_module(package_a.__name__)

        importer = imported(fill)
        import module_a
        import package_a

        self.assertIsNot(importer.import_module("module_a"), module_a)
        self.assertEqual(importer.import_module("module_a").result, "module_a")
        self.assertIsNot(importer.import_module("package_a"), package_a)
        self.assertEqual(importer.import_module("package_a").result, "package_a")
        self.assertNotIn("module_a", [name for name in sys.modules if sys.modules[name] is importer.modules["module_a"]])

    def test_save_module_binary(self):
        """The package as bytes instead of a file object."""
        data = exported(lambda e: e.save_module("module_a")).getvalue()
        for source in (data, bytearray(data), memoryview(data)):
            self.assertEqual(PackageImporter(source).import_module("module_a").result, "module_a")

    def test_save_module_takes_names(self):
        import module_a

        with self.assertRaises(TypeError):
            exported(lambda e: e.save_module(module_a))

    def test_dunder_imports(self):
        text = """\
            math = __import__("math")
            inner = __import__("package_a.subpackage")
            xml_sub_sub_package = __import__("xml.sax.xmlreader")
            subpackage_1 = __import__("package_b", {}, {}, ["subpackage_1"])
            subpackage_2 = __import__("subpackage_2", globals={"__package__": "package_b"}, fromlist=["a"], level=1)
            sub_sub = __import__("subpackage_0.subpackage_0_0", globals={"__package__": "package_b"}, level=1)
        """

        def fill(exporter):
            exporter.intern(["package_a.**", "package_b.**"])
            exporter.save_source_string("package_b.main", dedent(text))

        importer = imported(fill)
        module = importer.import_module("package_b.main")
        import math
        import xml

        self.assertIs(module.math, math)
        self.assertIs(module.xml_sub_sub_package, xml)
        self.assertEqual(module.inner.subpackage.result, "package_a.subpackage")
        self.assertEqual(module.subpackage_1.subpackage_1.result, "subpackage_1")
        self.assertIs(module.subpackage_2, importer.import_module("package_b.subpackage_2"))
        self.assertIs(module.sub_sub, importer.import_module("package_b.subpackage_0"))

    def test_bad_dunder_imports(self):
        """Imports that cannot be resolved are passed over; they may never run."""
        text = "def never():\n    __import__(these, unresolvable)\n    __import__(foo='x')\n"
        with self.assertWarns(Warning):
            importer = imported(lambda e: e.save_source_string("m", text))
        self.assertTrue(callable(importer.import_module("m").never))

    def test_pickle(self):
        import package_a.subpackage

        obj = package_a.PackageAObject(package_a.subpackage.PackageASubpackageObject())

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("obj", "obj.pkl", obj)
            self.assertEqual(exporter.interned_modules(), ["package_a", "package_a.subpackage"])

        importer = imported(fill)
        # Dependencies came along, and nothing else.
        importer.import_module("package_a.subpackage")
        with self.assertRaisesRegex(ModuleNotFoundError, "has no module 'module_a'.*It may take: "):
            importer.import_module("module_a")
        loaded = importer.load_pickle("obj", "obj.pkl")
        self.assertIsNot(type(obj), type(loaded))
        self.assertIsNot(type(obj.obj), type(loaded.obj))
        self.assertIs(type(loaded), importer.import_module("package_a").PackageAObject)
        self.assertEqual(loaded.return_result(), "package_a")

    def test_pickle_protocol_3(self):
        import package_a

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("obj", "obj.pkl", package_a.PackageAObject([1]), pickle_protocol=3)
            with self.assertRaises(ValueError):
                exporter.save_pickle("obj", "other.pkl", 1, pickle_protocol=2)

        self.assertEqual(imported(fill).load_pickle("obj", "obj.pkl").obj, [1])

    def test_pickle_without_dependencies(self):
        import package_a

        def fill(exporter):
            exporter.save_pickle("obj", "obj.pkl", package_a.PackageAObject(1), dependencies=False)

        with self.assertRaises(ModuleNotFoundError):
            imported(fill).load_pickle("obj", "obj.pkl")

    def test_exporting_mismatched_code(self):
        """An object whose class exists twice can be saved only with the importer first that it comes from."""
        import package_a

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("obj", "obj.pkl", package_a.PackageAObject(1))

        first = imported(fill)
        loaded = first.load_pickle("obj", "obj.pkl")
        with self.assertRaisesRegex(pickle.PicklingError, "another object.*importer of the package <stead_package_"):
            exported(lambda e: e.save_pickle("obj", "obj.pkl", loaded))
        with self.assertRaisesRegex(pickle.PicklingError, "another object"):
            exported(lambda e: e.save_pickle("obj", "obj.pkl", loaded), importer=(sys_importer, first))
        with self.assertRaisesRegex(pickle.PicklingError, "put sys_importer first"):
            exported(lambda e: e.save_pickle("o", "o.pkl", package_a.PackageAObject(1)), importer=(first, sys_importer))

        def again(exporter):
            exporter.intern("**")
            exporter.save_pickle("obj", "obj.pkl", loaded)

        second = imported(again, importer=(first, sys_importer))
        self.assertEqual(second.load_pickle("obj", "obj.pkl").return_result(), "package_a")

    def test_save_imported_module(self):
        """By its mangled name, as its own `__name__` says it."""
        first = imported(lambda e: e.intern("**") or e.save_module("module_b"))
        module = first.import_module("module_b")

        def again(exporter):
            exporter.intern("**")
            exporter.save_module(module.__name__)
            self.assertEqual(exporter.interned_modules(), ["module_a", "module_b"])

        second = imported(again, importer=(first, sys_importer))
        self.assertEqual(second.import_module("module_b").result, module.result)

    def test_save_imported_module_using_package_importer(self):
        """Code that uses the pseudo-module of the importer can be packaged again."""
        for pseudo in ("torch_package_importer", "stead_package_importer"):
            text = f"import {pseudo} as here\n\ndef text():\n    return here.load_text('foo', 'a.txt')\n"

            def fill(exporter):
                exporter.save_source_string("foo", text)
                exporter.save_text("foo", "a.txt", "hello")

            first = imported(fill)

            def again(exporter):
                exporter.intern("**")
                exporter.save_module("foo")
                exporter.save_text("foo", "a.txt", "again")

            second = imported(again, importer=(first, sys_importer))
            self.assertEqual(first.import_module("foo").text(), "hello")
            self.assertEqual(second.import_module("foo").text(), "again")

    def test_saving_twice_is_refused(self):
        for second, message in [
            (lambda e: e.save_text("a", "b.txt", "again"), "'a/b.txt' was saved before"),
            (lambda e: e.save_text("a", "b.txt/c", "below"), "'a/b.txt' was saved as a file"),
            (lambda e: e.save_text("", "a", "above"), "'a' was saved before"),
        ]:
            with PackageExporter(io.BytesIO()) as exporter:
                exporter.save_text("a", "b.txt", "once")
                with self.assertRaisesRegex(PackageError, message):
                    second(exporter)

    def test_same_input_same_bytes(self):
        def fill(exporter):
            exporter.intern("**")
            exporter.save_module("package_b")
            exporter.save_pickle("a", "b.pkl", {"x": [1, 2]})

        self.assertEqual(exported(fill).getvalue(), exported(fill).getvalue())

    def test_source_that_is_not_utf8(self):
        with self.module("placeholder", ""):
            pass
        path = self.temp("latin.py")
        path.write_bytes(b"# -*- coding: latin-1 -*-\nvalue = '\xe9'\n")
        importer = imported(lambda e: e.save_source_file("latin", path))
        self.assertEqual(importer.import_module("latin").value, "\u00e9")

    def test_the_stream_may_stand_anywhere(self):
        buffer = io.BytesIO()
        buffer.write(b"#!shebang\n")
        with PackageExporter(buffer) as exporter:
            exporter.save_text("a", "b.txt", "behind other data")
        self.assertEqual(PackageImporter(buffer).load_text("a", "b.txt"), "behind other data")

    def test_a_stream_that_cannot_seek(self):
        class Pipe:
            def __init__(self):
                self.parts = []

            def write(self, data):
                self.parts.append(bytes(data))

        pipe = Pipe()
        with PackageExporter(pipe) as exporter:
            exporter.save_text("a", "b.txt", "x")
        self.assertEqual(PackageImporter(b"".join(pipe.parts)).load_text("a", "b.txt"), "x")

    def test_close_without_with(self):
        path = self.temp("tacotron2")
        exporter = PackageExporter(str(path))
        exporter.save_text("a", "b.txt", "x")
        self.assertFalse(path.exists())
        exporter.close()
        exporter.close()
        self.assertEqual(PackageImporter(str(path)).load_text("a", "b.txt"), "x")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["tacotron2"])


class TestCustomReduction(PackageTestCase):
    SOURCE = dedent(
        """\
        class Vocabulary:
            def __init__(self, words):
                self.words = words

            def __reduce_package__(self, exporter):
                name = exporter.get_unique_id() + ".txt"
                exporter.save_text("vocabulary", name, " ".join(self.words))
                return (load, name)


        def load(importer, name):
            return Vocabulary(importer.load_text("vocabulary", name).split())
        """
    )

    def test_reduce_package(self):
        with self.module("vocabulary_module", self.SOURCE) as module:
            shared = module.Vocabulary(["a", "b"])

            def fill(exporter):
                exporter.intern("**")
                exporter.save_pickle("m", "one.pkl", [shared, shared])
                exporter.save_pickle("m", "two.pkl", {"it": shared})

            importer = imported(fill)
        one = importer.load_pickle("m", "one.pkl")
        self.assertEqual(one[0].words, ["a", "b"])
        self.assertIs(one[0], one[1])
        self.assertIs(one[0], importer.load_pickle("m", "two.pkl")["it"])
        self.assertTrue(importer.file_structure().has_file("vocabulary/0.txt"))
        self.assertFalse(importer.file_structure().has_file("vocabulary/1.txt"))

    def test_reduce_package_of_a_packaged_class(self):
        with self.module("vocabulary_module", self.SOURCE) as module:

            def fill(exporter):
                exporter.intern("**")
                exporter.save_pickle("m", "one.pkl", module.Vocabulary(["a"]))

            first = imported(fill)
        loaded = first.load_pickle("m", "one.pkl")

        def again(exporter):
            exporter.intern("**")
            exporter.save_pickle("m", "one.pkl", loaded)

        second = imported(again, importer=(first, sys_importer))
        self.assertEqual(second.load_pickle("m", "one.pkl").words, ["a"])

    def test_an_object_that_reduces_to_its_name(self):
        """Such as an enumeration's member or a constant, in a package and packaged again."""
        text = dedent(
            """\
            import enum

            class Constant:
                def __reduce__(self):
                    return "THE_ONE"

            THE_ONE = Constant()

            class Colour(enum.Enum):
                RED = 1

                def shade(self):
                    return self.name.lower()

            def function():
                return "called"

            class Outer:
                class Inner:
                    pass
            """
        )
        with self.module("constants", text) as module:
            saved = [module.THE_ONE, module.Colour.RED, module.function, module.Outer.Inner(), module.Colour.RED.shade]

            def fill(exporter):
                exporter.intern("constants")
                exporter.save_pickle("m", "m.pkl", saved)

            importer = imported(fill)
        for _ in range(2):
            one, red, function, inner, method = loaded = importer.load_pickle("m", "m.pkl")
            packaged = importer.import_module("constants")
            self.assertIs(one, packaged.THE_ONE)
            self.assertIs(red, packaged.Colour.RED)
            self.assertEqual(function(), "called")
            self.assertIs(type(inner), packaged.Outer.Inner)
            self.assertEqual(method(), "red")

            def again(exporter):
                exporter.intern("constants")
                exporter.save_pickle("m", "m.pkl", loaded)

            importer = imported(again, importer=(importer, sys_importer))


if __name__ == "__main__":
    unittest.main()
