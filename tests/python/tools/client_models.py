"""Writes the model repository that the client tests serve.

    python client_models.py OUT_DIR

identity_<type>   one model for each KServe datatype but BYTES: `x` [n] -> `y` [n]
add               `a` + `b`, f32 [batch, 4] -> `sum`; two outputs: `difference` too
versions          version 1 multiplies by 1, version 2 by 2, version 10 by 10
summator          `b` f32 [batch, 1] + `sum` -> `y` and `sum_out`: served with state, the sum of all inputs
scalar_rate       `x` f32 [batch, 2] and a scalar i64 `rate` -> x * rate
"""

import os
import sys

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy as np

TYPES = {
    "fp32": TensorProto.FLOAT,
    "fp64": TensorProto.DOUBLE,
    "fp16": TensorProto.FLOAT16,
    "bf16": TensorProto.BFLOAT16,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
    "bytes": TensorProto.STRING,
}


def save(root, name, version, nodes, inputs, outputs, initializers=()):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, name, [info(*i) for i in inputs], [info(*o) for o in outputs], list(initializers)
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead tests")
    model.ir_version = 8
    onnx.checker.check_model(model)
    folder = os.path.join(root, name, str(version))
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, os.path.join(folder, "model.onnx"))


def main():
    root = sys.argv[1]
    node, f32 = helper.make_node, TensorProto.FLOAT
    for name, dtype in TYPES.items():
        save(root, f"identity_{name}", 1, [node("Identity", ["x"], ["y"])],
             [("x", dtype, ["n"])], [("y", dtype, ["n"])])
    save(root, "add", 1, [node("Add", ["a", "b"], ["sum"]), node("Sub", ["a", "b"], ["difference"])],
         [("a", f32, ["batch", 4]), ("b", f32, ["batch", 4])],
         [("sum", f32, ["batch", 4]), ("difference", f32, ["batch", 4])])
    for version in (1, 2, 10):
        factor = numpy_helper.from_array(np.float32(version), "factor")
        save(root, "versions", version, [node("Mul", ["x", "factor"], ["y"])],
             [("x", f32, ["n"])], [("y", f32, ["n"])], [factor])
    save(root, "summator", 1, [node("Add", ["b", "sum"], ["sum_out"]), node("Identity", ["sum_out"], ["y"])],
         [("b", f32, ["batch", 1]), ("sum", f32, ["batch", 1])],
         [("y", f32, ["batch", 1]), ("sum_out", f32, ["batch", 1])])
    save(root, "scalar_rate", 1,
         [node("Cast", ["rate"], ["factor"], to=f32), node("Mul", ["x", "factor"], ["y"])],
         [("x", f32, ["batch", 2]), ("rate", TensorProto.INT64, [])], [("y", f32, ["batch", 2])])


if __name__ == "__main__":
    main()
