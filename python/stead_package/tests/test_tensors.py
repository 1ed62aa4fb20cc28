"""Arrays in packages: shared, aligned, read-only, not copied."""

import io
import unittest

from .common import PackageTestCase, exported, imported, needs_numpy, numpy
from stead_package import ArchiveError, PackageExporter, PackageImporter
from stead_package.tensors import has_torch


def round_trip(value, **options):
    return imported(lambda e: e.save_pickle("m", "m.pkl", value)).load_pickle("m", "m.pkl", **options)


@needs_numpy
class TestNumpy(PackageTestCase):
    def test_element_types_and_shapes(self):
        cases = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
        cases += ["float16", "float32", "float64", "complex64", "complex128"]
        for dtype in cases:
            for shape in [(), (0,), (3,), (2, 0, 3), (2, 3), (1, 2, 1, 2)]:
                value = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape).astype(dtype)
                found = round_trip(value)
                self.assertEqual((found.dtype, found.shape), (value.dtype, shape), (dtype, shape))
                self.assertTrue(numpy.array_equal(found, value), (dtype, shape))

    def test_views_share_one_record(self):
        base = numpy.arange(60, dtype="float32").reshape(3, 4, 5)
        views = {
            "base": base,
            "transposed": base.transpose(2, 0, 1),
            "row": base[1],
            "element": base[2, 3, 4:5],
            "reversed": base[::-1, :, ::-1],
            "steps": base[:, ::2, ::3],
            "reinterpreted": base.view("int32"),
            "flat": base.ravel(),
            "broadcast": numpy.broadcast_to(base[0, 0], (7, 5)),
            "diagonal": numpy.diagonal(base[0]),
        }
        importer = imported(lambda e: e.save_pickle("m", "m.pkl", views))
        self.assertEqual(len({entry.record for entry in importer.manifest.tensors}), 1)
        found = importer.load_pickle("m", "m.pkl")
        for name, view in views.items():
            self.assertTrue(numpy.array_equal(found[name], view), name)
            self.assertEqual(found[name].strides, view.strides, name)
            self.assertTrue(numpy.shares_memory(found[name], found["base"]), name)
            self.assertFalse(found[name].flags.writeable, name)
            with self.assertRaises(ValueError, msg=name):
                found[name][...] = 0
            with self.assertRaises(ValueError, msg=name):
                found[name].setflags(write=True)

    def test_a_small_view_does_not_bring_the_large_array(self):
        large = numpy.zeros((1000, 1000), dtype="float64")
        large[10] = 5
        package = exported(lambda e: e.save_pickle("m", "m.pkl", large[10, 5:9]))
        self.assertLess(len(package.getvalue()), 5000)
        self.assertEqual(PackageImporter(package).load_pickle("m", "m.pkl").tolist(), [5.0] * 4)

    def test_one_array_in_two_pickles(self):
        array = numpy.arange(100.0)

        def fill(exporter):
            exporter.save_pickle("m", "one.pkl", array[10:20])
            exporter.save_pickle("m", "two.pkl", array[12:15])
            exporter.save_pickle("m", "three.pkl", array)

        importer = imported(fill)
        one, two, three = (importer.load_pickle("m", f"{name}.pkl") for name in ("one", "two", "three"))
        self.assertTrue(numpy.shares_memory(one, two))
        self.assertEqual((two.tolist(), three.tolist()), (array[12:15].tolist(), array.tolist()))
        self.assertEqual([entry.record for entry in importer.manifest.tensors].count(".data/tensors/0.bin"), 2)

    def test_what_is_saved_is_what_was_there_then(self):
        array = numpy.zeros(4)

        def fill(exporter):
            exporter.save_pickle("m", "before.pkl", array[:2])
            array[:] = 1

        self.assertEqual(imported(fill).load_pickle("m", "before.pkl").tolist(), [0.0, 0.0])

    def test_identity_within_a_pickle(self):
        array = numpy.arange(3)
        found = round_trip([array, {"same": array}, array.copy()])
        self.assertIs(found[0], found[1]["same"])
        self.assertIsNot(found[0], found[2])

    def test_records_are_aligned_in_the_file(self):
        def fill(exporter):
            for i in range(5):
                exporter.save_text("t", f"{'x' * i}.txt", "y" * i)
                exporter.save_pickle("m", f"{i}.pkl", numpy.full(i + 1, i, dtype="uint8"))

        package = exported(fill)
        from stead_package.zip_entries import read_zip_entries

        for entry in read_zip_entries(memoryview(package.getvalue()), "test").values():
            self.assertEqual(entry.offset % 64, 0, entry.name)

    def test_a_mapped_file_is_not_copied(self):
        path = self.temp()
        path.write_bytes(exported(lambda e: e.save_pickle("m", "m.pkl", numpy.arange(1000.0))).getvalue())
        import mmap

        with open(path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        whole = numpy.frombuffer(mapped, "uint8")
        for importer in (PackageImporter(mapped), PackageImporter(memoryview(mapped))):
            found = importer.load_pickle("m", "m.pkl")
            self.assertTrue(numpy.shares_memory(found, whole))
            self.assertEqual(found.__array_interface__["data"][0] % 64, 0)
            self.assertTrue(found.flags.aligned)

    def test_arrays_outlive_the_importer(self):
        path = self.temp()
        path.write_bytes(exported(lambda e: e.save_pickle("m", "m.pkl", numpy.arange(5))).getvalue())
        found = PackageImporter(path).load_pickle("m", "m.pkl")
        path.unlink()
        import gc

        gc.collect()
        self.assertEqual(found.tolist(), [0, 1, 2, 3, 4])

    def test_writable(self):
        base = numpy.arange(6)
        importer = imported(lambda e: e.save_pickle("m", "m.pkl", [base, base[2:4]]))
        one, view = importer.load_pickle("m", "m.pkl", writable=True)
        one[2] = 77
        self.assertEqual(view.tolist(), [77, 3])
        self.assertEqual(importer.load_pickle("m", "m.pkl")[0].tolist(), base.tolist())
        self.assertEqual(importer.load_pickle("m", "m.pkl", writable=True)[0].tolist(), base.tolist())
        importer.verify()

    def test_arrays_without_a_place_in_records(self):
        """Pickled as numpy does it: then numpy is needed as a module, and must be declared."""
        values = [
            numpy.array(["text", "more"]),
            numpy.array([{"an": "object"}, None], dtype=object),
            numpy.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
            numpy.array(["2020-01-01"], dtype="datetime64[D]"),
            numpy.array([1, 2, 3], dtype=">i4"),
        ]

        def fill(exporter):
            exporter.extern("numpy.**")
            exporter.save_pickle("m", "m.pkl", values)

        importer = imported(fill)
        self.assertEqual(importer.manifest.tensors, [])
        for found, value in zip(importer.load_pickle("m", "m.pkl"), values):
            # numpy itself brings the other byte order to that of the machine.
            self.assertEqual(found.dtype, value.dtype.newbyteorder("="))
            self.assertEqual(found.tolist(), value.tolist())

    def test_subclasses_stay_what_they_are(self):
        value = numpy.ma.masked_array([1, 2, 3], mask=[0, 1, 0])

        def fill(exporter):
            exporter.extern("numpy.**")
            exporter.save_pickle("m", "m.pkl", value)

        found = imported(fill).load_pickle("m", "m.pkl")
        self.assertEqual(found.tolist(), [1, None, 3])

    def test_mapped_arrays_of_numpy(self):
        path = self.temp("a.bin")
        numpy.arange(10, dtype="int32").tofile(path)
        found = round_trip(numpy.memmap(path, dtype="int32", mode="r")[2:5])
        self.assertEqual(found.tolist(), [2, 3, 4])

    def test_arrays_over_foreign_memory(self):
        data = bytes(range(100))
        array = numpy.frombuffer(data, "uint8", offset=10)
        found = round_trip([array, array[::-1], array[5:7]])
        self.assertEqual(found[0].tolist(), list(range(10, 100)))
        self.assertTrue(numpy.shares_memory(found[0], found[2]))
        strided = numpy.lib.stride_tricks.as_strided(array, (3, 4), (1, 2))
        self.assertEqual(round_trip(strided).tolist(), strided.tolist())

    def test_no_module_is_needed_for_arrays(self):
        def fill(exporter):
            exporter.save_pickle("m", "m.pkl", {"w": numpy.zeros(3)})
            self.assertEqual(exporter.externed_modules(), [])

        exported(fill)

    def test_a_pickle_that_fails_leaves_no_tensors(self):
        import pickle

        buffer = io.BytesIO()
        with PackageExporter(buffer) as exporter:
            with self.assertRaises(pickle.PicklingError):
                exporter.save_pickle("m", "bad.pkl", [numpy.zeros(3), lambda: 0])
            exporter.save_pickle("m", "good.pkl", numpy.ones(2))
        importer = PackageImporter(buffer)
        self.assertEqual([entry.name for entry in importer.manifest.tensors], ["m/good.pkl#0"])
        self.assertEqual(importer.load_pickle("m", "good.pkl").tolist(), [1.0, 1.0])

    def test_random_views(self):
        """Any view of any array comes back as it was, and shares what it shared."""
        import os
        import random

        seed = int(os.environ.get("STEAD_SEED", "1"))
        chance = random.Random(seed)
        for case in range(60):
            where = f"STEAD_SEED={seed}, case {case}"
            shape = [chance.randrange(1, 6) for _ in range(chance.randrange(1, 5))]
            base = numpy.arange(numpy.prod(shape), dtype=chance.choice(["int8", "float32", "complex64"])).reshape(shape)
            if chance.random() < 0.3:
                base = numpy.asfortranarray(base)
            views = [base] if chance.random() < 0.5 else []
            for _ in range(chance.randrange(1, 4)):
                view = base.transpose(chance.sample(range(base.ndim), base.ndim))
                for axis in range(view.ndim):
                    start, step = chance.randrange(view.shape[axis]), chance.choice([1, 2, -1, -2])
                    view = view[(slice(None),) * axis + (slice(start, None, step),)]
                views.append(view)
            found = round_trip(views)
            for one, other in zip(found, views):
                self.assertTrue(numpy.array_equal(one, other), where)
                self.assertEqual(one.strides, other.strides, where)
            for i in range(len(views)):
                for j in range(i):
                    shared = numpy.shares_memory(views[i], views[j])
                    self.assertEqual(numpy.shares_memory(found[i], found[j]), shared, where)


class TestWithoutNumpy(PackageTestCase):
    def test_packages_with_arrays_open_and_the_rest_loads(self):
        """An interpreter without numpy: only loading the arrays fails, and says what is missing."""
        import subprocess
        import sys
        from pathlib import Path

        import stead_package

        if numpy is None:
            self.skipTest("the package with arrays is made with numpy")
        path = self.temp()

        def fill(exporter):
            exporter.save_pickle("m", "array.pkl", numpy.zeros(3))
            exporter.save_pickle("m", "plain.pkl", [1])

        path.write_bytes(exported(fill).getvalue())
        program = (
            "import sys; sys.path.insert(0, sys.argv[1]); sys.modules['numpy'] = None\n"
            "from stead_package import PackageImporter\n"
            "importer = PackageImporter(sys.argv[2]); print(importer.load_pickle('m', 'plain.pkl')); importer.verify()\n"
            "try: importer.load_pickle('m', 'array.pkl')\n"
            "except ImportError as error: print(error.name)\n"
        )
        source = str(Path(stead_package.__file__).resolve().parent.parent)
        command = [sys.executable, "-I", "-c", program, source, str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(answer.stdout.split(), ["[1]", "numpy"])


@unittest.skipUnless(has_torch(), "torch is not installed")
class TestTorch(PackageTestCase):
    def test_tensors_parameters_and_modules(self):
        import torch

        weight = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        net = torch.nn.Linear(2, 3)
        value = {
            "weight": weight,
            "transposed": weight.t(),
            "row": weight[1],
            "bfloat16": torch.tensor([1.5, -2.0], dtype=torch.bfloat16),
            "bool": torch.tensor([True, False]),
            "scalar": torch.tensor(3),
            "empty": torch.empty(2, 0),
            "grad": torch.tensor([1.0], requires_grad=True),
            "net": net,
            "state": net.state_dict(),
        }
        path = self.temp()
        with PackageExporter(path) as exporter:
            exporter.save_pickle("m", "m.pkl", value)
        importer = PackageImporter(path)
        found = importer.load_pickle("m", "m.pkl")
        for name in ("weight", "transposed", "row", "bfloat16", "bool", "scalar", "empty", "grad"):
            self.assertTrue(torch.equal(found[name], value[name]), name)
            self.assertEqual(found[name].stride(), value[name].stride(), name)
        self.assertTrue(found["grad"].requires_grad)
        self.assertEqual(found["weight"].data_ptr(), found["transposed"].data_ptr())
        self.assertEqual(found["row"].data_ptr(), found["weight"].data_ptr() + 16)
        self.assertIsInstance(found["net"].weight, torch.nn.Parameter)
        x = torch.ones(1, 2)
        self.assertTrue(torch.equal(found["net"](x), net(x)))
        self.assertEqual(found["state"]["weight"].data_ptr(), found["net"].weight.data_ptr())

    def test_writing_to_tensors_harms_nobody(self):
        import torch

        path = self.temp()
        with PackageExporter(path) as exporter:
            exporter.save_pickle("m", "m.pkl", torch.zeros(1000))
        before = path.read_bytes()
        for source in (path, before, memoryview(before)):
            tensor = PackageImporter(source).load_pickle("m", "m.pkl")
            tensor += 1
            self.assertEqual(tensor.sum().item(), 1000)
            self.assertEqual(PackageImporter(source).load_pickle("m", "m.pkl").sum().item(), 0)
        self.assertEqual(path.read_bytes(), before)

    def test_numpy_and_torch_over_one_memory(self):
        import torch

        array = numpy.arange(4.0)
        importer = imported(lambda e: e.save_pickle("m", "m.pkl", [array, torch.from_numpy(array)]))
        self.assertEqual(len({entry.record for entry in importer.manifest.tensors}), 1)
        one, other = importer.load_pickle("m", "m.pkl")
        self.assertEqual(one.tolist(), other.tolist())

    def test_map_location(self):
        import torch

        from stead_package import UnsupportedError

        importer = imported(lambda e: e.save_pickle("m", "m.pkl", torch.ones(2)))
        self.assertEqual(importer.load_pickle("m", "m.pkl", map_location="cpu").device.type, "cpu")
        self.assertEqual(importer.load_pickle("m", "m.pkl", map_location=torch.device("meta")).device.type, "meta")
        with self.assertRaises(UnsupportedError):
            importer.load_pickle("m", "m.pkl", map_location=lambda storage, location: storage)

    def test_misaligned_entries_are_refused(self):
        import dataclasses
        import torch

        importer = imported(lambda e: e.save_pickle("m", "m.pkl", torch.ones(4)))
        table = importer._tensors
        table._entries[0] = dataclasses.replace(table._entries[0], offset=1, shape=(2,))
        with self.assertRaisesRegex(ArchiveError, "not aligned"):
            importer.load_pickle("m", "m.pkl")


if __name__ == "__main__":
    unittest.main()
