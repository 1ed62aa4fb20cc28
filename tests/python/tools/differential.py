"""Writes random one-node models with the outputs of ONNX Runtime, as folders for `stead conformance`.

The ONNX suite has six cases for convolutions and six for each recurrent cell; these families have hundreds of
combinations of strides, pads, dilations, groups, directions, layouts, indices and types, in which mistakes hide.

    python differential.py OUT SEED COUNT
"""

import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import byte_sums
import differential_attention as attention
import differential_images as images
import differential_indexing as indexing
import differential_layers as layers
import differential_quantized as quantized

OPSET = 17
# Of what recurrent layers give: gates without bounds reach thousands, and what is left of a sum of such numbers
# near zero differs by more than the tolerance of 1e-5.
LARGEST = 100
# ONNX Runtime differs from the standard where a size is no whole number, where one point is left, and at borders of cubic samples: for
# these the evaluator of onnx is asked, though it knows no limits.
BY_STANDARD = ("Resize", "GridSample")


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


def of_layers(family):
    """A family that takes the generator itself and also draws the opset."""

    def draw(r):
        return family(r.rng)

    draw.__name__ = family.__name__
    return draw


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


LAYERS = (layers.conv, layers.conv, layers.conv_transpose, layers.max_pool, layers.average_pool, layers.recurrent,
          layers.recurrent)
FAMILIES = (*map(of_layers, LAYERS), gemm, matmul, reduction, normalised, broadcast, moved,
            *indexing.FAMILIES, *images.FAMILIES, *quantized.FAMILIES, *attention.FAMILIES)


def made(op, feeds, attributes, outputs, opset, is_constant):
    """The model of a node and its inputs, of which all but the first may be constants."""
    given = {name: array for name, array in feeds.items() if array is not None}
    names = [name if array is not None else "" for name, array in feeds.items()]
    while names[-1] == "":
        names.pop()
    results = [f"out{i}" for i in range(outputs)]
    constant = list(given)[1:] if is_constant else []
    info = helper.make_tensor_value_info
    of = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [helper.make_node(op, names, results, **attributes)],
        op,
        [info(n, of(a.dtype), a.shape) for n, a in given.items() if n not in constant],
        [helper.make_empty_tensor_value_info(n) for n in results],
        [numpy_helper.from_array(given[n], n) for n in constant],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", *opset or [OPSET])], ir_version=10)
    return onnx.shape_inference.infer_shapes(model), {n: a for n, a in given.items() if n not in constant}


def runtime(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def case(family, seed):
    """The model, its inputs and what ONNX Runtime, or the evaluator of onnx, gives."""
    r = Random(seed)
    op, feeds, attributes, outputs, *opset = family(r)
    # Weights as constants half of the time: packed and unpacked paths differ.
    is_constant = r.pick(True, False)
    model, inputs = made(op, feeds, attributes, outputs, opset, is_constant)
    asked, its_inputs = byte_sums.unsigned(model, inputs) if byte_sums.LOSES_SUMS else (model, inputs)
    try:
        expected = runtime(asked).run(None, its_inputs)
        if op in BY_STANDARD:
            expected = ReferenceEvaluator(model).run(None, inputs)
    except Exception as error:  # noqa: BLE001: whatever is refused is no reference
        raise Skip(str(error)) from None
    if not all(np.isfinite(e).all() for e in expected):
        raise Skip("not finite")
    if op in layers.CELLS and any(np.abs(e).max(initial=0) > LARGEST for e in expected):
        raise Skip("gates without bounds grew until rounding decides the result")
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
