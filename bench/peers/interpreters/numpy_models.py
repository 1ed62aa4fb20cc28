"""Three models in numpy, of the sizes of those that the paper on several interpreters measured: a large transformer, a small
convolutional network and a recommender. Packaged by `make_models.py`, which writes the same models as ONNX too."""

import threading
import time

import numpy as np


class Model:
    """Weights by name, and an input that every run computes. `kind` names the function that does."""

    def __init__(self, kind, settings, weights, inputs):
        self.kind = kind
        self.settings = settings
        self.weights = weights
        self.inputs = inputs

    def __call__(self):
        return KINDS[self.kind](self.settings, self.weights, **self.inputs)


def transformer(settings, w, x):
    """x: tokens x hidden. Layers of attention and a feed-forward network, normalised before each."""
    tokens, hidden = x.shape
    heads = settings["heads"]
    size = hidden // heads
    for at in range(settings["layers"]):
        y = normalised(x, w[f"{at}.norm1"])
        split = (y @ w[f"{at}.qkv"]).reshape(tokens, 3, heads, size).transpose(1, 2, 0, 3)
        scores = split[0] @ split[1].transpose(0, 2, 1) * np.float32(size**-0.5)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = scores / scores.sum(axis=-1, keepdims=True) @ split[2]
        x = x + mixed.transpose(1, 0, 2).reshape(tokens, hidden) @ w[f"{at}.out"]
        y = normalised(x, w[f"{at}.norm2"])
        x = x + np.maximum(y @ w[f"{at}.up"], 0) @ w[f"{at}.down"]
    return x


def normalised(x, scale):
    x = x - x.mean(axis=-1, keepdims=True)
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * scale


def mobile(settings, w, x):
    """x: channels x height x width. Blocks of a 3x3 convolution of each channel and a 1x1 convolution, both with ReLU."""
    for at, stride in enumerate(settings["strides"]):
        channels, height, width = x.shape
        padded = np.zeros((channels, height + 2, width + 2), np.float32)
        padded[:, 1:-1, 1:-1] = x
        y = np.zeros((channels, height // stride, width // stride), np.float32)
        for row in range(3):
            for column in range(3):
                part = padded[:, row : row + height : stride, column : column + width : stride]
                y += part * w[f"{at}.depth"][:, row, column, None, None]
        y = np.maximum(y, 0).reshape(channels, -1)
        x = np.maximum(w[f"{at}.point"] @ y, 0).reshape(-1, height // stride, width // stride)
    return x.mean(axis=(1, 2)) @ w["head"]


def recommender(settings, w, dense, ids):
    """dense: rows x numbers, ids: rows x tables. Products of all pairs of embeddings beside the dense part, and a network."""
    x = np.maximum(np.maximum(dense @ w["bottom0"], 0) @ w["bottom1"], 0)
    parts = [x] + [w[f"table{at}"][ids[:, at]] for at in range(ids.shape[1])]
    vectors = np.stack(parts, axis=1)
    pairs = (vectors @ vectors.transpose(0, 2, 1)).reshape(len(x), -1)
    y = np.concatenate([x, pairs], axis=1)
    return np.maximum(y @ w["top0"], 0) @ w["top1"]


KINDS = {"transformer": transformer, "mobile": mobile, "recommender": recommender}


def run(name, threads, seconds):
    """How often so many threads of this interpreter run a model of the package in so many seconds."""
    import stead_package_importer

    model = stead_package_importer.load_pickle("models", name + ".pkl")
    counts = [0] * threads

    def loop(at):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            model()
            counts[at] += 1

    others = [threading.Thread(target=loop, args=(at,)) for at in range(1, threads)]
    for other in others:
        other.start()
    loop(0)
    for other in others:
        other.join()
    return sum(counts)
