"""Runs components under plain pytest or unittest, without a server.

What is real: the glue between stead and components, the checks of it, and the values that pass, whose arrays are
read-only. What is
not: there is one interpreter, the one that runs the tests; models are functions that the test gives, or ONNX files
that ONNX Runtime
computes where it is installed, not stead's engine; documents and searches are what the test says they are; and
nothing has a deadline.
"""

from .application import Application

__all__ = ["Application"]
