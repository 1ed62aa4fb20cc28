"""Writes the ONNX node tests as single files: models whose inputs have the values of the test as defaults.

    python node_models.py OUT FOLDER...             every case of these folders of `node_tests.py`
    python node_models.py --few OUT FOLDER...       the smallest of each operator only, which are committed

They are the seeds of `crates/engine/tests/node_models`. A sequence or optional is made by nodes before the others.
"""

import glob
import os
import sys

import onnx
from onnx import OptionalProto, SequenceProto, TensorProto, helper

# What is larger takes long to run and shows nothing more.
MAX_BYTES = 32 << 10
# For the seeds that are committed.
MAX_BYTES_OF_FEW = 3 << 10


def read(path, message):
    with open(path, "rb") as file:
        message.ParseFromString(file.read())
    return message


def values(name, sequence, graph, nodes):
    """Adds a sequence as a node over constants."""
    parts = []
    for k, tensor in enumerate(sequence.tensor_values):
        tensor.name = f"{name}.{k}"
        graph.initializer.append(tensor)
        parts.append(tensor.name)
    if parts:
        nodes.append(helper.make_node("SequenceConstruct", parts, [name]))
    else:
        nodes.append(helper.make_node("SequenceEmpty", [], [name]))


def with_defaults(folder):
    """The model of a case, or None where its inputs are something else."""
    model = onnx.load(os.path.join(folder, "model.onnx"))
    graph, nodes, kept = model.graph, [], []
    for k, info in enumerate(graph.input):
        path = os.path.join(folder, "test_data_set_0", f"input_{k}.pb")
        kind = info.type.WhichOneof("value")
        if not os.path.exists(path):
            kept.append(info)
        elif kind == "tensor_type":
            tensor = read(path, TensorProto())
            tensor.name = info.name
            graph.initializer.append(tensor)
            kept.append(info)
        elif kind == "sequence_type":
            values(info.name, read(path, SequenceProto()), graph, nodes)
        elif kind == "optional_type":
            optional = read(path, OptionalProto())
            inner = info.name + ".inner"
            if optional.elem_type == OptionalProto.TENSOR:
                optional.tensor_value.name = inner
                graph.initializer.append(optional.tensor_value)
            elif optional.elem_type == OptionalProto.SEQUENCE:
                values(inner, optional.sequence_value, graph, nodes)
            else:
                return None
            nodes.append(helper.make_node("Optional", [inner], [info.name]))
        else:
            return None
    old = list(graph.node)
    del graph.node[:], graph.input[:]
    graph.node.extend(nodes + old)
    graph.input.extend(kept)
    return model


def operators(graph):
    """Domain and name of each operator, those of bodies among them."""
    for node in graph.node:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                yield from operators(body)


def main():
    few = "--few" in sys.argv
    out, *folders = [arg for arg in sys.argv[1:] if arg != "--few"]
    limit = MAX_BYTES_OF_FEW if few else MAX_BYTES
    models = []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*", "model.onnx"))):
            case = os.path.dirname(path)
            model = with_defaults(case)
            if model is not None and model.ByteSize() <= limit:
                release = os.path.basename(os.path.normpath(folder))
                name = os.path.basename(case)
                models.append((model.ByteSize(), name if "node-tests" in release else f"{release}.{name}", model))
    if few:
        known, models = set(), sorted(models, key=lambda model: model[:2])
        chosen = []
        for size, name, model in models:
            new = set(operators(model.graph)) - known
            if new:
                known |= new
                chosen.append((size, name, model))
        models = chosen
    os.makedirs(out, exist_ok=True)
    for _, name, model in models:
        with open(os.path.join(out, f"{name.removeprefix('test_')}.onnx"), "wb") as file:
            file.write(model.SerializeToString(deterministic=True))
    print(f"{len(models)} models")


if __name__ == "__main__":
    main()
