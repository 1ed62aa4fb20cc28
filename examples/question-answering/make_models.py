#!/usr/bin/env python3
"""Makes the two models of the example, the vocabulary, and expected.json: what ONNX Runtime makes of the questions.

    python make_models.py

    encoder  input_ids[batch, tokens] -> vector[batch, 64]: of the words of a text without those that every text has
    reader   input_ids, token_type_ids, attention_mask[batch, tokens] -> start, end[batch, tokens], score[batch, 1]:
             where in the text the answer begins and ends, and how likely it is one

It needs the packages onnx, numpy and onnxruntime. Both have the shape of models that are trained for this, and weights that a person wrote:
the encoder adds up a vector for each word, the reader looks for words of the kind that the question asks for. Put trained ones in
their place. The files are committed: nobody has to run this unless the models should change.
"""

import json
import os
import re

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "app", "models")
SIZE = 64
CLS, SEP = 2, 3

# What questions ask for, and the words that are of this kind.
KINDS = {
    "who": ["ada", "lovelace", "joni", "mitchell", "marie", "curie", "alan", "turing", "grace", "hopper", "emmy", "noether"],
    "where": ["london", "laurel", "canyon", "paris", "bletchley", "arlington", "erlangen", "toronto"],
    "when": [str(year) for year in range(1800, 2030)],
}
COMMON = "a an the of in on at and was is did does do to who where when what by her his for with ? . ,".split()


def words(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


def vocabulary(texts):
    """The words of all texts behind the tokens that BERT has."""
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    seen = dict.fromkeys(COMMON + [w for kind in KINDS.values() for w in kind])
    seen.update(dict.fromkeys(w for text in texts for w in words(text)))
    return known + list(seen)


class Graph:
    """Collects nodes and weights; every method returns the name of its result."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def node(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value, dtype=np.float32):
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def ints(self, *values):
        return self.constant(values, np.int64)

    def save(self, name, inputs, outputs):
        for output, (result, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [result], [output]))
        take = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "tokens"]) for n in inputs]
        give = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, (_, dims) in outputs.items()]
        graph = helper.make_graph(self.nodes, name, take, give, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, os.path.join(MODELS, f"{name}.onnx"))


def encoder(vocab):
    """The sum of a vector for each word, of length 1; common words and padding have none."""
    g, rng = Graph(), np.random.default_rng(7)
    table = rng.standard_normal((len(vocab), SIZE)) / np.sqrt(SIZE)
    for at, word in enumerate(vocab):
        if at < 5 or word in COMMON:
            table[at] = 0
    total = g.node("ReduceSum", g.node("Gather", g.constant(table), "input_ids", axis=0), g.ints(1), keepdims=0)
    # A text without any known word has a vector too.
    length = g.node("Add", g.node("ReduceL2", total, axes=[1], keepdims=1), g.constant(1e-6))
    g.save("encoder", ["input_ids"], {"vector": (g.node("Div", total, length), ["batch", SIZE])})


def reader(vocab):
    """A word of the text that is of the kind asked for begins an answer where the word before is of another kind, and ends one where the next
    word is of another kind."""
    g = Graph()
    ids = {word: at for at, word in enumerate(vocab)}
    asks, kinds = np.zeros((len(vocab), len(KINDS))), np.zeros((len(vocab), len(KINDS)))
    for kind, (question, members) in enumerate(KINDS.items()):
        asks[ids[question], kind] = 1
        for word in members:
            kinds[ids[word], kind] = 1
    number = lambda name: g.node("Cast", name, to=TensorProto.FLOAT)
    text, mask = number("token_type_ids"), number("attention_mask")
    # What the question asks for: of the tokens that are no text.
    asked = g.node("Gather", g.constant(asks), "input_ids", axis=0)
    of_question = g.node("Unsqueeze", g.node("Sub", mask, text), g.ints(2))
    wanted = g.node("ReduceSum", g.node("Mul", asked, of_question), g.ints(1), keepdims=1)
    has = g.node("Gather", g.constant(kinds), "input_ids", axis=0)
    fits = g.node("ReduceSum", g.node("Mul", has, wanted), g.ints(2), keepdims=0)
    # Not what the question says itself.
    same = g.node("Equal", g.node("Unsqueeze", "input_ids", g.ints(2)), g.node("Unsqueeze", "input_ids", g.ints(1)))
    in_question = g.node("Mul", number(same), g.node("Unsqueeze", g.node("Sub", mask, text), g.ints(1)))
    known = g.node("ReduceMax", in_question, axes=[2], keepdims=0)
    fits = g.node("Mul", g.node("Mul", fits, text), g.node("Sub", g.constant(1.0), known))
    beside = lambda pads, start, end: g.node(
        "Slice", g.node("Pad", fits, g.ints(*pads)), g.ints(start), g.ints(end), g.ints(1)
    )
    before, behind = beside([0, 1, 0, 0], 0, -1), beside([0, 0, 0, 1], 1, 1 << 40)
    # Outside of the text nothing begins or ends.
    outside = g.node("Mul", g.node("Sub", text, g.constant(1.0)), g.constant(20.0))
    edge = lambda beside: g.node(
        "Add", g.node("Mul", g.node("Sub", g.node("Mul", fits, g.constant(2.0)), beside), g.constant(4.0)), outside
    )
    start, end = edge(before), edge(behind)
    best = lambda x: g.node("ReduceMax", x, axes=[1], keepdims=1)
    outputs = {
        "start": (start, ["batch", "tokens"]),
        "end": (end, ["batch", "tokens"]),
        "score": (g.node("Add", best(start), best(end)), ["batch", 1]),
    }
    g.save("reader", ["input_ids", "token_type_ids", "attention_mask"], outputs)


def main():
    with open(os.path.join(HERE, "passages.jsonl")) as file:
        passages = [json.loads(line) for line in file]
    with open(os.path.join(HERE, "questions.json")) as file:
        questions = json.load(file)
    texts = [p["fields"]["text"] for p in passages]
    vocab = vocabulary(texts + [q["question"] for q in questions])
    os.makedirs(MODELS, exist_ok=True)
    with open(os.path.join(MODELS, "vocab.txt"), "w") as file:
        file.write("".join(word + "\n" for word in vocab))
    encoder(vocab)
    reader(vocab)

    ids = {word: at for at, word in enumerate(vocab)}
    tokens = lambda text: [ids.get(word, 1) for word in words(text)]
    session = lambda name: onnxruntime.InferenceSession(os.path.join(MODELS, f"{name}.onnx"))
    encode, read = session("encoder"), session("reader")
    vector = lambda text: encode.run(None, {"input_ids": np.array([tokens(text)], np.int64)})[0][0]
    expected = []
    for asked in questions:
        question = tokens(asked["question"])
        order = sorted(range(len(texts)), key=lambda at: -float(vector(asked["question"]) @ vector(texts[at])))
        found = []
        for at in order[:3]:
            row = np.array([CLS] + question + [SEP] + tokens(texts[at]) + [SEP])
            kinds = (np.arange(len(row)) >= len(question) + 2).astype(np.int64)
            feed = {"input_ids": row[None], "token_type_ids": kinds[None], "attention_mask": np.ones_like(row)[None]}
            start, end, score = read.run(None, {k: v.astype(np.int64) for k, v in feed.items()})
            found.append({"id": passages[at]["put"], "score": float(score[0, 0])})
        expected.append({**asked, "nearest": found})
    with open(os.path.join(HERE, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
