"""Archives that torch.package wrote (fixtures/torch_archives/make.py), with torch and without."""

import io
import json
import unittest
import zipfile

from .common import FIXTURES, PackageTestCase, exported, needs_numpy, numpy
from stead_package import ArchiveError, PackageExporter, PackageImporter, UnsupportedError, is_from_package, sys_importer
from stead_package.tensors import has_torch

HAS_TORCH = has_torch()
FOLDER = FIXTURES / "torch_archives"
PYTHONS = {"1_12": "3.10.13", "2_15": "3.11.7"}
"""Versions of torch that wrote the archives, with that of Python."""
EXPECTED = json.loads((FOLDER / "tensors.json").read_text())


class TestPlain(PackageTestCase):
    def check(self, importer, version):
        self.assertEqual(importer.load_text("texts", "greeting.txt"), "hello ")
        self.assertEqual(importer.load_binary("texts", "bytes.bin"), bytes(range(256)))
        self.assertEqual(importer.load_pickle("texts", "plain.pkl"), {"a": [1, 2.5, None], "b": ("x", {"y"})})
        settings = importer.import_module("helpers").Settings({"name": "you"})
        self.assertTrue(is_from_package(settings))
        self.assertEqual(settings.greeting(), "hello you")
        self.assertEqual(importer.import_module("pack").inner.value, 5)
        self.assertEqual(importer.python_version(), PYTHONS[version])
        self.assertIn("json", importer.extern_modules)
        with self.assertRaises(ModuleNotFoundError):
            importer.import_module("package_a")
        importer.verify()

    def test_from_a_path_and_a_buffer(self):
        for version in PYTHONS:
            path = FOLDER / f"plain_{version}.pt"
            self.check(PackageImporter(path), version)
            self.check(PackageImporter(io.BytesIO(path.read_bytes())), version)

    def test_load_bc_packages(self):
        """(`directory_reader`) unpacked, with and without the folder that is named after the file."""
        for version in PYTHONS:
            unzipped = self.unzipped(FOLDER / f"plain_{version}.pt")
            self.check(PackageImporter(unzipped / f"plain_{version}"), version)
            self.check(PackageImporter(unzipped), version)

    def test_packaged_again_as_ours(self):
        first = PackageImporter(FOLDER / "plain_2_15.pt")
        settings = first.import_module("helpers").Settings({"name": "again"})

        def fill(exporter):
            exporter.intern("**")
            exporter.save_text("texts", "greeting.txt", "hi ")
            exporter.save_pickle("a", "settings.pkl", settings)

        second = PackageImporter(exported(fill, importer=(first, sys_importer)))
        self.assertEqual(second.load_pickle("a", "settings.pkl").greeting(), "hi again")

    def test_an_archive_whose_export_was_cut_short(self):
        buffer = io.BytesIO()
        with self.assertRaises(ZeroDivisionError):
            with PackageExporter(buffer) as exporter:
                exporter.save_text("a", "b.txt", "x")
                raise ZeroDivisionError
        with self.assertRaisesRegex(ArchiveError, "export did not finish"):
            PackageImporter(buffer)
        self.assertEqual(zipfile.ZipFile(buffer).namelist(), ["a/b.txt"])


class TestTensors(PackageTestCase):
    @needs_numpy
    def test_values(self):
        for version in PYTHONS:
            self.check_values(PackageImporter(FOLDER / f"tensors_{version}.pt").load_pickle("model", "holder.pkl"))

    def check_values(self, holder):
        self.assertEqual(set(vars(holder)), set(EXPECTED["tensors"]))
        for name, expected in EXPECTED["tensors"].items():
            found = getattr(holder, name)
            if HAS_TORCH:
                import torch

                self.assertIsInstance(found, torch.Tensor, name)
                found = found.detach().numpy()
            self.assertEqual(str(found.dtype), expected["dtype"], name)
            self.assertEqual(list(found.shape), expected["shape"], name)
            self.assertEqual([str(value) for value in found.reshape(-1).tolist()], expected["values"], name)

    @needs_numpy
    def test_shared_memory_stays_shared(self):
        importer = PackageImporter(FOLDER / "tensors_2_15.pt")
        holder, other = (importer.load_pickle("model", "holder.pkl") for _ in range(2))
        self.assertIs(holder.same, holder.weight)
        arrays = [numpy.asarray(tensor) for tensor in (holder.weight, holder.transposed, holder.row, other.weight)]
        for array in arrays[1:]:
            self.assertTrue(numpy.shares_memory(arrays[0], array))
        if not HAS_TORCH:
            self.assertFalse(any(array.flags.writeable for array in arrays))

    def test_modules_of_torch_need_torch(self):
        for version in PYTHONS:
            importer = PackageImporter(FOLDER / f"tensors_{version}.pt")
            if not HAS_TORCH:
                with self.assertRaisesRegex(ModuleNotFoundError, "needs the extern module 'torch"):
                    importer.load_pickle("model", "net.pkl")
                continue
            import torch

            net = importer.load_pickle("model", "net.pkl")
            self.assertEqual(net(torch.tensor([1.0, 2.0])).tolist(), EXPECTED["net([1, 2])"])

    def test_hostile_persistent_ids(self):
        import pickle

        for pid, error in [
            (("storage", "x", "0", "cpu", 1), ArchiveError),
            (("unknown",), ArchiveError),
            ("text", ArchiveError),
            (("reduce_package", 1), UnsupportedError),
        ]:

            class Named(pickle.Pickler):
                def persistent_id(self, obj, pid=pid):
                    return pid if obj == "marker" else None

            data = io.BytesIO()
            Named(data, protocol=4).dump(["marker"])
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                archive.writestr("r/.data/version", "6")
                archive.writestr("r/.data/extern_modules", "")
                archive.writestr("r/a/b.pkl", data.getvalue())
            with self.assertRaises(error, msg=str(pid)):
                PackageImporter(buffer).load_pickle("a", "b.pkl")

    def test_code_of_torchscript_is_passed_over(self):
        """torch compresses it; elsewhere in an archive nothing may be compressed."""
        for folder, error in [("r/.data/ts_code/code", None), ("r/code", ArchiveError)]:
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                archive.writestr("r/.data/version", "6")
                archive.writestr("r/.data/extern_modules", "")
                archive.writestr("r/a/b.txt", "x")
                archive.writestr(f"{folder}/linear.py", "def forward" * 100, zipfile.ZIP_DEFLATED)
            if error is None:
                importer = PackageImporter(buffer)
                self.assertEqual(importer.load_text("a", "b.txt"), "x")
                importer.verify()
            else:
                with self.assertRaisesRegex(error, "'r/code/linear.py' is compressed"):
                    PackageImporter(buffer)

    @unittest.skipUnless(HAS_TORCH, "torch is not installed")
    def test_scriptobject_failure_message(self):
        import pickle
        import torch

        with self.assertRaisesRegex(pickle.PicklingError, r"obj\['net'\].*TorchScript objects cannot be packaged"):
            exported(lambda e: e.save_pickle("m", "m.pkl", {"net": torch.jit.script(torch.nn.Linear(1, 1))}))

    def test_files_outside_the_root_are_refused(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("r/.data/version", "6")
            archive.writestr("r/.data/extern_modules", "")
            archive.writestr("elsewhere/a.py", "")
        with self.assertRaisesRegex(ArchiveError, "'elsewhere/a.py' does not lie in 'r/'"):
            PackageImporter(buffer)

    def test_big_endian_tensors_are_refused(self):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("r/.data/version", "6")
            archive.writestr("r/.data/extern_modules", "")
            archive.writestr("r/byteorder", "big")
        with self.assertRaisesRegex(UnsupportedError, "byte order"):
            PackageImporter(buffer)


if __name__ == "__main__":
    unittest.main()
