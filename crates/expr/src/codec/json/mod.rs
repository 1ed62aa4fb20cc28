//! Tensors as JSON, in every form that Vespa's document and query APIs take and give.
//!
//! | form | dense | one mapped dimension | several | mixed, one mapped | mixed, several |
//! |---|---|---|---|---|---|
//! | short | `values`: nested arrays | `cells`: `{"a":1}` | `cells`: `[{"address":{..},"value":1}]` | `blocks`: `{"a":[..]}` | `blocks`: `[{"address":{..},"values":[..]}]` |
//! | long | `cells`: `[{"address":{..},"value":1}]` for all | | | | |
//!
//! Around them stands `{"type":"tensor(..)", ...}`, which the `value` forms leave out. In the hexadecimal form the
//! cells of a block are one text of big-endian digits.
//! (Vespa's documentation, reference/document-json-format.html#tensor.)

pub(super) mod blocks;
mod plain;
mod read;
mod sizes;
mod text;
mod write;

pub use plain::from_json_text;
pub use read::{JsonError, from_json};
pub use text::{write_f32, write_f64, write_json, write_text, write_whole};
pub use write::{Form, to_json};

#[cfg(test)]
mod tests {
    use super::{Form, from_json, to_json};
    use crate::types::parse_type;
    use serde_json::{Value as Json, json};

    fn written(kind: &str, text: &Json, form: Form) -> Json {
        to_json(&from_json(&parse_type(kind).unwrap(), text).unwrap(), form)
    }

    #[test]
    fn every_form_is_read_and_written() {
        let address = |x: &str, y: &str, v: f64| json!({"address": {"x": x, "y": y}, "value": v});
        for (kind, short, long, hex) in [
            (
                "tensor<float>(x[2],y[2])",
                json!({"values": [[1.0, 2.0], [3.0, -4.5]]}),
                json!({"cells": [address("0", "0", 1.0), address("0", "1", 2.0), address("1", "0", 3.0), address("1", "1", -4.5)]}),
                json!({"values": "3F8000004000000040400000C0900000"}),
            ),
            (
                "tensor<int8>(x{})",
                json!({"cells": {"a": 1, "b": -1}}),
                json!({"cells": [{"address": {"x": "a"}, "value": 1}, {"address": {"x": "b"}, "value": -1}]}),
                json!({"cells": {"a": 1, "b": -1}}),
            ),
            (
                "tensor(x{},y{})",
                json!({"cells": [address("a", "p", 1.0)]}),
                json!({"cells": [address("a", "p", 1.0)]}),
                json!({"cells": [address("a", "p", 1.0)]}),
            ),
            (
                "tensor<bfloat16>(x{},y[2])",
                json!({"blocks": {"a": [1.0, 2.0], "b": [0.5, 0.0]}}),
                json!({"cells": [address("a", "0", 1.0), address("a", "1", 2.0), address("b", "0", 0.5), address("b", "1", 0.0)]}),
                json!({"blocks": {"a": "3F804000", "b": "3F000000"}}),
            ),
            (
                "tensor(a{},x{},y[2])",
                json!({"blocks": [{"address": {"a": "p", "x": "q"}, "values": [1.0, 2.0]}]}),
                json!({"cells": [{"address": {"a": "p", "x": "q", "y": "0"}, "value": 1.0}, {"address": {"a": "p", "x": "q", "y": "1"}, "value": 2.0}]}),
                json!({"blocks": [{"address": {"a": "p", "x": "q"}, "values": "3FF00000000000004000000000000000"}]}),
            ),
            (
                "double",
                json!({"values": [5.0]}),
                json!({"cells": [{"address": {}, "value": 5.0}]}),
                json!({"values": "4014000000000000"}),
            ),
        ] {
            let printed = parse_type(kind).unwrap();
            let printed =
                if kind == "double" { "tensor()".to_owned() } else { printed.to_string() };
            for (form, value_form, expected) in [
                (Form::Short, Form::ShortValue, &short),
                (Form::Long, Form::LongValue, &long),
                (Form::Hex, Form::HexValue, &hex),
            ] {
                let mut whole = expected.clone();
                whole["type"] = json!(printed);
                let inner = expected.as_object().unwrap().values().next().unwrap();
                for text in [&whole, expected, inner] {
                    assert_eq!(written(kind, text, form), whole, "{kind} from {text}");
                    assert_eq!(&written(kind, text, value_form), inner, "{kind} from {text}");
                }
            }
        }
    }

    #[test]
    fn other_ways_to_write_the_same() {
        for (kind, text, same) in [
            ("tensor(x[2],y[2])", json!([1, 2, 3, 4]), json!([[1.0, 2.0], [3.0, 4.0]])),
            ("tensor(x[3])", json!(["1.5", "-Infinity", null]), json!([1.5, "-inf", "NaN"])),
            ("tensor(x[3])", json!({"cells": {"1": 5}}), json!([0.0, 5.0, 0.0])),
            (
                "tensor(x[2])",
                json!({"type": "tensor<float>(x[2])", "values": [1, 2]}),
                json!([1.0, 2.0]),
            ),
            ("tensor<int8>(x[2])", json!("0fF0"), json!([15, -16])),
            ("tensor<bool>(x[3])", json!([true, false, 1]), json!([1, 0, 1])),
            ("tensor<bool>(x[2])", json!("0100"), json!([1, 0])),
            (
                "tensor<int64>(x[3])",
                json!([9_007_199_254_740_993_i64, "-9223372036854775808", 1e3]),
                json!([9_007_199_254_740_993_i64, i64::MIN, 1000]),
            ),
            ("tensor<uint8>(x[2])", json!("FF07"), json!([255, 7])),
            ("tensor<float16>(x[2])", json!("3C00FC00"), json!([1.0, "-inf"])),
            ("tensor<float16>(x[1])", json!([0.1]), json!([0.099_975_586])),
            ("tensor(x{})", json!({}), json!({})),
            ("tensor(x{})", json!({"cells": []}), json!({})),
            (
                "tensor(x{},y[2])",
                json!({"cells": [{"address": {"x": "a", "y": 1}, "value": 3}]}),
                json!({"a": [0.0, 3.0]}),
            ),
            ("tensor(x{})", json!({"values": {"a": 1}}), json!({"a": 1.0})),
            ("double", json!(5), json!([5.0])),
        ] {
            assert_eq!(written(kind, &text, Form::ShortValue), same, "{kind} from {text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (kind, text, message) in [
            ("tensor(x[2])", json!([1]), "tensor(x[2]) needs 2 cells in a block, got 1"),
            ("tensor(x[2])", json!([1, 2, 3]), "tensor(x[2]) needs 2 cells in a block, got 3"),
            (
                "tensor(x[2])",
                json!({"cells": {"2": 1}}),
                "\"2\" is no index below 2 along dimension x",
            ),
            ("tensor(x[2])", json!([1, "two"]), "expected a number, found \"two\""),
            ("tensor(x[2])", json!(true), "expected the cells of tensor(x[2]), found true"),
            (
                "tensor<float>(x[2])",
                json!("3F80"),
                "tensor<float>(x[2]) needs 16 hexadecimal digits in a block, got 4",
            ),
            ("tensor<int8>(x[1])", json!("zz"), "\"zz\" is no hexadecimal number"),
            ("tensor<int16>(x[1])", json!([40000]), "40000 is no int16"),
            ("tensor<int32>(x{})", json!({"a": 1.5}), "1.5 is no int32"),
            ("tensor<uint8>(x[1])", json!([null]), "NaN is no uint8"),
            ("tensor<float16>(x[1])", json!([65520]), "65520 is no float16"),
            ("tensor<bool>(x[1])", json!("02"), "2 is no bool"),
            (
                "tensor<int64>(x[1])",
                json!([9_223_372_036_854_775_808_u64]),
                "9223372036854776000 is no int64",
            ),
            ("tensor<uint8>(x[1])", json!([true]), "expected a number, found true"),
            (
                "tensor(x{},y{})",
                json!({"cells": [{"address": {"x": "a"}, "value": 1}]}),
                "an address without dimension y",
            ),
            (
                "tensor(x{})",
                json!({"cells": [{"address": {"x": "a", "z": "b"}, "value": 1}]}),
                "tensor(x{}) has no dimension z",
            ),
            (
                "tensor(x{},y{})",
                json!({"cells": {"a": 1}}),
                "labels alone need one mapped dimension, which tensor(x{},y{}) has not",
            ),
            (
                "tensor(x{})",
                json!({"cells": [{"address": {"x": "a"}, "value": 1}, {"address": {"x": "a"}, "value": 2}]}),
                "the cell {x:a} stands twice",
            ),
            (
                "tensor(x{})",
                json!({"type": "tensor(y{})", "cells": {}}),
                "expected a tensor(x{}), found a tensor(y{})",
            ),
            (
                "tensor(x{},y[1])",
                json!({"blocks": [{"address": {"x": "a"}}]}),
                "a block without values",
            ),
            // A few bytes for each block of half a gigabyte.
            (
                "tensor(x{},y[67108864])",
                json!({"cells": [{"address": {"x": "a", "y": 0}, "value": 1}, {"address": {"x": "b", "y": 0}, "value": 1}]}),
                "more than 67108864 cells",
            ),
            (
                "tensor(x{},y[2])",
                json!([{"address": {"x": "a", "y": 0}, "value": 1}, {"address": {"x": "a", "y": 0}, "value": 2}]),
                "the cell {x:a} stands twice",
            ),
            (
                "tensor(x{},y{})",
                json!([{"address": {"x": "a", "y": "b"}, "value": 1}, {"address": {"x": "c", "y": "d"}, "value": 1}, {"address": {"x": "a", "y": "b"}, "value": 1}]),
                "the cell {x:a,y:b} stands twice",
            ),
        ] {
            let error = from_json(&parse_type(kind).unwrap(), &text).unwrap_err();
            assert_eq!(error.to_string(), message, "{kind} from {text}");
        }
    }
}
