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


class GoodPickle:
    pass


class BadPickle:
    def __reduce__(self):
        raise pickle.PicklingError("I can't be pickled!")


def good(**attributes):
    made = GoodPickle()
    made.__dict__.update(attributes)
    return made


class TestDebugPickler(PackageTestCase):
    """torch.package's scenarios: one bad object among good ones."""

    def check(self, obj, path):
        expected = f"\n  {path} (tests.test_culprits.BadPickle): PicklingError: I can't be pickled!"
        self.assertEqual(message(obj), "a/b.pkl cannot be pickled:" + expected)

    def test_basic_msg(self):
        self.check(good(b=good(c=good(d=BadPickle()))), "obj.b.c.d")

    def test_set(self):
        obj = [good(), {good(), good(), BadPickle()}]
        bad = next(member for member in obj[1] if isinstance(member, BadPickle))
        self.check(obj, f"obj[1] member {repr(bad)[:57] + '...' if len(repr(bad)) > 60 else repr(bad)}")

    def test_frozenset(self):
        bad = Hashable(BadPickle())
        self.check([good(), frozenset([good(), bad])], "obj[1] member Hashable.value")

    def test_tuple(self):
        self.check([good(), (good(), good(), BadPickle())], "obj[1][2]")
        self.check([good(), (good(), good(), good(), BadPickle(), good())], "obj[1][3]")

    def test_nested_lists(self):
        self.check([good(), [good(), good(), [good(), [BadPickle()]]]], "obj[1][2][1][0]")

    def test_nested_list_obj(self):
        inner = good(b=good(c=good(d=BadPickle())))
        self.check([good(), [good(), good(), [good(), [inner]]]], "obj[1][2][1][0].b.c.d")

    def test_in_list_msg(self):
        self.check(good(bad_list=[good(), good(), BadPickle()]), "obj.bad_list[2]")

    def test_dict(self):
        self.check({"foo": good(), "bar": BadPickle()}, "obj['bar']")

    def test_nested_list_dict(self):
        inner = good(b=good(c=good(d=BadPickle())))
        obj = {"foo": good(), "bar": [good(), [good(), good(), [good(), [inner]]]]}
        self.check(obj, "obj['bar'][1][2][1][0].b.c.d")

    def test_good_pickle(self):
        """Nothing is found in an object that can be pickled."""
        from stead_package import sys_importer
        from stead_package.export.culprits import find_culprits
        from stead_package.export.package_pickler import ReducedObjects
        from stead_package.tensor_writer import TensorWriter

        def make(file, kind):
            return kind(file, 4, None, sys_importer, TensorWriter(lambda name, data: ""), ReducedObjects())

        self.assertEqual(find_culprits([good(x={1, 2}), (good(),), {"k": frozenset([3])}], make), [])

    def test_save_bad_pickle(self):
        """The package can go on without the bad object."""
        buffer = io.BytesIO()
        with PackageExporter(buffer) as exporter:
            with self.assertRaisesRegex(pickle.PicklingError, r"obj\.b\.c"):
                exporter.save_pickle("foo", "foo.pkl", good(b=good(c=BadPickle())))
            exporter.save_text("foo", "foo.txt", "x")
        from stead_package import PackageImporter

        self.assertEqual(PackageImporter(buffer).load_text("foo", "foo.txt"), "x")
        self.assertFalse(PackageImporter(buffer).file_structure().has_file("foo/foo.pkl"))


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
        fine = Holder(x=[1, 2], y=Hashable("v"))
        found = message({"first": fine, "bad": Holder(lock=lock, also=fine), "last": fine})
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
