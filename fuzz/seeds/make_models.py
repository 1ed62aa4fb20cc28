"""Makes the seeds of the targets `quantize` and `model_options`: python make_models.py (needs onnx and numpy from PyPI)."""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

here = pathlib.Path(__file__).parent


def save(target, name, data):
    (here / target).mkdir(exist_ok=True)
    (here / target / name).write_bytes(data)


def model(nodes, constants, opset=17):
    given = [numpy_helper.from_array(np.array(v, np.float32), n) for n, v in constants.items()]
    info = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph(nodes, "g", [info("x", ["n", 2])], [info("y", ["n", 3])], given)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return made.SerializeToString()


w, b = [[1, 2, 3], [4, 5, -6]], [1, 0, -1]
save("quantize", "matmul", model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": w}))
for name, attributes in [("gemm", {}), ("gemm_scaled", {"alpha": 0.5, "beta": 2.0}), ("gemm_turned", {"transB": 1})]:
    weights = np.transpose(w) if "transB" in attributes else w
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], **attributes)
    save("quantize", name, model([node], {"w": weights, "b": b}, opset=13))
nodes = [helper.make_node("MatMul", ["x", "w"], ["h"], name="h"), helper.make_node("MatMul", ["h", "v"], ["y"])]
save("quantize", "two_that_share_names", model(nodes, {"w": w, "v": np.eye(3), "h_scale": b}))

save(
    "model_options",
    "toml",
    b"""precision = "bf16"
max_batch_size = 8
backend = "onnxruntime"
providers = ["A", { name = "B", options = { c = 1, d = "e", f = true } }]
default_inputs = { sr = 16000 }
states = [{ input = "h", output = "hn", batch_axis = 1, init = { const = [0.5] } }]
windows = [{ input = "x", length = 64, axis = 1 }]
""",
)
save(
    "model_options",
    "json",
    b"""{"model_config_list": [{"config": {"name": "m", "base_path": "m", "nireq": 2, "shape": "(1,2:3)",
"precision": "FP16", "plugin_config": {"INFERENCE_PRECISION_HINT": "bf16"}, "stead": {"precision": "int8"}}}]}
""",
)
