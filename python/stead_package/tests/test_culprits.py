"""Objects that cannot be pickled: the error names the culprit and the way to it."""

import io
import pickle
import threading
import unittest

from .common import PackageTestCase, needs_numpy, numpy
from stead_package import PackageExporter


class Holder:
    def __init__(self, **values):
        self.__dict__.update(values)


class Slotted:
    __slots__ = ["one", "two"]

    def __init__(self, one, two):
        self.one, self.two = one, two


class Refusing:
    def __reduce__(self):
        raise RuntimeError("I do not want to")


class Wrong:
    def __reduce_package__(self, exporter):
        return "no tuple"


class Hashable:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return "Hashable"


class Listed(list):
    pass


def message(obj):
    """The error of an export that must fail."""
    with PackageExporter(io.BytesIO()) as exporter:
        exporter.mock("**")
        try:
            exporter.save_pickle("a", "b.pkl", obj, dependencies=False)
        except pickle.PicklingError as error:
            return str(error)
    raise AssertionError("it should not have been pickled")


class TestCulprits(PackageTestCase):
    def test_paths(self):
        lock = threading.Lock()
        for label, obj, path in [
            ("itself", lock, "obj (_thread.lock)"),
            ("list index", [1, [2, lock]], "obj[1][1] (_thread.lock)"),
            ("tuple index", (0, (lock,)), "obj[1][0] "),
            ("dict value", {"a": {"b c": lock}}, "obj['a']['b c'] "),
            ("number as key", {7: lock}, "obj[7] "),
            ("dict key", {Hashable(lock): 1}, "obj key Hashable.value "),
            ("attribute", Holder(good=1, bad=lock), "obj.bad "),
            ("deep attribute", Holder(inner=[Holder(x={"k": lock})]), "obj.inner[0].x['k'] "),
            ("slot", Slotted(1, lock), "obj.two "),
            ("set member", {Hashable(lock), 3}, "obj member Hashable.value "),
            ("frozenset member", Holder(s=frozenset([Hashable(lock)])), "obj.s member Hashable.value "),
            ("list of a subclass", Listed([1, lock]), "obj[1] "),
            ("dict of a subclass", __import__("collections").OrderedDict(k=lock), "obj['k'] "),
            ("lambda", Holder(f=lambda: 0), "obj.f (function)"),
            ("refusing", {"x": Refusing()}, "obj['x'] "),
            ("generator", [(i for i in range(3))], "obj[0] (generator)"),
            ("reduced to no tuple", {"w": Wrong()}, "obj['w'] "),
        ]:
            found = message(obj)
            self.assertIn(f"a/b.pkl cannot be pickled:\n  {path}", found, label)
            self.assertEqual(found.count("\n"), 1, f"{label}: {found}")

    def test_the_reason_is_told(self):
        self.assertIn("RuntimeError: I do not want to", message([Refusing()]))
        self.assertIn("must return (function, ...)", message(Wrong()))

    def test_local_classes(self):
        class Local:
            pass

        self.assertIn("type(obj[0]) (type)", message([Local()]))

    def test_good_objects_are_not_blamed(self):
        lock = threading.Lock()
        good = Holder(x=[1, 2], y=Hashable("v"))
        found = message({"first": good, "bad": Holder(lock=lock, also=good), "last": good})
        self.assertEqual(found, f"a/b.pkl cannot be pickled:\n  obj['bad'].lock (_thread.lock): {found.split(': ', 1)[1]}")

    def test_cycles(self):
        """An object that fails only because it leads back to the culprit's holder is not blamed."""
        parent = Holder(name="parent", lock=threading.Lock())
        parent.child = Holder(parent=parent)
        parent.children = [parent.child, parent]
        found = message(parent)
        self.assertIn("\n  obj.lock ", found)
        self.assertEqual(found.count("\n"), 1)

    def test_several_culprits(self):
        found = message([threading.Lock(), 1, lambda: 0])
        self.assertIn("\n  obj[0] ", found)
        self.assertIn("\n  obj[2] ", found)

    def test_many_culprits_are_cut(self):
        self.assertEqual(message([threading.Lock() for _ in range(50)]).count("\n"), 10)

    def test_too_deep(self):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        self.assertIn("RecursionError", message(deep))

    @needs_numpy
    def test_arrays_are_not_blamed(self):
        found = message({"w": numpy.zeros(3), "v": [numpy.ones(2), threading.Lock()]})
        self.assertIn("\n  obj['v'][1] ", found)
        self.assertEqual(found.count("\n"), 1)

    def test_an_object_is_asked_once_to_reduce_itself(self):
        class Counting:
            asked = 0

            def __reduce_package__(self, exporter):
                Counting.asked += 1
                exporter.save_text("a", "once.txt", "x")
                return (dict,)

        found = message([Counting(), threading.Lock()])
        self.assertEqual(Counting.asked, 1)
        self.assertIn("\n  obj[1] ", found)
        self.assertEqual(found.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
