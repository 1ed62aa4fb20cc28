"""Which modules get into a package, and what is said about those that cannot."""

import importlib.machinery
import io
import sys
import types
import unittest
import warnings
from textwrap import dedent

from .common import PackageTestCase, exported, imported, synthetic_module
from stead_package import (
    EmptyMatchError,
    Importer,
    PackageExporter,
    PackageImporter,
    PackagingError,
    PackagingErrorReason,
    PackagingWarning,
    sys_importer,
)
from stead_package.export.code_dependencies import code_dependencies
from stead_package.export.pickle_dependencies import pickle_dependencies


def failure(fill, **options):
    """The error with which an export ends."""
    try:
        exported(fill, **options)
    except PackagingError as error:
        return error
    raise AssertionError("the export should have failed")


class TestActions(PackageTestCase):
    def test_extern(self):
        def fill(exporter):
            exporter.extern(["package_a.subpackage", "module_a"])
            exporter.save_source_string("foo", "import package_a.subpackage; import module_a")

        importer = imported(fill)
        import module_a
        import package_a.subpackage

        foo = importer.import_module("foo")
        inner = importer.import_module("package_a.subpackage")
        self.assertIs(module_a, importer.import_module("module_a"))
        self.assertIs(package_a.subpackage, inner)
        self.assertIs(foo.package_a.subpackage, inner)
        # The package around it was not declared extern, so nothing else of it is there.
        self.assertIsNot(package_a, foo.package_a)
        self.assertFalse(hasattr(foo.package_a, "result"))

    def test_extern_with_interned_parent_differs(self):
        def fill(exporter):
            exporter.extern("package_a.subpackage")
            exporter.intern("package_a")
            exporter.save_source_string("foo", "import package_a.subpackage, package_a")

        importer = imported(fill)
        import package_a.subpackage

        packaged = importer.import_module("package_a")
        self.assertIsNot(packaged, package_a)
        self.assertIs(importer.import_module("package_a.subpackage"), package_a.subpackage)
        self.assertIs(packaged.subpackage, package_a.subpackage)

    def test_extern_glob(self):
        def fill(exporter):
            exporter.extern(["package_a.*", "module_*"])
            exporter.save_module("package_a")
            exporter.save_source_string("test_module", "import package_a.subpackage\nimport module_a\n")

        importer = imported(fill)
        import module_a
        import package_a.subpackage

        importer.import_module("test_module")
        self.assertIs(module_a, importer.import_module("module_a"))
        self.assertIs(package_a.subpackage, importer.import_module("package_a.subpackage"))
        self.assertIsNot(package_a, importer.import_module("package_a"))

    def test_extern_glob_allow_empty(self):
        def fill(exporter):
            exporter.extern(include=["package_a.*"], allow_empty=False)
            exporter.save_module("package_b.subpackage_1")

        with self.assertRaisesRegex(EmptyMatchError, r"extern\(package_a\.\*\)"):
            exported(fill)

    def test_deny(self):
        def fill(exporter):
            exporter.deny(["package_a.subpackage", "module_a"])
            exporter.save_source_string("foo", "import package_a.subpackage")

        error = failure(fill)
        self.assertEqual(error.broken(), {PackagingErrorReason.DENIED: ["package_a.subpackage"]})

    def test_deny_glob(self):
        def fill(exporter):
            exporter.deny(["package_a.*", "module_*"])
            exporter.intern("**")
            exporter.save_source_string("test_module", "import package_a.subpackage\nimport module_a\n")

        denied = ["module_a", "package_a.subpackage"]
        self.assertEqual(failure(fill).broken(), {PackagingErrorReason.DENIED: denied})

    def test_deny_of_the_standard_library_acts_when_it_is_named(self):
        def fill(exporter):
            exporter.deny("subprocess")
            exporter.deny("**")
            exporter.save_source_string("foo", "import subprocess, json")

        self.assertEqual(failure(fill).broken(), {PackagingErrorReason.DENIED: ["subprocess"]})

    def test_mock(self):
        def fill(exporter):
            exporter.mock(["package_a.subpackage", "module_a"])
            exporter.save_source_string("foo", "import package_a.subpackage\nfrom module_a import result, Base\n")

        importer = imported(fill)
        foo = importer.import_module("foo")
        self.assertIs(foo.package_a.subpackage, importer.import_module("package_a.subpackage"))
        for use in [
            lambda: foo.result + 1,
            lambda: foo.Base(),
            lambda: foo.result.attribute,
            lambda: setattr(foo.result, "x", 1),
            lambda: foo.result[0],
            lambda: len(foo.result),
            lambda: bool(foo.result),
            lambda: iter(foo.result),
            lambda: types.new_class("Derived", (foo.Base,)),
            lambda: isinstance(1, foo.Base),
            lambda: foo.package_a.subpackage.leaf_function(1, 2),
        ]:
            with self.assertRaisesRegex(NotImplementedError, "module_a.result|module_a.Base|subpackage.leaf_function"):
                use()
        with self.assertRaisesRegex(NotImplementedError, "cannot be constructed"):
            type(foo.result)("name")

    def test_mock_glob(self):
        def fill(exporter):
            exporter.mock(["package_a.*", "module*"])
            exporter.save_module("package_a")
            exporter.save_source_string("test_module", "import package_a.subpackage\nimport module_a\n")

        importer = imported(fill)
        importer.import_module("test_module")
        mocked = importer.import_module("package_a.subpackage")
        with self.assertRaisesRegex(NotImplementedError, "package_a.subpackage.result"):
            mocked.result()

    def test_mock_glob_allow_empty(self):
        def fill(exporter):
            exporter.mock(include=["package_a.*"], allow_empty=False)
            exporter.save_module("package_b.subpackage_1")

        with self.assertRaisesRegex(EmptyMatchError, "mock"):
            exported(fill)

    def test_allow_empty_with_error(self):
        """The empty rule must not hide the first error."""
        with self.assertRaises(PackagingError):
            with PackageExporter(io.BytesIO()) as exporter:
                exporter.extern("package_a.*", allow_empty=False)
                exporter.save_source_string("foo", "import module_a")
        with self.assertRaises(ZeroDivisionError):
            with PackageExporter(io.BytesIO()) as exporter:
                exporter.extern("package_a.*", allow_empty=False)
                raise ZeroDivisionError

    def test_module_glob(self):
        from stead_package import GlobGroup

        for pattern, candidate, expected in [
            ("torch.*", "torch.foo", True),
            ("torch.*", "tor.foo", False),
            ("torch.**", "torch.foo.bar", True),
            ("**.torch", "torch", True),
        ]:
            self.assertEqual(GlobGroup(pattern).matches(candidate), expected, (pattern, candidate))

    def test_rules_are_tried_in_order(self):
        def fill(exporter):
            exporter.extern("module_a")
            exporter.mock("module_*")
            exporter.intern("**")
            exporter.save_source_string("foo", "import module_a, module_b, package_a")
            self.assertEqual(exporter.externed_modules(), ["module_a"])
            self.assertEqual(exporter.mocked_modules(), ["module_b"])
            self.assertEqual(exporter.interned_modules(), ["foo", "package_a"])

        exported(fill)

    def test_exclude(self):
        def fill(exporter):
            exporter.mock("module_*", exclude="module_a")
            exporter.intern("module_a")
            exporter.save_source_string("foo", "import module_a, module_b")
            self.assertEqual(exporter.mocked_modules(), ["module_b"])

        exported(fill)

    def test_pickle_mocked(self):
        from package_a.subpackage import PackageASubpackageObject

        def fill(exporter):
            exporter.mock(include="package_a.subpackage")
            exporter.save_pickle("obj", "obj.pkl", PackageASubpackageObject())

        error = failure(fill)
        self.assertEqual(error.broken(), {PackagingErrorReason.MOCKED_BUT_STILL_USED: ["package_a.subpackage"]})

    def test_pickle_mocked_all(self):
        import package_a

        def fill(exporter):
            exporter.intern(include="package_a.**")
            exporter.mock("**")
            exporter.save_pickle("obj", "obj.pkl", package_a.PackageAObject(2))

        self.assertEqual(imported(fill).load_pickle("obj", "obj.pkl").obj, 2)

    def test_repackage_mocked_module(self):
        def fill(exporter):
            exporter.mock("package_b")
            exporter.save_source_string("foo", "import package_b")

        first = imported(fill)

        def again(exporter):
            exporter.intern("**")
            exporter.save_module("foo")
            self.assertEqual(exporter.mocked_modules(), ["package_b"])

        second = imported(again, importer=first)
        for importer in (first, second):
            foo = importer.import_module("foo")
            with self.assertRaises(NotImplementedError):
                foo.package_b.PackageBObject()


class TestImplicit(PackageTestCase):
    def test_the_class_of_an_object_needs_a_rule(self):
        import package_a

        def fill(exporter):
            exporter.save_pickle("foo", "foo.pkl", package_a.PackageAObject(1))

        self.assertEqual(failure(fill).broken(), {PackagingErrorReason.NO_ACTION: ["package_a"]})

    def test_implicit_intern(self):
        """What is saved by name needs no rule."""
        importer = imported(lambda e: e.save_module("module_a"))
        self.assertEqual(importer.import_module("module_a").result, "module_a")

    def test_standard_library_and_torch(self):
        def fill(exporter):
            exporter.save_source_string("foo", "import json, os.path, torch.nn, stead, collections.abc")
            expected = ["collections.abc", "json", "os.path", "stead", "torch.nn"]
            self.assertEqual(exporter.externed_modules(), expected)

        exported(fill)

    def test_sys_and_io_must_be_named(self):
        text = "import sys, io"
        error = failure(lambda e: e.save_source_string("foo", text))
        self.assertEqual(error.broken(), {PackagingErrorReason.NO_ACTION: ["io", "sys"]})
        self.assertIn("note: sys reaches the interpreter's own state", str(error))

        def allowed(exporter):
            exporter.extern(["sys", "io"])
            exporter.save_source_string("foo", text)

        self.assertIs(imported(allowed).import_module("foo").sys, sys)

    def test_a_rule_that_names_it_comes_before(self):
        def fill(exporter):
            exporter.mock("tkinter.**")
            exporter.save_source_string("foo", "import tkinter.ttk")
            self.assertEqual(exporter.mocked_modules(), ["tkinter.ttk"])

        exported(fill)


class TestErrors(PackageTestCase):
    def test_intern_error(self):
        """What is missing is listed at once; with the rules that it asks for the export succeeds."""
        import package_a

        obj = package_a.PackageAObject(1)

        def fill(exporter):
            exporter.save_pickle("obj", "obj.pkl", obj)
            exporter.save_source_string("foo", "import module_b")

        error = failure(fill)
        self.assertEqual(
            str(error),
            "\n* no rule says what to do with the module: intern(), extern() or mock() it:\n"
            "    module_b\n"
            "      needed by: foo -> module_b\n"
            "    package_a\n"
            "      needed by: <obj.obj.pkl> -> package_a\n",
        )

        def mended(exporter):
            exporter.intern(["package_a", "module_*"])
            fill(exporter)

        self.assertEqual(imported(mended).load_pickle("obj", "obj.pkl").return_result(), "package_a")

    def test_errors_of_all_kinds_are_reported_together(self):
        gone = synthetic_module("made_by_hand")
        unreadable = synthetic_module("unreadable", __file__=str(self.temp("gone.py")))
        sys.modules["made_by_hand"], sys.modules["unreadable"] = gone, unreadable
        self.addCleanup(sys.modules.pop, "made_by_hand")
        self.addCleanup(sys.modules.pop, "unreadable")

        def fill(exporter):
            exporter.deny("module_a")
            exporter.extern("package_a")
            exporter.intern(["made_by_hand", "unreadable", "package_a.subpackage", "bad_syntax"])
            exporter.save_module("nowhere.deep")
            text = "import made_by_hand, unreadable, module_a, module_b, package_a, package_a.subpackage"
            exporter.save_source_string("foo", text)
            exporter.save_source_string("bad_syntax", "def :")

        error = failure(fill)
        self.assertEqual(
            error.broken(),
            {
                PackagingErrorReason.NO_ACTION: ["module_b"],
                PackagingErrorReason.DENIED: ["module_a"],
                PackagingErrorReason.NO_DUNDER_FILE: ["made_by_hand"],
                PackagingErrorReason.SOURCE_FILE_NOT_FOUND: ["unreadable"],
                PackagingErrorReason.NOT_FOUND: ["nowhere.deep"],
                PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED: ["bad_syntax"],
                PackagingErrorReason.UNDER_EXTERN: ["package_a.subpackage"],
            },
        )
        self.assertIn("gone.py", str(error))
        for reason in error.broken():
            self.assertIn(f"* {reason.value}:", str(error))

    def test_broken_dependency(self):
        """All C extensions that would be packaged are listed."""
        suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
        folder = self.temp("extensions")
        folder.mkdir()
        for name in ("fast_one", "fast_two"):
            (folder / f"{name}{suffix}").write_bytes(b"never loaded")
        sys.path.insert(0, str(folder))
        self.addCleanup(sys.path.remove, str(folder))

        def fill(exporter):
            exporter.intern("**")
            exporter.save_source_string("foo", "import fast_two\nimport fast_one\n")

        error = failure(fill)
        self.assertEqual(error.broken(), {PackagingErrorReason.IS_EXTENSION_MODULE: ["fast_one", "fast_two"]})
        self.assertIn(f"file: {folder / f'fast_one{suffix}'}", str(error))
        self.assertNotIn("fast_one", sys.modules)

        def mended(exporter):
            exporter.extern("fast_*")
            fill(exporter)

        exported(mended)

    def test_broken_dependency_of_an_importer_that_only_imports(self):
        class Modules(Importer):
            def import_module(self, module_name):
                try:
                    return {"foo": synthetic_module("foo", __file__="foo.so"), "bar": plain}[module_name]
                except KeyError:
                    raise ModuleNotFoundError(module_name, name=module_name) from None

        path = self.temp("bar_source.py")
        path.write_text("result = 'read from its file'")
        plain = synthetic_module("bar", __file__=str(path))

        def fill(exporter):
            exporter.intern(["foo", "bar"])
            exporter.save_source_string("my_module", "import bar")

        self.assertEqual(imported(fill, importer=Modules()).import_module("my_module").bar.result, "read from its file")

        def broken(exporter):
            fill(exporter)
            exporter.save_source_string("other", "import foo")

        error = failure(broken, importer=Modules())
        self.assertEqual(error.broken(), {PackagingErrorReason.IS_EXTENSION_MODULE: ["foo"]})

    def test_invalid_import(self):
        """A relative import that leaves the outermost package."""
        error = failure(lambda e: e.save_source_string("foo", "from ........ import lol"))
        reason = PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED
        self.assertEqual(error.broken(), {reason: ["foo"]})
        self.assertIn("because: line 1: relative import beyond the top-level package", str(error))

    def test_invalid_import_of_a_file(self):
        def fill(exporter):
            exporter.intern("**")
            exporter.save_module("package_b.subpackage_0.subsubpackage_0")

        error = failure(fill)
        self.assertEqual(list(error.broken()), [PackagingErrorReason.DEPENDENCY_RESOLUTION_FAILED])

    def test_debug_names_all_that_import_it(self):
        def fill(exporter):
            exporter.save_source_string("foo", "import module_a")
            exporter.save_source_string("bar", "import module_a")

        plain, debug = str(failure(fill)), str(failure(fill, debug=True))
        self.assertEqual(plain.count("needed by"), 1)
        self.assertNotIn("imported in: bar", plain)
        self.assertIn("imported in: foo", debug)
        self.assertIn("imported in: bar", debug)

    def test_the_way_from_the_root_is_told(self):
        def fill(exporter):
            exporter.save_source_string("foo", "import bar")
            exporter.save_source_string("bar", "import module_a")

        self.assertIn("needed by: foo -> bar -> module_a", str(failure(fill)))

    def test_modules_that_are_not_installed(self):
        """What code imports and nobody has is left out with a warning; rules that need no source act on it."""

        def fill(exporter):
            exporter.intern("**", exclude=["absent_*"])
            exporter.mock("absent_mocked")
            exporter.extern("absent_extern")
            text = """\
                import absent_mocked, absent_extern, saved_later, files_only, folder
                try:
                    import absent_optional
                except (ValueError, ImportError):
                    absent_optional = None
                try:
                    import absent_needed
                except ValueError:
                    pass
            """
            exporter.save_source_string("foo", dedent(text))
            exporter.save_source_string("saved_later", "x = 1")
            exporter.save_source_string("folder.inner", "")
            exporter.save_text("files_only", "a.txt", "x")
            self.assertEqual(exporter.mocked_modules(), ["absent_mocked"])
            self.assertEqual(exporter.externed_modules(), ["absent_extern"])
            self.assertEqual(exporter.get_rdeps("saved_later"), ["foo"])

        with self.assertWarns(PackagingWarning) as caught:
            exported(fill)
        self.assertEqual([str(warning.message).split(",")[1] for warning in caught.warnings], [" line 7: imports absent_needed"])

    def test_modules_that_are_not_installed_are_denied(self):
        def fill(exporter):
            exporter.deny("absent_*")
            exporter.save_source_string("foo", "import absent_one")

        self.assertEqual(failure(fill).broken(), {PackagingErrorReason.DENIED: ["absent_one"]})

    def test_dependencies_that_are_named_must_be_there(self):
        error = failure(lambda e: e.add_dependency("absent_one") or e.intern("x"))
        self.assertEqual(error.broken(), {PackagingErrorReason.NO_ACTION: ["absent_one"]})
        error = failure(lambda e: e.intern("absent_*") or e.add_dependency("absent_one"))
        self.assertEqual(error.broken(), {PackagingErrorReason.NOT_FOUND: ["absent_one"]})

    def test_an_exporter_that_is_dropped_leaves_no_file(self):
        import gc

        exporters = [PackageExporter(self.temp()) for _ in range(2)]
        exporters[0].save_text("a", "b.txt", "x")
        self.assertEqual(len(list(self.folder.iterdir())), 2)
        del exporters[:]
        gc.collect()
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_nothing_is_imported_to_find_sources(self):
        with self.module("never_again", "import module_b\n") as module:
            del module
            sys.modules.pop("never_again")
            sys.modules.pop("module_b", None)

            def fill(exporter):
                exporter.intern("**")
                exporter.save_source_string("foo", "from never_again import module_b")

            importer = imported(fill)
            self.assertNotIn("never_again", sys.modules)
            self.assertNotIn("module_b", sys.modules)
            self.assertEqual(importer.import_module("foo").module_b.result, "module_b over module_a")

    def test_a_failed_export_leaves_no_file(self):
        path = self.temp()
        with self.assertRaises(PackagingError):
            with PackageExporter(path) as exporter:
                exporter.save_source_string("foo", "import module_a")
        self.assertEqual([file for file in self.folder.iterdir()], [])


class TestCodeDependencies(unittest.TestCase):
    def check(self, source, expected, module="pkg.mod", is_package=False, unfollowed=0):
        found = code_dependencies(source, module, is_package)
        self.assertEqual([(d.module, d.name) for d in found.found], expected, source)
        self.assertEqual(len(found.unfollowed), unfollowed, source)

    def test_imports(self):
        for source, expected in [
            ("import a, b.c as d", [("a", None), ("b.c", None)]),
            ("from a.b import c, d as e", [("a.b", "c"), ("a.b", "d")]),
            ("from a import *", [("a", None)]),
            ("from . import x\nfrom .y import z", [("pkg", "x"), ("pkg.y", "z")]),
            ("def f():\n  if 1:\n    import deep", [("deep", None)]),
            ("import a\nimport a", [("a", None)]),
            ("try:\n  import fast\nexcept ImportError:\n  import slow", [("fast", None), ("slow", None)]),
        ]:
            self.check(source, expected)

    def test_relative_to_a_package(self):
        self.check("from . import x\nfrom .. import y", [("pkg.mod", "x"), ("pkg", "y")], is_package=True)

    def test_calls(self):
        for source, expected in [
            ("__import__('a.b')", [("a.b", None)]),
            ("__import__('a', fromlist=['b', 'c'])", [("a", "b"), ("a", "c")]),
            ("__import__('x', globals(), locals(), ['y'], 1)", [("pkg.x", "y")]),
            ("import importlib as il\nil.import_module('a.b')", [("importlib", None), ("a.b", None)]),
            ("from importlib import import_module as im\nim('q')", [("importlib", "import_module"), ("q", None)]),
            ("import importlib\nimportlib.import_module('.x', __package__)", [("importlib", None), ("pkg.x", None)]),
            ("import importlib\nimportlib.import_module('..x', 'a.b')", [("importlib", None), ("a.x", None)]),
            ("import builtins\nbuiltins.__import__('z')", [("builtins", None), ("z", None)]),
            ("other.import_module('a')", []),
        ]:
            self.check(source, expected)

    def test_calls_that_cannot_be_followed(self):
        self.check("__import__(name)", [], unfollowed=1)
        self.check("__import__(*args)", [], unfollowed=1)
        self.check("import importlib\nimportlib.import_module(f'a.{x}')", [("importlib", None)], unfollowed=1)
        self.check("import importlib\nimportlib.import_module('.x', where)", [("importlib", None)], unfollowed=1)

    def test_what_only_type_checkers_read(self):
        source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n  import huge\nelse:\n  import small"
        self.check(source, [("typing", "TYPE_CHECKING"), ("small", None)])

    def test_warning_names_module_and_line(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with PackageExporter(io.BytesIO()) as exporter:
                exporter.save_source_string("foo", "import importlib\nimportlib.import_module(name)")
        self.assertEqual([w.category for w in caught], [PackagingWarning])
        self.assertIn("foo, line 2: importlib.import_module", str(caught[0].message))
        self.assertEqual(exporter.warnings, [str(caught[0].message)])


class TestPickleDependencies(unittest.TestCase):
    def test_every_protocol(self):
        import pickle
        from collections import OrderedDict
        from package_a import PackageAObject

        # The second use of a module's name comes from the memo.
        obj = [PackageAObject(OrderedDict()), PackageAObject.return_result, "package_a", "noise"]
        for protocol in (2, 3, 4, 5):
            found = pickle_dependencies(pickle.dumps(obj, protocol=protocol))
            self.assertIn(("package_a", "PackageAObject"), found, protocol)
            self.assertIn(("collections", "OrderedDict"), found, protocol)
            modules = {module for module, _ in found}
            self.assertLessEqual(modules, {"package_a", "collections", "copyreg", "builtins", "__builtin__"}, protocol)

    def test_strings_are_not_globals(self):
        import pickle

        self.assertEqual(pickle_dependencies(pickle.dumps(["os", "system", {"a": "b"}], protocol=4)), [])

    def test_extension_registry(self):
        import copyreg
        import pickle
        import package_a

        copyreg.add_extension("package_a", "PackageAObject", 240)
        self.addCleanup(copyreg.remove_extension, "package_a", "PackageAObject", 240)
        found = pickle_dependencies(pickle.dumps(package_a.PackageAObject, protocol=4))
        self.assertEqual(found, [("package_a", "PackageAObject")])


class TestQueries(PackageTestCase):
    def test_exporter_content_lists(self):
        from package_b import PackageBObject

        def fill(exporter):
            exporter.extern("package_b.subpackage_1")
            exporter.mock("package_b.subpackage_2")
            exporter.intern("**")
            exporter.save_pickle("obj", "obj.pkl", PackageBObject(["a"]))
            self.assertEqual(exporter.externed_modules(), ["package_b.subpackage_1"])
            self.assertEqual(exporter.mocked_modules(), ["package_b.subpackage_2"])
            self.assertEqual(exporter.interned_modules(), ["package_b", "package_b.subpackage_0.subpackage_0_0"])
            self.assertEqual(exporter.denied_modules(), [])
            self.assertEqual(exporter.get_rdeps("package_b.subpackage_2"), ["package_b.subpackage_0.subpackage_0_0"])
            self.assertEqual(exporter.get_rdeps("package_b"), ["<obj.obj.pkl>"])
            self.assertEqual(exporter.get_rdeps("unknown"), [])
            paths = exporter.all_paths("<obj.obj.pkl>", "package_b.subpackage_2")
            self.assertIn('"package_b" -> "package_b.subpackage_0.subpackage_0_0";', paths)
            self.assertNotIn("subpackage_1", paths)
            self.assertIn('"package_b" -> "package_b.subpackage_1";', exporter.dependency_graph_string())
            self.assertIn(">package_b.subpackage_2<", exporter.dependency_graph_svg())

        exported(fill)
        with PackageExporter(io.BytesIO()) as exporter:
            exporter.deny("package_b")
            exporter.add_dependency("package_b")
            self.assertEqual(exporter.denied_modules(), ["package_b"])
            exporter._abandon()

    def test_the_graph_of_an_error_holds_its_reasons(self):

        def fill(exporter):
            exporter.intern("package_b.**")
            exporter.deny("module_a")
            exporter.save_source_string("foo", "import bar")
            exporter.save_source_string("bar", "import module_a")

        graph = failure(fill).dependency_graph
        self.assertIs(graph.nodes["module_a"]["error"], PackagingErrorReason.DENIED)
        self.assertEqual(graph.first_path("module_a"), ["foo", "bar", "module_a"])

    def test_sys_importer_alone_or_in_a_list(self):
        for importer in (sys_importer, (sys_importer,), [sys_importer]):
            package = exported(lambda e: e.save_module("module_a"), importer=importer)
            self.assertEqual(PackageImporter(package).import_module("module_a").result, "module_a")


if __name__ == "__main__":
    unittest.main()
