"""Which modules a call uses."""

import sys
import unittest

from .common import PackageTestCase
from stead_package import analyze


class TestAnalyze(PackageTestCase):
    def test_trace_dependencies(self):
        source = "import json, package_a.subpackage\n\ndef add(a, b):\n    return package_a.subpackage.leaf_function(a, b)\n"
        with self.module("traced", source) as module:
            used = analyze.trace_dependencies(module.add, [(1, 2), (3, 4)])
        self.assertIn("traced", used)
        self.assertIn("package_a.subpackage", used)
        self.assertNotIn("json", used)
        self.assertNotIn("stead_package.analyze", used)

    def test_trace_of_a_call_that_fails_ends(self):
        def fail():
            raise ZeroDivisionError

        before = sys.getprofile()
        with self.assertRaises(ZeroDivisionError):
            analyze.trace_dependencies(fail, [()])
        self.assertIs(sys.getprofile(), before)


if __name__ == "__main__":
    unittest.main()
