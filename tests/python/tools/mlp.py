"""Writes the multi-layer perceptron 256-512-128-1 that the benchmarks use (ReLU, ReLU, Sigmoid).

    python mlp.py OUT.onnx

Input `input` f32 [batch, 256], output `score` f32 [batch, 1]; seeded random weights.
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = (256, 512, 128, 1)


def main():
    rng = np.random.default_rng(1)
    nodes, initializers, x = [], [], "input"
    for layer, (rows, cols) in enumerate(zip(SIZES, SIZES[1:])):
        # He initialisation keeps the activations of a ReLU network near unit variance.
        weight = (rng.standard_normal((rows, cols)) * np.sqrt(2.0 / rows)).astype(np.float32)
        bias = (rng.standard_normal(cols) * 0.1).astype(np.float32)
        last = layer == len(SIZES) - 2
        initializers += [numpy_helper.from_array(weight, f"w{layer}"), numpy_helper.from_array(bias, f"b{layer}")]
        nodes.append(helper.make_node("Gemm", [x, f"w{layer}", f"b{layer}"], [f"h{layer}"]))
        x = "score" if last else f"a{layer}"
        nodes.append(helper.make_node("Sigmoid" if last else "Relu", [f"h{layer}"], [x]))
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", SIZES[0]])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch", 1])],
        initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead tests")
    model.ir_version = 8
    onnx.checker.check_model(model)
    os.makedirs(os.path.dirname(os.path.abspath(sys.argv[1])), exist_ok=True)
    onnx.save(model, sys.argv[1])


if __name__ == "__main__":
    main()
