#!/usr/bin/env python3
"""Trains a ranker with BERT's structure on what `stead encode` wrote, and exports it to ONNX.

    stead encode app --profile ranker pairs.jsonl --output train.npz --validation 0.1 --seed 7
    python train.py train.npz app/models/ranker.onnx

It needs torch, numpy and onnx. train.encoding.json, which says how the rows were made, goes into the metadata of the model as
`stead.encoding`. --untrained FILE also writes the model as it was before the first step. The model is small and has weights by
chance, so it first learns to guess hidden words, as BERT did. One that knows its words already needs no such thing: put one of
your own in its place, such as a BERT of transformers with one label.
"""

import argparse
import inspect
import json
import pathlib

import numpy as np
import onnx
import torch
from torch import nn

INPUTS = ["input_ids", "token_type_ids", "attention_mask"]
MASK = 103


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads, self.size = heads, hidden // heads
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden) for _ in range(4))
        self.wide, self.narrow = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)
        self.first, self.second = nn.LayerNorm(hidden, eps=1e-12), nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask):
        rows, tokens, hidden = x.shape
        split = lambda t: t.view(rows, tokens, self.heads, self.size).transpose(1, 2)
        query, key, value = split(self.query(x)), split(self.key(x)), split(self.value(x))
        scores = query @ key.transpose(2, 3) / self.size ** 0.5 + mask
        mixed = (torch.softmax(scores, -1) @ value).transpose(1, 2).reshape(rows, tokens, hidden)
        x = self.first(x + self.output(mixed))
        return self.second(x + self.narrow(nn.functional.gelu(self.wide(x))))


class Ranker(nn.Module):
    """Logits of rows; what is exported gives their sigmoid."""

    def __init__(self, words, tokens, hidden=32, layers=2, heads=2):
        super().__init__()
        self.words, self.types = nn.Embedding(words, hidden), nn.Embedding(2, hidden)
        self.positions = nn.Embedding(tokens, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads) for _ in range(layers))
        self.pooler, self.score = nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        for part in self.modules():
            if isinstance(part, (nn.Embedding, nn.Linear)):
                nn.init.normal_(part.weight, std=0.05)

    def hidden(self, input_ids, token_type_ids, attention_mask):
        places = torch.arange(input_ids.shape[1]).unsqueeze(0)
        x = self.norm(self.words(input_ids) + self.types(token_type_ids) + self.positions(places))
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def forward(self, *inputs):
        return self.score(torch.tanh(self.pooler(self.hidden(*inputs)[:, 0])))

    def hidden_words(self, ids, types, mask):
        """The loss of guessing a fifth of the words."""
        hide = (torch.rand(ids.shape) < 0.2) & (ids > MASK)
        guessed = self.hidden(ids.masked_fill(hide, MASK), types, mask)[hide] @ self.words.weight.T
        return nn.functional.cross_entropy(guessed, ids[hide])


class Served(nn.Module):
    def __init__(self, ranker):
        super().__init__()
        self.ranker = ranker

    def forward(self, *inputs):
        return torch.sigmoid(self.ranker(*inputs))


def batches(rows):
    return torch.randperm(rows).split(32)


def read(path):
    data = np.load(path)
    inputs = [torch.from_numpy(data[name]) for name in INPUTS]
    return inputs, torch.from_numpy(data["labels"]).float().unsqueeze(1)


def export(ranker, rows, path, encoding):
    """Rows and tokens are free: a server runs as many of both as there are."""
    free = {name: {0: "rows", 1: "tokens"} for name in INPUTS}
    options = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    torch.onnx.export(
        Served(ranker).eval(), tuple(rows), path, input_names=INPUTS, output_names=["score"],
        dynamic_axes={**free, "score": {0: "rows"}}, opset_version=14, **options,
    )
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {"stead.encoding": encoding})
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=pathlib.Path, help="the npz of stead encode")
    parser.add_argument("model", help="the ONNX file to write")
    parser.add_argument("--untrained", help="also write the model without training")
    parser.add_argument("--tokenizer", default="app/models/tokenizer.json", help="the one of the package, for its largest id")
    parser.add_argument("--words", type=int, default=40, help="epochs in which it guesses hidden words")
    parser.add_argument("--epochs", type=int, default=30, help="epochs in which it learns the labels")
    args = parser.parse_args()
    torch.manual_seed(7)
    torch.set_num_threads(1)  # the model is too small for more
    inputs, labels = read(args.rows)
    held = args.rows.with_suffix(".validation.npz")
    held = read(held) if held.exists() else None
    encoding = args.rows.with_suffix(".encoding.json").read_text().strip()
    size = max(json.load(open(args.tokenizer))["model"]["vocab"].values()) + 1
    ranker = Ranker(size, inputs[0].shape[1])
    if args.untrained:
        export(ranker, [i[:2] for i in inputs], args.untrained, encoding)
    loss, optimizer = nn.BCEWithLogitsLoss(), torch.optim.AdamW(ranker.parameters(), lr=2e-3)

    def step(of):
        optimizer.zero_grad()
        of.backward()
        optimizer.step()

    right = [i[labels[:, 0] > 0.5] for i in inputs]
    for epoch in range(args.words):
        for batch in batches(len(right[0])):
            step(ranker.hidden_words(*(i[batch] for i in right)))
    for epoch in range(args.epochs):
        for batch in batches(len(labels)):
            step(loss(ranker(*(i[batch] for i in inputs)), labels[batch]))
        if held and (epoch + 1) % 5 == 0:
            with torch.no_grad():
                print(f"epoch {epoch + 1}: validation loss {loss(ranker(*held[0]), held[1]):.4f}")
    export(ranker, [i[:2] for i in inputs], args.model, encoding)


if __name__ == "__main__":
    main()
