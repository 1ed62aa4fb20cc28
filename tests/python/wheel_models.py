"""Models for the tests of the wheel, and the sessions that run them."""

import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None  # it has no wheel for this Python

import stead


def model(nodes, inputs, outputs, initializers=(), **about):
    """The bytes of a model; inputs and outputs by name: element type and shape."""
    def infos(values):
        return [helper.make_tensor_value_info(name, *spec) for name, spec in values.items()]

    graph_about = {"doc_string": about.pop("graph_description", "")}
    graph = helper.make_graph(nodes, "graph", infos(inputs), infos(outputs), initializers, **graph_about)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, **about)
    return made.SerializeToString()


def one_node(op, inputs, outputs, **attributes):
    return model([helper.make_node(op, list(inputs), list(outputs), **attributes)], inputs, outputs)


def perceptron(width=64, seed=1):
    """Two layers, with a batch of any size."""
    random = np.random.default_rng(seed)
    weights = {
        "w0": random.normal(size=(width, 32)) / 8,
        "b0": random.normal(size=32),
        "w1": random.normal(size=(32, 3)) / 8,
        "b1": random.normal(size=3),
    }
    nodes = [
        helper.make_node("Gemm", ["x", "w0", "b0"], ["h"]),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Gemm", ["a", "w1", "b1"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["p"]),
    ]
    return model(
        nodes,
        {"x": (TensorProto.FLOAT, ["batch", width])},
        {"p": (TensorProto.FLOAT, ["batch", 3]), "logits": (TensorProto.FLOAT, ["batch", 3])},
        [onnx.numpy_helper.from_array(w.astype(np.float32), name) for name, w in weights.items()],
        producer_name="tests",
        producer_version="1.5",
        domain="org.example",
        model_version=7,
        doc_string="a model",
        graph_description="its graph",
    )


def sessions(data, **kwargs):
    """A session of stead, and one of ONNX Runtime or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = onnxruntime.InferenceSession(data, **kwargs) if onnxruntime else None
        return stead.InferenceSession(data, **kwargs), peer
