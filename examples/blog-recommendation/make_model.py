#!/usr/bin/env python3
"""Trains the network of the example on readers and posts that make_posts.py makes up.

    python make_model.py          (needs the packages onnx and numpy)

Writes app/models/recommend.onnx, 256-512-128-1, and best.jsonl: the best ten posts for each of some readers, computed by numpy,
which the tests compare with. Everything is seeded, and the files are committed: nobody has to run this unless the model should change.

Readers like posts about their topics, written for people who know as much as they do. A dot product sees
the first; that two levels should be *near* each other takes a network.
"""

import json
import os
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import make_posts as blog

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS = [2 * blog.SIZE, 512, 128, 1]
STEPS, BATCH, RATE = 1500, 256, 1e-3
RERANKED, BEST, READERS = 200, 10, 5


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def likes(reader, post):
    """How likely a reader likes a post."""
    (topics, knows, _), (topic, level, _) = reader, post
    interest = 1.0 - 0.25 * topics.index(topic) if topic in topics else 0.0
    return sigmoid(6.0 * interest - 4.0 * abs(knows - level) - 2.0)


def forward(weights, x):
    outputs = [x]
    for at, (w, b) in enumerate(weights):
        x = x @ w + b
        x = np.maximum(x, 0.0) if at < len(weights) - 1 else sigmoid(x)
        outputs.append(x)
    return outputs


def trained():
    rng, chance = np.random.default_rng(11), random.Random(12)
    readers = [blog.reader(chance) for _ in range(1000)]
    posts = [blog.post(chance) for _ in range(4000)]
    of_readers, of_posts = (np.array([x[2] for x in group], np.float32) for group in (readers, posts))
    weights = [
        [rng.normal(0, np.sqrt(2 / rows), (rows, columns)).astype(np.float32), np.zeros(columns, np.float32)]
        for rows, columns in zip(LAYERS, LAYERS[1:])
    ]
    flat = [p for layer in weights for p in layer]
    first, second = [np.zeros_like(p) for p in flat], [np.zeros_like(p) for p in flat]
    for step in range(1, STEPS + 1):
        who, what = rng.integers(len(readers), size=BATCH), rng.integers(len(posts), size=BATCH)
        wanted = np.array([likes(readers[r], posts[p]) for r, p in zip(who, what)], np.float32)[:, None]
        outputs = forward(weights, np.concatenate([of_readers[who], of_posts[what]], 1))
        back = (outputs[-1] - wanted) / BATCH
        gradients = []
        for at in reversed(range(len(weights))):
            gradients += [back.sum(0), outputs[at].T @ back]
            back = (back @ weights[at][0].T) * (outputs[at] > 0)
        # Adam, with a rate that falls to nothing.
        for p, g, m, v in zip(flat, reversed(gradients), first, second):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= RATE * (1 - step / STEPS) * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        if step % 250 == 0:
            print(f"step {step}: mean error {np.abs(outputs[-1] - wanted).mean():.3f}")
    return weights


def save(weights, path):
    nodes, constants, x = [], [], "features"
    for at, (weight, bias) in enumerate(weights):
        constants += [numpy_helper.from_array(weight, f"weight{at}"), numpy_helper.from_array(bias, f"bias{at}")]
        nodes.append(helper.make_node("Gemm", [x, f"weight{at}", f"bias{at}"], [f"sums{at}"]))
        is_last = at == len(weights) - 1
        x = "probability" if is_last else f"layer{at}"
        nodes.append(helper.make_node("Sigmoid" if is_last else "Relu", [f"sums{at}"], [x]))
    tensor = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", size])
    graph = helper.make_graph(nodes, "recommend", [tensor("features", LAYERS[0])], [tensor("probability", 1)], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead blog-recommendation")
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)
    print(f"{path}: {os.path.getsize(path)} bytes")


def best(weights):
    """For each reader: the ids and scores of the best posts, nearest first and as the network orders the best of these."""
    operations = list(blog.operations(blog.POSTS, blog.READERS))
    vector = lambda operation: operation["fields"]["embedding"]["values"]
    readers, posts = operations[: blog.READERS], operations[blog.READERS :]
    of_posts = np.array([vector(p) for p in posts], np.float32)
    for reader in readers[:READERS]:
        user = np.array(vector(reader), np.float32)
        near = of_posts @ user
        first = np.argsort(-near, kind="stable")[:RERANKED]
        rows = np.concatenate([np.tile(user, (RERANKED, 1)), of_posts[first]], 1)
        scores = forward(weights, rows)[-1][:, 0]
        second = np.argsort(-scores, kind="stable")[:BEST]
        named = lambda order, scores: [[posts[at]["put"], round(float(s), 5)] for at, s in zip(order, scores)]
        yield {
            "user": reader["put"],
            "nearest": named(first[:BEST], near[first[:BEST]]),
            "recommend": named(first[second], scores[second]),
        }


def main():
    weights = trained()
    save(weights, os.path.join(HERE, "app", "models", "recommend.onnx"))
    with open(os.path.join(HERE, "best.jsonl"), "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in best(weights))


if __name__ == "__main__":
    main()
