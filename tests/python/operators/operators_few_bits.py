"""Operators of `com.microsoft` with weights of few bits, and networks of experts, give what ONNX Runtime gives."""

import unittest

import ml_dtypes
import numpy as np
import onnxruntime
import operator_models as models

RANDOM = np.random.default_rng(13)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def packed(numbers, bits):
    """Numbers of few bits in bytes, along the last dimension, from the lowest bits on."""
    per = 8 // bits
    missing = -numbers.shape[-1] % per
    numbers = np.pad(numbers, [(0, 0)] * (numbers.ndim - 1) + [(0, missing)]).astype(np.int64)
    return sum(numbers[..., at::per] << (bits * at) for at in range(per)).astype(np.uint8)


class FewBits(unittest.TestCase):
    def check(self, label, op, inputs, outputs=("y",), *, tolerance=2e-5, **more):
        with self.subTest(f"{op} {label}"):
            model, feeds = models.node(op, inputs, outputs, **more)
            models.same(self, label, models.reference(model, feeds), models.stead(model, feeds), tolerance)

    def refused(self, text, op, inputs, **attributes):
        with self.subTest(text), self.assertRaisesRegex(AssertionError, text):
            models.stead(*models.node(op, inputs, **attributes))

    def test_rows_of_tables(self):
        op, rows = "GatherBlockQuantized", np.array([[3, 0, 8], [-1, 9, 20]])
        for kind in [np.float32, np.float16]:
            scales, label = np.abs(floats(9, 4)).astype(kind), np.dtype(kind).name
            for bits in [2, 4, 8]:
                codes, zeros = RANDOM.integers(0, 2**bits, (9, 56)), RANDOM.integers(0, 2**bits, (9, 4))
                inputs = [packed(codes, bits), rows, scales]
                more = {"bits": bits, "block_size": 16, "quantize_axis": 1, "constants": [0, 2, 3]}
                self.check(f"{label} {bits}", op, inputs, **{**more, "constants": [0, 2]})
                self.check(f"{label} {bits} zeros", op, [*inputs, packed(zeros, bits)], **more)
            for four, low in [(ml_dtypes.uint4, 0), (ml_dtypes.int4, -8)]:
                codes, zeros = (RANDOM.integers(low, low + 16, shape).astype(four) for shape in [(9, 56), (9, 4)])
                for index in [np.int64, np.int32]:
                    inputs = [codes, rows.astype(index), scales]
                    name, more = f"{label} {four.__name__} {index.__name__}", {"block_size": 16, "quantize_axis": 1}
                    self.check(name, op, inputs, constants=[0, 2], **more)
                    self.check(f"{name} zeros", op, [*inputs, zeros], constants=[0, 2, 3], **more)
        codes, scales = RANDOM.integers(-8, 8, (3, 40, 5)).astype(ml_dtypes.int4), floats(3, 3, 5)
        zeros = RANDOM.integers(-8, 8, (3, 3, 5)).astype(ml_dtypes.int4)
        for axis in [0, 2, -1]:
            more = {"block_size": 16, "quantize_axis": 1, "gather_axis": axis, "constants": [0, 2, 3]}
            self.check(f"axis {axis}", op, [codes, np.array([2, 0]), scales, zeros], **more)
        given = {"constants": [0, 2], "quantize_axis": 1}
        table, scales = packed(RANDOM.integers(0, 16, (9, 64)), 4), floats(9, 4)
        self.refused("block_size is 8", op, [table, rows, scales], block_size=8, **given)
        self.refused("scales of", op, [table, rows, scales], block_size=32, **given)
        self.refused("bits is 3", op, [table, rows, scales], block_size=16, bits=3, **given)
        self.refused("gather_axis is 1", op, [table, rows, scales], block_size=16, gather_axis=1, **given)

    def test_products_by_tables_of_numbers(self):
        op, n, k = "MatMulBnb4", 6, 40
        for kind in [0, 1]:
            for block in [16, 64]:
                codes, largest = RANDOM.integers(0, 256, n * k // 2).astype(np.uint8), np.abs(floats(-(-n * k // block)))
                more = {"K": k, "N": n, "block_size": block, "quant_type": kind, "constants": [1, 2]}
                for rows in [1, 7]:
                    self.check(f"{kind} {block} {rows}", op, [floats(2, rows, k), codes, largest], **more)
        self.refused("quant_type is Some", op, [floats(1, k), codes, largest], **{**more, "quant_type": 2})
        self.refused("B is", op, [floats(1, k), codes[1:], largest], **more)

    def test_products_by_blocks_with_scales_beside_them(self):
        op, n = "MatMulFpQ4", 5
        for kind in [0, 1]:
            for k in [128, 100, 32, 7]:
                blocks = n * -(-k // 32)
                scales = floats(blocks, 1).view(np.uint8)
                zeros = RANDOM.integers(0, 16, (blocks, kind)).astype(np.uint8)
                codes = RANDOM.integers(0, 256, (blocks, 16)).astype(np.uint8)
                blob = np.concatenate([scales, zeros, codes], axis=1).reshape(-1)
                inputs = [floats(2, 3, k), blob, np.array([k, n])]
                more = {"blk_quant_type": kind, "constants": [1, 2]}
                # The lower halves of the bytes of a block are its first sixteen numbers.
                numbers = np.concatenate([codes & 15, codes >> 4], axis=1).astype(np.float32)
                weights = (numbers - (zeros if kind else 8)) * scales.view(np.float32)
                expected = {"y": inputs[0] @ weights.reshape(n, -1)[:, :k].T}
                with self.subTest(f"{op} {kind} {k}"):
                    model, feeds = models.node(op, inputs, **more)
                    models.same(self, "stead", expected, models.stead(model, feeds), 2e-4)
                    try:
                        models.same(self, "ONNX Runtime", expected, models.reference(model, feeds), 2e-4)
                    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as error:
                        # It has the operator with AVX-512 alone.
                        self.assertIn("not yet supported on this hardware", str(error))
        self.refused("blk_quant_type is 2", op, inputs, **{**more, "blk_quant_type": 2})
        self.refused("B is", op, [inputs[0], blob[1:], inputs[2]], **more)
        self.refused("B_shape is", op, [inputs[0], blob, np.array([k, n, 1])], **more)
        self.refused("B is no constant", op, inputs, **{**more, "constants": [2]})

    def test_experts(self):
        op, tokens, wide, inner, experts = "MoE", 7, 16, 24, 5
        x, router = floats(tokens, wide), floats(tokens, experts)
        layers = [floats(experts, inner, wide) / 4, floats(experts, inner), floats(experts, wide, inner) / 4, floats(experts, wide)]
        for name in ["relu", "gelu", "silu", "identity"]:
            for k in [1, 2, 5]:
                for normalized in [0, 1]:
                    more = {"activation_type": name, "k": k, "normalize_routing_weights": normalized}
                    self.check(f"{more}", op, [x, router, *layers], **more)
        first, _, second, _ = layers
        self.check("no bias", op, [x, router, first, None, second], k=2)
        self.check("weights", op, [x, router, first, None, second], k=2, constants=[2, 4])
        self.check("batches", op, [x[None, :, :], router, *layers], k=2)
        self.check("many rows", op, [floats(600, wide), floats(600, experts), *layers], k=2)
        gated = [floats(experts, 2 * inner, wide) / 4, floats(experts, 2 * inner), *layers[2:]]
        for more in [{}, {"activation_alpha": 1.7, "activation_beta": 1.0}, {"swiglu_limit": 0.5}]:
            given = {"activation_type": "swiglu", "k": 2, **more}
            self.check(f"{given}", op, [x, router, *gated], swiglu_fusion=1, **given)
            # ONNX Runtime has no gates that lie side by side.
            model, feeds = models.node(op, [x, router, *gated], swiglu_fusion=1, **given)
            beside = [np.concatenate([part[:, 0::2], part[:, 1::2]], axis=1) for part in gated[:2]]
            turned = models.node(op, [x, router, *beside, *gated[2:]], swiglu_fusion=2, **given)
            models.same(self, "beside", models.reference(model, feeds), models.stead(*turned), 2e-5)
        self.refused("use_sparse_mixer is 1", op, [x, router, *layers], use_sparse_mixer=1)
        self.refused("fc3_experts_weights", op, [x, router, *layers, layers[0]])
        self.refused('activation_type is "mish"', op, [x, router, *layers], activation_type="mish")
        self.refused("swiglu_fusion is 0", op, [x, router, *gated], activation_type="swiglu")
        self.refused("inputs", op, [x[:, 1:], router, *layers])
        self.refused("expert 5 of 5", op, [x, np.full((tokens, 6), np.arange(6), np.float32), *layers], k=2)

    def few(self, experts, n, k, bits, block, with_zeros):
        """Codes, scales and zero points of a layer."""
        codes, blocks = RANDOM.integers(0, 2**bits, (experts, n, k)), k // (block or k)
        scales = (np.abs(floats(experts, n, blocks)) * 0.05 + 0.01) / 2**bits
        zeros = RANDOM.integers(0, 2**bits, (experts, n, blocks))
        if not block:
            scales, zeros = scales[..., 0], zeros[..., 0]
        return packed(codes, bits), scales, packed(zeros, bits) if with_zeros else None

    def test_experts_of_few_bits(self):
        op, tokens, wide, inner, experts = "QMoE", 7, 32, 64, 5
        x, router = floats(tokens, wide), floats(tokens, experts)
        for bits in [2, 4, 8]:
            for block in [0, 16, 32]:
                for zeros in [False, True]:
                    for name, parts in [("relu", 1), ("swiglu", 2)]:
                        first = self.few(experts, parts * inner, wide, bits, block, zeros)
                        second = self.few(experts, wide, inner, bits, block, zeros)
                        biases = [floats(experts, parts * inner), floats(experts, wide)]
                        inputs = [x, router, *first[:2], biases[0], *second[:2], biases[1], None, None, None, first[2], second[2]]
                        constants = [at for at, value in enumerate(inputs) if at > 1 and value is not None]
                        more = {"k": 2, "expert_weight_bits": bits, "activation_type": name, "constants": constants}
                        more |= {"block_size": block} if block else {}
                        more |= {"swiglu_fusion": 1, "activation_alpha": 1.7, "activation_beta": 1.0} if parts == 2 else {}
                        # ONNX Runtime rounds activations to bytes for blocks of 8 bits, and of 2 bits on some machines.
                        rough = block and bits != 4
                        self.check(f"{bits} {block} {zeros} {name}", op, inputs, tolerance=3e-2 if rough else 5e-5, **more)
        first, second = self.few(experts, inner, wide, 4, 0, False), self.few(experts, wide, inner, 4, 0, False)
        inputs, more = [x, router, *first[:2], None, *second[:2], *[None] * 7], {"k": 2, "constants": [2, 3, 5, 6]}
        for normalized in [0, 1]:
            parts = np.abs(floats(tokens, experts))
            self.check(f"parts {normalized}", op, [*inputs, parts], normalize_routing_weights=normalized, **more)
        self.refused('quant_type is "fp8"', op, inputs, quant_type="fp8", **more)
        self.refused("zero points of experts", op, [*inputs[:11], second[0][:1], *inputs[12:]], **{**more, "constants": [2, 3, 5, 6, 11]})
        self.refused("no constants", op, inputs, **{**more, "constants": [3, 5, 6]})

    def test_states_that_the_standard_has_too(self):
        tokens, heads, width = 5, 2, 4
        q, k, v = (floats(1, tokens, heads * width) for _ in range(3))
        state, decay, rate = floats(1, heads, width, width), -np.abs(floats(1, tokens, heads * width)), np.abs(floats(1, tokens, heads))
        more = {"q_num_heads": heads, "kv_num_heads": heads}
        for rule, inputs in {
            "linear": [q, k, v, state], "gated": [q, k, v, state, decay],
            "delta": [q, k, v, state, None, rate], "gated_delta": [q, k, v, state, decay, rate],
        }.items():
            self.check(rule, "LinearAttention", inputs, ("y", "s"), update_rule=rule, **more)
        self.refused("state_window is 2", "LinearAttention", [q, k, v], state_window=2, update_rule="linear", **more)
        x, taps, bias, past = floats(2, 6, 9), floats(6, 1, 4), floats(6), floats(2, 6, 3)
        for activation in ["none", "silu"]:
            self.check(activation, "CausalConvWithState", [x, taps, bias, past], ("y", "s"), activation=activation)
        for name in ["dilation", "ndim"]:
            self.refused(f"{name} is 2", "CausalConvWithState", [x, taps], **{name: 2})
        self.refused("channels_last is 1", "CausalConvWithState", [x, taps], channels_last=1)
