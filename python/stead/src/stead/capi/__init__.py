"""Where code that was written for ONNX Runtime looks for exceptions."""

from . import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
