"""Writes a small twin of a satellite embedding model and what ONNX Runtime computes with it.

    python satellite.py OUT_DIR

The structure is that of Tessera (two encoders for two sensors: embedding, code of the day of year, post-norm
transformer layers, a GRU unrolled over the time steps, softmax pooling; then one projection), with the nodes that
PyTorch's exporter writes and seeded random weights. Inputs `s2_input` f32 [batch, 8, 11] and `s1_input` f32
[batch, 8, 3], the last channel being the day of year; output `output` f32 [batch, 8].
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:  # no wheel for this Python; then there is no reference
    onnxruntime = None

STEPS, WIDTH, HEADS, HIDDEN, LAYERS, OUT = 8, 32, 4, 64, 2, 8
HEAD = WIDTH // HEADS


class Builder:
    """Collects nodes and weights."""

    def __init__(self):
        self.rng = np.random.default_rng(1)
        self.nodes = []
        self.initializers = []

    def op(self, kind, *inputs, **attributes):
        out = attributes.pop("out", f"{kind}_{len(self.nodes)}")
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"node_{out}", **attributes))
        return out

    def constant(self, value):
        name = f"constant_{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def weight(self, *shape):
        return self.constant((self.rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32))

    def bias(self, size):
        return self.constant((self.rng.standard_normal(size) * 0.1).astype(np.float32))

    def linear(self, x, rows, cols):
        """Linear on three dimensions: the weight is transposed by the exporter."""
        weight = (self.rng.standard_normal((rows, cols)) / np.sqrt(rows)).astype(np.float32)
        return self.op("Add", self.op("MatMul", x, self.constant(weight)), self.bias(cols))

    def norm(self, x):
        gamma = self.constant((1 + self.rng.standard_normal(WIDTH) * 0.1).astype(np.float32))
        return self.op("LayerNormalization", x, gamma, self.bias(WIDTH), axis=-1, epsilon=1e-5)

    def shape(self, batch, *dims):
        """A shape in which `None` stands for the batch."""
        return self.op("Concat", *(batch if d is None else self.ints(d) for d in dims), axis=0)


def day_of_year(b, x, batch):
    """Sine on even channels and cosine on odd ones, by strided assignment."""
    day = b.op("Squeeze", b.op("Slice", x, b.ints(-1), b.ints(2**63 - 1), b.ints(2)), b.ints(2))
    rate = np.exp(np.arange(0, WIDTH, 2) * -(np.log(10000.0) / WIDTH)).astype(np.float32)
    angle = b.op("Mul", b.op("Unsqueeze", day, b.ints(-1)), b.constant(rate))
    code = b.op("Expand", b.constant(np.float32(0)), b.shape(batch, None, STEPS, WIDTH))
    for first, function in enumerate(("Sin", "Cos")):
        size = b.op("Gather", b.op("Shape", code), b.constant(np.int64(2)), axis=0)
        channels = b.op("Range", b.constant(np.int64(first)), size, b.constant(np.int64(2)))
        moved = [b.op("Transpose", v, perm=[2, 0, 1]) for v in (code, b.op(function, angle))]
        written = b.op("ScatterND", moved[0], b.op("Unsqueeze", channels, b.ints(-1)), moved[1])
        code = b.op("Transpose", written, perm=[1, 2, 0])
    return code


def attention(b, x, batch):
    x = b.op("Transpose", x, perm=[1, 0, 2])
    joint = b.linear(x, WIDTH, 3 * WIDTH)
    joint = b.op("Unsqueeze", b.op("Reshape", joint, b.shape(batch, STEPS, None, 3, WIDTH)), b.ints(0))
    joint = b.op("Squeeze", b.op("Transpose", joint, perm=[3, 1, 2, 0, 4]), b.ints(3))
    heads = []
    for part in range(3):
        one = b.op("Gather", joint, b.constant(np.int64(part)), axis=0)
        rows = b.op("Mul", batch, b.ints(HEADS))
        one = b.op("Transpose", b.op("Reshape", one, b.shape(rows, STEPS, None, HEAD)), perm=[1, 0, 2])
        heads.append(b.op("Reshape", one, b.shape(batch, None, HEADS, STEPS, HEAD)))
    query, key, value = heads
    root = b.constant(np.float32(HEAD**-0.25))
    key = b.op("Mul", b.op("Transpose", key, perm=[0, 1, 3, 2]), root)
    weights = b.op("Softmax", b.op("MatMul", b.op("Mul", query, root), key), axis=-1)
    context = b.op("Transpose", b.op("MatMul", weights, value), perm=[2, 0, 1, 3])
    context = b.op("Reshape", context, b.ints(-1, WIDTH))
    context = b.op("Gemm", context, b.weight(WIDTH, WIDTH), b.bias(WIDTH), transB=1)
    context = b.op("Reshape", context, b.shape(batch, STEPS, None, WIDTH))
    return b.op("Transpose", context, perm=[1, 0, 2])


def unrolled_gru(b, x, batch):
    """The reset gate is applied to the state before its matrix."""
    matrices = {name: b.weight(WIDTH, WIDTH) for name in ("xr", "hr", "xz", "hz", "xh", "hh")}
    biases = {name: b.bias(WIDTH) for name in "rzh"}
    one = b.constant(np.float32(1))
    state = b.op("Expand", b.constant(np.float32(0)), b.shape(batch, None, WIDTH))

    def sum_of(gate, now, before):
        products = [b.op("Gemm", v, matrices[k + gate], transB=1) for k, v in (("x", now), ("h", before))]
        return b.op("Add", b.op("Add", *products), biases[gate])

    states = []
    for step in range(STEPS):
        now = b.op("Gather", x, b.constant(np.int64(step)), axis=1)
        reset = b.op("Sigmoid", sum_of("r", now, state))
        update = b.op("Sigmoid", sum_of("z", now, state))
        new = b.op("Tanh", sum_of("h", now, b.op("Mul", reset, state)))
        kept = b.op("Mul", b.op("Sub", one, update), state)
        state = b.op("Add", kept, b.op("Mul", update, new))
        states.append(b.op("Unsqueeze", state, b.ints(1)))
    return b.op("Concat", *states, axis=1)


def encoder(b, x, bands):
    batch = b.op("Shape", x, start=0, end=1)
    spectrum = b.op("Slice", x, b.ints(0), b.ints(-1), b.ints(2), b.ints(1))
    h = b.linear(b.op("Relu", b.linear(spectrum, bands, WIDTH)), WIDTH, WIDTH)
    h = b.op("Add", h, day_of_year(b, x, batch))
    for _ in range(LAYERS):
        h = b.norm(b.op("Add", h, attention(b, h, batch)))
        forward = b.linear(b.op("Relu", b.linear(h, WIDTH, HIDDEN)), HIDDEN, WIDTH)
        h = b.norm(b.op("Add", h, forward))
    score = b.linear(b.norm(unrolled_gru(b, h, batch)), WIDTH, 1)
    weighted = b.op("Mul", b.op("Softmax", score, axis=1), h)
    return b.op("ReduceSum", weighted, b.ints(1), keepdims=0)


def build():
    b = Builder()
    sensors = {"s2_input": 10, "s1_input": 2}
    both = b.op("Concat", *(encoder(b, name, bands) for name, bands in sensors.items()), axis=-1)
    b.op("Gemm", both, b.weight(OUT, 2 * WIDTH), b.bias(OUT), transB=1, out="output")
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        b.nodes,
        "satellite",
        [info(name, TensorProto.FLOAT, ["batch", STEPS, bands + 1]) for name, bands in sensors.items()],
        [info("output", TensorProto.FLOAT, ["batch", OUT])],
        b.initializers,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], producer_name="stead tests")
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def write_reference(model, path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(2)
    reference = {}
    for number, batch in enumerate((1, 2, 7)):
        feed = {}
        for spec in session.get_inputs():
            x = rng.standard_normal((batch, *spec.shape[1:])).astype(np.float32)
            x[:, :, -1] = np.sort(rng.integers(1, 366, x.shape[:2]), axis=1)
            feed[spec.name] = x
        (output,) = session.run(None, feed)
        reference.update({f"{number}/{name}": array for name, array in feed.items()})
        reference[f"{number}/output"] = output
    np.savez_compressed(path, **reference)


def main():
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    model = build()
    if onnxruntime:
        write_reference(model, os.path.join(out, "reference.npz"))
    with open(os.path.join(out, "model.onnx"), "wb") as file:
        file.write(model)


if __name__ == "__main__":
    main()
