"""Makes models of one node each for `cargo xtask bench kernels`.

    python kernels.py FOLDER < CASES.json

Reads a list of `{"name", "op", "shape", "columns"}`: the operator, the shape of its input `x` and, of products, the
columns of the constant matrix. Writes FOLDER/<name>.onnx with seeded weights.
"""

import json
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper, save

OPSET = 17


def node(case, rng):
    """The node and its constants."""
    op, shape = case["op"], case["shape"]
    if op == "MatMul":
        weights = rng.uniform(-1, 1, (shape[-1], case["columns"])).astype(np.float32)
        return helper.make_node("MatMul", ["x", "w"], ["y"]), {"w": weights}
    if op == "LayerNormalization":
        scale, bias = (rng.uniform(0.5, 1.5, shape[-1]).astype(np.float32) for _ in range(2))
        return helper.make_node(op, ["x", "w", "b"], ["y"], axis=-1), {"w": scale, "b": bias}
    if op == "Softmax":
        return helper.make_node(op, ["x"], ["y"], axis=-1), {}
    return helper.make_node(op, ["x"], ["y"]), {}


def main():
    for case in json.load(sys.stdin):
        made, constants = node(case, np.random.default_rng(1))
        value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        shape = case["shape"]
        result = [*shape[:-1], case.get("columns") or shape[-1]]
        weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
        graph = helper.make_graph([made], case["name"], [value("x", shape)], [value("y", result)], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
        checker.check_model(model)
        save(model, f"{sys.argv[1]}/{case['name']}.onnx")


if __name__ == "__main__":
    main()
