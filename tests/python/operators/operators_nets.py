"""Nets as exporters write them, with small weights: decoders with keys and values of earlier steps, detection, streaming encoders
with many states, and loops. All give what ONNX Runtime gives."""

import unittest

import numpy as np
import operator_models as models
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(23)
HIDDEN, HEADS, LAYERS, WORDS = 32, 4, 2, 40
WIDTH = HIDDEN // HEADS


def floats(*shape, scale=1.0):
    return (RANDOM.normal(size=shape) * scale).astype(np.float32)


class Net:
    """A graph that grows by one node a call."""

    def __init__(self):
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def __call__(self, op, *inputs, outputs=1, **attributes):
        names = [value if isinstance(value, str) else self.weight(value) for value in inputs]
        results = [f"v{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(op, names, results, **attributes))
        return results[0] if outputs == 1 else results

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, value):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_empty_tensor_value_info(name))

    def model(self):
        graph = helper.make_graph(self.nodes, "net", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def linear(self, x, columns, rows=HIDDEN):
        return self("Add", self("MatMul", x, floats(rows, columns, scale=rows**-0.5)), floats(columns, scale=0.1))

    def norm(self, x):
        return self("LayerNormalization", x, 1 + floats(HIDDEN, scale=0.1), floats(HIDDEN, scale=0.1))

    def heads(self, x):
        """`[batch, rows, hidden]` as `[batch, heads, rows, width]`."""
        return self("Transpose", self("Reshape", x, np.array([0, 0, HEADS, WIDTH])), perm=[0, 2, 1, 3])

    def attention(self, q, k, v, mask=None):
        scores = self("MatMul", self("Mul", q, np.float32(WIDTH**-0.5)), self("Transpose", k, perm=[0, 1, 3, 2]))
        if mask is not None:
            scores = self("Where", mask, scores, np.float32(-1e9))
        joined = self("MatMul", self("Softmax", scores, axis=-1), v)
        joined = self("Reshape", self("Transpose", joined, perm=[0, 2, 1, 3]), np.array([0, 0, HIDDEN]))
        return self.linear(joined, HIDDEN)

    def causal(self, queries, keys):
        """`[1, 1, rows, keys]`: what rows at the end of the keys see, as GPT-2 cuts it from a triangle of bools."""
        length = lambda x: self("Shape", x, start=2, end=3)
        rows, all_keys = length(queries), length(keys)
        triangle = np.tril(np.ones((1, 1, 32, 32), bool))
        lower = self("Slice", triangle, self("Sub", all_keys, rows), all_keys, np.array([2]))
        return self("Slice", lower, np.array([0]), all_keys, np.array([3]))

    def layer(self, x, layer, cross=None):
        """A layer of a decoder; the names of its past and present are those of Optimum."""
        shape = ["batch", HEADS, "past", WIDTH]
        past = [self.input(f"past_key_values.{layer}.{part}", shape) for part in ["key", "value"]]
        q, k, v = self("Split", self.linear(self.norm(x), 3 * HIDDEN), axis=-1, outputs=3)
        k, v = (self("Concat", old, self.heads(new), axis=2) for old, new in zip(past, [k, v]))
        self.output(f"present.{layer}.key", k)
        self.output(f"present.{layer}.value", v)
        q = self.heads(q)
        x = self("Add", x, self.attention(q, k, v, self.causal(q, k)))
        if cross:
            q, k, v = (self.heads(self.linear(part, HIDDEN)) for part in [self.norm(x), cross, cross])
            x = self("Add", x, self.attention(q, k, v))
        inner = self.linear(self.norm(x), 2 * HIDDEN)
        half = self("Mul", inner, np.float32(0.5))
        gelu = self("Mul", half, self("Add", self("Erf", self("Div", inner, np.float32(2**0.5))), np.float32(1)))
        return self("Add", x, self.linear(gelu, HIDDEN, 2 * HIDDEN))


def decoder(cross):
    net = Net()
    ids = net.input("input_ids", ["batch", "rows"], TensorProto.INT64)
    sound = net.input("encoder_hidden_states", ["batch", "frames", HIDDEN]) if cross else None
    held = net("Shape", "past_key_values.0.key", start=2, end=3)
    rows = net("Shape", ids, start=1, end=2)
    scalar = lambda value: net("Squeeze", value, np.array([0]))
    positions = net("Range", scalar(held), scalar(net("Add", held, rows)), np.int64(1))
    x = net("Add", net("Gather", floats(WORDS, HIDDEN), ids), net("Gather", floats(32, HIDDEN), positions))
    for layer in range(LAYERS):
        x = net.layer(x, layer, sound)
    net.output("logits", net("MatMul", net.norm(x), floats(HIDDEN, WORDS)))
    return net.model()


def encoder():
    """Two convolutions over 80 bands and a layer without a mask."""
    net = Net()
    x = net.input("input_features", ["batch", 80, "frames"])
    for channels, stride in [(80, 1), (HIDDEN, 2)]:
        weight = floats(HIDDEN, channels, 3, scale=(3 * channels) ** -0.5)
        x = net("Tanh", net("Conv", x, weight, floats(HIDDEN), kernel_shape=[3], pads=[1, 1], strides=[stride]))
    x = net("Transpose", x, perm=[0, 2, 1])
    parts = [net.heads(net.linear(net.norm(x), HIDDEN)) for _ in range(3)]
    net.output("last_hidden_state", net.norm(net("Add", x, net.attention(*parts))))
    return net.model()


def detector():
    """A head on a grid of 8x8: boxes, scores, NonMaxSuppression and the rows that it leaves."""
    net = Net()
    x = net.input("images", ["batch", 3, 32, 32])
    for channels, wide in [(3, 16), (16, 16)]:
        y = net("Conv", x, floats(wide, channels, 3, 3, scale=(9 * channels) ** -0.5), pads=[1] * 4, strides=[2, 2])
        x = net("Mul", y, net("Sigmoid", y))
    pooled = [x, *(net("MaxPool", x, kernel_shape=[k, k], pads=[k // 2] * 4, strides=[1, 1]) for k in [3, 5])]
    x = net("Concat", *pooled, axis=1)
    wide = net("Resize", x, "", np.array([1, 1, 2, 2], np.float32), mode="nearest")
    x = net("MaxPool", wide, kernel_shape=[2, 2], strides=[2, 2])
    head = net("Conv", x, floats(4 + 5, 48, 1, 1, scale=0.2))
    rows = net("Reshape", head, np.array([0, 9, -1]))
    boxes, scores = net("Split", rows, np.array([4, 5]), axis=1, outputs=2)
    grid = np.stack(np.meshgrid(np.arange(8), np.arange(8)), 0).reshape(1, 2, -1)
    center, size = net("Split", net("Sigmoid", boxes), axis=1, outputs=2)
    center = net("Mul", net("Add", center, grid.astype(np.float32)), np.float32(4))
    boxes = net("Transpose", net("Concat", center, net("Mul", size, np.float32(16)), axis=1), perm=[0, 2, 1])
    scores = net("Sigmoid", scores)
    limits = [np.array([10]), np.float32([0.4]), np.float32([0.5])]
    chosen = net("NonMaxSuppression", boxes, scores, *limits, center_point_box=1)
    net.output("chosen", chosen)
    entry, label, row = net("Split", chosen, axis=1, outputs=3)
    net.output("boxes", net("GatherND", boxes, net("Concat", entry, row, axis=1)))
    net.output("scores", net("GatherND", scores, net("Concat", entry, label, row, axis=1)))
    return net.model()


def streaming(layers):
    """Layers of a streaming encoder with six states each: averages, keys, values, a cache of a convolution, a sum, a count."""
    net = Net()
    x, keep, feeds = net.input("x", ["batch", 4, HIDDEN]), 6, {}

    def state(name, shape, update):
        net.input(name, ["batch", *shape])
        feeds[name] = floats(2, *shape)
        given, value = update(name)
        net.output(f"new_{name}", given)
        return value

    def last(of):
        def update(name):
            joined = net("Concat", name, of, axis=1)
            return net("Slice", joined, np.array([-keep]), np.array([2**62]), np.array([1])), joined
        return update

    def summed(name):
        total = net("Add", net("Mul", name, np.float32(0.9)), net("ReduceMean", x, axes=[1]))
        return total, total

    def convolved(name):
        joined = net("Concat", name, net("Transpose", x, perm=[0, 2, 1]), axis=2)
        y = net("Conv", joined, floats(HIDDEN, 1, 3), group=HIDDEN, kernel_shape=[3])
        return net("Slice", joined, np.array([-2]), np.array([2**62]), np.array([2])), net("Transpose", y, perm=[0, 2, 1])

    def counted(name):
        count = net("Add", name, np.float32(1))
        return count, net("Sigmoid", count)

    for layer in range(layers):
        q = net.linear(x, HIDDEN)
        k = state(f"key_{layer}", [keep, HIDDEN], last(net.linear(x, HIDDEN)))
        v = state(f"value_{layer}", [keep, HIDDEN], last(net.linear(x, HIDDEN)))
        x = net("Add", x, net.attention(*(net.heads(part) for part in [q, k, v])))
        x = net("Add", x, net("Mul", state(f"mean_{layer}", [1, HIDDEN], summed), np.float32(0.1)))
        x = net("Add", x, state(f"conv_{layer}", [HIDDEN, 2], convolved))
        x = net("Mul", x, state(f"count_{layer}", [1, 1], counted))
        x = net("Add", x, state(f"wide_{layer}", [1, HIDDEN], summed))
        x = net.norm(x)
    net.output("y", x)
    return net.model(), {"x": floats(2, 4, HIDDEN), **feeds}


def scan(stops):
    """A selective scan as a Loop, over all steps or until the state is large."""
    value = helper.make_tensor_value_info
    ends = [helper.make_node("ReduceMax", ["s2"], ["top"], keepdims=0), helper.make_node("Less", ["top", "most"], ["go"])]
    node = helper.make_node
    body = [
        *(node("Gather", [name, "i"], [name + "i"], axis=0) for name in "abc"),
        node("Mul", ["s", "ai"], ["s1"]),
        node("Add", ["s1", "bi"], ["s2"]),
        node("MatMul", ["s2", "ci"], ["y1"]),
        *(ends if stops else [node("Identity", ["more"], ["go"])]),
    ]
    step = helper.make_graph(
        body,
        "step",
        [value("i", TensorProto.INT64, []), value("more", TensorProto.BOOL, []), value("s", TensorProto.FLOAT, [8, 4])],
        [value("go", TensorProto.BOOL, []), value("s2", TensorProto.FLOAT, [8, 4]), value("y1", TensorProto.FLOAT, [8])],
    )
    net = Net()
    for name, shape in [("a", ["steps", 8, 4]), ("b", ["steps", 8, 4]), ("c", ["steps", 4]), ("most", [])]:
        net.input(name, shape)
    steps = net("Squeeze", net("Shape", "a", start=0, end=1))
    state, y = net("Loop", steps, np.array(True), np.zeros((8, 4), np.float32), outputs=2, body=step)
    net.output("state", state)
    net.output("y", y)
    return net.model()


class Nets(unittest.TestCase):
    def check(self, label, model, feeds, tolerance=5e-5):
        with self.subTest(label):
            expected = models.reference(model, feeds)
            models.same(self, label, expected, models.stead(model, feeds), tolerance)
            return expected

    def test_decoders_with_a_past(self):
        for cross in [False, True]:
            model = decoder(cross)
            for rows, held in [(5, 0), (1, 5), (3, 7), (1, 20)]:
                feeds = {"input_ids": RANDOM.integers(0, WORDS, (2, rows))}
                for layer in range(LAYERS):
                    for part in ["key", "value"]:
                        feeds[f"past_key_values.{layer}.{part}"] = floats(2, HEADS, held, WIDTH)
                if cross:
                    feeds["encoder_hidden_states"] = floats(2, 9, HIDDEN)
                self.check(f"decoder {cross}: {rows} after {held}", model, feeds)

    def test_encoder_of_sound(self):
        model = encoder()
        for frames in [2, 31, 100]:
            self.check(f"{frames} frames", model, {"input_features": floats(2, 80, frames)})

    def test_detection(self):
        model, counts = detector(), set()
        for batch in [1, 3]:
            expected = self.check(f"{batch} images", model, {"images": floats(batch, 3, 32, 32)})
            counts.add(len(expected["chosen"]))
        self.assertGreater(max(counts), 0)

    def test_streaming_encoder_of_many_states(self):
        model, feeds = streaming(17)
        self.assertGreaterEqual(len(feeds), 98)
        self.check("102 states", model, feeds, 2e-4)

    def test_loops(self):
        for stops in [False, True]:
            model = scan(stops)
            for steps in [1, 7, 2000]:
                feeds = {"a": RANDOM.uniform(0.8, 0.99, (steps, 8, 4)).astype(np.float32), "b": floats(steps, 8, 4, scale=0.1)}
                feeds.update(c=floats(steps, 4), most=np.array(0.7, np.float32))
                y = self.check(f"{steps} steps, stops: {stops}", model, feeds)["y"]
                self.assertEqual(len(y) < steps, stops and steps == 2000)
