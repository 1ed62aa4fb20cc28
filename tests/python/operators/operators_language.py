"""Operators of `com.microsoft` that exporters of language models write give what ONNX Runtime gives."""

import unittest

import numpy as np
import onnxruntime
import operator_models as models

RANDOM = np.random.default_rng(11)
HEADS, SHARED, WIDTH = 4, 2, 16


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


def angles(count, pairs):
    """Cosines and sines of positions."""
    angle = np.arange(count)[:, None] / 100 ** (np.arange(pairs) / pairs)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def in_place(model, feeds, shared):
    """The outputs of ONNX Runtime whose `shared` lie where the inputs of these names do."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), models.runtime_options(), providers=["CPUExecutionProvider"])
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in feeds.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    names = [output.name for output in session.get_outputs()]
    for name in names:
        if name in shared:
            binding.bind_ortvalue_output(name, values[shared[name]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return dict(zip(names, binding.copy_outputs_to_cpu()))


def compressed(masks):
    """Row ends and columns of masks of blocks, with -1 behind the columns of shorter ones."""
    rows = np.array([np.concatenate([[0], np.cumsum(mask.sum(axis=1))]) for mask in masks], np.int32)
    columns = np.full((len(masks), int(masks.sum(axis=(1, 2)).max())), -1, np.int32)
    for out, mask in zip(columns, masks):
        out[: mask.sum()] = np.nonzero(mask)[1]
    return rows, columns


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

    def sparse(self, label, batch, rows, totals, *, layouts=2, blocks=4, packed=False, rotary=True, kind=np.float32, **extra):
        q, k, v = (floats(batch, rows, heads * WIDTH).astype(kind) for heads in [HEADS, SHARED, SHARED])
        parts = [np.concatenate([q, k, v], axis=2), None, None] if packed else [q, k, v]
        caches = [floats(batch, SHARED, 70, WIDTH).astype(kind) for _ in range(2)]
        masks = np.tril(RANDOM.integers(0, 2, (layouts, blocks, blocks)) | np.eye(blocks, dtype=np.int64))
        totals, longest = np.array(totals, np.int32), np.array([max(totals)], np.int32)
        tables = [table.astype(kind) for table in angles(70, WIDTH // 2)] if rotary else [None, None]
        inputs = [*parts, *caches, *compressed(masks), longest, totals, *tables]
        more = {"num_heads": HEADS, "kv_num_heads": SHARED, "sparse_block_size": 16, "do_rotary": int(rotary), **extra}
        with self.subTest(f"SparseAttention {label}"):
            model, feeds = models.node("SparseAttention", inputs, ("y", "k", "v"), constants=[9, 10] if rotary else [], **more)
            if len(set(totals.tolist())) == 1:
                expected = in_place(model, feeds, {"k": "i3", "v": "i4"})
            else:
                # ONNX Runtime 1.31 looks for the weights of shorter entries where those of the longest would be.
                rows = {"i0", "i1", "i2", "i3", "i4", "i8"}
                each = [{name: value[at : at + 1] if name in rows else value for name, value in feeds.items()} for at in range(batch)]
                each = [in_place(model, {**one, "i7": one["i8"]}, {"k": "i3", "v": "i4"}) for one in each]
                expected = {name: np.concatenate([one[name] for one in each]) for name in each[0]}
            models.same(self, label, expected, models.stead(model, feeds), 2e-5 if kind == np.float32 else 4e-3)

    def test_attention_to_blocks(self):
        self.sparse("prompt", 2, 60, [60, 60])
        self.sparse("prompt, one layout", 2, 33, [33, 33], layouts=1)
        self.sparse("prompt, a layout for each head", 1, 64, [64], layouts=4)
        self.sparse("prompt, packed", 2, 40, [40, 40], packed=True)
        self.sparse("prompt, no rotation", 2, 40, [40, 40], rotary=False)
        self.sparse("prompt, interleaved, scale", 2, 40, [40, 40], rotary_interleaved=1, scale=0.3)
        self.sparse("step", 2, 1, [57, 57])
        self.sparse("step behind entries of different lengths", 3, 1, [57, 18, 1])
        self.sparse("several steps", 1, 20, [57])
        self.sparse("f16", 2, 40, [40, 40], kind=np.float16)
        rows, columns = compressed(np.zeros((1, 2, 2), np.int64) + [[1, 0], [1, 0]])
        q, k, past = floats(1, 32, HEADS * WIDTH), floats(1, 32, SHARED * WIDTH), floats(1, SHARED, 32, WIDTH)
        more = {"num_heads": HEADS, "kv_num_heads": SHARED, "sparse_block_size": 16}
        ends = [np.array([32], np.int32), np.array([32], np.int32)]
        given = lambda rows, columns: [q, k, k, past, past, rows, columns, *ends]
        model, feeds = models.node("SparseAttention", given(rows, columns), ("y", "k", "v"), **more)
        models.same(self, "not its own", in_place(model, feeds, {"k": "i3", "v": "i4"}), models.stead(model, feeds), 2e-5)
        for text, rows, columns in [
            ("has 7 among those of a row of 2 blocks", rows, columns + np.int32(7)),
            ("block_row_indices of block 0 are 0 and 9", np.array([[0, 9, 2]], np.int32), columns),
            ("block_row_indices of block 0 are 2 and 1", np.array([[2, 1, 2]], np.int32), columns),
            ("1 blocks of 16 keys for 32 keys", rows[:, :2], columns),
            ("for 4 heads", np.repeat(rows, 3, 0), np.repeat(columns, 3, 0)),
        ]:
            with self.subTest(text), self.assertRaisesRegex(AssertionError, text):
                models.stead(*models.node("SparseAttention", given(rows, columns), ("y", "k", "v"), **more))

    def test_refused(self):
        """What is not computed is refused by its name, and a cache that is shorter than its entries by its numbers."""
        q, k, v = floats(2, 1, HEADS * WIDTH), floats(2, 1, SHARED * WIDTH), floats(2, 1, SHARED * WIDTH)
        past, lasts, longest = floats(2, SHARED, 3, WIDTH), np.array([6, 6], np.int32), np.array(7, np.int32)
        inputs, heads = [q, k, v, past, past, lasts, longest], {"num_heads": HEADS, "kv_num_heads": SHARED}
        cases = [
            ("GroupQueryAttention", inputs, heads, "a cache of 3"),
            ("GroupQueryAttention", inputs, {**heads, "smooth_softmax": 1}, "smooth_softmax is 1"),
            ("GroupQueryAttention", inputs + [None] * 4 + [floats(HEADS)], heads, "at most 11 inputs"),
        ]
        for op, inputs, attributes, text in cases:
            with self.subTest(text), self.assertRaisesRegex(AssertionError, text):
                models.stead(*models.node(op, inputs, ("y",), **attributes))
