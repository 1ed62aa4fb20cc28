"""Names of modules of packages."""

import io
import unittest

from .common import PackageTestCase, exported, imported
from stead_package import PackageImporter, PackageMangler
from stead_package.mangling import demangle, get_mangle_prefix, is_mangled


class TestMangling(PackageTestCase):
    def test_unique_manglers(self):
        self.assertNotEqual(PackageMangler().mangle("foo.bar"), PackageMangler().mangle("foo.bar"))

    def test_mangler_is_consistent(self):
        mangler = PackageMangler()
        self.assertEqual(mangler.mangle("abc.def"), mangler.mangle("abc.def"))

    def test_roundtrip_mangling(self):
        mangler = PackageMangler()
        self.assertEqual(demangle(mangler.mangle("foo")), "foo")
        self.assertEqual(mangler.demangle(mangler.mangle("foo.bar")), "foo.bar")

    def test_is_mangled(self):
        mangler = PackageMangler()
        self.assertTrue(is_mangled(mangler.mangle("foo.bar")))
        self.assertTrue(is_mangled(mangler.parent_name()))
        for name in ["foo.bar", "", "<locals>", "<stead_package_x>.a"]:
            self.assertFalse(is_mangled(name), name)

    def test_demangle_base(self):
        mangler = PackageMangler()
        self.assertEqual(demangle(mangler.parent_name()), "")

    def test_mangle_prefix(self):
        mangler = PackageMangler()
        self.assertEqual(get_mangle_prefix(mangler.mangle("foo.bar")), mangler.parent_name())
        self.assertEqual(get_mangle_prefix("foo.bar"), "foo.bar")

    def test_demangler_multiple_manglers(self):
        a, b = PackageMangler(), PackageMangler()
        self.assertEqual(a.demangle(b.mangle("foo")), b.mangle("foo"))
        self.assertEqual(demangle(b.mangle("foo")), "foo")

    def test_mangle_empty_errors(self):
        with self.assertRaisesRegex(ValueError, "empty"):
            PackageMangler().mangle("")

    def test_unique_module_names(self):
        import package_a

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("obj", "obj.pkl", package_a.PackageAObject(1))

        package = exported(fill)
        loaded = [PackageImporter(io.BytesIO(package.getvalue())).load_pickle("obj", "obj.pkl") for _ in range(2)]
        names = {type(obj).__module__ for obj in [*loaded, package_a.PackageAObject(1)]}
        self.assertEqual(len(names), 3)
        self.assertEqual({demangle(name) for name in names}, {"package_a"})

    def test_specs_are_not_mangled(self):
        importer = imported(lambda e: e.save_source_string("a.b", "", is_package=True))
        module = importer.import_module("a.b")
        self.assertEqual(module.__spec__.name, "a.b")
        self.assertEqual(module.__name__, f"{importer.id()}.a.b")
        self.assertEqual(module.__package__, module.__name__)
        self.assertEqual(module.__file__, f"{importer.id()}/a/b/__init__.py")


if __name__ == "__main__":
    unittest.main()
