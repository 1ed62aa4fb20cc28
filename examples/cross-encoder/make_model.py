#!/usr/bin/env python3
"""Makes the network of the example: BERT's structure with weights by chance, and a score from what [CLS] becomes.

    python make_model.py                                     app/models/cross_encoder.onnx and best.jsonl
    python make_model.py --hidden 384 --layers 6 --heads 12 --vocabulary 30522 -o bert.onnx
                                                             a larger one, to measure with

It needs the packages onnx and numpy; with onnxruntime it also writes best.jsonl, which the tests compare with. The weights mean
nothing, so neither do the scores: put a cross encoder that was trained in its place. Everything is seeded, and the files are
committed: nobody has to run this unless the model should change.
"""

import argparse
import json
import math
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import make_passages as data

HERE = os.path.dirname(os.path.abspath(__file__))
POSITIONS, TYPES = 512, 2
LENGTH, CLS, SEP = 128, 101, 102


class Graph:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(21)

    def node(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, array):
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def random(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / math.sqrt(shape[0])).astype(np.float32))

    def linear(self, x, rows, columns):
        bias = self.constant((self.rng.standard_normal(columns) * 0.02).astype(np.float32))
        return self.node("Add", self.node("MatMul", x, self.random(rows, columns)), bias)

    def norm(self, x, size):
        ones, zeros = self.constant(np.ones(size, np.float32)), self.constant(np.zeros(size, np.float32))
        return self.node("LayerNormalization", x, ones, zeros, axis=-1, epsilon=1e-12)

    def number(self, x):
        return self.constant(np.float32(x))


def attention(g, x, bias, hidden, heads):
    size = hidden // heads
    shape = g.constant(np.array([0, 0, heads, size], np.int64))
    def split(order):
        return g.node("Transpose", g.node("Reshape", g.linear(x, hidden, hidden), shape), perm=order)
    query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
    scores = g.node("Mul", g.node("MatMul", query, key), g.number(1 / math.sqrt(size)))
    shares = g.node("Softmax", g.node("Add", scores, bias), axis=-1)
    joined = g.node("Transpose", g.node("MatMul", shares, value), perm=[0, 2, 1, 3])
    return g.linear(g.node("Reshape", joined, g.constant(np.array([0, 0, hidden], np.int64))), hidden, hidden)


def bert(hidden, layers, heads, vocabulary, fixed=None):
    g = Graph()
    rows = lambda count, ids: g.node("Gather", g.random(count, hidden), ids, axis=0)
    # As long as the texts of a batch are: 0, 1, 2 ..
    length = g.node("Gather", g.node("Shape", "input_ids"), g.constant(np.int64(1)), axis=0)
    positions = g.node("Range", g.constant(np.int64(0)), length, g.constant(np.int64(1)))
    words = g.node("Add", rows(vocabulary, "input_ids"), rows(TYPES, "token_type_ids"))
    x = g.norm(g.node("Add", words, rows(POSITIONS, positions)), hidden)
    # What is no text gets no share of any attention.
    mask = g.node("Unsqueeze", "attention_mask", g.constant(np.array([1, 2], np.int64)))
    absent = g.node("Sub", g.number(1.0), g.node("Cast", mask, to=TensorProto.FLOAT))
    bias = g.node("Mul", absent, g.number(np.finfo(np.float32).min))
    for _ in range(layers):
        x = g.norm(g.node("Add", x, attention(g, x, bias, hidden, heads)), hidden)
        wide = g.linear(x, hidden, 4 * hidden)
        erf = g.node("Erf", g.node("Mul", wide, g.number(1 / math.sqrt(2))))
        gelu = g.node("Mul", g.node("Mul", wide, g.node("Add", erf, g.number(1.0))), g.number(0.5))
        x = g.norm(g.node("Add", x, g.linear(gelu, 4 * hidden, hidden)), hidden)
    first = g.node("Gather", x, g.constant(np.int64(0)), axis=1)
    pooled = g.node("Tanh", g.linear(first, hidden, hidden))
    g.nodes.append(helper.make_node("Identity", [g.linear(pooled, hidden, 1)], ["score"]))
    ids = lambda name: helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", fixed or "sequence"])
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["batch", 1])
    inputs = [ids(name) for name in ["input_ids", "token_type_ids", "attention_mask"]]
    graph = helper.make_graph(g.nodes, "cross_encoder", inputs, [score], g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead cross-encoder")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


def joined(query, passage):
    """The ids, types and mask of a pair: [CLS] query [SEP] passage [SEP], up to 128 (Vespa's tokenInputIds and so on)."""
    query, passage = ([t for t in tokens if t] for tokens in (query, passage))
    ids = ([CLS] + query + [SEP] + passage + [SEP])[:LENGTH]
    types = ([0] * (len(query) + 2) + [1] * (len(passage) + 1))[:LENGTH]
    pad = [0] * (LENGTH - len(ids))
    return ids + pad, types + pad, [1] * len(ids) + pad


def best(path):
    """For each query: the ten nearest passages in the order of their scores by ONNX Runtime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    passages = list(data.passages(data.PASSAGES, [8, 90]))
    vectors = np.array([p["fields"]["embedding"]["values"] for p in passages], np.float32)
    for query in data.queries(data.QUERIES):
        vector = np.array(query["input.query(embedding)"], np.float32)
        near = vectors @ vector / (np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector))
        first = np.argsort(-near, kind="stable")[:10]
        rows = [joined(query["input.query(tokens)"], passages[at]["fields"]["tokens"]["values"]) for at in first]
        inputs = [np.array([row[part] for row in rows], np.int64) for part in range(3)]
        names = ["input_ids", "token_type_ids", "attention_mask"]
        scores = session.run(["score"], dict(zip(names, inputs)))[0][:, 0]
        order = np.argsort(-scores, kind="stable")
        yield [[passages[first[at]]["put"], round(float(scores[at]), 5)] for at in order]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in [("hidden", 64), ("layers", 2), ("heads", 4), ("vocabulary", data.VOCABULARY)]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--length", type=int, help="of all texts, which are padded to it; without it as long as they are")
    own = os.path.join(HERE, "app", "models", "cross_encoder.onnx")
    parser.add_argument("-o", "--output", default=own)
    args = parser.parse_args()
    onnx.save(bert(args.hidden, args.layers, args.heads, args.vocabulary, args.length), args.output)
    print(f"{args.output}: {os.path.getsize(args.output)} bytes")
    if args.output == own:
        with open(os.path.join(HERE, "best.jsonl"), "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in best(own))


if __name__ == "__main__":
    main()
