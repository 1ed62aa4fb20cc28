"""Whole models, end to end, as programs for torch.package write them."""

import io
import unittest
from textwrap import dedent

from .common import PackageTestCase, needs_numpy, numpy
from stead_package import PackageExporter, PackageImporter, sys_importer

MODEL = dedent(
    """\
    import numpy
    import librosa
    import librosa.filters
    from scipy.signal import get_window


    class Layer:
        def __init__(self, weight):
            self.weight = weight

        def __call__(self, x):
            return x @ self.weight


    class Model:
        def __init__(self, layers):
            self.layers = layers

        def __call__(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

        def state(self):
            return {str(i): layer.weight for i, layer in enumerate(self.layers)}

        @classmethod
        def of_state(cls, state):
            return cls([Layer(state[str(i)]) for i in range(len(state))])

        def windowed(self):
            return get_window("hann", 3)
    """
)


@needs_numpy
class TestModel(PackageTestCase):
    """The module that the model comes from imports libraries that are not installed here: they are mocked."""

    def setUp(self):
        super().setUp()
        import sys

        # Training had them; this process has stand-ins, which must not get into the package.
        for name in ("librosa", "librosa.filters", "scipy", "scipy.signal"):
            module = type(sys)(name)
            module.get_window = None
            before = sys.modules.get(name)
            sys.modules[name] = module
            restore = (lambda n=name, b=before: sys.modules.pop(n) if b is None else sys.modules.__setitem__(n, b))
            self.addCleanup(restore)
        context = self.module("tacotron", MODEL)
        self.source = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        weights = [numpy.arange(6, dtype="float32").reshape(2, 3), numpy.ones((3, 1), dtype="float32")]
        self.model = self.source.Model([self.source.Layer(weight) for weight in weights])
        self.example_input = (numpy.array([[1.0, 2.0]], dtype="float32"),)
        self.expected = self.model(*self.example_input)

    def test_the_listing_of_the_paper(self):
        """Module names in lists, a path without an ending. Differs from what runs with torch.package by the import line."""
        path = str(self.temp("tacotron2"))
        model, example_input = self.model, self.example_input

        with PackageExporter(path) as e:
            e.extern(["torch.**"])
            e.mock(["numpy", "librosa.**", "scipy.**"])
            e.intern("tacotron")  # torch.package wants it too, since it no longer packages what no rule mentions
            e.save_pickle("model", "model.pkl", model)
            e.save_pickle("model", "eg.pkl", example_input)

        i = PackageImporter(path)
        model = i.load_pickle("model", "model.pkl")
        example_inputs = i.load_pickle("model", "eg.pkl")
        self.assertTrue(numpy.array_equal(model(*example_inputs), self.expected))
        with self.assertRaisesRegex(NotImplementedError, "scipy.signal.get_window"):
            model.windowed()

    def rules(self, exporter):
        exporter.intern("tacotron")
        exporter.extern("numpy.**")
        exporter.mock(["librosa.**", "scipy.**"])

    def test_resnet(self):
        """Saved, loaded, saved again from what was loaded, from a file, a buffer and a folder."""
        first_path = self.temp()
        with PackageExporter(first_path) as exporter:
            self.rules(exporter)
            exporter.save_pickle("model", "model.pkl", self.model)
        first = PackageImporter(first_path)
        loaded = first.load_pickle("model", "model.pkl")
        self.assertTrue(numpy.array_equal(loaded(*self.example_input), self.expected))

        second_path = self.temp("second.pkg")
        with PackageExporter(second_path, importer=(first, sys_importer)) as exporter:
            self.rules(exporter)
            exporter.save_pickle("model", "model.pkl", loaded)
        opened = [
            PackageImporter(second_path),
            PackageImporter(io.BytesIO(second_path.read_bytes())),
            PackageImporter(self.unzipped(second_path)),
        ]
        for importer in opened:
            again = importer.load_pickle("model", "model.pkl")
            self.assertTrue(numpy.array_equal(again(*self.example_input), self.expected))
            self.assertIsNot(type(again), type(loaded))

    def test_model_save(self):
        """The object whole, or its code and its weights: whoever loads a package calls `load()` of `model` in both."""
        whole, apart = io.BytesIO(), io.BytesIO()
        with PackageExporter(whole) as exporter:
            self.rules(exporter)
            exporter.save_pickle("model", "pickled", self.model)
            text = """\
                import torch_package_importer as resources

                def load():
                    return resources.load_pickle("model", "pickled")
            """
            exporter.save_source_string("model", dedent(text), is_package=True)
        with PackageExporter(apart) as exporter:
            self.rules(exporter)
            exporter.save_pickle("model", "state_dict", self.model.state())
            text = """\
                import torch_package_importer as resources
                from tacotron import Model

                def load():
                    return Model.of_state(resources.load_pickle("model", "state_dict"))
            """
            exporter.save_source_string("model", dedent(text), is_package=True)
            self.assertEqual(exporter.interned_modules(), ["model", "tacotron"])
        for package in (whole, apart):
            loaded = PackageImporter(package).import_module("model").load()
            self.assertTrue(numpy.array_equal(loaded(*self.example_input), self.expected))
            self.assertFalse(loaded.layers[0].weight.flags.writeable)

    def test_two_versions_of_one_model_side_by_side(self):
        loaded = []
        for scale in (1, 10):
            buffer = io.BytesIO()
            with PackageExporter(buffer) as exporter:
                exporter.extern("numpy.**")
                exporter.save_source_string("net", f"import numpy\n\ndef run(x):\n    return numpy.sum(x) * {scale}\n")
                exporter.save_pickle("net", "x.pkl", numpy.full(4, scale))
            importer = PackageImporter(buffer)
            loaded.append((importer.import_module("net"), importer.load_pickle("net", "x.pkl")))
        self.assertEqual([int(module.run(x)) for module, x in loaded], [4, 400])


if __name__ == "__main__":
    unittest.main()
