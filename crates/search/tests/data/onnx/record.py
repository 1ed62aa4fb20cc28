"""Makes the models beside it and records what they give.

    python record.py        # with tests/python/requirements-onnx.txt installed

Values come from ONNX Runtime, and from the reference evaluator of onnx where ONNX Runtime takes no such inputs.
"""

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = Path(__file__).parent
OPSET = [helper.make_opsetid("", 17)]


def save(name, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=OPSET, ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, HERE / f"{name}.onnx")
    return model


def tensor(name, kind, dims):
    return helper.make_tensor_value_info(name, kind, dims)


def constant(name, array):
    return numpy_helper.from_array(array, name)


def run(model, feeds):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def listed(array):
    """Numbers as JSON has them; whole numbers stay whole."""
    if array.dtype == np.bool_:
        return array.astype(np.int64).tolist()
    if array.dtype.kind in "iu":
        return array.tolist()
    return array.astype(np.float64).tolist()


TYPES = {
    "float": (TensorProto.FLOAT, np.float32, [[0.1, -2.5, 3e10], [0, 1, -1], [1e-40, 7, 8]]),
    "double": (TensorProto.DOUBLE, np.float64, [[0.1, -2.5, 1e300], [0, 1, -1], [1e-310, 7, 8]]),
    "float16": (TensorProto.FLOAT16, np.float16, [[0.1, -2.5, 65504], [0, 1, -1], [6e-8, 7, 8]]),
    "bfloat16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16, [[0.1, -2.5, 3e38], [0, 1, -1], [1, 7, 8]]),
    "int8": (TensorProto.INT8, np.int8, [[-128, 126, 0], [1, 2, 3], [-1, -2, -3]]),
    "int16": (TensorProto.INT16, np.int16, [[-32768, 32766, 0], [1, 2, 3], [-1, -2, -3]]),
    "int32": (TensorProto.INT32, np.int32, [[-(2**31), 2**31 - 2, 0], [1, 2, 3], [-1, -2, -3]]),
    "int64": (TensorProto.INT64, np.int64, [[-(2**53), 2**53 - 1, 0], [1, 2, 3], [-1, -2, -3]]),
    "uint8": (TensorProto.UINT8, np.uint8, [[0, 254, 7], [1, 2, 3], [4, 5, 6]]),
    "uint16": (TensorProto.UINT16, np.uint16, [[0, 65534, 7], [1, 2, 3], [4, 5, 6]]),
    "uint32": (TensorProto.UINT32, np.uint32, [[0, 2**32 - 2, 7], [1, 2, 3], [4, 5, 6]]),
    "uint64": (TensorProto.UINT64, np.uint64, [[0, 2**53 - 2, 7], [1, 2, 3], [4, 5, 6]]),
    "bool": (TensorProto.BOOL, np.bool_, [[0, 1, 1], [1, 0, 0], [1, 1, 1]]),
}


def element_types(cases):
    """One model of each element type that moves, joins and picks elements, so that every bit arrives."""
    for name, (kind, dtype, rows) in TYPES.items():
        x = np.array(rows).astype(dtype)
        tail = constant("tail", np.array([[5]]).astype(dtype))
        nodes = [
            helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Slice", ["shape", "zero", "one"], ["rows"]),
            helper.make_node("Concat", ["rows", "one"], ["target"], axis=0),
            helper.make_node("Expand", ["tail", "target"], ["tails"]),
            helper.make_node("Concat", ["x", "tails"], ["joined"], axis=1),
            helper.make_node("Gather", ["joined", "order"], ["y"], axis=1),
        ]
        constants = [
            tail,
            constant("zero", np.array([0], np.int64)),
            constant("one", np.array([1], np.int64)),
            constant("order", np.array([3, 2, 0, 1], np.int64)),
        ]
        if name == "bfloat16":
            tail.CopyFrom(helper.make_tensor("tail", kind, [1, 1], [5.0]))
        model = save(name, nodes, [tensor("x", kind, ["batch", 3])], [tensor("y", kind, ["batch", 4])], constants)
        if name == "bfloat16":
            y = ReferenceEvaluator(model).run(None, {"x": x})[0]
        else:
            y = run(model, {"x": x})[0]
        cases.append({"model": name, "x": listed(x), "y": listed(np.asarray(y))})


def cast(cases):
    """A network of 64-bit ids that computes in floats, as those of transformers do."""
    rng = np.random.default_rng(7)
    table = rng.standard_normal((16, 4)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], axis=0),
        helper.make_node("Cast", ["mask"], ["weights"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["weights", "two"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "one"], ["sum"], keepdims=0),
    ]
    constants = [
        constant("table", table),
        constant("one", np.array([1], np.int64)),
        constant("two", np.array([2], np.int64)),
    ]
    ids = [tensor("ids", TensorProto.INT64, ["batch", "length"]), tensor("mask", TensorProto.INT64, ["batch", "length"])]
    outputs = [tensor("sum", TensorProto.FLOAT, ["batch", 4]), tensor("masked", TensorProto.FLOAT, ["batch", "length", 4])]
    model = save("ids", nodes, ids, outputs, constants)
    feeds = {"ids": np.array([[3, 1, 0], [15, 15, 2]], np.int64), "mask": np.array([[1, 1, 0], [1, 1, 1]], np.int64)}
    total, masked = run(model, feeds)
    cases.append({"model": "ids", **{k: listed(v) for k, v in feeds.items()}, "sum": listed(total), "masked": listed(masked)})


def linear(rng, name, rows, cols):
    return constant(name, (rng.standard_normal((rows, cols)) / np.sqrt(rows)).astype(np.float32))


def ranker(cases):
    """The halves of a query and of documents joined before the first layer, once with a batch of any size, once with one."""
    for name, batch in [("ranker", "batch"), ("ranker_of_one", 1)]:
        rng = np.random.default_rng(11)
        nodes = [
            helper.make_node("Concat", ["user", "item"], ["joined"], axis=1),
            helper.make_node("Gemm", ["joined", "w1", "b1"], ["h1"]),
            helper.make_node("Relu", ["h1"], ["r1"]),
            helper.make_node("Gemm", ["r1", "w2", "b2"], ["score:0"]),
        ]
        constants = [
            linear(rng, "w1", 8, 6),
            constant("b1", rng.standard_normal(6).astype(np.float32)),
            linear(rng, "w2", 6, 1),
            constant("b2", rng.standard_normal(1).astype(np.float32)),
        ]
        inputs = [tensor("user", TensorProto.FLOAT, [batch, 3]), tensor("item", TensorProto.FLOAT, [batch, 5])]
        model = save(name, nodes, inputs, [tensor("score:0", TensorProto.FLOAT, [batch, 1])], constants)
        user = rng.standard_normal((1, 3)).astype(np.float32)
        items = rng.standard_normal((9, 5)).astype(np.float32)
        scores = [run(model, {"user": user, "item": item[None]})[0][0, 0] for item in items]
        cases.append({"model": name, "user": listed(user), "items": listed(items), "scores": listed(np.array(scores))})


def joined(cases):
    """A network that takes query and document in one input."""
    rng = np.random.default_rng(13)
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["p1"]),
        helper.make_node("Add", ["p1", "b1"], ["h1"]),
        helper.make_node("Relu", ["h1"], ["r1"]),
        helper.make_node("MatMul", ["r1", "w2"], ["score"]),
    ]
    constants = [linear(rng, "w1", 8, 6), constant("b1", rng.standard_normal(6).astype(np.float32)), linear(rng, "w2", 6, 1)]
    x, score = tensor("x", TensorProto.FLOAT, ["batch", 8]), tensor("score", TensorProto.FLOAT, ["batch", 1])
    model = save("joined", nodes, [x], [score], constants)
    user = rng.standard_normal((1, 3)).astype(np.float32)
    items = rng.standard_normal((9, 5)).astype(np.float32)
    rows = np.concatenate([np.repeat(user, 9, axis=0), items], axis=1)
    scores = run(model, {"x": rows})[0][:, 0]
    cases.append({"model": "joined", "user": listed(user), "items": listed(items), "scores": listed(scores)})


def late(cases):
    """Something of the query that is joined with documents where no weight can be split."""
    rng = np.random.default_rng(17)
    nodes = [
        helper.make_node("Gemm", ["user", "w1"], ["h1"]),
        helper.make_node("Relu", ["h1"], ["r1"]),
        helper.make_node("Concat", ["r1", "item"], ["both"], axis=1),
        helper.make_node("Softmax", ["both"], ["weights"], axis=1),
        helper.make_node("Gemm", ["weights", "w2"], ["score"]),
    ]
    constants = [linear(rng, "w1", 3, 4), linear(rng, "w2", 9, 1)]
    inputs = [tensor("user", TensorProto.FLOAT, ["batch", 3]), tensor("item", TensorProto.FLOAT, ["batch", 5])]
    model = save("late", nodes, inputs, [tensor("score", TensorProto.FLOAT, ["batch", 1])], constants)
    user = rng.standard_normal((1, 3)).astype(np.float32)
    items = rng.standard_normal((9, 5)).astype(np.float32)
    scores = run(model, {"user": np.repeat(user, 9, axis=0), "item": items})[0][:, 0]
    cases.append({"model": "late", "user": listed(user), "items": listed(items), "scores": listed(scores)})


def mixing(cases):
    """Rows that look at each other: they must not share a run."""
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=0)]
    model = save("mixing", nodes, [tensor("x", TensorProto.FLOAT, ["n", 2])], [tensor("y", TensorProto.FLOAT, ["n", 2])])
    x = np.array([[1, 2], [3, 4]], np.float32)
    y = np.concatenate([run(model, {"x": row[None]})[0] for row in x])
    cases.append({"model": "mixing", "x": listed(x), "y": listed(y)})


def unknown(cases):
    """An output whose sizes the file does not tell: twice as many rows as the input has columns."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["columns"], axis=0),
        helper.make_node("Mul", ["columns", "two"], ["rows"]),
        helper.make_node("Concat", ["rows", "minus"], ["target"], axis=0),
        helper.make_node("Concat", ["x", "x", "x", "x"], ["four"], axis=0),
        helper.make_node("Reshape", ["four", "target"], ["y"]),
    ]
    constants = [constant(name, np.array([value], np.int64)) for name, value in (("one", 1), ("two", 2), ("minus", -1))]
    inputs = [tensor("x", TensorProto.FLOAT, ["rows_in", "columns_in"])]
    model = save("unknown", nodes, inputs, [tensor("y", TensorProto.FLOAT, ["a", "b"])], constants)
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    y = [run(model, {"x": row[None]})[0] for row in x]
    cases.append({"model": "unknown", "x": listed(x), "y": [listed(one) for one in y]})


def words(cases):
    """Texts of the query and of documents: how many there are, times a number."""
    nodes = [
        helper.make_node("Size", ["query"], ["one"]),
        helper.make_node("Size", ["words"], ["more"]),
        helper.make_node("Add", ["one", "more"], ["size"]),
        helper.make_node("Cast", ["size"], ["count"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["x", "count"], ["y"]),
    ]
    inputs = [
        tensor("query", TensorProto.STRING, [1, 1]),
        tensor("words", TensorProto.STRING, [1, "n"]),
        tensor("x", TensorProto.FLOAT, [1, 2]),
    ]
    model = save("words", nodes, inputs, [tensor("y", TensorProto.FLOAT, [1, 2])])
    lists = [["a"], ["b", "cc", ""], ["d", "e"]]
    x = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    query = np.array([["hello"]], dtype=object)
    y = [run(model, {"query": query, "words": np.array([w], dtype=object), "x": r[None]})[0] for w, r in zip(lists, x)]
    cases.append({"model": "words", "words": lists, "x": listed(x), "y": [listed(one) for one in y]})


def external(cases):
    """A weight in a file beside the model."""
    rng = np.random.default_rng(19)
    weight = rng.standard_normal((3, 2)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    inputs = [tensor("x", TensorProto.FLOAT, ["n", 3])]
    model = save("external", nodes, inputs, [tensor("y", TensorProto.FLOAT, ["n", 2])], [constant("w", weight)])
    x = np.array([[1, 2, 3], [0.5, -1, 2]], np.float32)
    cases.append({"model": "external", "x": listed(x), "y": listed(run(model, {"x": x})[0])})
    path = HERE / "external.onnx"
    (HERE / "external.weights").unlink(missing_ok=True)
    onnx.save(model, path, save_as_external_data=True, location="external.weights", size_threshold=0)


def main():
    cases = []
    element_types(cases)
    cast(cases)
    ranker(cases)
    joined(cases)
    late(cases)
    mixing(cases)
    unknown(cases)
    words(cases)
    external(cases)
    (HERE / "recorded.json").write_text("[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n")


if __name__ == "__main__":
    main()
