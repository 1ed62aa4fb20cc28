"""Files that ONNX Runtime's optimiser and its quantisation tools write run here as they do there."""

import logging
import os
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnxruntime
import operator_models as models
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.transformers import float16, optimizer

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import minilm

logging.disable(logging.WARNING)
LEVEL = onnxruntime.GraphOptimizationLevel
WORDS, TEXTS, TOKENS = 50, 2, 7


def bert(seed=1):
    """MiniLM's graph with two small layers, and feeds."""
    minilm.LAYERS, minilm.HEADS, minilm.HIDDEN, minilm.HEAD = 2, 4, 64, 16
    random = np.random.default_rng(seed)
    hidden, inner = minilm.HIDDEN, 128

    class Weights(dict):
        def __missing__(self, name):
            sizes = {
                "word_embeddings": (WORDS, hidden), "position_embeddings": (512, hidden), "token_type": (2, hidden),
                "LayerNorm": (hidden,), "intermediate": (inner, hidden), "output.dense": (hidden, inner),
            }
            size = next((size for part, size in sizes.items() if part in name), (hidden, hidden))
            if "attention.output.dense" in name:
                size = (hidden, hidden)
            if name.endswith(".bias"):
                size = size[:1]
            value = random.normal(size=size) * 0.1 + ("LayerNorm.weight" in name)
            return self.setdefault(name, value.astype(np.float32))

    model = minilm.build(Weights(), False)
    feeds = {
        "input_ids": random.integers(0, WORDS, (TEXTS, TOKENS)),
        "attention_mask": np.array([[1] * TOKENS, [1] * 4 + [0] * (TOKENS - 4)]),
        "token_type_ids": random.integers(0, 2, (TEXTS, TOKENS)),
    }
    return model, feeds


def net(seed=2):
    """Convolutions with normalisation, activations, a sum and a pool, and two products."""
    random = np.random.default_rng(seed)
    weights = []

    def weight(name, *shape):
        value = random.normal(size=shape) / np.sqrt(np.prod(shape[1:]) or 1)
        weights.append(numpy_helper.from_array(value.astype(np.float32), name))
        return name

    def positive(name, size):
        weights.append(numpy_helper.from_array(random.uniform(0.5, 1.5, size).astype(np.float32), name))
        return name

    def number(name, value):
        weights.append(numpy_helper.from_array(np.float32(value), name))
        return name

    same = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    norm = [positive("n1", 8), weight("n2", 8), weight("n3", 8), positive("n4", 8)]
    nodes = [
        helper.make_node("Conv", ["x", weight("w1", 8, 3, 3, 3)], ["c1"], name="c1", **same),
        helper.make_node("BatchNormalization", ["c1", *norm], ["b1"], name="b1"),
        helper.make_node("Relu", ["b1"], ["r1"], name="r1"),
        helper.make_node("Conv", ["r1", weight("w2", 8, 8, 3, 3), weight("k2", 8)], ["c2"], name="c2", **same),
        helper.make_node("Add", ["c2", "r1"], ["s2"], name="s2"),
        helper.make_node("Relu", ["s2"], ["r2"], name="r2"),
        helper.make_node("Conv", ["r2", weight("w3", 8, 1, 3, 3)], ["c3"], group=8, name="c3", **same),
        helper.make_node("Clip", ["c3", number("low", 0), number("high", 6)], ["r3"], name="r3"),
        helper.make_node("Conv", ["r3", weight("w4", 12, 8, 1, 1)], ["c4"], name="c4"),
        helper.make_node("LeakyRelu", ["c4"], ["r4"], alpha=0.1, name="r4"),
        helper.make_node("GlobalAveragePool", ["r4"], ["p"], name="p"),
        helper.make_node("Flatten", ["p"], ["f"], name="f"),
        helper.make_node("Gemm", ["f", weight("w5", 12, 16), weight("k5", 16)], ["g5"], name="g5"),
        helper.make_node("Relu", ["g5"], ["r5"], name="r5"),
        helper.make_node("MatMul", ["r5", weight("w6", 16, 4)], ["y"], name="g6"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 10, 10])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, {"x": random.normal(size=(2, 3, 10, 10)).astype(np.float32)}


def optimised(model, level):
    """The file that ONNX Runtime's optimiser writes."""
    with tempfile.TemporaryDirectory() as folder:
        options = models.runtime_options(level)
        options.optimized_model_filepath = os.path.join(folder, "optimised.onnx")
        data = model if isinstance(model, bytes) else model.SerializeToString()
        onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return onnx.load(options.optimized_model_filepath)


def operators(model):
    """The operators of `com.microsoft` in a file."""
    return {node.op_type for node in model.graph.node if node.domain == "com.microsoft"}


class Ranges(quantization.CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = iter([feeds])

    def get_next(self):
        return next(self.feeds, None)


def written(write):
    """The file that `write` makes of two paths."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "a.onnx"), os.path.join(folder, "b.onnx")
        write(source, target)
        return onnx.load(target)


class Files(unittest.TestCase):
    def check(self, label, model, feeds, tolerance):
        expected = models.reference(model, feeds)
        models.same(self, label, expected, models.stead(model, feeds), tolerance)

    def test_optimised_files(self):
        cases = {
            "bert": (bert(), {"BiasGelu", "FusedMatMul"}),
            "net": (net(), {"FusedConv", "FusedGemm"}),
        }
        for name, ((model, feeds), wanted) in cases.items():
            for level in [LEVEL.ORT_ENABLE_BASIC, LEVEL.ORT_ENABLE_EXTENDED]:
                with self.subTest(f"{name} {level}"):
                    file = optimised(model, level)
                    if level == LEVEL.ORT_ENABLE_EXTENDED:
                        self.assertLessEqual(wanted, operators(file))
                    expected = models.reference(model, feeds)
                    models.same(self, name, expected, models.stead(file, feeds), 2e-5)

    def test_files_of_the_optimiser_for_transformers(self):
        model, feeds = bert()
        names = {"num_heads": minilm.HEADS, "hidden_size": minilm.HIDDEN, "opt_level": 0, "only_onnxruntime": False}

        def write(source, target):
            onnx.save(model, source)
            optimizer.optimize_model(source, "bert", **names).save_model_to_file(target)

        file = written(write)
        wanted = {"Attention", "BiasGelu", "EmbedLayerNormalization", "SkipLayerNormalization"}
        self.assertLessEqual(wanted, operators(file))
        expected = models.reference(model, feeds)
        models.same(self, "bert", expected, models.stead(file, feeds), 2e-5)

    def test_dynamically_quantised_files(self):
        model, feeds = bert()

        def write(source, target):
            onnx.save(model, source)
            quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)

        file = written(write)
        # Bytes of activations may be one off, by sums in another order before them.
        self.check("as written", file, feeds, 5e-3)
        fused = optimised(file, LEVEL.ORT_ENABLE_EXTENDED)
        self.assertIn("DynamicQuantizeMatMul", operators(fused))
        self.check("optimised", fused, feeds, 5e-3)

    def test_statically_quantised_files(self):
        model, feeds = net()
        for form in [quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator]:
            for kind in [quantization.QuantType.QUInt8, quantization.QuantType.QInt8]:
                def write(source, target):
                    onnx.save(model, source)
                    quantization.quantize_static(
                        source, target, Ranges(feeds), quant_format=form, activation_type=kind,
                        weight_type=quantization.QuantType.QInt8,
                    )

                with self.subTest(f"{form} {kind}"):
                    file = written(write)
                    if form == quantization.QuantFormat.QOperator:
                        self.assertLessEqual({"QLinearAdd", "QLinearGlobalAveragePool"}, operators(file))
                    # Two steps of the last quantisation, whose range is about 2.
                    self.check(f"{form} {kind}", file, feeds, 2e-2)
                    fused = optimised(file, LEVEL.ORT_ENABLE_EXTENDED)
                    self.check(f"{form} {kind} optimised", fused, feeds, 2e-2)

    def test_encoder_of_bytes_between_dequantisers(self):
        model, feeds = bert()

        def write(source, target):
            onnx.save(model, source)
            quantization.quantize_static(
                source, target, Ranges(feeds), weight_type=quantization.QuantType.QInt8,
                op_types_to_quantize=["MatMul", "Gemm", "Add"],
            )

        file = written(write)
        self.assertIn("DequantizeLinear", {node.op_type for node in file.graph.node})
        # One step of the last activation, whose range is about 7, where a sum in another order rounds the other way.
        self.check("as written", file, feeds, 3e-2)
        fused = optimised(file, LEVEL.ORT_ENABLE_EXTENDED)
        self.check("optimised", fused, feeds, 3e-2)

    def test_encoder_in_halves(self):
        model, feeds = bert()
        for borders in [True, False]:
            with self.subTest(borders):
                source = onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(model.SerializeToString()))
                file = float16.convert_float_to_float16(source, keep_io_types=borders)
                self.assertIn(TensorProto.FLOAT16, {weight.data_type for weight in file.graph.initializer})
                # Results are about 1 and f16 has 11 bits; ONNX Runtime rounds sums at other places.
                self.check(f"floats at the borders: {borders}", file, feeds, 1e-2)
                # Nearer than ONNX Runtime to what the weights say: only what leaves the model in half precision is rounded.
                true, (name,) = models.exact(file, feeds), [output.name for output in file.graph.output]
                error = lambda found: np.abs(found[name].astype(np.float64) - true).max()
                mine, theirs = error(models.stead(file, feeds)), error(models.reference(file, feeds))
                self.assertLessEqual(mine, theirs)
                # Half a unit of results in half precision.
                self.assertLessEqual(mine, 2e-5 if borders else 1.01e-3)

    def test_weights_of_few_bits(self):
        model, feeds = bert()
        for bits in [4, 8]:
            with self.subTest(bits):
                quantizer = MatMulNBitsQuantizer(onnx.ModelProto.FromString(model.SerializeToString()), bits=bits, block_size=32)
                quantizer.process()
                file = quantizer.model.model
                self.assertIn("MatMulNBits", operators(file))
                self.check(f"{bits} bits", file, feeds, 1e-4)
