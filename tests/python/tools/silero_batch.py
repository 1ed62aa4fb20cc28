"""Gives the 16 kHz model of silero, whose file declares a batch of 1, a free batch: `silero_batch.py MODEL RESULT`.

The graph itself works for every batch; peers that check the declared shapes need it.
"""

import sys

import onnx

source, result = sys.argv[1:]
model = onnx.load(source)
for value in [*model.graph.input, *model.graph.output]:
    axis = 1 if value.name.startswith("state") else 0
    value.type.tensor_type.shape.dim[axis].dim_param = "batch"
del model.graph.value_info[:]
onnx.save(model, result)
