"""make_models.py FOLDER: the models of `numpy_models.py` as packages FOLDER/NAME.pkg and as FOLDER/NAME.onnx with the same weights,
checked against each other with ONNX Runtime. An ONNX file takes the inputs FOLDER/NAME.npz."""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from stead_package import PackageExporter

import numpy_models

TRANSFORMER = {"layers": 6, "hidden": 768, "heads": 12, "tokens": 64}
STRIDES = [1, 2, 1, 2, 1, 2, 1, 1, 1, 2, 1]
CHANNELS = [16, 32, 64, 64, 128, 128, 256, 256, 256, 256, 512, 512]
SIDE = 112
TABLES, ROWS, WIDTH, BATCH = 8, 50_000, 32, 64

rng = np.random.default_rng(7)


def weight(*shape, rows=None):
    return (rng.standard_normal(shape) / np.sqrt(rows or shape[0])).astype(np.float32)


class Graph:
    """Nodes one after the other; `add` gives the name of the result."""

    def __init__(self, weights):
        self.nodes = []
        self.constants = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()]

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, op, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def save(self, path, inputs, result):
        kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
        described = [helper.make_tensor_value_info(name, kinds[x.dtype], x.shape) for name, x in inputs.items()]
        output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, path.stem, described, [output], self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def transformer():
    hidden, tokens, heads = (TRANSFORMER[key] for key in ["hidden", "tokens", "heads"])
    weights = {}
    for at in range(TRANSFORMER["layers"]):
        weights[f"{at}.norm1"] = weights[f"{at}.norm2"] = np.ones(hidden, np.float32)
        weights[f"{at}.qkv"] = weight(hidden, 3 * hidden)
        weights[f"{at}.out"] = weight(hidden, hidden)
        weights[f"{at}.up"] = weight(hidden, 4 * hidden)
        weights[f"{at}.down"] = weight(4 * hidden, hidden)
    g = Graph(weights)
    zeros = g.constant(np.zeros(hidden, np.float32))
    scale = g.constant(np.float32((hidden // heads) ** -0.5))
    split_shape = g.constant(np.array([tokens, 3, heads, hidden // heads]))
    joined_shape = g.constant(np.array([tokens, hidden]))
    x = "x"
    for at in range(TRANSFORMER["layers"]):
        y = g.add("LayerNormalization", x, f"{at}.norm1", zeros, epsilon=1e-5)
        y = g.add("Reshape", g.add("MatMul", y, f"{at}.qkv"), split_shape)
        y = g.add("Transpose", y, perm=[1, 2, 0, 3])
        q, k, v = (g.add("Gather", y, g.constant(np.int64(part)), axis=0) for part in range(3))
        scores = g.add("Mul", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 2, 1])), scale)
        mixed = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
        mixed = g.add("Reshape", g.add("Transpose", mixed, perm=[1, 0, 2]), joined_shape)
        x = g.add("Add", x, g.add("MatMul", mixed, f"{at}.out"))
        y = g.add("LayerNormalization", x, f"{at}.norm2", zeros, epsilon=1e-5)
        y = g.add("Relu", g.add("MatMul", y, f"{at}.up"))
        x = g.add("Add", x, g.add("MatMul", y, f"{at}.down"))
    return TRANSFORMER, weights, {"x": rng.standard_normal((tokens, hidden)).astype(np.float32)}, g, x


def mobile():
    weights = {"head": weight(CHANNELS[-1], 1000)}
    for at, (before, after) in enumerate(zip(CHANNELS, CHANNELS[1:])):
        weights[f"{at}.depth"] = weight(before, 3, 3, rows=9)
        weights[f"{at}.point"] = weight(after, before, rows=before)
    g = Graph({"head": weights["head"]})
    x = g.add("Unsqueeze", "x", g.constant(np.array([0])))
    for at, stride in enumerate(STRIDES):
        depth = g.constant(weights[f"{at}.depth"][:, None])
        point = g.constant(weights[f"{at}.point"][:, :, None, None])
        # As numpy_models pads: one on each side.
        y = g.add("Conv", x, depth, group=CHANNELS[at], strides=[stride, stride], pads=[1, 1, 1, 1])
        x = g.add("Relu", g.add("Conv", g.add("Relu", y), point))
    x = g.add("MatMul", g.add("ReduceMean", x, axes=[0, 2, 3], keepdims=0), "head")
    image = rng.standard_normal((CHANNELS[0], SIDE, SIDE)).astype(np.float32)
    return {"strides": STRIDES}, weights, {"x": image}, g, x


def recommender():
    weights = {"bottom0": weight(13, 128), "bottom1": weight(128, WIDTH)}
    weights |= {f"table{at}": weight(ROWS, WIDTH, rows=WIDTH) for at in range(TABLES)}
    weights |= {"top0": weight(WIDTH + (TABLES + 1) ** 2, 256), "top1": weight(256, 1)}
    g = Graph(weights)
    x = g.add("Relu", g.add("MatMul", g.add("Relu", g.add("MatMul", "dense", "bottom0")), "bottom1"))
    one = g.constant(np.array([1]))
    parts = [g.add("Unsqueeze", x, one)]
    for at in range(TABLES):
        of = g.add("Gather", "ids", g.constant(np.int64(at)), axis=1)
        parts.append(g.add("Unsqueeze", g.add("Gather", f"table{at}", of, axis=0), one))
    vectors = g.add("Concat", *parts, axis=1)
    pairs = g.add("MatMul", vectors, g.add("Transpose", vectors, perm=[0, 2, 1]))
    pairs = g.add("Reshape", pairs, g.constant(np.array([BATCH, (TABLES + 1) ** 2])))
    y = g.add("Concat", x, pairs, axis=1)
    y = g.add("MatMul", g.add("Relu", g.add("MatMul", y, "top0")), "top1")
    dense = rng.standard_normal((BATCH, 13)).astype(np.float32)
    ids = rng.integers(0, ROWS, (BATCH, TABLES))
    return {}, weights, {"dense": dense, "ids": ids}, g, y


def main() -> None:
    folder = Path(sys.argv[1])
    for make in [transformer, mobile, recommender]:
        name = make.__name__
        settings, weights, inputs, graph, result = make()
        model = numpy_models.Model(name, settings, weights, inputs)
        graph.save(folder / f"{name}.onnx", inputs, result)
        np.savez(folder / f"{name}.npz", **inputs)
        session = onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=["CPUExecutionProvider"])
        expected, found = session.run(None, inputs)[0], model()
        np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-3, atol=1e-3)
        with PackageExporter(str(folder / f"{name}.pkg")) as exporter:
            exporter.extern("numpy.**")
            exporter.intern("numpy_models")
            exporter.save_pickle("models", f"{name}.pkl", model)


main()
