#!/usr/bin/env python3
"""Writes the graphs of this folder: real architectures as exporters write them, without their weights.

    python export.py OUT_DIR [NAME ...] [--satellite tessera.onnx]

Written with Python 3.11.7, torch 2.15.0, torchvision 0.29.2, transformers 5.23.0, onnx 1.23.2, onnxscript 0.7.2.

Every f32 initializer of more than 64 elements becomes external data of `NAME.data`, and a line of `NAME.json`
tells how the bench fills it: a name (the seed), the offset in bytes, the number of elements, mean and deviation,
which are those of the weights that the graph was exported with. Batch normalisations are calibrated before the
export, so that activations keep their scale through all layers.

`--satellite` is a file with the structure of a satellite embedding model: two encoders of 40 time steps (an
embedding, a code of the day of year, 4 post-norm layers of 512 with 4 heads and 4096 inside, a hand-written GRU
unrolled over the steps, softmax pooling) and one projection to 128. `satellite` is that file as it is, and in
`satellite_gru` each unrolled recurrence is one GRU node with the same weights.
"""
import argparse
import json
import os

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

INLINE = 64
OPSET = 18


def exported(module, args, names, outputs, dynamic=None, torchscript=False):
    """The module as an ONNX model. `dynamic` has a dict of free dimensions for each argument."""
    module.eval()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    path = "/tmp/export.onnx"
    options = dict(input_names=names, output_names=outputs, opset_version=OPSET)
    if torchscript:
        axes = dict(zip(names, dynamic)) if dynamic else None
        torch.onnx.export(module, args, path, dynamo=False, dynamic_axes=axes, **options)
    else:
        shapes = tuple(dynamic) if dynamic else None
        torch.onnx.export(module, args, path, dynamo=True, dynamic_shapes=shapes, external_data=False, **options)
    return onnx.load(path)


def vision(name):
    import torchvision

    module = getattr(torchvision.models, name)(weights=None)
    norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None
    module.train()
    with torch.no_grad():
        for _ in range(2):
            module(torch.randn(8, 3, 224, 224))
    return exported(module, (torch.randn(1, 3, 224, 224),), ["image"], ["scores"])


class Encoder(nn.Module):
    def __init__(self, **sizes):
        super().__init__()
        from transformers import BertConfig, BertModel

        config = BertConfig(attn_implementation="eager", **sizes)
        self.bert = BertModel(config, add_pooling_layer=False)

    def forward(self, input_ids, attention_mask, token_type_ids):
        return self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state


def bert(torchscript=False, **sizes):
    names = ["input_ids", "attention_mask", "token_type_ids"]
    ids = torch.randint(0, 30000, (2, 16))
    args = (ids, torch.ones_like(ids), torch.zeros_like(ids))
    free = {0: "batch", 1: "tokens"} if torchscript else {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=512)}
    return exported(Encoder(**sizes), args, names, ["hidden"], [free] * 3, torchscript)


DISTIL = dict(hidden_size=256, num_hidden_layers=6, num_attention_heads=8, intermediate_size=1024)


def perceptron(*sizes, last=nn.ReLU):
    layers = []
    for rows, cols in zip(sizes, sizes[1:]):
        layers += [nn.Linear(rows, cols), nn.ReLU()]
    return nn.Sequential(*layers[:-1], last())


class Dlrm(nn.Module):
    """13 numbers and 26 categories, products of all pairs of their 27 vectors."""

    def __init__(self, categories=26, rows=10_000, width=64):
        super().__init__()
        self.bottom = perceptron(13, 512, 256, width)
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(categories))
        pairs = torch.tril_indices(categories + 1, categories + 1, offset=-1)
        self.register_buffer("flat", pairs[0] * (categories + 1) + pairs[1])
        self.top = perceptron(width + self.flat.numel(), 512, 256, 1, last=nn.Sigmoid)

    def forward(self, dense, categories):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(categories[:, i]) for i, table in enumerate(self.tables)], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products.index_select(1, self.flat)], dim=1))


class TwoTower(nn.Module):
    """Two towers of one size that meet in a cosine."""

    def __init__(self):
        super().__init__()
        self.query = perceptron(512, 2048, 1024, 256, last=nn.Identity)
        self.item = perceptron(512, 2048, 1024, 256, last=nn.Identity)

    def forward(self, query, item):
        return nn.functional.cosine_similarity(self.query(query), self.item(item), dim=-1)


def recurrent(kind, gates, hidden, layers, directions):
    """Layers as PyTorch's exporter writes them: time first, states of zeros."""
    rng = np.random.default_rng(1)
    width = hidden
    nodes, weights, x = [], [], "input"
    for layer in range(layers):
        shapes = dict(W=(gates * hidden, width), R=(gates * hidden, hidden), B=(2 * gates * hidden,))
        for part, shape in shapes.items():
            value = rng.uniform(-1, 1, (directions, *shape)).astype(np.float32) / np.sqrt(hidden)
            weights.append(numpy_helper.from_array(value.astype(np.float32), f"{part}{layer}"))
        attributes = dict(hidden_size=hidden, direction="bidirectional" if directions == 2 else "forward")
        if kind == "GRU":
            attributes["linear_before_reset"] = 1
        nodes.append(helper.make_node(kind, [x, f"W{layer}", f"R{layer}", f"B{layer}"], [f"y{layer}"], **attributes))
        width = directions * hidden
        moved, x = f"m{layer}", "output" if layer == layers - 1 else f"x{layer}"
        nodes.append(helper.make_node("Transpose", [f"y{layer}"], [moved], perm=[0, 2, 1, 3]))
        nodes.append(helper.make_node("Reshape", [moved, "joined"], [x]))
    weights.append(numpy_helper.from_array(np.array([0, 0, -1], np.int64), "joined"))
    return made(nodes, weights, [("input", ["steps", 1, hidden])], [("output", ["steps", 1, directions * hidden])])


def made(nodes, weights, inputs, outputs):
    info = lambda values: [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in values]
    graph = helper.make_graph(nodes, "graph", info(inputs), info(outputs), weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 10
    return model


def chain(length):
    """Products of a vector with small matrices, one after the other; for none a vector that is passed on."""
    rng = np.random.default_rng(1)
    names = ["input"] + [f"x{i}" for i in range(1, length)] + ["output"]
    if length == 0:
        return made([helper.make_node("Identity", ["input"], ["output"])], [], [("input", [1, 4])], [("output", [1, 4])])
    weights = [
        numpy_helper.from_array(np.linalg.qr(rng.standard_normal((4, 4)))[0].astype(np.float32), f"w{i}")
        for i in range(length)
    ]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]]) for i in range(length)]
    return made(nodes, weights, [("input", [1, 4])], [("output", [1, 4])])


def mamba(op):
    """A layer of Mamba, `[batch, steps, 256]` to the same: a gate, a causal convolution of each channel, and a state of 16 numbers
    for each of 512 channels that decays and grows by what each step chooses. The recurrence is a Loop that gathers its step, as
    exporters write a Python loop, or a Scan."""
    width, inner, states, rank, taps = 256, 512, 16, 16, 4
    rng = np.random.default_rng(1)
    uniform = lambda *shape: rng.uniform(-1, 1, shape).astype(np.float32)
    rates = -np.tile(np.arange(1, states + 1, dtype=np.float32), (inner, 1))
    weights = {
        "gate": uniform(width, inner) / 16, "in": uniform(width, inner) / 16, "taps": uniform(inner, 1, taps) / 2,
        "shift": uniform(inner) / 2, "delta_low": uniform(inner, rank) / 22, "delta_high": uniform(rank, inner) / 4,
        "delta_shift": uniform(inner) - 3, "b": uniform(inner, states) / 22, "c": uniform(inner, states) / 22,
        "rates": rates, "skip": uniform(inner), "out": uniform(inner, width) / 22,
        "zero": np.zeros((1, inner, states), np.float32), "last": np.array([-1]), "second": np.array([1]), "at": np.array(1),
    }
    node = helper.make_node
    # Of one step: input and delta `[batch, inner]`, the directions `[batch, states]`.
    step = [
        node("Unsqueeze", ["delta", "last"], ["delta_column"]),
        node("Mul", ["delta_column", "rates"], ["exponent"]),
        node("Exp", ["exponent"], ["decay"]),
        node("Mul", ["h", "decay"], ["kept"]),
        node("Mul", ["delta", "x"], ["growth"]),
        node("Unsqueeze", ["growth", "last"], ["growth_column"]),
        node("Unsqueeze", ["direction", "second"], ["direction_row"]),
        node("Mul", ["growth_column", "direction_row"], ["new"]),
        node("Add", ["kept", "new"], ["next"]),
        node("Unsqueeze", ["reading", "last"], ["reading_column"]),
        node("MatMul", ["next", "reading_column"], ["read_column"]),
        node("Squeeze", ["read_column", "last"], ["read"]),
    ]
    info = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
    state = lambda name: info(name, ["batch", inner, states])
    results = [state("next"), info("read", ["batch", inner])]
    series = {"x": "u", "delta": "deltas", "direction": "directions", "reading": "readings"}
    if op == "Loop":
        gathered = [node("Gather", [all_steps, "i"], [one], axis=1) for one, all_steps in series.items()]
        counter = [info("i", [], TensorProto.INT64), info("more", [], TensorProto.BOOL)]
        body = helper.make_graph(
            [*gathered, *step, node("Identity", ["more"], ["on"])], "step", [*counter, state("h")],
            [info("on", [], TensorProto.BOOL), *results],
        )
        recurrence = [
            node("Shape", ["u"], ["sizes"]),
            node("Gather", ["sizes", "at"], ["steps"], axis=0),
            node("Loop", ["steps", "", "start"], ["end", "reads"], body=body),
            node("Transpose", ["reads"], ["y"], perm=[1, 0, 2]),
        ]
    else:
        given = [info(one, ["batch", inner if one in ("x", "delta") else states]) for one in series]
        body = helper.make_graph(step, "step", [state("h"), *given], results)
        axes = {"scan_input_axes": [1] * len(series), "scan_output_axes": [1], "num_scan_inputs": len(series)}
        recurrence = [node("Scan", ["start", *series.values()], ["end", "y"], body=body, **axes)]
    nodes = [
        node("MatMul", ["input", "gate"], ["z"]),
        node("MatMul", ["input", "in"], ["wide"]),
        node("Transpose", ["wide"], ["channels"], perm=[0, 2, 1]),
        node("Conv", ["channels", "taps", "shift"], ["convolved"], group=inner, kernel_shape=[taps], pads=[taps - 1, 0]),
        node("Transpose", ["convolved"], ["rows"], perm=[0, 2, 1]),
        node("Sigmoid", ["rows"], ["open"]),
        node("Mul", ["rows", "open"], ["u"]),
        node("MatMul", ["u", "delta_low"], ["low"]),
        node("MatMul", ["low", "delta_high"], ["high"]),
        node("Add", ["high", "delta_shift"], ["shifted"]),
        node("Softplus", ["shifted"], ["deltas"]),
        node("MatMul", ["u", "b"], ["directions"]),
        node("MatMul", ["u", "c"], ["readings"]),
        node("Shape", ["input"], ["batch_size"], start=0, end=1),
        node("Concat", ["batch_size", "tail"], ["start_shape"], axis=0),
        node("Expand", ["zero", "start_shape"], ["start"]),
        *recurrence,
        node("Mul", ["u", "skip"], ["skipped"]),
        node("Add", ["y", "skipped"], ["sum"]),
        node("Sigmoid", ["z"], ["z_open"]),
        node("Mul", ["z", "z_open"], ["gates"]),
        node("Mul", ["sum", "gates"], ["gated"]),
        node("MatMul", ["gated", "out"], ["output"]),
    ]
    weights["tail"] = np.array([inner, states])
    tensors = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    shape = ["batch", "steps", width]
    return made(nodes, tensors, [("input", shape)], [("output", shape)])


def with_gru_nodes(model):
    """Each hand-written recurrence of the satellite model as one GRU node."""
    graph = model.graph
    values = {i.name: numpy_helper.to_array(i) for i in graph.initializer}
    producers = {out: node for node in graph.node for out in node.output}
    norms = [n for n in graph.node if n.op_type == "LayerNormalization"]
    replaced = []
    for norm in norms:
        joined = producers.get(norm.input[0])
        if joined is None or joined.op_type not in ("Concat", "Unsqueeze", "SequenceConstruct") or len(joined.input) < 4:
            continue
        replaced.append((joined, *recurrence(joined, producers, values)))
    assert len(replaced) == 2, f"{len(replaced)} recurrences"
    for number, (joined, x, matrices, biases) in enumerate(replaced):
        hidden = matrices["hz"][1].shape[0]
        name = lambda part: f"gru{number}_{part}"
        add = lambda part, pieces, shape: graph.initializer.append(
            pieced(name(part), [(n, np.ascontiguousarray(v) * np.float32(sign), sign) for n, v, sign in pieces], shape)
        )
        # Here the update gate keeps what is new, in ONNX what was there: the other sign in front of the sigmoid.
        gates = lambda values, prefix: [
            (*values[prefix + "z"], -1), (*values[prefix + "r"], 1), (*values[prefix + "h"], 1)
        ]
        add("W", gates(matrices, "x"), (1, 3 * hidden, hidden))
        add("R", gates(matrices, "h"), (1, 3 * hidden, hidden))
        zeros = np.zeros(3 * hidden, np.float32)
        add("B", gates(biases, "") + [("zero", zeros, 1)], (1, 6 * hidden))
        graph.initializer.append(numpy_helper.from_array(np.array([1], np.int64), name("axis")))
        for node in (
            helper.make_node("Transpose", [x], [name("x")], perm=[1, 0, 2]),
            helper.make_node("GRU", [name("x"), name("W"), name("R"), name("B")], [name("y")], hidden_size=hidden),
            helper.make_node("Squeeze", [name("y"), name("axis")], [name("s")]),
            helper.make_node("Transpose", [name("s")], [joined.output[0]], perm=[1, 0, 2]),
        ):
            graph.node.insert(list(graph.node).index(joined), node)
        graph.node.remove(joined)
    prune(graph)
    return model


def recurrence(joined, producers, values):
    """What the last step of an unrolled recurrence reads: the sequence, its matrices and its biases."""

    def up(name):
        return producers[name]

    def passes(node):
        while node.op_type in ("Unsqueeze", "Reshape", "Identity"):
            node = up(node.input[0])
        return node

    state = passes(up(joined.input[-1]))
    assert state.op_type == "Add", state.op_type
    found, biases, sequence = {}, {}, None

    def gate(node, letter):
        nonlocal sequence
        pending = list(node.input)
        while pending:
            name = pending.pop()
            if name in values:
                biases[letter] = (name, values[name].reshape(-1))
                continue
            inner = up(name)
            if inner.op_type == "Add":
                pending += inner.input
                continue
            assert inner.op_type in ("Gemm", "MatMul"), inner.op_type
            weight = values[inner.input[1]]
            transposed = any(a.name == "transB" and a.i for a in inner.attribute)
            assert transposed, "weights lie as ONNX's GRU wants them"
            source = producers.get(inner.input[0])
            is_input = source is not None and source.op_type in ("Gather", "Slice", "Squeeze", "Split")
            if is_input:
                sequence = source.input[0]
            found[("x" if is_input else "h") + letter] = (inner.input[1], weight)

    # h' = (1 - z) * h + z * c: the candidate is the only Tanh, the update gate stands beside it.
    product = next(up(n) for n in state.input if any(p in producers and producers[p].op_type == "Tanh" for p in up(n).input))
    candidate = next(up(n) for n in product.input if up(n).op_type == "Tanh")
    update = next(up(n) for n in product.input if up(n).op_type == "Sigmoid")
    gate(up(update.input[0]), "z")
    gate(up(candidate.input[0]), "h")
    # The state of the candidate is r * h.
    inner = [up(n) for n in flatten(up(candidate.input[0]), producers)]
    reset = next(up(m.input[0]) for m in inner if m.op_type in ("Gemm", "MatMul") and up(m.input[0]).op_type == "Mul")
    gate(up(next(up(n) for n in reset.input if n in producers and up(n).op_type == "Sigmoid").input[0]), "r")
    return sequence, found, biases


def flatten(node, producers):
    pending, leaves = list(node.input), []
    while pending:
        name = pending.pop()
        if name in producers and producers[name].op_type == "Add":
            pending += producers[name].input
        elif name in producers:
            leaves.append(name)
    return leaves


def prune(graph):
    """Removes what nobody reads."""
    changed = True
    while changed:
        read = {n for node in graph.node for n in node.input} | {o.name for o in graph.output}
        dead = [n for n in graph.node if not any(o in read for o in n.output)]
        for node in dead:
            graph.node.remove(node)
        changed = bool(dead)
    for tensor in [i for i in graph.initializer if i.name not in {n for node in graph.node for n in node.input}]:
        graph.initializer.remove(tensor)


def pieced(name, pieces, shape):
    """A weight of several others, one after the other, each with a seed and a sign of its own."""
    tensor = numpy_helper.from_array(np.concatenate([v.reshape(-1) for _, v, _ in pieces]).reshape(shape), name)
    tensor.doc_string = json.dumps([[n, int(v.size), sign] for n, v, sign in pieces])
    return tensor


def without_weights(model, name):
    """The model with its large weights taken out, and how to fill them."""
    lines, offset = [], 0
    for holder in (model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output, *model.functions):
        for field in ("metadata_props", "doc_string"):
            if any(f.name == field for f in holder.DESCRIPTOR.fields):
                holder.ClearField(field)
    del model.graph.value_info[:]
    hoisted(model.graph)
    variances = {n.input[4] for n in model.graph.node if n.op_type == "BatchNormalization"}
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        pieces = json.loads(tensor.doc_string) if tensor.doc_string.startswith("[[") else [[tensor.name, value.size, 1]]
        tensor.ClearField("doc_string")
        tensor.ClearField("metadata_props")
        if tensor.data_type != TensorProto.FLOAT or value.size <= INLINE:
            continue
        assert np.isfinite(value).all(), f"{name}: {tensor.name} has values that are not finite"
        start, at = offset, 0
        for piece, size, sign in pieces:
            part = value.reshape(-1)[at : at + size].astype(np.float64)
            mean, std = float(part.mean()), float(part.std())
            # A bias or scale that was never trained is the same number everywhere.
            std = std if std > 1e-6 or piece == "zero" else 0.02
            if tensor.name in variances:
                # Uniform numbers of four deviations around the mean are positive.
                std = min(std, mean / 4)
            lines.append([piece, start + at * 4, size, round(mean, 8), round(sign * std, 8)])
            at += size
        for field in ("raw_data", "float_data"):
            tensor.ClearField(field)
        tensor.data_location = TensorProto.EXTERNAL
        del tensor.external_data[:]
        for key, text in (("location", f"{name}.data"), ("offset", str(start)), ("length", str(at * 4))):
            tensor.external_data.add(key=key, value=text)
        # As writers of such files do, so that readers can map pages.
        offset = -(-(start + at * 4) // 4096) * 4096
    return model, {"bytes": offset, "weights": lines}


def hoisted(graph):
    """Large constants of nodes as initializers."""
    for node in [n for n in graph.node if n.op_type == "Constant"]:
        value = next((a.t for a in node.attribute if a.name == "value"), None)
        if value is None or np.prod(value.dims) <= INLINE:
            continue
        tensor = graph.initializer.add()
        tensor.CopyFrom(value)
        tensor.name = node.output[0]
        graph.node.remove(node)


GRAPHS = {
    "resnet50": lambda: vision("resnet50"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"),
    "efficientnet_b0": lambda: vision("efficientnet_b0"),
    "densenet121": lambda: vision("densenet121"),
    "shufflenet_v2": lambda: vision("shufflenet_v2_x1_0"),
    "bert_base": lambda: bert(),
    "xtremedistil_dynamo": lambda: bert(**DISTIL),
    "xtremedistil_torchscript": lambda: bert(torchscript=True, **DISTIL),
    "dlrm": lambda: exported(
        Dlrm(), (torch.randn(4, 13), torch.randint(0, 10_000, (4, 26))), ["dense", "categories"], ["score"],
        [{0: torch.export.Dim("batch")}, {0: torch.export.Dim("batch")}],
    ),
    "two_tower": lambda: exported(
        TwoTower(), (torch.randn(4, 512), torch.randn(4, 512)), ["query", "item"], ["score"],
        [{0: torch.export.Dim("batch")}, {0: torch.export.Dim("batch")}],
    ),
    "lstm": lambda: recurrent("LSTM", 4, 512, 2, 1),
    "bigru": lambda: recurrent("GRU", 3, 256, 1, 2),
    "mamba_loop": lambda: mamba("Loop"),
    "mamba_scan": lambda: mamba("Scan"),
    "empty": lambda: chain(0),
    "chain100": lambda: chain(100),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--satellite")
    parser.add_argument("--full", help="a folder for the files with their weights")
    args = parser.parse_intermixed_args()
    graphs = dict(GRAPHS)
    if args.satellite:
        graphs["satellite"] = lambda: onnx.load(args.satellite)
        graphs["satellite_gru"] = lambda: with_gru_nodes(onnx.load(args.satellite))
    torch.set_num_threads(1)
    for name in args.names or graphs:
        torch.manual_seed(0)
        model = graphs[name]()
        if args.full:
            onnx.save(model, os.path.join(args.full, f"{name}.onnx"))
        model, fill = without_weights(model, name)
        path = os.path.join(args.out, f"{name}.onnx")
        onnx.save_model(model, path)
        if fill["weights"]:
            lines = ",\n".join(json.dumps(line) for line in fill["weights"])
            with open(os.path.join(args.out, f"{name}.json"), "w") as file:
                file.write(f'{{"bytes": {fill["bytes"]}, "weights": [\n{lines}\n]}}\n')
        print(name, os.path.getsize(path), len(model.graph.node), "nodes", fill["bytes"], flush=True)


if __name__ == "__main__":
    main()
