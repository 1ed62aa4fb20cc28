"""Rankers of several sizes that learned the same task, to compare a large one in int8 with a smaller one in f32.

    python ladder.py make FOLDER            trains them, and writes models, rows to calibrate with and held-out queries
    python ladder.py judge FOLDER NAME ...  a line of JSON: nDCG@10 of the scores NAME.npz on the held-out queries

The task: a query and a document are vectors of 32 numbers. How relevant a document is depends on products of projections of
both, which layers that see them side by side have to approximate, and on the document alone. A network that is wider
approximates better. Everything is seeded.
"""

import json
import sys
from pathlib import Path

import numpy as np

SIDE = 32
WIDTHS = [32, 64, 128, 256, 512]
# Documents of a query, as a rank profile has for its second phase.
DOCUMENTS = 100
HELD_OUT = 200
CALIBRATION = 4096
TERMS = 12
STEPS, BATCH, RATE = 2000, 512, 2e-3


class Teacher:
    """Who tells how relevant a document is to a query."""

    def __init__(self):
        rng = np.random.default_rng(11)
        scale = 1 / np.sqrt(SIDE)
        self.of_query = rng.standard_normal((SIDE, TERMS)) * scale
        self.of_document = rng.standard_normal((SIDE, TERMS)) * scale
        self.alone = rng.standard_normal(SIDE) * scale

    def scores(self, query, document):
        products = np.tanh(query @ self.of_query * 1.5) * np.tanh(document @ self.of_document * 1.5)
        return products.sum(-1) + 0.5 * np.sin(2 * document @ self.alone)


def pairs(rng, count):
    return rng.standard_normal((2, count, SIDE), np.float32)


def trained(width, teacher):
    """Weights and biases of 64-width-width/2-1, by Adam on the squared difference to the teacher."""
    rng = np.random.default_rng(width)
    sizes = [2 * SIDE, width, width // 2, 1]
    weights = [
        (rng.standard_normal((a, b)) * np.sqrt(2 / a)).astype(np.float32) for a, b in zip(sizes, sizes[1:])
    ]
    values = [x for w in weights for x in (w, np.zeros(w.shape[1], np.float32))]
    means, squares = [np.zeros_like(v) for v in values], [np.zeros_like(v) for v in values]
    for step in range(1, STEPS + 1):
        query, document = pairs(rng, BATCH)
        x = np.concatenate([query, document], 1).astype(np.float32)
        wanted = teacher.scores(query, document)[:, None].astype(np.float32)
        layers = [x]
        for at in range(0, 6, 2):
            x = layers[-1] @ values[at] + values[at + 1]
            layers.append(x if at == 4 else np.maximum(x, 0))
        error = (layers[-1] - wanted) * (2 / BATCH)
        gradients = []
        for at in (4, 2, 0):
            below = layers[at // 2]
            gradients = [below.T @ error, error.sum(0), *gradients]
            error = (error @ values[at].T) * (below > 0)
        rate = RATE * 0.5 * (1 + np.cos(np.pi * step / STEPS))
        for value, gradient, mean, square in zip(values, gradients, means, squares):
            mean += 0.1 * (gradient - mean)
            square += 0.001 * (gradient * gradient - square)
            value -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return values


def save(values, path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, constants, x = [], [], "x"
    for at in range(0, 6, 2):
        layer = at // 2
        constants += [numpy_helper.from_array(values[at], f"w{layer}"), numpy_helper.from_array(values[at + 1], f"b{layer}")]
        nodes += [
            helper.make_node("MatMul", [x, f"w{layer}"], [f"p{layer}"]),
            helper.make_node("Add", [f"p{layer}", f"b{layer}"], ["score" if at == 4 else f"s{layer}"]),
        ]
        if at < 4:
            x = f"h{layer}"
            nodes.append(helper.make_node("Relu", [f"s{layer}"], [x]))
    tensor = lambda name, columns: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", columns])
    graph = helper.make_graph(nodes, "ranker", [tensor("x", 2 * SIDE)], [tensor("score", 1)], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def make(folder):
    folder.mkdir(parents=True, exist_ok=True)
    teacher, rng = Teacher(), np.random.default_rng(3)
    for width in WIDTHS:
        save(trained(width, teacher), folder / f"f32-{width}.onnx")
    rows = lambda query, document: np.concatenate([query, document], -1).astype(np.float32).reshape(-1, 2 * SIDE)
    np.savez(folder / "calibration.npz", x=rows(*pairs(rng, CALIBRATION)))
    query = np.repeat(rng.standard_normal((HELD_OUT, 1, SIDE)), DOCUMENTS, 1)
    document = rng.standard_normal((HELD_OUT, DOCUMENTS, SIDE))
    np.savez(folder / "held-out.npz", x=rows(query, document))
    np.save(folder / "relevance.npy", teacher.scores(query, document))


def ndcg(scores, relevance):
    """nDCG@10, where of the hundred documents of a query the best are of grade 4, the next 5 of 3, 10 of 2 and 20 of 1."""
    places = np.argsort(np.argsort(-relevance, 1), 1)
    gains = 2.0 ** np.select([places < 5, places < 10, places < 20, places < 40], [4, 3, 2, 1], 0) - 1
    discounts = 1 / np.log2(np.arange(2, 12))
    order = lambda by: np.take_along_axis(gains, np.argsort(-by, 1, kind="stable")[:, :10], 1) @ discounts
    return float((order(scores) / order(relevance)).mean())


def judge(folder, names):
    relevance = np.load(folder / "relevance.npy")
    scores = lambda name: np.load(folder / f"{name}.npz")["score"].reshape(relevance.shape)
    print(json.dumps({name: ndcg(scores(name), relevance) for name in names}))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(Path(sys.argv[2]))
    else:
        judge(Path(sys.argv[2]), sys.argv[3:])
