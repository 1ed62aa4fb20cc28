"""Writes a network of images with weights and values of 8 bits, as ONNX Runtime's static quantisation makes it: QDQ, a scale for
each filter, unsigned bytes between the nodes, ranges by seeded images.

    python quantized_graph.py MODEL.onnx OUT_DIR
"""

import logging
import os
import sys

import numpy
import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

# Ranges of random weights and uniform pixels differ little from image to image.
IMAGES = 4


class Images(CalibrationDataReader):
    """Pixels of -1 to 1, as the inputs of the table are."""

    def __init__(self, model):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        (image,) = session.get_inputs()
        shape = [size if isinstance(size, int) else 1 for size in image.shape]
        random = numpy.random.default_rng(1)
        images = [random.uniform(-1, 1, shape).astype(numpy.float32) for _ in range(IMAGES)]
        self.images = iter([{image.name: pixels} for pixels in images])

    def get_next(self):
        return next(self.images, None)


def main():
    source, out = sys.argv[1:]
    logging.getLogger().setLevel(logging.ERROR)
    os.makedirs(out, exist_ok=True)
    prepared = os.path.join(out, "prepared.onnx")
    # What quant_pre_process does, which reads no weights beside a file: constants folded, normalisation in convolutions.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = prepared
    whole = onnx.load(source).SerializeToString()
    onnxruntime.InferenceSession(whole, options, ["CPUExecutionProvider"])
    quantize_static(
        prepared,
        os.path.join(out, "model.onnx"),
        Images(prepared),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        weight_type=QuantType.QInt8,
        activation_type=QuantType.QUInt8,
    )
    os.remove(prepared)


if __name__ == "__main__":
    main()
