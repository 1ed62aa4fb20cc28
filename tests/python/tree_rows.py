"""Data, and the scores that stead gives a model file."""

import os
import subprocess
import tempfile

# Before the libraries are loaded: threads that wait for each other in turns take a busy machine much longer.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

ROWS = 10_000
NUMBERS = 6
CATEGORIES = 2


def data(seed, dtype):
    """Rows of numbers with missing values, zeros and values that repeat, and two columns of category codes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, NUMBERS + CATEGORIES))
    # Repeated values meet thresholds exactly.
    x[:, 1] = np.round(x[:, 1], 1)
    x[:, 2] = rng.integers(-3, 4, ROWS)
    x[:, 3][rng.random(ROWS) < 0.3] = 0.0
    x[:, 4] = np.where(rng.random(ROWS) < 0.5, 0.0, 1e-36)
    x[:, NUMBERS] = rng.integers(0, 7, ROWS)
    x[:, NUMBERS + 1] = rng.integers(0, 70, ROWS)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x.astype(dtype)


def target(x, seed):
    """A number that depends on every column, missing values included."""
    rng = np.random.default_rng(seed + 1)
    filled = np.nan_to_num(x.astype(np.float64), nan=1.7)
    y = filled[:, :4].sum(axis=1) + np.sin(3 * filled[:, 0]) + 2.0 * (filled[:, 4] == 0)
    y += (filled[:, NUMBERS] % 3) - 0.5 * (filled[:, NUMBERS + 1] % 5)
    return y + rng.normal(size=ROWS) * 0.3


def strange(x):
    """Rows as in training, then some that no training saw."""
    x = x.copy()
    x[:7, NUMBERS:] = np.array([-1, -0.5, 7, 2.7, 99, 1e6, np.nan])[:, None]
    x[7:10, :NUMBERS] = np.array([1e30, -1e30, 1e-35])[:, None]
    return x


def stead(mode, model, rows, *facts):
    """The scores of a model file, by the example `predict` of the crate."""
    with tempfile.TemporaryDirectory() as folder:
        x, y = os.path.join(folder, "x.npy"), os.path.join(folder, "y.npy")
        np.save(x, np.ascontiguousarray(rows))
        command = [os.environ["STEAD_TREES_PREDICT"], mode, model, x, y, *map(str, facts)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(done.stderr)
        return np.load(y)


def same(test, found, expected, label):
    """Equal to 1e-6, relative above 1."""
    expected = np.asarray(expected, dtype=np.float64).reshape(len(found), -1)
    test.assertEqual(found.shape, expected.shape, label)
    with np.errstate(invalid="ignore"):
        error = np.abs(found - expected) / np.maximum(1.0, np.abs(expected))
    error[found == expected] = 0.0  # infinities
    worst = int(error.max(axis=1).argmax())
    test.assertLessEqual(error.max(), 1e-6, f"{label}: row {worst}: {found[worst]} is not {expected[worst]}")
