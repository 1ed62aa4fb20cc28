"""Writes random one-node models with the outputs of ONNX Runtime, as folders for `stead conformance`.

The ONNX suite has six cases for convolutions and six for each recurrent cell; these families have hundreds of
combinations of strides, pads, dilations, groups, directions and layouts, in which mistakes hide.

    python differential.py OUT SEED COUNT
"""

import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Skip(Exception):
    """This combination is not valid, or ONNX Runtime has no kernel for it."""


class Random:
    """Draws shapes, flags and values."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def size(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def sizes(self, count, low, high):
        return [self.size(low, high) for _ in range(count)]

    def pick(self, *choices):
        return choices[self.size(0, len(choices) - 1)]

    def floats(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)


def spatial(r, rank, kernel):
    """Strides, dilations and pads of convolutions and pools."""
    out = {"strides": r.sizes(rank, 1, 3), "dilations": r.sizes(rank, 1, 2)}
    auto = r.pick("NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    if auto == "NOTSET":
        out["pads"] = [r.size(0, k - 1) for k in kernel + kernel]
    else:
        out["auto_pad"] = auto
        out["dilations"] = [1] * rank
    return out


def conv(r):
    rank, groups = r.pick(1, 2, 2, 3), r.pick(1, 1, 2, 4)
    kernel = r.sizes(rank, 1, 4)
    per_in, per_out = r.pick(1, 1, 2, 3, 8), r.pick(1, 1, 2, 5, 16)
    x = r.floats(r.size(1, 3), groups * per_in, *r.sizes(rank, 5, 12))
    w = r.floats(groups * per_out, per_in, *kernel)
    feeds = {"x": x, "w": w}
    if r.pick(True, False):
        feeds["b"] = r.floats(groups * per_out)
    return "Conv", feeds, dict(group=groups, kernel_shape=kernel, **spatial(r, rank, kernel)), 1


def conv_transpose(r):
    rank, groups = r.pick(1, 2), r.pick(1, 2)
    kernel, strides = r.sizes(rank, 1, 4), r.sizes(rank, 1, 3)
    x = r.floats(r.size(1, 2), groups * r.size(1, 3), *r.sizes(rank, 3, 7))
    w = r.floats(x.shape[1], r.size(1, 4), *kernel)
    attributes = dict(group=groups, kernel_shape=kernel, strides=strides, dilations=r.sizes(rank, 1, 2),
                      output_padding=[r.size(0, s - 1) for s in strides],
                      pads=[r.size(0, (k - 1) // 2) for k in kernel] * 2)
    return "ConvTranspose", {"x": x, "w": w}, attributes, 1


def pool(r):
    rank = r.pick(1, 2)
    kernel = r.sizes(rank, 2, 4)
    x = r.floats(r.size(1, 2), r.size(1, 5), *r.sizes(rank, 6, 12))
    attributes = dict(kernel_shape=kernel, **spatial(r, rank, kernel))
    if r.pick(True, False):
        return "MaxPool", {"x": x}, attributes, 1
    attributes.pop("dilations")
    return "AveragePool", {"x": x}, dict(attributes, count_include_pad=r.size(0, 1)), 1


def recurrent(r):
    op, gates = r.pick(("RNN", 1), ("GRU", 3), ("LSTM", 4))
    direction = r.pick("forward", "reverse", "bidirectional")
    directions = 2 if direction == "bidirectional" else 1
    steps, batch, width, hidden = r.size(1, 6), r.size(1, 4), r.size(1, 9), r.size(1, 17)
    feeds = {
        "X": r.floats(steps, batch, width),
        "W": r.floats(directions, gates * hidden, width) * 0.5,
        "R": r.floats(directions, gates * hidden, hidden) * 0.5,
        "B": r.floats(directions, 2 * gates * hidden) * 0.5 if r.pick(True, False) else None,
        "sequence_lens": np.array(r.sizes(batch, 1, steps), np.int32) if r.pick(True, False) else None,
        "initial_h": r.floats(directions, batch, hidden) if r.pick(True, False) else None,
    }
    attributes = dict(direction=direction, hidden_size=hidden)
    if op == "GRU":
        attributes["linear_before_reset"] = r.size(0, 1)
    if op == "LSTM":
        feeds["initial_c"] = r.floats(directions, batch, hidden) if r.pick(True, False) else None
        feeds["P"] = r.floats(directions, 3 * hidden) if r.pick(True, False) else None
    return op, feeds, attributes, 3 if op == "LSTM" else 2


def gemm(r):
    m, k, n = r.pick(1, 2, 7, 33), r.size(1, 70), r.pick(1, 3, 16, 50)
    transposed = r.size(0, 1), r.size(0, 1)
    a = r.floats(*((k, m) if transposed[0] else (m, k)))
    b = r.floats(*((n, k) if transposed[1] else (k, n)))
    feeds = {"a": a, "b": b}
    if r.pick(True, True, False):
        feeds["c"] = r.floats(*r.pick((n,), (m, n), (1, n), (m, 1), ()))
    attributes = dict(transA=transposed[0], transB=transposed[1], alpha=r.pick(1.0, 0.5), beta=r.pick(1.0, 2.0))
    return "Gemm", feeds, attributes, 1


def matmul(r):
    m, k, n = r.pick(1, 2, 5, 40), r.size(1, 60), r.pick(1, 4, 19)
    batch = r.sizes(r.size(0, 2), 1, 3)
    left, right = r.pick((batch, batch), (batch, []), ([], batch), (batch, [1] * len(batch)))
    return "MatMul", {"a": r.floats(*left, m, k), "b": r.floats(*right, k, n)}, {}, 1


def reduction(r):
    rank = r.size(1, 4)
    op = r.pick("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSumExp",
                "ReduceSumSquare")
    axes = sorted({r.size(-rank, rank - 1) % rank for _ in range(r.size(1, rank))})
    return op, {"x": r.floats(*r.sizes(rank, 1, 9))}, dict(axes=axes, keepdims=r.size(0, 1)), 1


def normalised(r):
    rank = r.size(1, 4)
    op = r.pick("Softmax", "LogSoftmax", "LayerNormalization")
    axis = r.size(-rank, rank - 1)
    x = r.floats(*r.sizes(rank, 1, 20))
    feeds = {"x": x}
    if op == "LayerNormalization":
        feeds.update(scale=r.floats(*x.shape[axis:]), bias=r.floats(*x.shape[axis:]))
    return op, feeds, dict(axis=axis), 1


def broadcast(r):
    shape = r.sizes(r.size(1, 4), 1, 7)
    other = [r.pick(d, d, 1) for d in shape][r.size(0, len(shape) - 1):]
    op = r.pick("Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "Less", "Equal", "PRelu")
    if op == "PRelu":
        return op, {"a": r.floats(*shape), "b": r.floats(*other)}, {}, 1
    pair = [r.floats(*shape), r.floats(*other)]
    if r.pick(True, False):
        pair.reverse()
    return op, dict(zip("ab", pair)), {}, 1


def moved(r):
    rank = r.size(1, 4)
    shape = r.sizes(rank, 1, 7)
    x = r.floats(*shape)
    op = r.pick("Transpose", "Slice", "Pad", "Gather", "Concat")
    if op == "Transpose":
        return op, {"x": x}, dict(perm=[int(p) for p in r.rng.permutation(rank)]), 1
    if op == "Slice":
        ints = lambda low, high: np.array(r.sizes(rank, low, high), np.int64)
        steps = np.array([r.pick(1, 1, 2, -1, -2) for _ in range(rank)], np.int64)
        return op, {"x": x, "starts": ints(-8, 8), "ends": ints(-9, 9),
                    "axes": np.arange(rank, dtype=np.int64), "steps": steps}, {}, 1
    if op == "Pad":
        mode = r.pick("constant", "edge", "reflect")
        pads = np.array([r.size(0, d - 1) for d in shape + shape], np.int64)
        return op, {"x": x, "pads": pads, "value": np.float32(0.5)}, dict(mode=mode), 1
    if op == "Gather":
        axis = r.size(-rank, rank - 1)
        indices = r.rng.integers(-shape[axis], shape[axis], r.sizes(r.size(0, 2), 1, 4))
        return op, {"x": x, "indices": np.asarray(indices, np.int64)}, dict(axis=axis), 1
    axis = r.size(0, rank - 1)
    others = [r.floats(*shape[:axis], r.size(1, 4), *shape[axis + 1:]) for _ in range(r.size(1, 3))]
    return op, dict(zip("abcd", [x, *others])), dict(axis=axis), 1


FAMILIES = (conv, conv, conv_transpose, pool, recurrent, recurrent, gemm, matmul, reduction, normalised, broadcast,
            moved)


def case(family, seed):
    """The model, its inputs and ONNX Runtime's outputs."""
    op, feeds, attributes, outputs = family(Random(seed))
    given = {name: array for name, array in feeds.items() if array is not None}
    names = [name if array is not None else "" for name, array in feeds.items()]
    while names[-1] == "":
        names.pop()
    results = [f"out{i}" for i in range(outputs)]
    # Weights as constants half of the time: packed and unpacked paths differ.
    constant = [n for n in list(given)[1:] if seed % 2 == 0]
    info = helper.make_tensor_value_info
    of = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attributes)],
        op,
        [info(n, of(a.dtype), a.shape) for n, a in given.items() if n not in constant],
        [helper.make_empty_tensor_value_info(n) for n in results],
        [numpy_helper.from_array(given[n], n) for n in constant],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 8
    model = onnx.shape_inference.infer_shapes(model)
    inputs = {n: a for n, a in given.items() if n not in constant}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        expected = session.run(None, inputs)
    except Exception as error:  # noqa: BLE001: whatever ONNX Runtime refuses is no reference
        raise Skip(str(error)) from None
    if not all(np.isfinite(e).all() for e in expected):
        raise Skip("not finite")
    return model, inputs, expected


def main():
    out, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    skipped = 0
    for i in range(count):
        family = FAMILIES[i % len(FAMILIES)]
        try:
            model, inputs, expected = case(family, seed + i)
        except Skip:
            skipped += 1
            continue
        folder = os.path.join(out, f"{family.__name__}_{seed + i}")
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        onnx.save(model, os.path.join(folder, "model.onnx"))
        for kind, arrays in (("input", inputs.values()), ("output", expected)):
            for k, array in enumerate(arrays):
                with open(os.path.join(data, f"{kind}_{k}.pb"), "wb") as file:
                    file.write(numpy_helper.from_array(np.asarray(array)).SerializeToString())
    print(f"{count - skipped} cases, {skipped} that ONNX Runtime refuses")


if __name__ == "__main__":
    main()
