"""Writes models/decoder/1/model.onnx: a small decoder in the manner of GPT-2 with seeded random weights.

    python3 make_model.py

It needs Python's standard library only, so the few message types of ONNX that it writes are spelled out below
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).

Inputs:  ids int64 [batch, time], past.<layer>.key and past.<layer>.value float [batch, heads, past, head]
Outputs: logits float [batch, time, vocabulary], present.<layer>.key and .value: the cache, longer by time
"""

import os
import random
import struct

LAYERS, HEADS, HEAD, VOCABULARY, POSITIONS = 2, 4, 8, 96, 256
WIDTH = HEADS * HEAD
FLOAT, INT64 = 1, 7


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def attribute(name, value):
    if isinstance(value, float):
        body, kind = varint(2 << 3 | 5) + struct.pack("<f", value), 1
    elif isinstance(value, int):
        body, kind = number(3, value), 2
    else:
        body, kind = b"".join(number(8, n) for n in value), 7
    return data(5, data(1, name) + body + number(20, kind))


def tensor(name, kind, dims, values):
    raw = struct.pack(f"<{len(values)}{'f' if kind == FLOAT else 'q'}", *values)
    return data(5, b"".join(number(1, d) for d in dims) + number(2, kind) + data(8, name) + data(9, raw))


def value(field, name, kind, dims):
    dim = lambda d: data(1, number(1, d) if isinstance(d, int) else data(2, d))
    shape = b"".join(map(dim, dims))
    return data(field, data(1, name) + data(2, data(1, number(1, kind) + data(2, shape))))


class Graph:
    def __init__(self):
        self.parts = []
        self.random = random.Random(7)

    def node(self, op, inputs, output, **attributes):
        names = b"".join(data(1, i) for i in inputs) + data(2, output)
        self.parts.append(data(1, names + data(4, op) + b"".join(attribute(*a) for a in attributes.items())))
        return output

    def constant(self, name, kind, dims, values):
        self.parts.append(tensor(name, kind, dims, values))
        return name

    def weights(self, name, *dims, scale):
        count = 1
        for d in dims:
            count *= d
        return self.constant(name, FLOAT, dims, [self.random.gauss(0, scale) for _ in range(count)])

    def linear(self, x, name, inputs, outputs):
        weight = self.weights(f"{name}.weight", inputs, outputs, scale=inputs**-0.5)
        bias = self.weights(f"{name}.bias", outputs, scale=0.1)
        return self.node("Add", [self.node("MatMul", [x, weight], f"{name}.product"), bias], name)

    def norm(self, x, name):
        gain = self.constant(f"{name}.gain", FLOAT, [WIDTH], [1.0] * WIDTH)
        bias = self.constant(f"{name}.bias", FLOAT, [WIDTH], [0.0] * WIDTH)
        return self.node("LayerNormalization", [x, gain, bias], name, axis=-1, epsilon=1e-5)


def decoder():
    g = Graph()
    for name, n in [("zero", 0), ("one", 1), ("two", 2)]:
        g.constant(name, INT64, [], [n])
    g.constant("last", INT64, [1], [-1])
    g.constant("split", INT64, [4], [0, 0, HEADS, HEAD])
    g.constant("merge", INT64, [3], [0, 0, WIDTH])
    g.constant("scale", FLOAT, [], [HEAD**-0.5])
    g.constant("never", FLOAT, [], [-1e9])

    # A key is seen by queries at its own place and behind it; what is cached lies before what is new.
    g.node("Gather", [g.node("Shape", ["ids"], "ids.dims"), "one"], "time", axis=0)
    g.node("Gather", [g.node("Shape", ["past.0.key"], "past.dims"), "two"], "past", axis=0)
    g.node("Add", ["past", "time"], "total")
    g.node("Range", ["zero", "total", "one"], "keys.places")
    g.node("Range", ["past", "total", "one"], "places")
    g.node("Unsqueeze", ["places", "last"], "queries.places")
    g.node("LessOrEqual", ["keys.places", "queries.places"], "seen")

    g.node("Gather", [g.weights("tokens", VOCABULARY, WIDTH, scale=1.0), "ids"], "token", axis=0)
    g.node("Gather", [g.weights("positions", POSITIONS, WIDTH, scale=0.5), "places"], "position", axis=0)
    x = g.node("Add", ["token", "position"], "x")
    for layer in range(LAYERS):
        at = f"layer{layer}"
        normed = g.norm(x, f"{at}.norm1")
        heads = {}
        for part in ["query", "key", "value"]:
            flat = g.linear(normed, f"{at}.{part}", WIDTH, WIDTH)
            flat = g.node("Reshape", [flat, "split"], f"{at}.{part}.split")
            heads[part] = g.node("Transpose", [flat], f"{at}.{part}.heads", perm=[0, 2, 1, 3])
        for part in ["key", "value"]:
            cached = [f"past.{layer}.{part}", heads[part]]
            heads[part] = g.node("Concat", cached, f"present.{layer}.{part}", axis=2)
        turned = g.node("Transpose", [heads["key"]], f"{at}.turned", perm=[0, 1, 3, 2])
        scores = g.node("MatMul", [heads["query"], turned], f"{at}.scores")
        scores = g.node("Mul", [scores, "scale"], f"{at}.scaled")
        scores = g.node("Where", ["seen", scores, "never"], f"{at}.masked")
        scores = g.node("Softmax", [scores], f"{at}.attention", axis=-1)
        mixed = g.node("MatMul", [scores, heads["value"]], f"{at}.mixed")
        mixed = g.node("Transpose", [mixed], f"{at}.joined", perm=[0, 2, 1, 3])
        mixed = g.node("Reshape", [mixed, "merge"], f"{at}.merged")
        x = g.node("Add", [x, g.linear(mixed, f"{at}.out", WIDTH, WIDTH)], f"{at}.attended")
        up = g.linear(g.norm(x, f"{at}.norm2"), f"{at}.up", WIDTH, 4 * WIDTH)
        up = g.node("Gelu", [up], f"{at}.gelu")
        x = g.node("Add", [x, g.linear(up, f"{at}.down", 4 * WIDTH, WIDTH)], f"{at}.result")
    head = g.weights("head", WIDTH, VOCABULARY, scale=WIDTH**-0.5)
    g.node("MatMul", [g.norm(x, "norm"), head], "logits")

    caches = [f"{layer}.{part}" for layer in range(LAYERS) for part in ["key", "value"]]
    cache = lambda along: ["batch", HEADS, along, HEAD]
    g.parts.append(value(11, "ids", INT64, ["batch", "time"]))
    g.parts += [value(11, f"past.{c}", FLOAT, cache("past")) for c in caches]
    g.parts.append(value(12, "logits", FLOAT, ["batch", "time", VOCABULARY]))
    g.parts += [value(12, f"present.{c}", FLOAT, cache("total")) for c in caches]
    graph = data(2, "decoder") + b"".join(g.parts)
    return number(1, 9) + data(2, "stead") + data(7, graph) + data(8, data(1, "") + number(2, 20))


if __name__ == "__main__":
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models", "decoder", "1")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        print(file.write(decoder()), "bytes")
