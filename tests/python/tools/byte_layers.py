"""Writes a network of recurrent layers with their weights in 8 bits, as `stead quantize --mode weight-only` makes it: signed bytes
behind DequantizeLinear, with a scale for each row.

    python byte_layers.py MODEL.onnx OUT_DIR
"""

import os
import sys

import numpy
import onnx
from onnx import helper, numpy_helper

LAYERS = {"RNN", "GRU", "LSTM"}
# Input weights and recurrent weights.
WEIGHTS = (1, 2)


def quantized(name, weights):
    """DequantizeLinear of `[directions, rows, k]` by rows, and its constants."""
    scale = numpy.abs(weights).max(axis=(0, 2)) / 127
    scale = numpy.where(scale > 0, scale, 1).astype(numpy.float32)
    values = numpy.rint(weights / scale[None, :, None]).astype(numpy.int8)
    zero = numpy.zeros(len(scale), numpy.int8)
    names = [f"{name}_Q8", f"{name}_scale", f"{name}_zero_point"]
    node = helper.make_node("DequantizeLinear", names, [f"{name}_numbers"], axis=1)
    return node, [numpy_helper.from_array(a, n) for a, n in zip([values, scale, zero], names)]


def main():
    source, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    model = onnx.load(source)
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        for at in WEIGHTS if node.op_type in LAYERS else ():
            tensor = constants.pop(node.input[at])
            back, made = quantized(tensor.name, numpy_helper.to_array(tensor))
            nodes.append(back)
            constants.update((new.name, new) for new in made)
            node.input[at] = back.output[0]
        nodes.append(node)
    for field, values in [(graph.node, nodes), (graph.initializer, constants.values())]:
        values = list(values)
        del field[:]
        field.extend(values)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(out, "model.onnx"))


if __name__ == "__main__":
    main()
