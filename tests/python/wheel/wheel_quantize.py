"""Files that `stead quantize` writes: ONNX Runtime loads and runs them, and its own tools write the same numbers."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import stead
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from wheel_models import model, onnxruntime

if onnxruntime:
    import byte_sums

MODES = {
    "dynamic": ["--mode", "dynamic"],
    "dynamic, a scale for each column": ["--mode", "dynamic", "--per-channel"],
    "static": ["--mode", "static", "--calibrate", "inputs.npz"],
    "4 bits": ["--mode", "weight-only"],
    "8 bits": ["--mode", "weight-only", "--bits", "8"],
    "4 bits beside": ["--mode", "weight-only", "--external-data"],
}


def net(seed=1):
    """A convolution, a MatMul and a Gemm whose weights are turned."""
    random = np.random.default_rng(seed)

    def weights(name, *shape):
        return numpy_helper.from_array((random.normal(size=shape) / 6).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "filters", "conv_bias"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("MatMul", ["f", "w"], ["h"], name="first"),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("Gemm", ["t", "u", "bias"], ["y"], name="second", transB=1),
    ]
    initializers = [
        weights("filters", 4, 3, 3, 3),
        weights("conv_bias", 4),
        weights("w", 256, 64),
        weights("u", 10, 64),
        weights("bias", 10),
    ]
    return model(nodes, {"x": (TensorProto.FLOAT, ["n", 3, 8, 8])}, {"y": (TensorProto.FLOAT, ["n", 10])}, initializers)


def right(path, label, x):
    """What a file computes, by someone else."""
    if label.startswith("dynamic"):
        yield ReferenceEvaluator(path).run(None, {"x": x})[0]
    if label == "static":
        # As the file says it: in f32, behind each DequantizeLinear.
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        yield onnxruntime.InferenceSession(path, options).run(None, {"x": x})[0]
    if label == "static" and byte_sums.LOSES_SUMS:
        return
    of = onnx.load(path) if label.startswith("dynamic") and byte_sums.LOSES_SUMS else None
    asked = path if of is None else byte_sums.unsigned(of, {})[0].SerializeToString()
    yield onnxruntime.InferenceSession(asked).run(None, {"x": x})[0]


def constants(data):
    """The initializers of a model by name."""
    graph = onnx.load_model_from_string(data).graph if isinstance(data, bytes) else onnx.load(data).graph
    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


@unittest.skipUnless(onnxruntime, "ONNX Runtime has no wheel for this Python")
class Quantized(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = cls.kept.name
        cls.x = np.random.default_rng(2).normal(size=(6, 3, 8, 8)).astype(np.float32)
        with open(cls.path("model.onnx"), "wb") as file:
            file.write(net())
        np.savez(cls.path("inputs.npz"), x=cls.x)

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def quantize(self, arguments, output="small.onnx"):
        command = [os.environ["STEAD_BIN"], "quantize", "model.onnx", *arguments, "-o", output, "--json"]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)

    def test_onnx_runtime_runs_what_was_written(self):
        (expected,) = onnxruntime.InferenceSession(self.path("model.onnx")).run(None, {"x": self.x})
        for label, arguments in MODES.items():
            report = self.quantize(arguments)
            path = self.path("small.onnx")
            onnx.checker.check_model(path)
            # It runs there, whatever its sums are.
            onnxruntime.InferenceSession(path).run(None, {"x": self.x})
            (ours,) = stead.InferenceSession(path).run(None, {"x": self.x})
            magnitude = np.abs(expected).max()
            for theirs in right(path, label, self.x):
                # Roundings at the middle between two steps may fall to either side.
                self.assertLess(np.abs(ours - theirs).max(), 0.03 * magnitude, label)
                self.assertLess(np.abs(theirs - expected).max(), 0.2 * magnitude, label)
            self.assertGreater(report["outputs"][0]["cosine"], 0.99, label)
            self.assertEqual(len(report["quantized"]), 3 if label == "static" else 2, label)

    def test_weights_are_those_of_the_tools_of_onnx_runtime(self):
        from onnxruntime.quantization import QuantType, quantize_dynamic

        for per_channel in (False, True):
            theirs = self.path("theirs.onnx")
            quantize_dynamic(
                self.path("model.onnx"),
                theirs,
                op_types_to_quantize=["MatMul"],
                weight_type=QuantType.QInt8,
                per_channel=per_channel,
            )
            self.quantize(["--mode", "dynamic"] + ["--per-channel"] * per_channel)
            tables = [constants(self.path("small.onnx")), constants(theirs)]
            matrices = [
                {a.shape: a.tobytes() for a in table.values() if a.dtype == np.int8 and a.ndim == 2} for table in tables
            ]
            self.assertEqual(set(matrices[0]), {(256, 64), (64, 10)})
            self.assertEqual(matrices[0], matrices[1], f"per_channel {per_channel}")
            scales = [
                sorted(a.tobytes() for name, a in table.items() if name.endswith("_scale")) for table in tables
            ]
            self.assertEqual(scales[0], scales[1], f"per_channel {per_channel}")
            outputs = [
                onnxruntime.InferenceSession(path).run(None, {"x": self.x})[0]
                for path in (self.path("small.onnx"), theirs)
            ]
            np.testing.assert_allclose(*outputs, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
