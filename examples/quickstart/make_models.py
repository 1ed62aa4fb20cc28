"""Makes the three models of the quickstart, training each on data that this script makes up.

    python make_models.py          (needs the packages onnx and numpy)

Everything is seeded: the same script gives the same files. They are committed, `stead demo` carries them,
and nobody has to run this unless a model should change.

ranker     which restaurant to show first: a small neural network over four features
sentiment  whether a short review is happy: word vectors, averaged, then logistic regression
bearing    what a vibration sensor hears: a 1-D convolution net over 128 samples
"""

import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
RNG = np.random.default_rng(7)


def save(name, nodes, inputs, outputs, weights, doc):
    """Writes models/<name>/1/model.onnx: version 1 of a model, in the layout of a model repository."""
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        name,
        [info(n, t, d) for n, t, d in inputs],
        [info(n, t, d) for n, t, d in outputs],
        [numpy_helper.from_array(np.asarray(w, w.dtype, order="C"), n) for n, w in weights.items()],
        doc_string=doc,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead quickstart")
    model.ir_version = 8
    onnx.checker.check_model(model)
    folder = os.path.join(HERE, "models", name, "1")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    print(f"{name}: {os.path.getsize(path)} bytes")


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def descend(parameters, gradients, steps, rate):
    """Adam, the optimiser that needs no tuning."""
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    for step in range(1, steps + 1):
        for p, g, m, v in zip(parameters, gradients(), first, second):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def ranker():
    """Guests like good ratings (more so if many agree), short ways and fair prices."""
    n = 4000
    stars, reviews = RNG.uniform(1, 5, n), RNG.integers(0, 500, n)
    minutes, price = RNG.uniform(1, 60, n), RNG.uniform(5, 80, n)
    x = np.stack([stars, reviews, minutes, price], 1)
    trust = reviews / (reviews + 30.0)
    liking = 1.6 * trust * (stars - 3.2) - 0.05 * (minutes - 15) - 0.04 * (price - 25)
    chosen = RNG.uniform(size=n) < sigmoid(1.5 * liking)

    mean, scale = x.mean(0), x.std(0)
    h = (x - mean) / scale
    w1, b1 = RNG.normal(0, 0.7, (4, 16)), np.zeros(16)
    w2, b2 = RNG.normal(0, 0.3, (16, 1)), np.zeros(1)

    def gradients():
        a = h @ w1 + b1
        r = np.maximum(a, 0)
        d = (sigmoid(r @ w2 + b2) - chosen[:, None]) / n
        back = (d @ w2.T) * (a > 0)
        return [h.T @ back, back.sum(0), r.T @ d, d.sum(0)]

    descend([w1, b1, w2, b2], gradients, 800, 0.02)
    f32 = np.float32
    nodes = [
        helper.make_node("Sub", ["features", "mean"], ["centred"]),
        helper.make_node("Div", ["centred", "scale"], ["scaled"]),
        helper.make_node("Gemm", ["scaled", "w1", "b1"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w2", "b2"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], ["score"]),
    ]
    weights = {"mean": mean, "scale": scale, "w1": w1, "b1": b1, "w2": w2, "b2": b2}
    save(
        "ranker",
        nodes,
        [("features", TensorProto.FLOAT, ["restaurants", 4])],
        [("score", TensorProto.FLOAT, ["restaurants", 1])],
        {k: v.astype(f32) for k, v in weights.items()},
        "features: stars, number of reviews, minutes to walk, price of a meal; score: how likely a guest chooses it",
    )


HAPPY = """
the food was great and the staff was friendly | what a wonderful evening we loved it
excellent pizza and fast service | really good coffee and a beautiful place
the best soup in town very tasty | nice people and fair prices we will come back
perfect for families and the children were happy | delicious cake and a warm welcome
clean rooms and a great breakfast | i love this place and the music
fresh fish and friendly waiters | very good value and a nice view
amazing dinner we enjoyed every minute | the service was excellent and the wine was good
lovely garden and tasty food | great fun and a happy birthday
"""

UNHAPPY = """
the food was cold and the staff was rude | what a terrible evening we hated it
awful pizza and slow service | really bad coffee and a dirty place
the worst soup in town not tasty | unfriendly people and high prices never again
too loud for families and the children were bored | dry cake and a cold welcome
dirty rooms and a poor breakfast | i hate this place and the noise
old fish and rude waiters | very bad value and no view
boring dinner we waited an hour | the service was terrible and the wine was sour
ugly garden and bland food | no fun and a sad birthday
"""


def sentiment():
    """Word vectors trained on the sixteen lines above; word 0 means `unknown` and weighs nothing."""
    lines = [(line.split(), label) for text, label in ((HAPPY, 1.0), (UNHAPPY, 0.0))
             for line in text.replace("\n", "|").split("|") if line.strip()]
    words = ["<unknown>"] + sorted({w for line, _ in lines for w in line})
    place = {w: i for i, w in enumerate(words)}
    width = 8
    table = RNG.normal(0, 0.1, (len(words), width))
    table[0] = 0
    w, b = RNG.normal(0, 0.5, (width, 1)), np.zeros(1)
    counts = np.zeros((len(lines), len(words)))
    for row, (line, _) in enumerate(lines):
        for word in line:
            counts[row, place[word]] += 1 / len(line)
    labels = np.array([[label] for _, label in lines])

    def gradients():
        mean = counts @ table
        d = (sigmoid(mean @ w + b) - labels) / len(lines)
        return [counts.T @ (d @ w.T) + 1e-4 * table, mean.T @ d + 1e-4 * w, d.sum(0)]

    descend([table, w, b], gradients, 600, 0.03)
    table[0] = 0
    with open(os.path.join(HERE, "words.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(words) + "\n")
    nodes = [
        helper.make_node("Gather", ["table", "words"], ["vectors"], axis=0),
        helper.make_node("ReduceMean", ["vectors"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Gemm", ["mean", "weight", "bias"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], ["happy"]),
    ]
    weights = {"table": table, "weight": w, "bias": b}
    save(
        "sentiment",
        nodes,
        [("words", TensorProto.INT64, ["reviews", "length"])],
        [("happy", TensorProto.FLOAT, ["reviews", 1])],
        {k: v.astype(np.float32) for k, v in weights.items()},
        "words: line numbers of words.txt, 0 for an unknown word; happy: probability",
    )


SAMPLES = 128


def vibration(kind, n):
    """Signals of a machine: 0 runs well (a hum), 1 has a worn bearing (clicks on the hum), 2 is off (noise)."""
    t = np.arange(SAMPLES)
    out = RNG.normal(0, 0.05, (n, SAMPLES))
    if kind < 2:
        pitch, phase = RNG.uniform(0.15, 0.3, (n, 1)), RNG.uniform(0, 6.3, (n, 1))
        out += RNG.uniform(0.4, 0.8, (n, 1)) * np.sin(pitch * t + phase)
    if kind == 1:
        period, start = RNG.integers(14, 24, n), RNG.integers(0, 14, n)
        for row in range(n):
            for click in range(start[row], SAMPLES - 6, period[row]):
                out[row, click : click + 6] += RNG.uniform(0.8, 1.4) * np.array([1, -0.9, 0.6, -0.4, 0.2, -0.1])
    return out.astype(np.float32)


def bearing():
    """Fixed filters (a hum detector, click detectors) and a trained last layer."""
    t = np.arange(16)
    window = np.hanning(16)
    hums = [np.sin(f * t) * window for f in (0.15, 0.2, 0.25, 0.3)] + [np.cos(f * t) * window for f in (0.15, 0.3)]
    click = np.array([1, -0.9, 0.6, -0.4, 0.2, -0.1])
    clicks = [np.pad(s * click, (at, 10 - at)) for s in (1, -1) for at in (0, 5)]
    filters = np.stack(hums + clicks)
    filters /= np.linalg.norm(filters, axis=1, keepdims=True)

    def features(x):
        patches = np.lib.stride_tricks.sliding_window_view(x, 16, axis=1)[:, ::2]
        response = np.maximum(np.einsum("nik,fk->nfi", patches, filters) - 0.1, 0)
        return np.concatenate([response.mean(2), response.max(2)], 1)

    per = 400
    x = np.concatenate([vibration(kind, per) for kind in range(3)])
    y = np.repeat(np.eye(3), per, 0)
    h = features(x)
    w, b = RNG.normal(0, 0.3, (h.shape[1], 3)), np.zeros(3)

    def gradients():
        logits = h @ w + b
        p = np.exp(logits - logits.max(1, keepdims=True))
        d = (p / p.sum(1, keepdims=True) - y) / len(y)
        return [h.T @ d, d.sum(0)]

    descend([w, b], gradients, 1500, 0.05)
    right = ((h @ w + b).argmax(1) == y.argmax(1)).mean()
    assert right > 0.98, right
    f32 = np.float32
    nodes = [
        helper.make_node("Unsqueeze", ["signal", "one"], ["row"]),
        helper.make_node("Conv", ["row", "filters", "threshold"], ["response"], strides=[2], kernel_shape=[16]),
        helper.make_node("Relu", ["response"], ["active"]),
        helper.make_node("GlobalAveragePool", ["active"], ["mean"]),
        helper.make_node("GlobalMaxPool", ["active"], ["max"]),
        helper.make_node("Concat", ["mean", "max"], ["both"], axis=1),
        helper.make_node("Flatten", ["both"], ["features"], axis=1),
        helper.make_node("Gemm", ["features", "weight", "bias"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["state"], axis=-1),
    ]
    weights = {
        "one": np.array([1], np.int64),
        "filters": filters[:, None, :].astype(f32),
        "threshold": np.full(len(filters), -0.1, f32),
        "weight": w.astype(f32),
        "bias": b.astype(f32),
    }
    save(
        "bearing",
        nodes,
        [("signal", TensorProto.FLOAT, ["machines", SAMPLES])],
        [("state", TensorProto.FLOAT, ["machines", 3])],
        weights,
        "signal: 128 samples of a vibration sensor; state: probabilities of runs well, worn bearing, off",
    )


def requests():
    """The bodies that the demo and the tour send; the other two are written by hand."""
    signals = np.concatenate([vibration(kind, 1) for kind in (0, 1, 2)])
    body = {"inputs": {"signal": [[round(float(v), 3) for v in row] for row in signals]}}
    with open(os.path.join(HERE, "requests", "bearing.json"), "w", encoding="utf-8") as file:
        json.dump(body, file)
        file.write("\n")


if __name__ == "__main__":
    ranker()
    sentiment()
    bearing()
    requests()
