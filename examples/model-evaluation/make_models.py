#!/usr/bin/env python3
"""Makes the two models of this example and of the one in Python, with weights by chance, and expected.json, what ONNX
Runtime gives for the requests of the README.

    python make_models.py

    transformer      tokens int32[batch, tokens] -> float[batch, tokens, 16]: two layers of an encoder with two heads
    pairwise_ranker  query, doc1, doc2 float[batch, 16] -> float[batch, 1]: how likely doc1 is above doc2

It needs the packages onnx, numpy and onnxruntime. The weights mean nothing: put models that were trained in their
place. Everything is seeded and the files are committed, so nobody has to run this unless the models should change.
"""

import json
import math
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [os.path.join(HERE, "..", example, "app", "models") for example in ("model-evaluation", "model-evaluation-python")]
VOCABULARY, SIZE, HEADS, HIDDEN, LAYERS = 100, 16, 2, 32, 2


class Graph:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self, seed):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(seed)

    def node(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, array):
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, *shape, scale=1.0):
        return self.constant((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def linear(self, x, rows, columns):
        return self.node(
            "Add",
            self.node("MatMul", x, self.random(rows, columns, scale=1 / math.sqrt(rows))),
            self.random(columns, scale=0.02),
        )

    def norm(self, x):
        return self.node(
            "LayerNormalization",
            x,
            self.constant(np.ones(SIZE, np.float32)),
            self.constant(np.zeros(SIZE, np.float32)),
            axis=-1,
            epsilon=1e-5,
        )

    def save(self, result, name, inputs, output):
        self.nodes.append(helper.make_node("Identity", [result], ["output"]))
        graph = helper.make_graph(self.nodes, name, inputs, [output], self.weights)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead model-evaluation-python"
        )
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        for folder in FOLDERS:
            os.makedirs(folder, exist_ok=True)
            onnx.save(model, os.path.join(folder, f"{name}.onnx"))


def attention(g, x):
    """Each token gets a share of every other."""
    split = g.constant(np.array([0, 0, HEADS, SIZE // HEADS], np.int64))
    heads = lambda order: g.node("Transpose", g.node("Reshape", g.linear(x, SIZE, SIZE), split), perm=order)
    scores = g.node("MatMul", heads([0, 2, 1, 3]), heads([0, 2, 3, 1]))
    shares = g.node("Softmax", g.node("Mul", scores, g.constant(np.float32(1 / math.sqrt(SIZE // HEADS)))), axis=-1)
    joined = g.node("Transpose", g.node("MatMul", shares, heads([0, 2, 1, 3])), perm=[0, 2, 1, 3])
    return g.linear(g.node("Reshape", joined, g.constant(np.array([0, 0, SIZE], np.int64))), SIZE, SIZE)


def transformer():
    g = Graph(7)
    x = g.node("Gather", g.random(VOCABULARY, SIZE), "input", axis=0)
    for _ in range(LAYERS):
        x = g.norm(g.node("Add", x, attention(g, x)))
        x = g.norm(g.node("Add", x, g.linear(g.node("Relu", g.linear(x, SIZE, HIDDEN)), HIDDEN, SIZE)))
    tokens = helper.make_tensor_value_info("input", TensorProto.INT32, ["batch", "tokens"])
    output = helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", "tokens", SIZE])
    g.save(x, "transformer", [tokens], output)


def pairwise_ranker():
    g = Graph(8)
    weights = g.random(2 * SIZE, SIZE, scale=1 / math.sqrt(2 * SIZE)), g.random(SIZE, scale=0.02)

    def of_document(name):
        both = g.node("Concat", "query", name, axis=1)
        return g.node("Sigmoid", g.node("Add", g.node("MatMul", both, weights[0]), weights[1]))

    pair = g.node("Concat", of_document("doc1"), of_document("doc2"), axis=1)
    row = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
    inputs = [row(name, SIZE) for name in ("query", "doc1", "doc2")]
    g.save(g.node("Sigmoid", g.linear(pair, 2 * SIZE, 1)), "pairwise_ranker", inputs, row("output", 1))


def run(name, **inputs):
    """What ONNX Runtime gives for inputs of a model."""
    path = os.path.join(FOLDERS[0], f"{name}.onnx")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)[0]


def expected():
    """The values of the requests in the README: a query and two documents of three tokens each, compared by their first vectors."""
    tokens = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.int32)
    output = run("transformer", input=tokens[:1])
    query, doc1, doc2 = (run("transformer", input=row[None])[:, 0] for row in tokens)
    numbers = lambda array: [round(float(number), 6) for number in array.reshape(-1)]
    return {
        "input": tokens[0].tolist(),
        "output": numbers(output),
        "query": numbers(query),
        "doc1": numbers(doc1),
        "doc2": numbers(doc2),
        "doc1 above doc2": numbers(run("pairwise_ranker", query=query, doc1=doc1, doc2=doc2)),
    }


def main():
    transformer()
    pairwise_ranker()
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in expected().items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
