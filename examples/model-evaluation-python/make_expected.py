#!/usr/bin/env python3
"""Makes expected.json, what ONNX Runtime makes of documents and a query by the models of the example, in the order in
which its components use them.

    python make_expected.py

The models are those of ../model-evaluation, whose make_models.py writes them into both examples. It needs the packages
onnx, numpy and onnxruntime.
"""

import json
import os
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "model-evaluation"))

from make_models import run  # noqa: E402


def embedding(tokens):
    return run("transformer", input=np.array([tokens], np.int32))[0, 0]


def expected():
    """What components should give: by the models alone."""
    query = [1, 2, 3]
    with open(os.path.join(HERE, "documents.jsonl")) as file:
        documents = [json.loads(line) for line in file]
    ids = [document["put"] for document in documents]
    vectors = np.stack([embedding(document["fields"]["tokens"]["values"]) for document in documents])
    scores = vectors @ embedding(query)
    pairs = [(a, b) for a in range(len(ids)) for b in range(len(ids)) if a != b]
    rows = {
        "query": np.tile(embedding(query), (len(pairs), 1)),
        "doc1": vectors[[a for a, _ in pairs]],
        "doc2": vectors[[b for _, b in pairs]],
    }
    output = run("pairwise_ranker", **rows)[:, 0]
    wins = {
        name: int(sum(output[at] > output.mean() for at, (a, _) in enumerate(pairs) if ids[a] == name)) for name in ids
    }
    numbers = lambda array: [round(float(number), 5) for number in array]
    return {
        "tokens": query,
        "embedding": numbers(embedding(query)),
        "documents": {name: numbers(vector) for name, vector in zip(ids, vectors)},
        "scores": {name: round(float(score), 5) for name, score in zip(ids, scores)},
        "wins": wins,
    }


def main():
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in expected().items()]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
