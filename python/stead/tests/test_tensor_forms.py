"""Literals, JSON and the binary format, against what Vespa's programs gave where the repository has it."""

import json

from stead import Tensor, TensorType

from .common import ROOT, BothWays

_SPEC = ROOT / "crates/expr/tests/data/vespa/binary_format_test_spec.jsonl"


def cell(value, **address):
    return {"address": address, "value": value}


class Forms(BothWays):
    def test_vespas_tensors_in_every_encoding(self):
        cases = [json.loads(line) for line in _SPEC.read_text().splitlines()]
        cases = [case for case in cases if "tensor" in case]
        self.assertEqual(len(cases), 42)
        for case in cases:
            tensor = Tensor.from_json(case["tensor"])
            for encoding in case["binary"]:
                self.assertEqual(Tensor.from_binary(bytes.fromhex(encoding[2:])), tensor, encoding)
            self.assertIn("0x" + tensor.to_binary().hex().upper(), case["binary"])
            self.assertEqual(Tensor.from_literal(tensor.to_literal()), tensor)
            for form in ("short", "long", "hex"):
                self.assertEqual(Tensor.from_json(tensor.to_json(form)), tensor, form)
                self.assertEqual(Tensor.from_json(tensor.to_json(form + "-value"), tensor.type), tensor, form)

    def test_literals_are_read_as_what_they_were_written_from(self):
        for text in [
            "5",
            "-0.5",
            "tensor(x[3]):[1,-2,3.25]",
            "tensor<float>(x[2],y[2]):[[1,2],[3,0.1]]",
            "tensor(x[2],y[1],z[2]):[[[1,2]],[[3,4]]]",
            "tensor<int8>(x{}):{1:5,a:-1}",
            "tensor(x{}):{'':1}",
            "tensor(x{}):{'a b\\'\\\\\\n':1}",
            "tensor<bfloat16>(x{},y[2]):{a:[1,2]}",
            "tensor(x{},y{}):{{x:a,y:b}:1}",
            "tensor(x{}):{2:1,10:1,02:1,a:1,b:1,c:1,d:1,e:1}",
            "tensor(a{},x{},y[2]):{{a:p,x:q,y:0}:1,{a:p,x:q,y:1}:2}",
            "tensor(x{}):{}",
            "tensor<int64>(x[3]):[9007199254740993,-9223372036854775808,5]",
            "tensor<int64>(a{},b{}):{{a:p,b:q}:9223372036854775807}",
            "tensor<uint8>(x{}):{a:255}",
            "tensor<bool>(x[2]):[1,0]",
            "tensor<float16>(x[2]):[0.099975586,-65504]",
        ]:
            self.assertEqual(Tensor.from_literal(text).to_literal(), text)

    def test_literals_of_a_type_that_is_known(self):
        for kind, text, expected in [
            ("tensor<int8>(x[])", "{{x:0}:1,{x:1}:2,{x:2}:3}", "tensor<int8>(x[3]):[1,2,3]"),
            ("tensor<int8>(x[])", "[1,2]", "tensor<int8>(x[2]):[1,2]"),
            ("tensor(d0[],d1[])", "[[1,2,3]]", "tensor(d0[1],d1[3]):[[1,2,3]]"),
            ("tensor<float>(x[2])", " tensor(x[2]) : [ 1 , 2 ] ", "tensor<float>(x[2]):[1,2]"),
            ("tensor<int8>(x[2])", "0fF0", "tensor<int8>(x[2]):[15,-16]"),
            ("tensor(x[3])", "{1:5}", None),
            ("tensor(x[2])", "{1:5}", "tensor(x[2]):[0,5]"),
            (
                "tensor(cat{},key{},x[2])",
                "{a:{b:[1,2]}}",
                "tensor(cat{},key{},x[2]):{{cat:a,key:b,x:0}:1,{cat:a,key:b,x:1}:2}",
            ),
            ("tensor(cat{},key{})", "{a:{b:1,c:2}}", "tensor(cat{},key{}):{{cat:a,key:b}:1,{cat:a,key:c}:2}"),
            ("double", "{5}", "5"),
            ("double", "{{}:5}", "5"),
            ("double", "{}", "0"),
            ("double", "-1e3", "-1000"),
            (None, "{{x:a,y:b}:2}", "tensor(x{},y{}):{{x:a,y:b}:2}"),
            (None, "7", "7"),
            ("tensor(x[2])", "[Infinity,NaN]", "tensor(x[2]):[inf,NaN]"),
        ]:
            if expected is None:
                self.assertEqual(Tensor.from_literal(text, kind), Tensor(kind, [0, 5, 0]))
            else:
                self.assertEqual(Tensor.from_literal(text, kind).to_literal(), expected, text)

    def test_what_is_no_literal_is_refused(self):
        for kind, text, message in [
            (None, "[1,2]", "a literal without a type"),
            (None, "tensor(x[2])", ": and the cells after the type"),
            (None, "tensor(x[2]):[1,2] 3", "the end of the tensor"),
            (None, "tensor(x[2]):[1,2,3]", "needs 2 cells in a block, got 3"),
            (None, "tensor(x[2]):[1,two]", "expected a number, found 'two'"),
            (None, "tensor(x{}):{a:1,a:2}", "the cell {a} stands twice"),
            (None, "tensor(x{}):{{x:a}:1,{x:a}:2}", "the cell {x:a} stands twice"),
            (None, "tensor(x{}):{{y:a}:1}", "has no dimension y"),
            (None, "tensor(x[2]):{{x:2}:1}", '"2" is no index below 2 along dimension x'),
            (None, "tensor(x{}):{a:1", ", or } after a cell"),
            (None, "tensor(x{}):{a:1,{x:b}:2}", "either addresses or labels"),
            (None, "tensor(x[2]):" + "[" * 40, "nested at most 32 deep"),
            ("tensor(x{})", "zz", "the cells of tensor(x{})"),
            ("tensor(x[2])", "tensor(y[2]):[1,2]", "expected a tensor(x[2]), found a tensor(y[2])"),
        ]:
            self.refused(message, Tensor.from_literal, text, kind)

    def test_other_ways_to_write_the_same_in_json(self):
        for kind, text, same in [
            ("tensor(x[2],y[2])", [1, 2, 3, 4], [[1.0, 2.0], [3.0, 4.0]]),
            ("tensor(x[3])", ["1.5", "-Infinity", None], [1.5, "-inf", "NaN"]),
            ("tensor(x[3])", {"cells": {"1": 5}}, [0.0, 5.0, 0.0]),
            ("tensor(x[2])", {"type": "tensor<float>(x[2])", "values": [1, 2]}, [1.0, 2.0]),
            ("tensor<int8>(x[2])", "0fF0", [15, -16]),
            ("tensor<int8>(x[3])", [200, -1.5, "NaN"], [127, -1, 0]),
            ("tensor<bool>(x[3])", [True, False, 1], [1, 0, 1]),
            (
                "tensor<int64>(x[3])",
                [9007199254740993, "-9223372036854775808", 1e3],
                [9007199254740993, -(1 << 63), 1000],
            ),
            ("tensor<uint8>(x[2])", "FF07", [255, 7]),
            ("tensor<float16>(x[2])", "3C00FC00", [1.0, "-inf"]),
            ("tensor<float16>(x[1])", [0.1], [0.099975586]),
            ("tensor<bfloat16>(x[2])", [1.00390625, 0.1], [1.0, 0.100097656]),
            ("tensor(x{})", {}, {}),
            ("tensor(x{})", {"cells": []}, {}),
            ("tensor(x{},y[2])", {"cells": [cell(3, x="a", y=1)]}, {"a": [0.0, 3.0]}),
            ("tensor(x{})", {"values": {"a": 1}}, {"a": 1.0}),
            ("double", 5, [5.0]),
            ("tensor(x[],y[])", [[1, 2, 3], [4, 5, 6]], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
            ("tensor(x[],y[2])", [1, 2, 3, 4], [[1.0, 2.0], [3.0, 4.0]]),
            ("tensor<int8>(x[])", "0102", [1, 2]),
            ("tensor(x[],y[])", {"cells": [cell(5, x="1", y=0)]}, [[0.0], [5.0]]),
            ("tensor(k{},x[])", {"blocks": [{"address": {"k": "a"}, "values": [1, 2]}]}, {"a": [1.0, 2.0]}),
        ]:
            self.assertEqual(
                Tensor.from_json(json.dumps(text), kind).to_json_tree("short-value"), same, f"{kind} {text}"
            )

    def test_json_that_does_not_fit_is_refused(self):
        for kind, text, message in [
            ("tensor(x[2])", [1], "tensor(x[2]) needs 2 cells in a block, got 1"),
            ("tensor(x[2])", {"cells": {"2": 1}}, '"2" is no index below 2 along dimension x'),
            ("tensor(x[2])", [1, "two"], "expected a number, found 'two'"),
            ("tensor(x[2])", True, "expected the cells of tensor(x[2]), found True"),
            ("tensor<float>(x[2])", "3F80", "needs 16 hexadecimal digits in a block, got 4"),
            ("tensor<int8>(x[1])", "zz", '"zz" is no hexadecimal number'),
            ("tensor<int16>(x[1])", [40000], "40000 is no int16"),
            ("tensor<int32>(x{})", {"a": 1.5}, "1.5 is no int32"),
            ("tensor<uint8>(x[1])", [None], "nan is no uint8"),
            ("tensor<float16>(x[1])", [65520], "65520 is no float16"),
            ("tensor<bool>(x[1])", "02", "2 is no bool"),
            ("tensor<int64>(x[1])", [1 << 63], "9223372036854775808 is no int64"),
            ("tensor<uint8>(x[1])", [True], "expected a number, found True"),
            ("tensor(x{},y{})", {"cells": [cell(1, x="a")]}, "an address without dimension y"),
            ("tensor(x{})", {"cells": [cell(1, x="a", z="b")]}, "tensor(x{}) has no dimension z"),
            ("tensor(x{},y{})", {"cells": {"a": 1}}, "labels alone need one mapped dimension"),
            ("tensor(x{})", {"cells": [cell(1, x="a"), cell(2, x="a")]}, "the cell {x:a} stands twice"),
            ("tensor(x{})", {"type": "tensor(y{})", "cells": {}}, "expected a tensor(x{}), found a tensor(y{})"),
            ("tensor(x{},y[1])", {"blocks": [{"address": {"x": "a"}}]}, "a block without values"),
            ("tensor(k{},x[])", {}, "the size of dimension x of tensor(k{},x[]) is in no cell"),
            (None, [1], "a tensor in JSON without a type"),
        ]:
            self.refused(message, Tensor.from_json, json.dumps(text), kind)

    def test_binary_that_is_no_tensor_is_refused(self):
        whole = Tensor("tensor<float>(k{},x[2])", {"a": [1, 2]}).to_binary()
        for cut in range(len(whole)):
            self.refused("the tensor ends after", Tensor.from_binary, whole[:cut])
        self.refused("1 bytes follow the tensor", Tensor.from_binary, whole + b"x")
        self.refused("unknown tag 8", Tensor.from_binary, b"\x08")
        self.refused("no cell type has the number 9", Tensor.from_binary, b"\x04\x09")
        twice = bytes.fromhex("01010178020161" + "00" * 8 + "0161" + "00" * 8)
        self.refused("the block a stands twice", Tensor.from_binary, twice)

    def test_json_of_numbers_that_it_does_not_have(self):
        tensor = Tensor("tensor<float>(x[4])", [float("nan"), float("inf"), float("-inf"), 0.1])
        self.assertEqual(tensor.to_json(), '{"type":"tensor<float>(x[4])","values":["NaN","inf","-inf",0.1]}')
        self.refused("no form 'hexadecimal'", tensor.to_json, "hexadecimal")
        self.assertEqual(TensorType.from_spec("double"), Tensor.from_json("5", "double").type)
