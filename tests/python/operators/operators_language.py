"""Operators of `com.microsoft` that exporters of language models write give what ONNX Runtime gives."""

import unittest

import numpy as np
import operator_models as models

RANDOM = np.random.default_rng(11)
HEADS, SHARED, WIDTH = 4, 2, 16


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def angles(count, pairs):
    """Cosines and sines of positions."""
    angle = np.arange(count)[:, None] / 100 ** (np.arange(pairs) / pairs)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


class Language(unittest.TestCase):
    def check(self, label, op, inputs, outputs=("y",), **more):
        with self.subTest(f"{op} {label}"):
            model, feeds = models.node(op, inputs, outputs, **more)
            models.same(self, label, models.reference(model, feeds), models.stead(model, feeds), 2e-5)

    def test_rotary_positions(self):
        cos, sin = angles(12, WIDTH // 2)
        x, ids = floats(2, 5, HEADS * WIDTH), RANDOM.integers(0, 12, (2, 5))
        apart = floats(2, HEADS, 5, WIDTH)
        for interleaved in [0, 1]:
            more = {"interleaved": interleaved, "constants": [2, 3]}
            for label, ids_of in {"all": ids, "first": np.array([3])}.items():
                self.check(f"{label} {interleaved}", "RotaryEmbedding", [apart, ids_of, cos, sin], **more)
            some = {"num_heads": HEADS, "rotary_embedding_dim": WIDTH // 2, **more}
            self.check(f"some {interleaved}", "RotaryEmbedding", [x, ids, cos[:, :WIDTH // 4], sin[:, :WIDTH // 4]], **some)

    def group(self, label, batch, rows, held, totals, *, packed=False, past=True, rotary=True, more=None, bias=False, **extra):
        q, k, v = floats(batch, rows, HEADS * WIDTH), floats(batch, rows, SHARED * WIDTH), floats(batch, rows, SHARED * WIDTH)
        parts = [np.concatenate([q, k, v], axis=2), None, None] if packed else [q, k, v]
        caches = [floats(batch, SHARED, held, WIDTH), floats(batch, SHARED, held, WIDTH)] if past else [None, None]
        longest = max(totals)
        lasts = np.array(totals, np.int32) - 1
        tables = list(angles(32, WIDTH // 2)) if rotary else [None, None]
        inputs = [*parts, *caches, lasts, np.array(longest, np.int32), *tables]
        if bias:
            inputs += [None, floats(1, HEADS, rows, longest)]
        more = {"num_heads": HEADS, "kv_num_heads": SHARED, "do_rotary": int(rotary), "constants": [7, 8] if rotary else [], **extra}
        self.check(label, "GroupQueryAttention", inputs, ("y", "k", "v"), **more)

    def test_attention_of_groups(self):
        self.group("prompt", 2, 5, 0, [5, 5])
        self.group("prompt without a past", 2, 5, 0, [5, 5], past=False)
        self.group("prompt, no rotation", 2, 5, 0, [5, 5], rotary=False)
        self.group("step", 2, 1, 6, [7, 7])
        self.group("step, packed", 2, 1, 6, [7, 7], packed=True)
        self.group("step, interleaved", 2, 1, 6, [7, 7], rotary_interleaved=1)
        self.group("several steps", 1, 3, 6, [9])
        self.group("scale, cap", 2, 1, 6, [7, 7], scale=0.3, softcap=2.0)
        self.group("entries of different lengths", 3, 1, 6, [7, 4, 1])
        self.group("a cache with room", 2, 1, 10, [7, 5])
        self.group("bias", 2, 1, 6, [7, 7], bias=True)
        for window in [1, 3, 6, 20]:
            self.group(f"window {window}", 2, 1, 6, [7, 7], local_window_size=window)
            self.group(f"window {window} of a prompt", 2, 9, 0, [9, 9], local_window_size=window)

    def test_refused(self):
        """What is not computed is refused by its name, and a cache that is shorter than its entries by its numbers."""
        q, k, v = floats(2, 1, HEADS * WIDTH), floats(2, 1, SHARED * WIDTH), floats(2, 1, SHARED * WIDTH)
        past, lasts, longest = floats(2, SHARED, 3, WIDTH), np.array([6, 6], np.int32), np.array(7, np.int32)
        inputs, heads = [q, k, v, past, past, lasts, longest], {"num_heads": HEADS, "kv_num_heads": SHARED}
        cases = [
            ("GroupQueryAttention", inputs, heads, "a cache of 3"),
            ("GroupQueryAttention", inputs, {**heads, "smooth_softmax": 1}, "smooth_softmax is 1"),
            ("GroupQueryAttention", inputs + [None] * 4 + [floats(HEADS)], heads, "at most 11 inputs"),
            *((op, [q], {}, op) for op in ["SparseAttention", "MatMulFpQ4"]),
        ]
        for op, inputs, attributes, text in cases:
            with self.subTest(text), self.assertRaisesRegex(AssertionError, text):
                models.stead(*models.node(op, inputs, ("y",), **attributes))
