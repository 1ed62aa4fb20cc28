"""What objects and modules of packages say about themselves."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

from .common import FIXTURES, PackageTestCase, exported, imported
from stead_package import PackageImporter, is_from_package


class TestMisc(PackageTestCase):
    def test_is_from_package(self):
        import package_a.subpackage

        obj = package_a.subpackage.PackageASubpackageObject()

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("model", "model.pkl", obj)

        importer = imported(fill)
        module = importer.import_module("package_a.subpackage")
        loaded = importer.load_pickle("model", "model.pkl")
        for mine in (module, loaded, type(loaded), module.leaf_function):
            self.assertTrue(is_from_package(mine), mine)
        for other in (package_a.subpackage, obj, type(obj), package_a.subpackage.leaf_function, 3, os):
            self.assertFalse(is_from_package(other), other)

    def test_dunder_package_present(self):
        importer = imported(lambda e: e.save_module("package_a", dependencies=False))
        module = importer.import_module("package_a")
        self.assertTrue(module.__torch_package__)
        self.assertTrue(module.__stead_package__)

    def test_dunder_package_works_from_package(self):
        import package_a.use_dunder_package as outside

        importer = imported(lambda e: e.save_module(outside.__name__))
        self.assertTrue(importer.import_module(outside.__name__).is_from_package())
        self.assertFalse(outside.is_from_package())

    def test_python_version(self):
        importer = imported(lambda e: e.save_module("module_a"))
        self.assertEqual(importer.python_version(), ".".join(str(part) for part in sys.version_info[:3]))

    def test_load_python_version_from_package(self):
        """Of a package that an earlier Python wrote, and of one that does not say."""
        from stead_package.manifest import Manifest

        from .test_hostile import zipped

        self.assertEqual(PackageImporter(zipped([], Manifest(python="3.8.6").to_json())).python_version(), "3.8.6")
        self.assertIsNone(PackageImporter(zipped([], Manifest().to_json())).python_version())

    def test_loaders_that_remap_files_work_ok(self):
        """A loader may give a module another file name than the finder said; its source counts."""
        import importlib.abc
        import importlib.machinery
        import importlib.util

        class Loader(importlib.abc.SourceLoader):
            def get_filename(self, fullname):
                return "/remapped/" + fullname + ".py"

            def get_data(self, path):
                return b"result = 'remapped'\n"

            def path_stats(self, path):
                raise OSError

        class Finder(importlib.abc.MetaPathFinder):
            def find_spec(self, fullname, path, target):
                if fullname != "remapped_module":
                    return None
                return importlib.util.spec_from_loader(fullname, Loader(), origin="not/here.py")

        finder = Finder()
        sys.meta_path.append(finder)
        self.addCleanup(sys.meta_path.remove, finder)
        self.addCleanup(sys.modules.pop, "remapped_module", None)
        for loaded in (False, True):
            if loaded:
                __import__("remapped_module")
            importer = imported(lambda e: e.save_module("remapped_module"))
            self.assertEqual(importer.import_module("remapped_module").result, "remapped")

    def test_std_lib_sys_hackery_checks(self):
        """Modules that the standard library puts in place by hand, such as os.path."""

        def fill(exporter):
            exporter.save_module("package_a.std_sys_module_hacks")
            self.assertIn("os.path", exporter.externed_modules())

        module = imported(fill).import_module("package_a.std_sys_module_hacks")
        self.assertEqual(module.joined()[0], os.path.join("a", "c"))
        self.assertIs(module.os, os)

    def test_inspect_class(self):
        """Also with several packages that hold the same class."""
        import inspect

        import package_a

        importers = [imported(lambda e: e.save_module("package_a", dependencies=False)) for _ in range(2)]
        for importer in importers:
            packaged = importer.import_module("package_a").PackageAObject
            self.assertEqual(inspect.getsource(packaged), inspect.getsource(package_a.PackageAObject))

    def test_modules_of_zip_files_can_be_packaged(self):
        import zipfile

        path = self.temp("library.zip")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside_zip/__init__.py", "result = 'zipped'")
        sys.path.insert(0, str(path))
        self.addCleanup(sys.path.remove, str(path))
        importer = imported(lambda e: e.save_module("inside_zip"))
        self.assertEqual(importer.import_module("inside_zip").result, "zipped")


class TestCommandLine(PackageTestCase):
    def run_it(self, *arguments):
        source = Path(__file__).resolve().parent.parent / "src"
        environment = dict(os.environ, PYTHONPATH=str(source), PYTHONIOENCODING="utf-8")
        command = [sys.executable, "-m", "stead_package", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def test_inspect(self):
        import json

        path = self.temp("shop.pkg")

        def fill(exporter):
            exporter.extern("not_installed_anywhere")
            exporter.mock("module_a")
            exporter.save_source_string("m", "import json, not_installed_anywhere, module_a\nraise SystemExit('ran')")
            exporter.save_text("texts", "a.txt", "abc")
            exporter.save_entry_point("main", "m:run")
            exporter.set_environment("gpu")

        path.write_bytes(exported(fill).getvalue())
        answer = self.run_it("inspect", "--json", "--verify", str(path))
        self.assertEqual(answer.stderr, "")
        found = json.loads(answer.stdout)
        self.assertEqual(found["modules"], ["m"])
        self.assertEqual(found["mocks"], ["module_a"])
        self.assertEqual([extern["module"] for extern in found["externs"]], ["json", "not_installed_anywhere"])
        self.assertEqual(found["resources"], [{"name": "texts/a.txt", "size": 3}])
        self.assertEqual(found["environment"], "gpu")
        self.assertEqual(found["problems"], ["extern module 'not_installed_anywhere' is not installed"])
        text = self.run_it("inspect", str(path)).stdout
        for line in ["main = m:run", "  texts/a.txt (3 bytes)", "runs in the environment gpu"]:
            self.assertIn(line, text)

    def test_inspect_of_torch_archives_and_folders(self):
        answer = self.run_it("inspect", str(FIXTURES / "torch_archives" / "tensors_1_12.pt"))
        self.assertIn("torch.package version 6", answer.stdout)
        self.assertIn("holder", answer.stdout)

    def test_errors_are_told_without_a_traceback(self):
        path = self.temp("broken.pkg")
        path.write_bytes(b"not a zip file")
        answer = self.run_it("inspect", str(path))
        self.assertEqual(answer.returncode, 1)
        self.assertIn("not a zip file", answer.stderr)
        self.assertNotIn("Traceback", answer.stderr)
        self.assertEqual(self.run_it("inspect", str(self.temp("gone"))).returncode, 1)
        self.assertEqual(self.run_it().returncode, 2)


if __name__ == "__main__":
    unittest.main()
