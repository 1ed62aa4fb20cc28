"""What several tests need."""

import contextlib
import unittest
from pathlib import Path

from stead import _numpy

ROOT = Path(__file__).resolve().parents[3]


def numpy():
    """numpy, or the test is skipped."""
    found = _numpy.numpy()
    if found is None:
        raise unittest.SkipTest("numpy is not installed")
    return found


@contextlib.contextmanager
def hidden_numpy():
    """As where numpy is not installed."""
    before, _numpy._found[:] = list(_numpy._found), [None]
    try:
        yield
    finally:
        _numpy._found[:] = before


class BothWays(unittest.TestCase):
    """Tests that run with numpy, where there is one, and without it."""

    def run(self, result=None):
        if _numpy.numpy() is not None and not getattr(self, "only_with_numpy", False):
            with hidden_numpy():
                super().run(result)
        return super().run(result)

    def refused(self, message, call, *arguments, error=ValueError, **keywords):
        with self.assertRaises(error) as caught:
            call(*arguments, **keywords)
        self.assertIn(message, str(caught.exception))
