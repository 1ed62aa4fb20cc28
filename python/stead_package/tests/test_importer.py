"""Importers, and the import system of a package."""

import gc
import importlib
import io
import linecache
import pickle
import sys
import threading
import traceback
import unittest
import weakref
from textwrap import dedent

from .common import PackageTestCase, exported, imported
from stead_package import (
    EnvironmentMismatchError,
    Importer,
    ObjMismatchError,
    ObjNotFoundError,
    OrderedImporter,
    PackageImporter,
    is_from_package,
    sys_importer,
)


def package_a_importer():
    def fill(exporter):
        exporter.intern("**")
        exporter.save_module("package_a")
        exporter.save_module("package_a.subpackage")

    return imported(fill)


class TestImporters(PackageTestCase):
    def test_sys_importer(self):
        import package_a
        import package_a.subpackage

        self.assertIs(sys_importer.import_module("package_a"), package_a)
        self.assertIs(sys_importer.import_module("package_a.subpackage"), package_a.subpackage)

    def test_sys_importer_roundtrip(self):
        import package_a
        import package_a.subpackage

        for obj in (package_a.subpackage.PackageASubpackageObject, package_a.subpackage.leaf_function):
            module_name, type_name = sys_importer.get_name(obj)
            module = sys_importer.import_module(module_name)
            self.assertIs(getattr(module, type_name), obj)

    def test_single_ordered_importer(self):
        import module_a

        packaged = package_a_importer()
        for ordered in (OrderedImporter(sys_importer), OrderedImporter(packaged)):
            if ordered._importers[0] is sys_importer:
                self.assertIs(ordered.import_module("module_a"), module_a)
            else:
                self.assertIs(ordered.import_module("package_a"), packaged.import_module("package_a"))
                with self.assertRaises(ModuleNotFoundError):
                    ordered.import_module("module_a")

    def test_ordered_importer_basic(self):
        import package_a

        packaged = package_a_importer()
        self.assertIs(OrderedImporter(sys_importer, packaged).import_module("package_a"), package_a)
        first = OrderedImporter(packaged, sys_importer).import_module("package_a")
        self.assertIs(first, packaged.import_module("package_a"))
        self.assertIsNot(first, package_a)

    def test_ordered_importer_passes_over_empty_folders(self):
        """A folder without source must not hide the real package of another importer."""
        import package_a

        folder = imported(lambda e: e.save_source_string("package_a.extra", ""))
        ordered = OrderedImporter(folder, sys_importer)
        self.assertIs(ordered.import_module("package_a"), package_a)
        self.assertTrue(is_from_package(ordered.import_module("package_a.extra")))
        self.assertIn("PackageAObject", ordered.find_source("package_a").text)

    def test_ordered_importer_tells_errors_inside_a_module(self):
        broken = imported(lambda e: e.save_source_string("package_a", "import nowhere", dependencies=False))
        with self.assertRaisesRegex(ModuleNotFoundError, "nowhere"):
            OrderedImporter(broken, sys_importer).import_module("package_a")

    def test_ordered_importer_whichmodule(self):
        """The first that knows decides; `__main__` means not to know."""

        class Dummy(Importer):
            def __init__(self, answer):
                self.answer = answer

            def import_module(self, module_name):
                raise NotImplementedError

            def whichmodule(self, obj, name):
                return self.answer

        class Thing:
            pass

        for answers, expected in [
            (("__main__", "foo", "bar"), "foo"),
            (("bar", "foo"), "bar"),
            (("__main__", "__main__"), "__main__"),
        ]:
            ordered = OrderedImporter(*[Dummy(answer) for answer in answers])
            self.assertEqual(ordered.whichmodule(Thing(), ""), expected)

    def test_ordered_importer_takes_importers_only(self):
        with self.assertRaises(TypeError):
            OrderedImporter(importlib).import_module("package_a")

    def test_package_importer_whichmodule_no_dunder_module(self):
        """Objects without `__module__`, as extension modules make them, survive being packaged twice."""
        text = dedent(
            """\
            class Hidden:
                def __getattribute__(self, name):
                    if name in ("__module__", "__qualname__", "__name__"):
                        raise AttributeError(name)
                    return object.__getattribute__(self, name)

                def __reduce__(self):
                    return "float16"

            float16 = Hidden()
            """
        )
        with self.module("dtypes_like", text) as module:
            self.assertFalse(hasattr(module.float16, "__module__"))

            def fill(exporter):
                exporter.intern("**")
                exporter.save_pickle("foo", "foo.pkl", module.float16)

            first = imported(fill)
            loaded = first.load_pickle("foo", "foo.pkl")
        self.assertEqual(first.whichmodule(loaded, "float16"), "dtypes_like")
        self.assertEqual(first.get_name(loaded), ("dtypes_like", "float16"))

        def again(exporter):
            exporter.intern("**")
            exporter.save_pickle("foo", "foo.pkl", loaded)

        second = imported(again, importer=(first, sys_importer))
        self.assertIs(second.load_pickle("foo", "foo.pkl"), second.import_module("dtypes_like").float16)

    def test_names_that_lead_elsewhere(self):
        import package_a

        packaged = package_a_importer()
        foreign = packaged.import_module("package_a").PackageAObject
        with self.assertRaisesRegex(ObjMismatchError, "sys_importer finds another object"):
            sys_importer.get_name(foreign)
        with self.assertRaisesRegex(ObjMismatchError, "put sys_importer first"):
            packaged.get_name(package_a.PackageAObject)

        def local():
            pass

        with self.assertRaises(ObjNotFoundError):
            sys_importer.get_name(local)
        with self.assertRaises(ObjNotFoundError):
            sys_importer.get_name(3)


class TestHermetic(PackageTestCase):
    def test_importlib_in_packaged_code(self):
        text = """\
            import importlib
            import importlib.resources
            from importlib import import_module

            a = importlib.import_module("module_a")
            b = import_module("module_a")
            relative = importlib.import_module(".sibling", __package__)
            text = importlib.resources.read_text("pack", "data.txt")
            files = importlib.resources.files(__package__).joinpath("data.txt").read_text()
            own = importlib.resources.files().joinpath("data.txt").read_bytes()
            util = importlib.util if hasattr(importlib, "util") else None
        """

        def fill(exporter):
            exporter.intern("**")
            exporter.save_source_string("pack", dedent(text), is_package=True)
            exporter.save_source_string("pack.sibling", "value = 7")
            exporter.save_text("pack", "data.txt", "the data")

        importer = imported(fill)
        module = importer.import_module("pack")
        self.assertIs(module.a, importer.import_module("module_a"))
        self.assertIs(module.b, module.a)
        self.assertTrue(is_from_package(module.a))
        self.assertEqual(module.relative.value, 7)
        self.assertEqual((module.text, module.files, module.own), ("the data", "the data", b"the data"))
        self.assertIs(module.importlib.machinery, importlib.machinery)

    def test_importlib_does_not_leave_the_package(self):
        text = "import importlib\n\ndef leave():\n    return importlib.import_module(['package_a'][0])\n"
        with self.assertWarns(Warning):
            importer = imported(lambda e: e.save_source_string("m", text))
        with self.assertRaisesRegex(ModuleNotFoundError, "has no module 'package_a'"):
            importer.import_module("m").leave()

    def test_modules_are_not_in_the_outer_table(self):
        importer = imported(lambda e: e.save_source_string("only_packaged", "x = 1"))
        module = importer.import_module("only_packaged")
        self.assertNotIn("only_packaged", sys.modules)
        self.assertIs(importer.modules["only_packaged"], module)

    def test_relative_imports_and_cycles(self):
        def fill(exporter):
            def save(name, text, is_package=False):
                exporter.save_source_string(name, text, is_package, dependencies=False)

            save("p", "from .a import A\nfrom . import b", is_package=True)
            save("p.a", "from . import b\n\nclass A:\n    b = b")
            save("p.b", "import p.a\nfrom p import a as also\n\ndef get():\n    return p.a.A")
            save("p.beyond", "def go():\n    from ... import x")

        importer = imported(fill)
        p = importer.import_module("p")
        self.assertIs(p.b.get(), p.A)
        self.assertIs(importer.import_module(".a", package="p"), importer.import_module("p.a"))
        with self.assertRaisesRegex(ImportError, "beyond top-level"):
            importer.import_module("p.beyond").go()
        with self.assertRaises(TypeError):
            importer.import_module(".a")

    def test_star_imports(self):
        def fill(exporter):
            exporter.save_source_string("p", "__all__ = ['inner']", is_package=True)
            exporter.save_source_string("p.inner", "x = 1")
            exporter.save_source_string("user", "from p import *\ny = inner.x")

        self.assertEqual(imported(fill).import_module("user").y, 1)

    def test_missing_module_lists_archive_and_externs(self):
        path = self.temp("shop.pkg")
        from stead_package import PackageExporter

        with PackageExporter(path) as exporter:
            exporter.extern("numpy.**")
            exporter.save_source_string("m", "import numpy, json")
        with self.assertRaisesRegex(
            ModuleNotFoundError, r"package .*shop\.pkg has no module 'gone'.*It may take: json, numpy\."
        ) as caught:
            PackageImporter(path).import_module("gone.deeper")
        self.assertEqual(caught.exception.name, "gone")

    def test_a_module_is_no_package(self):
        importer = imported(lambda e: e.save_source_string("m", ""))
        with self.assertRaises(ModuleNotFoundError):
            importer.import_module("m.sub")
        for name in ("", "m..x"):
            with self.assertRaises((ValueError, ModuleNotFoundError)):
                importer.import_module(name)

    def test_extern_that_is_not_installed(self):
        def fill(exporter):
            exporter.extern("not_installed_anywhere")
            exporter.save_source_string("m", "import not_installed_anywhere")

        importer = imported(fill)
        self.assertEqual(
            importer.environment_problems(), ["extern module 'not_installed_anywhere' is not installed"]
        )
        with self.assertRaisesRegex(ModuleNotFoundError, "needs the extern module 'not_installed_anywhere'"):
            importer.import_module("m")

    def test_externs_that_another_version_has_elsewhere(self):
        """As pickles of numpy 2 name `numpy._core`, which numpy 1 has as `numpy.core`."""
        from stead_package import module_table

        module_table._MOVED["package_b._core"] = "package_b.subpackage_0"
        self.addCleanup(module_table._MOVED.pop, "package_b._core")

        def fill(exporter):
            exporter.extern(["package_b._core.**", "package_a._core"])
            exporter.add_dependency("package_b._core.subpackage_0_0")
            exporter.add_dependency("package_a._core")

        importer = imported(fill)
        import package_b.subpackage_0.subpackage_0_0 as moved

        self.assertIs(importer.import_module("package_b._core.subpackage_0_0"), moved)
        with self.assertRaisesRegex(ModuleNotFoundError, "needs the extern module 'package_a._core'"):
            importer.import_module("package_a._core")

    def test_code_in_c_imports_for_itself(self):
        """`time.strptime` is in C and imports `_strptime`, which a package that imports `time` does not name."""
        source = """
            import time
            def year(text):
                return time.strptime(text, "%Y").tm_year
            def own(name):
                return __import__(name)
            """
        importer = imported(lambda e: e.save_source_string("m", dedent(source)))
        for _ in range(2):
            sys.modules.pop("_strptime", None)
            self.assertEqual(importer.import_module("m").year("2026"), 2026)
        with self.assertRaisesRegex(ModuleNotFoundError, "has no module '_strptime'"):
            importer.import_module("m").own("_strptime")

    def test_module_allowed(self):
        def fill(exporter):
            exporter.save_source_string("m", "import subprocess, json")

        package = exported(fill)
        with self.assertRaisesRegex(ImportError, "'subprocess', which module_allowed refuses"):
            PackageImporter(package, lambda name: name != "subprocess")
        PackageImporter(package, module_allowed=lambda name: True).import_module("m")

    def test_wrong_python(self):
        package = exported(lambda e: e.require_python("3.2"))
        with self.assertRaisesRegex(EnvironmentMismatchError, "wants Python 3.2, and this is Python 3"):
            PackageImporter(package)
        minor = f"{sys.version_info[0]}.{sys.version_info[1]}"
        self.assertEqual(imported(lambda e: e.require_python(minor)).manifest.requires_python, minor)
        for wrong in ("3", "3.11.2", "three.one", ""):
            with self.assertRaises(ValueError):
                exported(lambda e: e.require_python(wrong))

    def test_half_initialised_modules_are_removed(self):
        text = "import json\nfrom . import good\nattempts = json.attempts = getattr(json, 'attempts', 0) + 1\n"

        def fill(exporter):
            exporter.save_source_string("p", "", is_package=True)
            exporter.save_source_string("p.good", "")
            exporter.save_source_string("p.bad", text + "if attempts == 1:\n    raise RuntimeError('first time')\n")

        importer = imported(fill)
        import json

        self.addCleanup(lambda: json.__dict__.pop("attempts", None))
        with self.assertRaisesRegex(RuntimeError, "first time"):
            importer.import_module("p.bad")
        self.assertNotIn("p.bad", importer.modules)
        self.assertIn("p.good", importer.modules)
        self.assertFalse(hasattr(importer.import_module("p"), "bad"))
        self.assertNotIn(f"{importer.id()}.p.bad", sys.modules)
        self.assertEqual(importer.import_module("p.bad").attempts, 2)

    def test_threads_never_see_a_partial_module(self):
        """While one thread runs a module, others that import it in whatever way wait until it is whole."""
        slow = "import threading\nentered, go_on = threading.gate\nentered.set()\ngo_on.wait()\nwhole = True\n"

        def fill(exporter):
            exporter.save_source_string("p", "", is_package=True)
            exporter.save_source_string("p.slow", slow)
            exporter.save_source_string("one", "from p import slow\nseen = hasattr(slow, 'whole')")
            exporter.save_source_string("two", "import p.slow\nseen = hasattr(p.slow, 'whole')")
            exporter.save_source_string("three", "def get():\n    from p import slow\n    return hasattr(slow, 'whole')")

        importer = imported(fill)
        importer.import_module("p")
        late = importer.import_module("three")
        entered, go_on = threading.gate = (threading.Event(), threading.Event())
        self.addCleanup(lambda: threading.__dict__.pop("gate", None))
        self.addCleanup(go_on.set)
        seen = []
        ways = [
            lambda: hasattr(importer.import_module("p.slow"), "whole"),
            lambda: importer.import_module("one").seen,
            lambda: importer.import_module("two").seen,
            late.get,
        ]
        first = threading.Thread(target=lambda: seen.append(ways[0]()))
        first.start()
        entered.wait()
        others = [threading.Thread(target=lambda w=way: seen.append(w())) for way in ways]
        for other in others:
            other.start()
        # Those that wait cannot be watched while they do; only one that does not wait would have ended by then.
        others[-1].join(0.05)
        self.assertEqual(seen, [])
        go_on.set()
        for thread in [first, *others]:
            thread.join()
        self.assertEqual(seen, [True] * 5)

    def test_two_packages_with_modules_of_one_name(self):
        importers = [imported(lambda e, n=n: e.save_source_string("net", f"scale = {n}")) for n in (1, 10)]
        self.assertEqual([importer.import_module("net").scale for importer in importers], [1, 10])
        self.assertEqual(len({importer.import_module("net").__name__ for importer in importers}), 2)

    def test_folders_without_source_are_packages(self):
        importer = imported(lambda e: e.save_source_string("a.b.c", "x = 3"))
        self.assertEqual(importer.import_module("a.b.c").x, 3)
        self.assertIsNone(getattr(importer.import_module("a"), "__file__", None))
        namespaced = imported(lambda e: e.intern("**") or e.save_source_string("m", "import namespaced.deep.leaf"))
        self.assertEqual(namespaced.import_module("m").namespaced.deep.leaf.result, "leaf")

    def test_a_missing_extern_of_another_python_is_explained(self):
        package = exported(lambda e: e.extern("gone_in_this_version") or e.add_dependency("gone_in_this_version"))
        with self.assertRaisesRegex(ModuleNotFoundError, "exported with Python 3"):
            PackageImporter(package).import_module("gone_in_this_version")


class TestInterpreterTables(PackageTestCase):
    SOURCE = dedent(
        """\
        from __future__ import annotations

        import dataclasses
        import typing

        @dataclasses.dataclass
        class Config:
            size: int = 3
            other: typing.ClassVar[int] = 4
            made: dataclasses.InitVar[int] = 0

        class Hinted:
            size: typing.Optional[int]

        def fail():
            raise RuntimeError("inside")  # this line
        """
    )

    def test_source_lines_in_tracebacks(self):
        importer = imported(lambda e: e.save_source_string("m", self.SOURCE))
        module = importer.import_module("m")
        linecache.checkcache()
        try:
            module.fail()
        except RuntimeError:
            text = traceback.format_exc()
        self.assertIn('raise RuntimeError("inside")  # this line', text)
        self.assertIn(f"{importer.id()}/m.py", text)

    def test_inspect_class(self):
        import inspect

        importer = imported(lambda e: e.save_source_string("m", self.SOURCE))
        module = importer.import_module("m")
        self.assertIn("class Config:", inspect.getsource(module.Config))
        self.assertIn("def fail():", inspect.getsource(module.fail))
        self.assertEqual(inspect.getsource(module), self.SOURCE)

    def test_dataclasses_and_type_hints_with_annotations_as_text(self):
        import typing

        module = imported(lambda e: e.save_source_string("m", self.SOURCE)).import_module("m")
        self.assertEqual(module.Config(5, made=1).size, 5)
        self.assertEqual(typing.get_type_hints(module.Hinted), {"size": typing.Optional[int]})

    def test_plain_pickle_in_the_same_process(self):
        module = imported(lambda e: e.save_source_string("m", self.SOURCE)).import_module("m")
        self.assertEqual(pickle.loads(pickle.dumps(module.Config(8))), module.Config(8))

    def test_what_the_table_of_modules_holds(self):
        """Programs walk over `sys.modules`, put modules into sets, and ask what they find for attributes."""
        importer = imported(lambda e: e.mock("module_a") or e.save_source_string("m", "import module_a\nx = 1"))
        module = importer.import_module("m")
        alias = sys.modules[module.__name__]
        self.assertEqual(len(set(sys.modules.values()) & {alias}), 1)
        self.assertIs(alias.__dict__, module.__dict__)
        self.assertEqual((repr(alias), dir(alias), alias.x), (repr(module), dir(module), 1))
        alias.__warningregistry__ = {}
        self.assertEqual(module.__warningregistry__, {})
        for found in list(sys.modules.values()):
            getattr(found, "__file__", None)
        del importer, module
        gc.collect()
        self.assertFalse(hasattr(alias, "x"))
        self.assertEqual((dir(alias), repr(alias)), ([], "<module of a package that was closed>"))
        alias.x = 2

    def test_everything_goes_with_the_importer(self):
        """Reloading packages must not leak: modules, aliases in `sys.modules`, lines for tracebacks."""
        importer = imported(lambda e: e.save_source_string("m", self.SOURCE))
        prefix, watched = importer.id(), weakref.ref(importer)
        try:
            importer.import_module("m").fail()
        except RuntimeError:
            traceback.format_exc()
        self.assertIn(f"{prefix}.m", sys.modules)
        del importer
        gc.collect()
        self.assertIsNone(watched())
        self.assertEqual([name for name in [*sys.modules, *linecache.cache] if name.startswith(prefix)], [])

    def test_a_module_keeps_its_importer(self):
        module = imported(
            lambda e: e.save_source_string("m", "def later():\n    import n\n    return n.x")
            or e.save_source_string("n", "x = 2")
        ).import_module("m")
        gc.collect()
        self.assertEqual(module.later(), 2)

    def test_the_importing_half_stands_alone(self):
        """An interpreter that has only the importer's files loads packages."""
        import subprocess
        from pathlib import Path

        import stead_package

        path = self.temp("alone.pkg")
        path.write_bytes(
            exported(lambda e: e.save_source_string("m", "x = 5") or e.save_pickle("a", "b.pkl", [1])).getvalue()
        )
        half = self.temp("half") / "stead_package"
        half.mkdir(parents=True)
        for file in Path(stead_package.__file__).parent.glob("*.py"):
            (half / file.name).write_bytes(file.read_bytes())
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from stead_package import PackageImporter\n"
            "importer = PackageImporter(memoryview(open(sys.argv[2], 'rb').read()))\n"
            "print(importer.import_module('m').x, importer.load_pickle('a', 'b.pkl'), 'export' in str(sys.modules))\n"
        )
        command = [sys.executable, "-I", "-c", program, str(half.parent), str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(answer.stdout.split(), ["5", "[1]", "False"])


if __name__ == "__main__":
    unittest.main()
