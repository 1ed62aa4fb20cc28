"""What several test files need."""

import contextlib
import io
import shutil
import sys
import tempfile
import types
import unittest
import zipfile
from pathlib import Path

from stead_package import PackageExporter, PackageImporter

try:
    import numpy
except ImportError:
    numpy = None

needs_numpy = unittest.skipIf(numpy is None, "numpy is not installed")

FIXTURES = Path(__file__).resolve().parent / "fixtures"


class PackageTestCase(unittest.TestCase):
    """Packages in memory and in a folder that goes away."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="stead-package-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def temp(self, name="test.pkg"):
        return self.folder / name

    @contextlib.contextmanager
    def module(self, name, source, **attributes):
        """A module of the exporting process, importable by name while the block runs."""
        path = self.folder / "modules"
        file = path / (name.replace(".", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
        sys.path.insert(0, str(path))
        try:
            __import__(name)
            yield sys.modules[name]
        finally:
            sys.path.remove(str(path))
            sys.modules.pop(name, None)

    def unzipped(self, package):
        """The folder into which a package in memory was unpacked."""
        target = Path(tempfile.mkdtemp(prefix="unzipped-", dir=self.folder))
        with zipfile.ZipFile(package) as archive:
            archive.extractall(target)
        return target


def exported(fill, **options):
    """A package in memory, filled by a function of its exporter."""
    buffer = io.BytesIO()
    with PackageExporter(buffer, **options) as exporter:
        fill(exporter)
    buffer.seek(0)
    return buffer


def imported(fill, **options):
    """The same, opened."""
    return PackageImporter(exported(fill, **options))


def synthetic_module(name, **attributes):
    """A module that no file made."""
    module = types.ModuleType(name)
    module.__dict__.update(attributes)
    return module
