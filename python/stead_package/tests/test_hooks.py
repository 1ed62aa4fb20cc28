"""Hooks that are called for modules when a package is written."""

import io
import unittest

from .common import PackageTestCase
from stead_package import PackageExporter


class TestHooks(PackageTestCase):
    def test_single_hook(self):
        seen = []

        def hook(package_exporter, module_name):
            seen.append((package_exporter, module_name))

        with PackageExporter(io.BytesIO()) as exporter:
            exporter.extern(["package_a.subpackage", "module_a"])
            exporter.register_extern_hook(hook)
            exporter.save_source_string("foo", "import module_a")
            self.assertEqual(seen, [])
        self.assertEqual(seen, [(exporter, "module_a")])

    def test_multiple_extern_hooks(self):
        seen = []
        with PackageExporter(io.BytesIO()) as exporter:
            exporter.extern(["package_a.subpackage", "module_a"])
            exporter.register_extern_hook(lambda _, name: seen.append(("first", name)))
            exporter.register_extern_hook(lambda _, name: seen.append(("second", name)))
            exporter.save_source_string("foo", "import module_a")
        self.assertEqual(seen, [("first", "module_a"), ("second", "module_a")])

    def test_multiple_mock_hooks(self):
        seen = []
        with PackageExporter(io.BytesIO()) as exporter:
            exporter.mock(["package_a.subpackage", "module_a"])
            exporter.register_mock_hook(lambda _, name: seen.append(("first", name)))
            exporter.register_mock_hook(lambda _, name: seen.append(("second", name)))
            exporter.save_source_string("foo", "import module_a")
        self.assertEqual(seen, [("first", "module_a"), ("second", "module_a")])

    def test_remove_hooks(self):
        seen = []
        with PackageExporter(io.BytesIO()) as exporter:
            exporter.extern(["package_a.subpackage", "module_a"])
            handle = exporter.register_extern_hook(lambda _, name: seen.append("removed"))
            exporter.register_extern_hook(lambda _, name: seen.append("kept"))
            exporter.save_source_string("foo", "import module_a")
            handle.remove()
            handle.remove()
        self.assertEqual(seen, ["kept"])

    def test_extern_and_mock_hook(self):
        seen = []
        with PackageExporter(io.BytesIO()) as exporter:
            exporter.extern("module_a")
            exporter.mock("package_a")
            exporter.intern("module_b")
            exporter.register_mock_hook(lambda _, name: seen.append(("mock", name)))
            exporter.register_extern_hook(lambda _, name: seen.append(("extern", name)))
            exporter.register_intern_hook(lambda _, name: seen.append(("intern", name)))
            exporter.save_source_string("foo", "import module_a, package_a, module_b")
        expected = [("intern", "foo"), ("extern", "module_a"), ("mock", "package_a"), ("intern", "module_b")]
        self.assertEqual(seen, expected)

    def test_a_hook_that_raises_stops_the_export(self):
        path = self.temp()

        def hook(exporter, name):
            raise RuntimeError(f"not {name}")

        with self.assertRaisesRegex(RuntimeError, "not foo"):
            with PackageExporter(path) as exporter:
                exporter.register_intern_hook(hook)
                exporter.save_source_string("foo", "")
        self.assertFalse(path.exists())


if __name__ == "__main__":
    unittest.main()
