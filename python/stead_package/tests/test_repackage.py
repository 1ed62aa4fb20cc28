"""Packages made of what came from packages."""

import sys
import unittest

from .common import PackageTestCase, exported, imported, needs_numpy, numpy
from stead_package import PackageImporter, sys_importer


class TestRepackage(PackageTestCase):
    def test_repackage_import_indirectly_via_parent_module(self):
        from package_d.by_parent import ImportsIndirectlyFromSubPackage

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("default", "model.py", ImportsIndirectlyFromSubPackage())

        first = imported(fill)
        loaded = first.load_pickle("default", "model.py")
        self.assertEqual(loaded.key, "reached through the parent")

        def again(exporter):
            exporter.intern("**")
            exporter.save_pickle("default", "model.py", loaded)

        second = imported(again, importer=first)
        self.assertEqual(second.load_pickle("default", "model.py").key, "reached through the parent")

    def test_three_generations_hold_the_same(self):
        import package_a

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("m", "m.pkl", package_a.PackageAObject({"deep": [1, 2]}))

        package = exported(fill)
        for _ in range(3):
            importer = PackageImporter(package)
            loaded = importer.load_pickle("m", "m.pkl")
            self.assertEqual(loaded.obj, {"deep": [1, 2]})

            def again(exporter):
                exporter.intern("**")
                exporter.save_pickle("m", "m.pkl", loaded)

            package = exported(again, importer=(importer, sys_importer))
            self.assertTrue(PackageImporter(package).file_structure().has_file("package_a/__init__.py"))

    @needs_numpy
    def test_tensors_are_packaged_again_with_what_they_share(self):
        weight = numpy.arange(24, dtype="int16").reshape(4, 6)
        first = imported(lambda e: e.save_pickle("m", "m.pkl", {"w": weight, "t": weight.T, "r": weight[2, ::2]}))
        loaded = first.load_pickle("m", "m.pkl")
        second = imported(lambda e: e.save_pickle("m", "m.pkl", loaded), importer=(first, sys_importer))
        again = second.load_pickle("m", "m.pkl")
        for name in ("w", "t", "r"):
            self.assertTrue((again[name] == loaded[name]).all())
            self.assertEqual(again[name].strides, loaded[name].strides)
            self.assertTrue(numpy.shares_memory(again[name], again["w"]))
        self.assertEqual(len({entry.record for entry in second.manifest.tensors}), 1)

    def test_objects_of_two_packages_and_of_neither_in_one(self):
        """Module names differ, so one package can hold all; each class comes from the importer that has it."""
        import module_a

        left = imported(lambda e: e.save_source_string("left", "class L:\n    pass"))
        right = imported(lambda e: e.save_source_string("right", "class R:\n    pass"))
        objects = [left.import_module("left").L(), right.import_module("right").R(), module_a.result]

        def fill(exporter):
            exporter.intern("**")
            exporter.save_pickle("m", "m.pkl", objects)
            exporter.save_module("module_a")

        both = imported(fill, importer=(left, right, sys_importer))
        loaded = both.load_pickle("m", "m.pkl")
        self.assertEqual([type(obj).__name__ for obj in loaded], ["L", "R", "str"])
        self.assertEqual(both.import_module("module_a").result, "module_a")
        self.assertNotIn("left", sys.modules)


if __name__ == "__main__":
    unittest.main()
