"""Makes the seeds of the targets of ranking expressions from Vespa's cases: python make_tensors.py (needs nothing but Python)."""

import json
import pathlib

here = pathlib.Path(__file__).parent
cases = here.parent.parent / "crates/expr/tests/data/vespa"


def save(target, name, data):
    folder = here / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


for number, line in enumerate((cases / "binary_format_test_spec.jsonl").read_text().splitlines()):
    encodings = json.loads(line).get("binary", [])
    # The first encoding of each fifth tensor shows every form; the others differ in size.
    if encodings and number % 5 == 0:
        save("tensor_binary", f"tensor{number}", bytes.fromhex(encodings[0][2:]))

expressions = {
    "arithmetic": "-a^2*3/(a+1)%7 >= 2 && !(a ~= 1) || a in [1,'two']",
    "condition": "if(a>1, if(a<2,1,2,0.5), 3)",
    "switch": "switch(a){case 1: 2, case 'x': 3, default: a}",
    "join": "join(v,s,f(p,q)(p*q+1)) + map(v,f(x)(exp(-x)))",
    "merge": "merge(l,l*2,f(p,q)(max(p,q)))",
    "reduce": "reduce(m*v,sum,x) / avg(m,y) - median(l)",
    "rename": "rename(m,(x,y),(y,x)) + rename(l,t,u)",
    "concat": "concat(v,m{y:0},x)",
    "generate": "tensor<float>(x[3],z[2])(v{x:(x)}*z+a)",
    "literal": "tensor<bfloat16>(t{},x[2]):{a:[1,2],'b c':[a,4]}",
    "verbose": "tensor(l{},x[2]):{{l:p,x:0}:1,{x:1,l:q}:2}",
    "places": "s{t:a}{x:(a-1)} + l{l:a,t:(a)}",
    "subspaces": "filter_subspaces(map_subspaces(s,f(b)(b*2)),f(b)(sum(b)>3))",
    "convenience": "softmax(v,x)*matmul(m,v,x)+cosine_similarity(v,v,x)+unpack_bits(m)",
    "order": "top(2,l) * cell_order(l,min)",
    "whole": "concat(i,cell_cast(v,int16),x) + tensor<uint8>(x[6])(x)",
    "sizes": "softmax(q,x) * v + sum(concat(q,q,x)){x:1-a}",
    "feature": "fieldMatch(title).completeness + foo(1,'b c',bar(2))",
}
for name, text in expressions.items():
    save("expression", name, text.encode())

# A type on the first line, each form of JSON once.
forms = {
    "dense": ("tensor<float>(x[2],y[2])", {"values": [[1, 2], [3, -4.5]]}),
    "mapped": ("tensor<int8>(x{})", {"type": "tensor<int8>(x{})", "cells": {"a": 1, "b": -1}}),
    "addresses": ("tensor(x{},y{})", [{"address": {"x": "a", "y": "b"}, "value": 1.5}]),
    "blocks": ("tensor<bfloat16>(x{},y[2])", {"blocks": {"a": [1, 2], "b": "3F803F00"}}),
    "mixed": ("tensor(a{},x{},y[2])", {"blocks": [{"address": {"a": "p", "x": "q"}, "values": [1, 2]}]}),
    "number": ("double", {"values": [5]}),
    "whole": ("tensor<int64>(x[2])", [9007199254740993, "-9223372036854775808"]),
    "bits": ("tensor<bool>(x{})", {"a": True, "b": 0}),
    "sizes": ("tensor<float16>(x{},y[],z[])", {"blocks": {"a": [[1, 2], [3, 4]]}}),
}
for name, (kind, value) in forms.items():
    save("tensor_json", name, f"{kind}\n{json.dumps(value)}".encode())

literals = {
    "dense": "tensor<float>(x[2],y[2]):[[1,2],[3,-4.5e-3]]",
    "short": "tensor(x{}):{a:1,'b c':-2,\"d\":3}",
    "verbose": "tensor<int8>(x{},y[2]):{{x:a,y:0}:1,{x:a,y:1}:2}",
    "mixed": "tensor<bfloat16>(x{},y[2]):{a:[1,2],b:[3,4]}",
    "several": "tensor(a{},x{},y[2]):{{a:p,x:q}:[1,2]}",
    "empty": "tensor(x{}):{}",
}
for name, text in literals.items():
    save("tensor_literal", name, text.encode())

vocabulary = {"[UNK]": 0, "a": 1, "##b": 2, "c": 3}
wordpiece = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": vocabulary}
byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
tokenizers = {
    "wordpiece": {"model": wordpiece, "normalizer": {"type": "BertNormalizer", "clean_text": True,
                  "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
                  "pre_tokenizer": {"type": "BertPreTokenizer"},
                  "post_processor": {"type": "BertProcessing", "sep": ["c", 3], "cls": ["a", 1]}},
    "bpe": {"model": {"type": "BPE", "dropout": None, "unk_token": None, "vocab": {"a": 0, "b": 1, "ab": 2},
            "merges": ["a b"]}, "pre_tokenizer": byte_level},
    "unigram": {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["ab", -1.5]]},
                "pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}},
    "split": {"model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}, "pre_tokenizer":
              {"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)"}, "behavior": "Isolated", "invert": False},
              "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0, "direction": "Left"}},
}
for name, value in tokenizers.items():
    whole = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
             "pre_tokenizer": None, "post_processor": None, "decoder": None, **value}
    save("tokenizer", name, f"ab abc\n{json.dumps(whole)}".encode())
save("tokenizer", "vocabulary", b"ab abc\n[UNK]\na\n##b\nc\n")
