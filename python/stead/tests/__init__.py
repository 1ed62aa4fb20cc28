"""Tests of stead: `python -m unittest discover` in the folder above."""

import sys
from pathlib import Path

# Ours, not one that is installed.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
