"""Operators that read and give texts do what those of ONNX Runtime do."""

import unittest

import numpy as np
import operator_models as models


def texts(value):
    return np.array(value, dtype=object)


class Texts(unittest.TestCase):
    def check(self, label, op, x, outputs=("y",), **more):
        with self.subTest(f"{op} {label}"):
            model, feeds = models.node(op, [x], outputs, **more)
            models.same(self, label, models.reference(model, feeds), models.stead(model, feeds), 0)

    def test_tokens(self):
        rules = {
            "characters": {"separators": [""]},
            "every": {"tokenexp": "."},
            "words": {"tokenexp": "[a-z]+"},
            "long words": {"tokenexp": "\\w+", "mincharnum": 3},
            "longest": {"tokenexp": "[a-z]|ab|[0-9]*"},
            "separators": {"separators": ["[,;]", "\\s+", "the"]},
            "one": {"separators": ["b"], "mincharnum": 2},
            "nothing is left": {"separators": ["."]},
        }
        inputs = {
            "vector": ["ab cd", "x", "", "the ab, b;the cat1 22", "\u00e9\u4e8c \U0001f600 ab"],
            "table": [["ab cd", "x", ""], ["a", "\n", "b;b"]],
            "one": ["ab"],
            "empty texts": [["", ""]],
        }
        for rule, attributes in rules.items():
            for given, x in inputs.items():
                for mark, padding in [(0, "#"), (1, ""), (1, "pad")]:
                    more = {"mincharnum": 1, **attributes, "mark": mark, "pad_value": padding}
                    self.check(f"{rule} {given} {mark}", "Tokenizer", texts(x), **more)
        for dims in [(0,), (3, 0), (0, 3)]:
            given = np.zeros(dims, dtype=object)
            self.check(f"nothing {dims}", "Tokenizer", given, mark=1, pad_value="#", mincharnum=1, tokenexp="a")

    def test_different_texts(self):
        words = ["b", "a", "", "b", "\u00e9", "ab", "a", "B"]
        for label, x in {
            "vector": texts(words),
            "table": texts([words[:4], words[4:]]),
            "one": texts(["a"]),
            "nothing": np.zeros(0, dtype=object),
        }.items():
            for order in [0, 1]:
                self.check(f"{label} {order}", "Unique", x, ("y", "first", "inverse", "counts"), domain="", sorted=order)
                self.check(f"{label} {order}, alone", "Unique", x, domain="", sorted=order)
