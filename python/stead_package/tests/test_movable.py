"""Objects that move between importers of one package."""

import collections
import pickle
import unittest

from stead_package import PackageImporter
from stead_package.movable import Dumped, load
from .common import PackageTestCase, exported, imported, needs_numpy, numpy

MODEL = """
class Model:
    def __init__(self, **parts):
        self.__dict__.update(parts)

    class Inner:
        pass


class Named:
    def __reduce__(self):
        return "named"


named = Named()


class Reduced:
    def __init__(self, number):
        self.number = number

    def __reduce_deploy__(self, importer):
        return _reduced, self.number


def _reduced(importer, number):
    made = Reduced(number)
    made.importer = importer
    return made


def function():
    return 7
"""


class MovableTest(PackageTestCase):
    def two(self, fill=lambda e: None):
        """Two importers of one package, as two interpreters would have them."""

        def all_of_it(e):
            e.save_source_string("net", MODEL)
            e.extern(["numpy", "numpy.**"])
            fill(e)

        path = self.temp()
        path.write_bytes(exported(all_of_it).getvalue())
        return PackageImporter(path), PackageImporter(path)

    def moved(self, one, other, obj):
        dumped = Dumped(one, obj)
        return load(other, dumped.pickle, dumped.table, [memoryview(bytes(record)) for record in dumped.records])

    def test_classes_are_those_of_the_other_importer(self):
        one, other = self.two()
        net, its_net = one.import_module("net"), other.import_module("net")
        model = net.Model(inner=net.Model.Inner(), kind=net.Model, function=net.function, named=net.named)
        model.mine = collections.OrderedDict(a=model)
        found = self.moved(one, other, model)
        self.assertIs(type(found), its_net.Model)
        self.assertIsNot(its_net.Model, net.Model)
        self.assertIs(type(found.inner), its_net.Model.Inner)
        self.assertIs(found.kind, its_net.Model)
        self.assertIs(found.function, its_net.function)
        self.assertIs(found.named, its_net.named)
        self.assertIs(found.mine["a"], found)
        # Not an extern of the package: the interpreter's own, like all that opcodes name.
        self.assertIs(type(found.mine), collections.OrderedDict)

    def test_reduce_deploy(self):
        one, other = self.two()
        reduced = one.import_module("net").Reduced(3)
        first, second = self.moved(one, other, [reduced, reduced])
        self.assertIs(first, second)
        self.assertEqual((first.number, first.importer), (3, other))

    def test_what_cannot_move_is_told(self):
        one, other = self.two()
        foreign = imported(lambda e: e.save_source_string("elsewhere", "class Other: pass"))
        cases = [
            (lambda: 1, "<lambda>"),
            (foreign.import_module("elsewhere").Other(), "elsewhere.Other"),
        ]
        for obj, text in cases:
            with self.assertRaises((pickle.PicklingError, AttributeError)) as caught:
                Dumped(one, obj)
            self.assertIn(text, str(caught.exception))

    @needs_numpy
    def test_arrays_of_the_package_stay_in_it(self):
        weights = numpy.arange(1000.0).reshape(10, 100)

        def fill(e):
            e.save_pickle("data", "weights.pkl", {"w": weights})

        one, other = self.two(fill)
        mine, its = (i.load_pickle("data", "weights.pkl")["w"] for i in (one, other))
        views = [mine, mine.T, mine[2:4, ::3], mine[::-1]]
        dumped = Dumped(one, views)
        self.assertEqual(dumped.records, [])
        found = load(other, dumped.pickle, dumped.table, [])
        for view, expected in zip(found, [weights, weights.T, weights[2:4, ::3], weights[::-1]]):
            numpy.testing.assert_array_equal(view, expected)
            self.assertTrue(numpy.shares_memory(view, its))
            self.assertFalse(numpy.shares_memory(view, mine))

    @needs_numpy
    def test_storage_aliasing(self):
        one, other = self.two()
        base = numpy.arange(100, dtype="int32")
        dumped = Dumped(one, [base[10:20], base[15:30], base[10:20].reshape(2, 5), base[:0], base.astype(object)])
        self.assertEqual([len(record) for record in dumped.records], [120])
        memory = memoryview(bytes(dumped.records[0]))
        first, second, third, empty, objects = load(other, dumped.pickle, dumped.table, [memory])
        self.assertTrue(numpy.shares_memory(first, second))
        self.assertTrue(numpy.shares_memory(first, third))
        self.assertTrue(numpy.shares_memory(first, memory))
        self.assertEqual((second.tolist(), third[1].tolist()), (list(range(15, 30)), list(range(15, 20))))
        self.assertEqual((empty.shape, objects.tolist()), ((0,), list(range(100))))
        with self.assertRaisesRegex(ValueError, "read-only"):
            first[0] = 1

    @needs_numpy
    def test_what_was_written_to_goes_along(self):
        def fill(e):
            e.save_pickle("data", "weights.pkl", numpy.zeros(10))

        one, other = self.two(fill)
        own = one.load_pickle("data", "weights.pkl", writable=True)
        own[3] = 5
        self.assertEqual(self.moved(one, other, own).tolist(), [0, 0, 0, 5, 0, 0, 0, 0, 0, 0])


if __name__ == "__main__":
    unittest.main()
