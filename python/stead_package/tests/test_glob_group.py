"""Patterns over names."""

import unittest

from . import common  # noqa: F401
from stead_package import GlobGroup


class TestGlobGroup(unittest.TestCase):
    def check(self, group, matching, other):
        for name in matching:
            self.assertTrue(group.matches(name), f"{group} should match {name!r}")
        for name in other:
            self.assertFalse(group.matches(name), f"{group} should not match {name!r}")

    def test_one_star(self):
        self.check(GlobGroup("torch.*"), ["torch.foo", "torch.bar"], ["tor.foo", "torch.foo.bar", "torch"])

    def test_one_star_middle(self):
        self.check(
            GlobGroup("foo.*.bar"),
            ["foo.q.bar", "foo.foo.bar"],
            ["foo.bar", "foo.foo", "outer.foo.inner.bar", "foo.q.bar.more", "foo.one.two.bar"],
        )

    def test_one_star_partial(self):
        self.check(GlobGroup("fo*.bar"), ["fo.bar", "foo.bar", "foobar.bar"], ["oij.bar", "f.bar", "foo"])

    def test_one_star_partial_extension(self):
        group = GlobGroup("foo/*.txt", separator="/")
        self.check(group, ["foo/hello.txt", "foo/goodbye.txt", "foo/.txt"], ["foo/bar/hello.txt", "bar/foo/hello.txt"])

    def test_one_star_multiple_in_component(self):
        self.check(GlobGroup("foo/a*.htm*", separator="/"), ["foo/a.html", "foo/a.htm", "foo/abc.html"], ["foo/b.htm"])

    def test_two_star(self):
        self.check(GlobGroup("torch.**"), ["torch.foo", "torch.bar", "torch.foo.bar", "torch"], ["what.torch", "torchvision"])

    def test_two_star_end(self):
        self.check(GlobGroup("**.torch"), ["torch", "bar.torch", "a.b.torch"], ["visiontorch", "torch.a"])

    def test_two_star_middle(self):
        group = GlobGroup("foo.**.baz")
        self.check(group, ["foo.baz", "foo.bar.baz", "foo.bar1.bar2.baz"], ["foobaz", "foo.bar.baz.z", "foo", "x.foo.baz"])

    def test_two_star_multiple(self):
        group = GlobGroup("**/bar/**/*.txt", separator="/")
        self.check(group, ["bar/baz.txt", "a/bar/b.txt", "bar/foo/c.txt"], ["baz.txt", "a/bar", "bar/foo/c.text"])

    def test_raw_two_star(self):
        self.check(GlobGroup("**"), ["bar", "foo.bar", "ab.c.d.e"], [])

    def test_invalid_raw(self):
        for pattern in ["a.**b", "**a", "a.***", "a**.b"]:
            with self.assertRaisesRegex(ValueError, "whole segments", msg=pattern):
                GlobGroup(pattern)

    def test_exclude(self):
        group = GlobGroup("torch.**", exclude=["torch.**.foo"])
        self.check(group, ["torch", "torch.bar", "torch.barfoo"], ["torch.foo", "torch.some.foo"])

    def test_exclude_from_all(self):
        self.check(GlobGroup("**", exclude=["foo.**", "bar"]), ["a", "hello", "bar.a"], ["foo.bar", "foo.bar.baz", "foo", "bar"])

    def test_list_include_exclude(self):
        group = GlobGroup(["foo", "bar.**"], exclude=["bar.baz", "qux"])
        self.check(group, ["foo", "bar.other", "bar.bazother"], ["bar.baz", "qux"])

    def test_other_separator_and_special_characters(self):
        group = GlobGroup("a+b|c|*", separator="|")
        self.check(group, ["a+b|c|d.e/f"], ["aab|c|d", "a+b|c|d|e", "a+b.c.d"])

    def test_tuple_and_generator(self):
        self.check(GlobGroup(name for name in ("a", "b")), ["a", "b"], ["c"])


if __name__ == "__main__":
    unittest.main()
