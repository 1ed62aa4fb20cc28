"""Entry points, recorded examples and replays."""

import unittest
from textwrap import dedent

from .common import PackageTestCase, exported, imported, needs_numpy, numpy
from stead_package import PackageError
from stead_package.examples import compare

SOURCE = dedent(
    """\
    import torch_package_importer

    class Model:
        def __init__(self, factor):
            self.factor = factor

        def score(self, x, y=0):
            return {"score": x * self.factor + y, "names": ["a", "b"]}

        def __call__(self, x):
            return x * self.factor

    def plus_one(x):
        return x + 1

    async def later(x):
        return x + 0.5
    """
)


class TestEntryPoints(PackageTestCase):
    def fill(self, exporter):
        with self.module("scores", SOURCE) as module:
            exporter.intern("scores")
            exporter.save_pickle("model.deep", "model.pkl", module.Model(2.0))
            exporter.save_entry_point("score", "model/deep/model.pkl:score")
            exporter.save_entry_point("call", "model/deep/model.pkl")
            exporter.save_entry_point("plus", "scores:plus_one")
            exporter.save_entry_point("method", "scores:Model.score")
            exporter.save_entry_point("later", "scores:later")

    def setUp(self):
        super().setUp()
        # The exporting process has no such module: only the pseudo-module's name is imported there.
        import sys

        sys.modules["torch_package_importer"] = sys
        self.addCleanup(sys.modules.pop, "torch_package_importer")

    def test_entry_points(self):
        importer = imported(self.fill)
        self.assertEqual(importer.entry_points(), ["score", "call", "plus", "method", "later"])
        self.assertEqual(importer.load_entry_point("score")(3, y=1), {"score": 7.0, "names": ["a", "b"]})
        self.assertEqual(importer.load_entry_point("call")(3), 6.0)
        self.assertEqual(importer.load_entry_point("plus")(3), 4)
        self.assertEqual(importer.load_entry_point("method").__name__, "score")
        with self.assertRaisesRegex(KeyError, "no entry point 'gone'; it has"):
            importer.load_entry_point("gone")

    def test_entry_points_that_are_refused(self):
        for target in ("module_only", ""):
            with self.assertRaises(ValueError, msg=target):
                exported(lambda e, target=target: e.save_entry_point("x", target))
        with self.assertRaisesRegex(PackageError, "saved before"):
            exported(lambda e: self.fill(e) or e.save_entry_point("plus", "scores:plus_one"))

    def test_the_module_of_an_entry_point_is_a_dependency(self):
        def fill(exporter):
            exporter.intern("module_b")
            exporter.extern("module_a")
            exporter.save_entry_point("x", "module_b:result")
            self.assertEqual(exporter.interned_modules(), ["module_b"])

        exported(fill)

    def test_replay(self):
        def fill(exporter):
            self.fill(exporter)
            exporter.save_example("keyword", {"x": 2, "y": 1}, {"score": 5.0, "names": ["a", "b"]}, entry_point="score")
            exporter.save_example("positional", [1.5], 3.0, entry_point="call")
            exporter.save_example("coroutine", (1,), 1.5, entry_point="later")
            exporter.save_example("wrong", [1], {"score": 2.1, "names": ["a"], "z": 0}, entry_point="score")
            exporter.save_example("loose", [1], 2.1, entry_point="call", rtol=0.1)

        importer = imported(fill)
        self.assertEqual(importer.examples(), ["keyword", "positional", "coroutine", "wrong", "loose"])
        for name in ("keyword", "positional", "coroutine", "loose"):
            self.assertEqual(importer.replay(name).differences, [], name)
            self.assertTrue(importer.replay(name).passed)
        wrong = importer.replay("wrong")
        self.assertFalse(wrong.passed)
        expected = [
            "output['score'] is 2.0 instead of 2.1",
            "output['names'] has 2 elements instead of 1",
            "output['z'] is missing",
        ]
        self.assertEqual(wrong.differences, expected)
        self.assertEqual(wrong.output, {"score": 2.0, "names": ["a", "b"]})
        self.assertEqual(importer.load_example("positional"), ([1.5], 3.0))
        with self.assertRaises(KeyError):
            importer.replay("gone")

    def test_examples_that_are_refused(self):
        with self.assertRaisesRegex(PackageError, "is of entry point 'nowhere'"):
            exported(lambda e: e.save_example("x", [1], 1, entry_point="nowhere"))
        with self.assertRaises(TypeError):
            exported(lambda e: e.save_example("x", 1, 1, entry_point="e"))
        with self.assertRaisesRegex(PackageError, "saved before"):
            exported(lambda e: [e.save_example("x", [], 1, entry_point="e") for _ in range(2)])

    @needs_numpy
    def test_replay_of_arrays(self):
        def fill(exporter):
            self.fill(exporter)
            x = numpy.arange(6, dtype="float32").reshape(2, 3)
            exporter.save_example("right", [x], x * 2.0, entry_point="call")
            almost = x * 2.0
            almost[1, 2] += 1
            exporter.save_example("wrong", [x], almost, entry_point="call")
            exporter.save_example("type", [x], (x * 2).astype("float64"), entry_point="call")

        importer = imported(fill)
        self.assertTrue(importer.replay("right").passed)
        self.assertRegex(importer.replay("wrong").differences[0], r"output\[1, 2\] is .*10.* instead of .*11.*, 1 differ")
        self.assertEqual(importer.replay("type").differences, ["output is float32[2, 3] instead of float64[2, 3]"])


class TestCompare(unittest.TestCase):
    def differences(self, found, expected, rtol=1e-5, atol=1e-7):
        lines = []
        compare(found, expected, "o", rtol, atol, lines)
        return lines

    def test_values(self):
        nan, inf = float("nan"), float("inf")
        for found, expected in [(1.0, 1.0), (1, 1.0), (nan, nan), (inf, inf), ("a", "a"), (None, None), ([1], (1,)), (b"x", b"x")]:
            self.assertEqual(self.differences(found, expected), [], (found, expected))
        for found, expected in [
            (1.0, 1.1),
            (nan, 1.0),
            (1.0, nan),
            (inf, -inf),
            (1.0, 1),
            (True, 1),
            ("a", b"a"),
            ({"a": 1}, {"b": 1}),
            ([1, 2], [1]),
            (None, 0),
        ]:
            self.assertNotEqual(self.differences(found, expected), [], (found, expected))

    def test_tolerance(self):
        self.assertEqual(self.differences(1.05, 1.0, rtol=0.1), [])
        self.assertEqual(self.differences(0.05, 0.0, atol=0.1), [])
        self.assertEqual(len(self.differences(0.05, 0.0, rtol=0.1)), 1)


if __name__ == "__main__":
    unittest.main()
