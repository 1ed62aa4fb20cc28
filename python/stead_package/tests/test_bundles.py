"""Distributions inside packages."""

import importlib
import platform
import sys
import unittest
import zipfile

from .common import PackageTestCase, exported, imported, needs_numpy
from stead_package import ArchiveError, EnvironmentMismatchError, PackageError, PackageImporter
from stead_package import wheel_tags


class BundleTestCase(PackageTestCase):
    def wheel(self, name="tinylib", version="1.0", tag="py3-none-any", files=None):
        """A wheel file as any tool makes them."""
        path = self.temp(f"{name}-{version}-{tag}.whl")
        info = f"{name}-{version}.dist-info"
        files = files or {f"{name}/__init__.py": f"version = {version!r}\n", f"{name}/fast.so": "binary"}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file, text in files.items():
                archive.writestr(file, text)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nTag: {tag}\n")
            archive.writestr(f"{info}/RECORD", "")
        return str(path)

    def forget(self, *names):
        def clean():
            for name in names:
                sys.modules.pop(name, None)
            sys.path[:] = [path for path in sys.path if not path.startswith(str(self.folder))]
            importlib.invalidate_caches()

        self.addCleanup(clean)


class TestBundles(BundleTestCase):
    def test_a_wheel(self):
        self.forget("tinylib")

        def fill(exporter):
            exporter.bundle(self.wheel())
            exporter.save_source_string("m", "import tinylib\nversion = tinylib.version")
            self.assertEqual(exporter.externed_modules(), ["tinylib"])

        importer = imported(fill)
        bundle = importer.manifest.bundles[0]
        self.assertEqual((bundle.name, bundle.version, bundle.tags), ("tinylib", "1.0", ("py3-none-any",)))
        self.assertEqual(bundle.modules, ("tinylib",))
        self.assertEqual(importer.environment_problems(), [])
        with self.assertRaisesRegex(ModuleNotFoundError, "tinylib"):
            importer.import_module("m")
        cache = self.temp("cache")
        (folder,) = importer.unpack_bundles(cache)
        self.assertEqual(folder, str(cache / bundle.sha256))
        self.assertEqual((cache / bundle.sha256 / "tinylib" / "fast.so").read_text(), "binary")
        self.assertEqual(importer.import_module("m").version, "1.0")
        self.assertTrue(sys.modules["tinylib"].__file__.startswith(folder))
        importer.verify()

    def test_the_cache_is_by_content(self):
        self.forget("tinylib")
        wheel = self.wheel()
        cache = self.temp("cache")
        packages = [exported(lambda e, i=i: e.bundle(wheel) or e.save_text("a", f"{i}.txt", "x")) for i in range(2)]
        folders = {tuple(PackageImporter(p).unpack_bundles(cache, activate=False)) for p in packages}
        self.assertEqual(len(folders), 1)
        self.assertEqual([file.name for file in cache.iterdir()], [PackageImporter(packages[0]).manifest.bundles[0].sha256])
        self.assertFalse(any(path.startswith(str(cache)) for path in sys.path))
        # A second time nothing is written.
        marker = next(cache.iterdir()) / "tinylib" / "__init__.py"
        before = marker.stat().st_mtime_ns
        PackageImporter(packages[0]).unpack_bundles(cache, activate=False)
        self.assertEqual(marker.stat().st_mtime_ns, before)

    def test_a_wrong_abi_is_refused_by_name(self):
        machine = platform.machine()
        for tag in [
            "cp27-cp27mu-manylinux1_" + machine,
            "cp399-cp399-manylinux_2_17_" + machine,
            "py3-none-win_amd64",
            f"py3-none-manylinux_99_0_{machine}",
            "cp399-abi3-any",
            "py2-none-any",
            "nonsense",
        ]:
            importer = imported(lambda e, tag=tag: e.bundle(self.wheel(tag=tag)))
            with self.assertRaisesRegex(EnvironmentMismatchError, f"bundle tinylib 1.0 is for {tag}, and this is cp3"):
                importer.unpack_bundles(self.temp("cache"))
            self.assertFalse(self.temp("cache").exists())

    def test_what_to_do_about_a_wrong_abi_is_told(self):
        own = f"{sys.version_info[0]}.{sys.version_info[1]}"
        for tag, expected in [
            ("cp27-cp27mu-any", f"with Python {own} gets it\\)$"),
            ("cp399-cp399-any", f"with Python {own} gets it\\), or run it with Python 3.99$"),
            ("py3-none-win_amd64", "gets it\\)$"),
        ]:
            importer = imported(lambda e, tag=tag: e.bundle(self.wheel(tag=tag)))
            with self.assertRaisesRegex(EnvironmentMismatchError, expected, msg=tag):
                importer.unpack_bundles(self.temp("cache"))

    def test_a_folder_that_lost_files_is_written_anew(self):
        package = exported(lambda e: e.bundle(self.wheel()))
        cache = self.temp("cache")
        (folder,) = PackageImporter(package).unpack_bundles(cache, activate=False)
        file = cache / folder / "tinylib" / "__init__.py"
        whole = file.read_bytes()
        self.assertTrue(list(file.parent.glob("__pycache__/__init__.*.pyc")))
        for harm in (lambda: file.write_bytes(b""), file.unlink):
            harm()
            self.assertEqual(PackageImporter(package).unpack_bundles(cache, activate=False), [folder])
            self.assertEqual(file.read_bytes(), whole)
            self.assertEqual([path.name for path in cache.iterdir()], [folder.rpartition("/")[2]])

    def test_many_processes_unpack_into_one_cache(self):
        import subprocess
        from pathlib import Path

        import stead_package

        path = self.temp()
        wheel = self.wheel(files={f"tinylib/m{i}.py": f"x = {i}" for i in range(50)})
        path.write_bytes(exported(lambda e: e.bundle(wheel)).getvalue())
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from stead_package.bundles import unpack_file\n"
            "print('ready', flush=True); input()\n"
            "print(*unpack_file(sys.argv[2], sys.argv[3], 'a'))\n"
        )
        source = str(Path(stead_package.__file__).resolve().parent.parent)
        command = [sys.executable, "-I", "-c", program, source, str(path), str(self.temp("cache"))]
        pipe = subprocess.PIPE
        running = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(4)]
        for process in running:
            self.assertEqual(process.stdout.readline(), "ready\n")
        for process in running:
            process.stdin.write("\n")
            process.stdin.flush()
        answers = {process.communicate()[0].strip() for process in running}
        self.assertEqual([process.returncode for process in running], [0] * 4)
        self.assertEqual(answers, {str(folder) for folder in self.temp("cache").iterdir()})

    def test_another_version_in_the_same_interpreter_is_refused(self):
        self.forget("tinylib")
        one = imported(lambda e: e.bundle(self.wheel(version="1.0")))
        two = imported(lambda e: e.bundle(self.wheel(version="2.0")))
        one.unpack_bundles(self.temp("cache"))
        self.assertEqual(importlib.import_module("tinylib").version, "1.0")
        with self.assertRaisesRegex(EnvironmentMismatchError, "bundle tinylib 2.0 cannot be used"):
            two.unpack_bundles(self.temp("cache"))
        one.unpack_bundles(self.temp("cache"))

    def test_damaged_bundles(self):
        data = exported(lambda e: e.bundle(self.wheel(files={"tinylib/__init__.py": "original"}))).getvalue()
        with self.assertRaisesRegex(ArchiveError, "is damaged"):
            PackageImporter(data.replace(b"original", b"0riginal")).unpack_bundles(self.temp("cache"), activate=False)
        folder = self.unzipped(__import__("io").BytesIO(data))
        (folder / ".data/bundles/0/tinylib/__init__.py").write_text("0riginal")
        with self.assertRaisesRegex(ArchiveError, "bundle tinylib is damaged"):
            PackageImporter(folder).unpack_bundles(self.temp("cache"), activate=False)
        self.assertEqual(list(self.temp("cache").iterdir()), [])

    def test_what_cannot_be_bundled(self):
        not_a_wheel = self.temp("fake-1.0-py3-none-any.whl")
        with zipfile.ZipFile(not_a_wheel, "w") as archive:
            archive.writestr("a.py", "")
        outside = self.wheel(name="outside", files={"outside-1.0.data/scripts/run": "#!"})
        climbing = self.wheel(name="climbing", files={"../up.py": ""})
        for requirement, message in [
            ("no-such-distribution-anywhere", "no distribution 'no-such-distribution-anywhere' is installed"),
            (str(not_a_wheel), "not a wheel"),
            (outside, "outside its folder"),
            (climbing, "segment '..'"),
        ]:
            with self.assertRaisesRegex(PackageError, message, msg=requirement):
                exported(lambda e, r=requirement: e.bundle(r))

    def test_an_installed_distribution(self):
        """pip is installed wherever these tests run in a virtual environment."""
        try:
            version = importlib.import_module("importlib.metadata").version("pip")
        except ImportError:
            self.skipTest("pip is not installed")
        importer = imported(lambda e: e.bundle("pip"))
        bundle = importer.manifest.bundles[0]
        self.assertEqual((bundle.name, bundle.version), ("pip", version))
        self.assertIn("pip", bundle.modules)
        (folder,) = importer.unpack_bundles(self.temp("cache"), activate=False)
        names = {path.name for path in __import__("pathlib").Path(folder).iterdir()}
        self.assertEqual(names, {"pip", f"pip-{version}.dist-info"})

    @needs_numpy
    def test_a_distribution_with_shared_libraries_works(self):
        """numpy out of a package, in an interpreter whose own numpy cannot be seen."""
        import subprocess
        from pathlib import Path

        import numpy

        import stead_package

        path = self.temp()
        path.write_bytes(exported(lambda e: e.bundle("numpy")).getvalue())
        program = (
            "import sys; sys.path.insert(0, sys.argv[1])\n"
            "from stead_package import PackageImporter\n"
            "folder, = PackageImporter(sys.argv[2]).unpack_bundles(sys.argv[3])\n"
            "import numpy; print(numpy.__version__, numpy.__file__.startswith(folder), (numpy.eye(2) @ [[1.], [2.]])[1, 0])\n"
        )
        source = str(Path(stead_package.__file__).resolve().parent.parent)
        command = [sys.executable, "-I", "-S", "-c", program, source, str(path), str(self.temp("cache"))]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(answer.stdout.split(), [numpy.__version__, "True", "2.0"])


class TestWheelTags(unittest.TestCase):
    def test_tags(self):
        major, minor = sys.version_info[:2]
        machine = platform.machine()
        own = f"cp{major}{minor}"
        fitting = [
            "py3-none-any",
            "py2.py3-none-any",
            f"py3{minor}-none-any",
            f"{own}-{own}-linux_{machine}",
            f"{own}-none-any",
            "cp32-abi3-any",
            f"{own}-{own}-any",
            f"py2.{own}-none.{own}-any",
        ]
        other = ["py2-none-any", f"py3{minor + 1}-none-any", f"cp3{minor + 1}-abi3-any", f"{own}-cp3{minor + 1}-any", "x", "a-b-c"]
        if sys.platform == "linux":
            self.assertTrue(wheel_tags.fits([f"{own}-{own}-linux_{machine}"]))
            if platform.libc_ver()[0] == "glibc":
                fitting += [f"{own}-{own}-manylinux1_{machine}", f"{own}-{own}-manylinux_2_5_{machine}.manylinux1_{machine}"]
                other += [f"{own}-{own}-musllinux_1_1_{machine}", f"{own}-{own}-manylinux_2_999_{machine}"]
        else:
            fitting = [tag for tag in fitting if "linux" not in tag]
        for tag in fitting:
            self.assertTrue(wheel_tags.fits([tag]), tag)
        for tag in other:
            self.assertFalse(wheel_tags.fits([tag]), tag)
        self.assertTrue(wheel_tags.fits([*other, "py3-none-any"]))
        self.assertFalse(wheel_tags.fits([]))


if __name__ == "__main__":
    unittest.main()
