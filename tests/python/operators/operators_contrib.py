"""Operators of `com.microsoft`, a node at a time, give what ONNX Runtime gives."""

import unittest

import byte_sums
import numpy as np
import operator_models as models

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def below(limit, *shape):
    return RANDOM.integers(0, limit, shape).astype(np.int32)


def scale(value):
    return np.array(value, np.float32)


class Bytes:
    """Bytes of a type, and zero points that are as far from its least."""

    def __init__(self, kind):
        self.kind, self.low = kind, np.iinfo(kind).min

    def __call__(self, *shape):
        return RANDOM.integers(self.low, self.low + 256, shape).astype(self.kind)

    def zero(self, above):
        return np.array(self.low + above, self.kind)


class Operators(unittest.TestCase):
    def check(self, label, op, inputs, outputs=("y",), *, tolerance=2e-5, **more):
        with self.subTest(f"{op} {label}"):
            if byte_sums.LOSES_SUMS and op == "QLinearConv" and inputs[0].dtype == np.int8:
                self.skipTest("ONNX Runtime's sums of bytes end at 16 bits on this processor")
            model, feeds = models.node(op, inputs, outputs, **more)
            expected = models.reference(model, feeds)
            models.same(self, label, expected, models.stead(model, feeds), tolerance)

    def test_activations(self):
        x, bias = floats(2, 5, 16), floats(16)
        for op, inputs in [("Gelu", [x]), ("BiasGelu", [x, bias]), ("FastGelu", [x]), ("FastGelu", [x, bias]), ("QuickGelu", [x])]:
            self.check(f"of {len(inputs)}", op, inputs)
        self.check("alpha", "QuickGelu", [x], alpha=0.7)
        for upper in [0, 1]:
            self.check(f"{upper}", "Trilu", [x], upper=upper)
            self.check(f"{upper} from 1", "Trilu", [x, np.array(1)], upper=upper)

    def test_products(self):
        for a_turned in [0, 1]:
            for b_turned in [0, 1]:
                a = floats(2, 3, 6, 4) if a_turned else floats(2, 3, 4, 6)
                b = floats(2, 3, 5, 6) if b_turned else floats(2, 3, 6, 5)
                for alpha in [1.0, 0.5]:
                    turned = {"transA": a_turned, "transB": b_turned, "alpha": alpha}
                    self.check(f"{turned}", "FusedMatMul", [a, b], **turned)
                    self.check(f"{turned} weights", "FusedMatMul", [a, b[0, 0]], constants=[1], **turned)
        self.check("", "TransposeMatMul", [floats(6, 4), floats(6, 5)], transA=1)

    def test_products_with_activations(self):
        gemm = [floats(3, 4), floats(4, 5), floats(5)]
        one, two = {"activation_alpha": 0.3}, {"activation_alpha": 0.3, "activation_beta": 0.4}
        for name, parameters in {
            "Relu": {}, "Sigmoid": {}, "Tanh": {}, "Softplus": {}, "Softsign": {},
            "LeakyRelu": one, "Elu": one, "ThresholdedRelu": one, "HardSigmoid": two,
        }.items():
            self.check(name, "FusedGemm", gemm, activation=name, alpha=0.5, **parameters)
        conv = [floats(1, 4, 8, 8), floats(6, 4, 3, 3), floats(6)]
        window = {"constants": [1, 2], "kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
        for name, parameters in {
            "Relu": None, "Sigmoid": None, "Tanh": None, "LeakyRelu": [0.2], "HardSigmoid": [0.3, 0.4], "Clip": [0.0, 1.0],
        }.items():
            given = {"activation_params": parameters} if parameters else {}
            self.check(name, "FusedConv", conv, activation=name, **window, **given)
        self.check("sum", "FusedConv", [*conv, floats(1, 6, 8, 8)], activation="Relu", **window)

    def test_normalisations(self):
        x, skip, gamma, beta, bias = floats(2, 5, 16), floats(2, 5, 16), floats(16), floats(16), floats(16)
        op = "SkipLayerNormalization"
        self.check("all", op, [x, skip, gamma, beta, bias], epsilon=1e-5)
        self.check("sum", op, [x, skip, gamma, beta], ("y", None, None, "sum"))
        self.check("no beta", op, [x, skip, gamma])
        self.check("one skip for all", op, [x, skip[:1], gamma, beta])
        op = "SkipSimplifiedLayerNormalization"
        self.check("all", op, [x, skip, gamma, bias], ("y", None, None, "sum"), epsilon=1e-5)
        self.check("no bias", op, [x, skip, gamma])
        self.check("", "SimplifiedLayerNormalization", [x, gamma], domain="", epsilon=1e-5, axis=-1, stash_type=1)

    def test_embeddings(self):
        ids, segments, mask = below(20, 2, 5), below(2, 2, 5), np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32)
        words, positions, kinds = floats(20, 16), floats(12, 16), floats(2, 16)
        norm, all_tables = [floats(16), floats(16)], [2, 3, 4, 5, 6]
        op, tables = "EmbedLayerNormalization", [words, positions, kinds, *norm]
        self.check("mask", op, [ids, segments, *tables, mask], ("y", "n"), constants=all_tables, epsilon=1e-5)
        self.check("sum", op, [ids, segments, *tables, mask], ("y", "n", "sum"), constants=all_tables)
        self.check("no mask", op, [ids, segments, *tables], ("y", "n"), constants=all_tables)
        self.check("no segments", op, [ids, None, words, positions, None, *norm], ("y", "n"), constants=[2, 3, 5, 6])
        self.check("positions", op, [ids, segments, *tables, None, below(12, 2, 5)], ("y", "n"), constants=all_tables)

    def test_attention(self):
        x, w, bias = floats(2, 5, 16), floats(16, 48) / 3, floats(48)
        lengths, seen = np.array([3, 5], np.int32), np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32)
        each = below(2, 2, 5, 5)
        each[:, :, 0] = 1
        given = {"num_heads": 4, "constants": [1, 2]}
        for label, mask in {
            "no mask": None, "keys": seen, "lengths": lengths, "ranges": np.array([3, 5, 0, 2], np.int32), "pairs": each,
        }.items():
            for causal in [0, 1]:
                self.check(f"{label} {causal}", "Attention", [x, w, bias, mask], unidirectional=causal, **given)
        both = ("y", "present")
        past, wide = floats(2, 2, 4, 3, 4), np.array([[1] * 8, [0, 0] + [1] * 6], np.int32)
        self.check("present", "Attention", [x, w, bias], both, **given)
        self.check("past", "Attention", [x, w, bias, None, past], both, unidirectional=1, **given)
        self.check("past, mask", "Attention", [x, w, bias, wide, past], both, unidirectional=1, **given)
        self.check("mask, bias", "Attention", [x, w, bias, seen, None, floats(2, 4, 5, 5)], **given)
        self.check("bias, scale", "Attention", [x, w, bias, None, None, floats(1, 4, 5, 5)], scale=0.3, **given)
        self.check("filter", "Attention", [x, w, bias, seen], mask_filter_value=-3.0, **given)
        self.check("sizes", "Attention", [x, floats(16, 40), floats(40)], num_heads=4, qkv_hidden_sizes=[16, 16, 8])

    def test_attention_of_many_heads(self):
        op, q, k, v, bias = "MultiHeadAttention", floats(2, 5, 16), floats(2, 7, 16), floats(2, 7, 24), floats(56)
        seen = np.array([[1] * 4 + [0] * 3, [1] * 7], np.int32)
        for label, inputs in {
            "plain": [q, k, v],
            "bias": [q, k, v, bias],
            "keys": [q, k, v, bias, seen],
            "lengths": [q, k, v, bias, np.array([4, 7], np.int32)],
            "pairs": [q, k, v, bias, below(2, 2, 5, 7)],
            "scores": [q, k, v, None, None, floats(1, 1, 5, 7)],
            "heads apart": [q, floats(2, 4, 7, 4), floats(2, 4, 7, 4)],
        }.items():
            self.check(label, op, inputs, num_heads=4)
        k, v, past = floats(2, 5, 16), floats(2, 5, 16), [floats(2, 4, 3, 4), floats(2, 4, 3, 4)]
        outputs = ("y", "k", "v")
        self.check("past", op, [q, k, v, None, None, None, *past], outputs, num_heads=4, unidirectional=1)
        self.check("past, bias", op, [q, k, v, floats(48), None, None, *past], outputs, num_heads=4, scale=0.4)


# Bytes may be one off: ONNX Runtime rounds the product of scales, and stead each of them.
ONE = 1


class Quantised(unittest.TestCase):
    check = Operators.check

    def test_elements(self):
        for some in [Bytes(np.uint8), Bytes(np.int8)]:
            kind = np.dtype(some.kind).name
            out = [scale(0.05), some.zero(128)]
            a, b = [scale(0.02), some.zero(100)], [scale(0.03), some.zero(120)]
            more = {"tolerance": ONE, "constants": [1, 2, 4, 5, 6, 7]}
            for op in ["QLinearAdd", "QLinearMul"]:
                self.check(kind, op, [some(2, 3, 5), *a, some(3, 5), *b, *out], **more)
            one = {"tolerance": ONE, "constants": [1, 2, 3, 4]}
            share = [scale(1 / 256), some.zero(0)]
            self.check(kind, "QLinearSigmoid", [some(3, 40), *out, *share], **one)
            self.check(kind, "QLinearLeakyRelu", [some(3, 40), *out, *b], alpha=0.2, **one)
            self.check(kind, "QLinearSoftmax", [some(3, 10), *out, *share], axis=-1, opset=13, **one)
            self.check(f"{kind} 12", "QLinearSoftmax", [some(3, 4, 5), *out, *share], axis=1, opset=12, **one)
            parts = [*out, some(2, 3), *a, some(2, 4), *out]
            self.check(kind, "QLinearConcat", parts, axis=1, tolerance=ONE, constants=[0, 1, 3, 4, 6, 7])
            chosen = [RANDOM.random((2, 5)) > 0.5, some(2, 5), *a, some(2, 5), *out, *b]
            self.check(kind, "QLinearWhere", chosen, tolerance=ONE, constants=[2, 3, 5, 6, 7, 8])

    def test_images(self):
        for some in [Bytes(np.uint8), Bytes(np.int8)]:
            scales = [scale(0.02), some.zero(100), scale(0.03), some.zero(110)]
            window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
            for last in [0, 1]:
                x = some(1, 9, 9, 4) if last else some(1, 4, 9, 9)
                label = f"{np.dtype(some.kind).name} {last}"
                pool = {"tolerance": ONE, "constants": [1, 2, 3, 4], "channels_last": last}
                self.check(label, "QLinearAveragePool", [x, *scales], strides=[2, 2], **window, **pool)
                counted = {"count_include_pad": 1, "ceil_mode": 1, "strides": [2, 2]}
                self.check(f"{label} counted", "QLinearAveragePool", [x, *scales], **counted, **window, **pool)
                self.check(label, "QLinearGlobalAveragePool", [x, *scales], **pool)
                w, out = Bytes(np.int8)(6, 4, 3, 3), [scale(0.3), some.zero(110)]
                conv = {"tolerance": ONE, "constants": [1, 2, 3, 4, 5, 6, 7, 8], "channels_last": last, **window}
                bias = RANDOM.integers(-500, 500, 6).astype(np.int32)
                self.check(label, "QLinearConv", [x, *scales[:2], w, scale(0.01), np.int8(0), *out, bias], **conv)
                each = [w, floats(6) ** 2 * 0.01 + 0.001, np.zeros(6, np.int8)]
                self.check(f"{label} each", "QLinearConv", [x, *scales[:2], *each, *out, bias], **conv)
            self.check(label, "NhwcMaxPool", [some(1, 9, 9, 4)], strides=[2, 2], **window)

    def test_numbers_and_bytes(self):
        for kind in [np.uint8, np.int8, np.uint16, np.int16]:
            some, label = Bytes(kind), np.dtype(kind).name
            zero = some.zero(100)
            self.check(label, "DequantizeLinear", [some(3, 4), scale(0.1), zero], constants=[1, 2])
            self.check(label, "QuantizeLinear", [floats(3, 4) * 5, scale(0.1), zero], constants=[1, 2])
            self.check(f"{label} axis", "DequantizeLinear", [some(3, 4), floats(4), some(4)], constants=[1, 2], axis=1)
            scales = np.abs(floats(4)) + 0.1
            self.check(f"{label} axis", "QuantizeLinear", [floats(3, 4) * 5, scales, some(4)], constants=[1, 2], axis=1)

    def test_products(self):
        left = Bytes(np.uint8)
        for some in [Bytes(np.uint8), Bytes(np.int8)]:
            kind, zero = np.dtype(some.kind).name, some.zero(5)
            x, w, bias = floats(2, 3, 16), some(16, 24), floats(24)
            op = "DynamicQuantizeMatMul"
            self.check(kind, op, [x, w, scale(0.02), zero, bias], constants=[1, 2, 3, 4])
            self.check(f"{kind} columns", op, [x, w, np.abs(floats(24)) * 0.01 + 0.001, some(24)], constants=[1, 2, 3])
            self.check(f"{kind} no zero", op, [x, w, scale(0.02)], constants=[1, 2])
            scales = [scale(0.02), scale(0.01), left.zero(100), zero]
            self.check(kind, "MatMulIntegerToFloat", [left(2, 3, 16), w, *scales, bias], constants=[1, 2, 3, 4, 5, 6])
            for c in [None, RANDOM.integers(-999, 999, 24), RANDOM.integers(-999, 999, (7, 24))]:
                for turned in [0, 1]:
                    for out in [[], [scale(0.3), left.zero(120)]]:
                        c = None if c is None else c.astype(np.int32)
                        b = [some(24, 16) if turned else w, scale(0.01), zero]
                        inputs = [left(7, 16), scale(0.02), left.zero(100), *b, c, *out]
                        weights = [at for at, value in enumerate(inputs) if at and value is not None]
                        label = f"{kind} {turned} {None if c is None else c.shape} {len(out)}"
                        more = {"transB": turned, "alpha": 0.5, "constants": weights, "tolerance": ONE if out else 2e-5}
                        self.check(label, "QGemm", inputs, **more)

    def test_attention(self):
        x, bias = Bytes(np.uint8)(2, 5, 16), floats(48)
        for some in [Bytes(np.uint8), Bytes(np.int8)]:
            kind, w, zeros = np.dtype(some.kind).name, some(16, 48), [np.uint8(120), some.zero(3)]
            given = {"num_heads": 4, "constants": [1, 2, 3, 4, 6, 7], "tolerance": 5e-5}
            scales = [bias, scale(0.02), scale(0.01)]
            for mask in [None, np.array([3, 5], np.int32), np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32)]:
                for causal in [0, 1]:
                    label = f"{kind} {None if mask is None else mask.shape} {causal}"
                    self.check(label, "QAttention", [x, w, *scales, mask, *zeros], unidirectional=causal, **given)
            past = [x, w, *scales, None, *zeros, floats(2, 2, 4, 3, 4)]
            self.check(f"{kind} past", "QAttention", past, ("y", "present"), unidirectional=1, **given)

    def test_embeddings(self):
        ids, segments, mask = below(20, 2, 5), below(2, 2, 5), np.array([[1, 1, 1, 0, 0], [1] * 5], np.int32)
        for some in [Bytes(np.uint8), Bytes(np.int8)]:
            tables = [some(20, 16), some(8, 16), some(2, 16), some(16), some(16)]
            scales = [scale(value) for value in [0.02, 0.01, 0.03, 0.02, 0.02]]
            inputs = [ids, segments, *tables, mask, *scales, *(some.zero(at) for at in range(5, 10))]
            weights = [*range(2, 7), *range(8, 18)]
            kind = np.dtype(some.kind).name
            self.check(kind, "QEmbedLayerNormalization", inputs, ("y", "n"), constants=weights, epsilon=1e-5)

    def test_lstm(self):
        # ONNX Runtime rounds inputs and states of each step to bytes: a hundredth of their range.
        hidden, wide = 6, 8
        for some in [Bytes(np.uint8), Bytes(np.int8)]:
            for directions, name in [(1, "forward"), (1, "reverse"), (2, "bidirectional")]:
                numbers = [np.full(directions, 0.004, np.float32), np.full(directions, some.zero(128))]
                weights = [some(directions, wide, 4 * hidden), some(directions, hidden, 4 * hidden)]
                inputs = [floats(7, 2, wide), *weights, floats(directions, 8 * hidden), *[None] * 4, *numbers, *numbers]
                label = f"{np.dtype(some.kind).name} {name}"
                more = {"constants": [1, 2, 3, 8, 9, 10, 11], "tolerance": 3e-2}
                self.check(label, "DynamicQuantizeLSTM", inputs, ("y", "h", "c"), hidden_size=hidden, direction=name, **more)
