"""Prints the shapes of all nodes of models as they are for given inputs, a line of JSON for each case.

    python shapes.py < CASES.json

Reads a list of cases as `cargo xtask bench engine` writes them. A line is
`{"held": bytes, "nodes": [[operator, shapes of inputs, shapes of outputs], ...]}`; nodes in
the bodies of others are left out. The shapes are those that ONNX Runtime computes without optimisation.
"""

import json
import sys

import numpy as np
import onnx
import onnxruntime

COUNTED = {"MatMul", "MatMulInteger", "Gemm", "Conv", "ConvInteger", "ConvTranspose", "LSTM", "GRU", "RNN"}


def size(tensor):
    return int(np.prod(tensor.dims)) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize


def values(case):
    rng = np.random.default_rng(1)
    for spec in case["inputs"]:
        value = rng.uniform(spec["low"], spec["high"], spec["shape"])
        yield spec["name"], np.asarray(np.floor(value) if spec["dtype"] == "i64" else value).astype(
            {"f32": np.float32, "i64": np.int64}[spec["dtype"]]
        )


def shapes(case):
    model = onnx.load(case["model"])
    constants = {i.name: (list(i.dims), size(i)) for i in model.graph.initializer}
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                constants[node.output[0]] = (list(attribute.t.dims), size(attribute.t))
    nodes = [n for n in model.graph.node if n.op_type in COUNTED]
    feed = dict(values(case))
    known = {name: list(value.shape) for name, value in feed.items()}
    known.update({name: dims for name, (dims, _) in constants.items()})
    wanted = {name for n in nodes for name in [*n.input, *n.output] if name and name not in known}
    # A name has to be an output of the graph to be asked for.
    outputs = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(wanted - outputs))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    asked = sorted(wanted)
    for name, value in zip(asked, session.run(asked, feed) if asked else []):
        known[name] = list(value.shape)
    read = {name for n in nodes for name in n.input if name in constants}
    lines = [
        [
            n.op_type,
            [known.get(name, []) for name in n.input],
            [known.get(name, []) for name in n.output],
        ]
        for n in nodes
    ]
    return {"held": sum(constants[name][1] for name in read), "nodes": lines}


for case in json.load(sys.stdin):
    print(json.dumps(shapes(case)))
