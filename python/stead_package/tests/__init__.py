"""Tests of stead_package: `python -m unittest discover` in the folder above."""

import sys
from pathlib import Path

_HERE = Path(__file__).resolve().parent
# Ours, and the modules that the tests package.
sys.path[:0] = [str(_HERE.parent / "src"), str(_HERE / "fixtures")]
