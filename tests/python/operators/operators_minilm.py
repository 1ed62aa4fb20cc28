"""all-MiniLM-L6-v2 in every form that tools write: single and half precision, and 8 bits, dynamic and between dequantisers."""

import logging
import os
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
import operator_models as models
from onnxruntime import quantization
from onnxruntime.transformers import float16

logging.disable(logging.WARNING)
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
# Texts that ranges are measured of, and texts that are compared.
MEASURED, COMPARED = range(1, 6), [0, 1, 2, 4, 7, 8, 9, 11, 12]
LEVELS = [onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL]


class Texts(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter(feeds)

    def get_next(self):
        return next(self.feeds, None)


@unittest.skipUnless("STEAD_TEST_MINILM" in os.environ, "cargo xtask test tells where MiniLM is")
class MiniLm(unittest.TestCase):
    def setUp(self):
        folder = os.environ["STEAD_TEST_MINILM"]
        self.path = os.path.join(folder, "model.onnx")
        with np.load(os.path.join(folder, "reference.npz")) as recorded:
            feeds = {text: {name: recorded[f"{text}/{name}"] for name in INPUTS} for text in {*MEASURED, *COMPARED}}
        self.measured, self.feeds = [feeds[text] for text in MEASURED], [feeds[text] for text in COMPARED]

    def written(self, write):
        with tempfile.TemporaryDirectory() as folder:
            target = os.path.join(folder, "model.onnx")
            write(target)
            return onnx.load(target)

    def each(self, model):
        """For each text what stead gives, and ONNX Runtime node by node as the file has it and optimised."""
        for feeds in self.feeds:
            found = [models.stead(model, feeds)]
            found += [models.reference(model, feeds, models.runtime_options(level)) for level in LEVELS]
            yield feeds, *(next(iter(outputs.values())).astype(np.float64) for outputs in found)

    def check_bytes(self, model, texts, least):
        """At least so many texts give just what ONNX Runtime gives, at one of its levels; all have at least this cosine. A byte that is
        rounded the other way, by functions in single precision that differ in their last bits, is seen in all bytes behind it: ONNX
        Runtime's levels are as far from each other."""
        equal = 0
        for _, mine, plain, optimised in self.each(model):
            cosine = lambda other: np.vdot(mine, other) / np.linalg.norm(mine) / np.linalg.norm(other)
            equal += min(np.abs(mine - plain).max(), np.abs(mine - optimised).max()) < 1e-5
            self.assertGreater(max(cosine(plain), cosine(optimised)), least)
        self.assertGreaterEqual(equal, texts)

    def test_single_precision(self):
        for _, mine, plain, _ in self.each(onnx.load(self.path)):
            np.testing.assert_allclose(mine, plain, 1e-4, 2e-5)

    def test_half_precision(self):
        source = onnx.shape_inference.infer_shapes(onnx.load(self.path))
        model = float16.convert_float_to_float16(source, keep_io_types=True)
        for feeds, mine, *theirs in self.each(model):
            true = models.exact(model, feeds)
            deviation = lambda found: np.sqrt(np.square(found - true).mean())
            for other in theirs:
                self.assertLess(deviation(mine), deviation(other) / 5, "nearer to what the weights say")
            np.testing.assert_allclose(mine, true, 1e-4, 2e-5)

    def test_products_between_dequantisers(self):
        def write(target):
            quantization.quantize_static(
                self.path, target, Texts(self.measured), weight_type=quantization.QuantType.QInt8,
                op_types_to_quantize=["MatMul", "Gemm"],
            )

        self.check_bytes(self.written(write), 5, 0.9)

    def test_dynamic_quantisation(self):
        write = lambda target: quantization.quantize_dynamic(self.path, target, weight_type=quantization.QuantType.QInt8)
        self.check_bytes(self.written(write), 3, 0.985)
