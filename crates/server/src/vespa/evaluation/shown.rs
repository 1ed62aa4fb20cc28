//! How the value of a function is written.

use serde_json::{Map, Value as Json, json};
use stead_expr::codec::json::{Form, to_json, write_json};
use stead_node::{Evaluated, EvaluationType};
use stead_tensor::Tensor;

use super::literal::literal;
use crate::fault::Fault;

/// A form of tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// JSON.
    Json(Form),
    /// A literal of Vespa, short or with the addresses of all cells.
    Literal(Form),
}

impl Default for Shown {
    fn default() -> Shown {
        Shown::Json(Form::Short)
    }
}

impl Shown {
    /// The form of a value of `format.tensors`. Vespa's code expects a blank behind `string-long`, its documentation does not.
    pub fn from_name(name: &str) -> Option<Shown> {
        match name.trim().to_ascii_lowercase().as_str() {
            "string" => Some(Shown::Literal(Form::ShortValue)),
            "string-long" => Some(Shown::Literal(Form::LongValue)),
            other => Form::from_name(other).map(Shown::Json),
        }
    }

    /// A value in this form.
    ///
    /// # Errors
    /// Texts have no digits.
    pub fn bytes(self, found: &Evaluated) -> Result<Vec<u8>, Fault> {
        let mut out = Vec::new();
        match (self, found) {
            (Shown::Json(form), Evaluated::Tensor(value)) => write_json(value, form, &mut out),
            (Shown::Literal(form), Evaluated::Tensor(value)) => {
                let kind = EvaluationType::Tensor(value.kind().clone()).to_string();
                out = literal(&kind, &to_json(value, form)).into_bytes();
            }
            (Shown::Json(Form::Hex | Form::HexValue), Evaluated::Array(_)) => {
                return Err(Fault::invalid("texts are not written as hexadecimal digits"));
            }
            (Shown::Json(form), Evaluated::Array(array)) => {
                let (key, cells) = match form {
                    Form::Long | Form::LongValue => ("cells", addressed(array)),
                    _ => ("values", nested(array)),
                };
                let json = match form {
                    Form::ShortValue | Form::LongValue => cells,
                    _ => json!({"type": kind(array), key: cells}),
                };
                out = json.to_string().into_bytes();
            }
            (Shown::Literal(form), Evaluated::Array(array)) => {
                let cells = match form {
                    Form::LongValue => addressed(array),
                    _ => nested(array),
                };
                out = literal(&kind(array), &cells).into_bytes();
            }
        }
        Ok(out)
    }
}

/// The type of an array that is no tensor of Vespa.
fn kind(array: &Tensor) -> String {
    let dims = array.shape().dims().iter().map(|size| Some(*size)).collect();
    EvaluationType::Array { dtype: array.dtype(), dims: Some(dims) }.to_string()
}

/// The texts in as many brackets as there are axes, at least one; of an array without elements the type tells the axes.
fn nested(array: &Tensor) -> Json {
    let shape = array.shape();
    if shape.dims().contains(&0) {
        return Json::Array(Vec::new());
    }
    let view = array.view();
    let texts = view.strings().iter().map(|text| Json::from(String::from_utf8_lossy(text)));
    let mut list: Vec<Json> = texts.collect();
    for size in shape.dims().iter().skip(1).rev() {
        list = list.chunks(*size).map(|part| Json::Array(part.to_vec())).collect();
    }
    list.into()
}

/// The texts by their places.
fn addressed(array: &Tensor) -> Json {
    let (view, shape) = (array.view(), array.shape());
    if shape.dims().contains(&0) {
        return Json::Array(Vec::new());
    }
    let texts = view.strings().iter().enumerate();
    let cell = |(at, text): (usize, &Vec<u8>)| {
        let (mut address, mut left) = (Map::new(), at);
        for (axis, size) in shape.dims().iter().enumerate().rev() {
            address.insert(format!("d{axis}"), (left % size).to_string().into());
            left /= size;
        }
        json!({"address": address, "value": String::from_utf8_lossy(text)})
    };
    texts.map(cell).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_expr::codec::from_literal;
    use stead_expr::parse_type;

    #[test]
    fn forms_have_names() {
        for (name, expected) in [
            ("short", Some(Shown::Json(Form::Short))),
            ("LONG-value", Some(Shown::Json(Form::LongValue))),
            ("hex", Some(Shown::Json(Form::Hex))),
            ("string", Some(Shown::Literal(Form::ShortValue))),
            ("string-long", Some(Shown::Literal(Form::LongValue))),
            ("string-long ", Some(Shown::Literal(Form::LongValue))),
            ("", None),
            ("strings", None),
        ] {
            assert_eq!(Shown::from_name(name), expected, "{name}");
        }
    }

    #[test]
    fn values_are_written_in_every_form() {
        let tensor = |kind: &str, text: &str| {
            Evaluated::Tensor(from_literal(&parse_type(kind).unwrap(), text).unwrap())
        };
        let texts = |list: &[&str], dims: &[usize]| {
            let list = list.iter().map(|text| text.as_bytes().to_vec()).collect();
            Evaluated::Array(Tensor::from_strings(list, dims).unwrap())
        };
        let number = tensor("double", "-4.5");
        let mapped = tensor("tensor(d0{})", "{a:1,b:2}");
        let dense = tensor("tensor<float>(d0[1],d1[2])", "[0.1,1e10]");
        let mixed = tensor("tensor(x{},y[3])", "{a:[1,2,3],'b c':[4,5,6]}");
        let words = texts(&["a", "\"b\""], &[2, 1]);
        for (name, found, expected) in [
            ("short", &number, r#"{"type":"tensor()","values":[-4.5]}"#),
            ("long", &number, r#"{"cells":[{"address":{},"value":-4.5}],"type":"tensor()"}"#),
            ("short-value", &number, "[-4.5]"),
            ("string", &number, "tensor():{-4.5}"),
            ("short", &mapped, r#"{"cells":{"a":1.0,"b":2.0},"type":"tensor(d0{})"}"#),
            ("string", &mapped, "tensor(d0{}):{a:1.0, b:2.0}"),
            ("string-long", &mapped, "tensor(d0{}):{{d0:a}:1.0, {d0:b}:2.0}"),
            ("hex-value", &dense, r#""3DCCCCCD501502F9""#),
            ("string", &dense, "tensor<float>(d0[1],d1[2]):[[0.1, 1.0E10]]"),
            (
                "string-long",
                &dense,
                "tensor<float>(d0[1],d1[2]):{{d0:0,d1:0}:0.1, {d0:0,d1:1}:1.0E10}",
            ),
            ("string", &mixed, "tensor(x{},y[3]):{a:[1.0, 2.0, 3.0], 'b c':[4.0, 5.0, 6.0]}"),
            (
                "short",
                &words,
                r#"{"type":"tensor<string>(d0[2],d1[1])","values":[["a"],["\"b\""]]}"#,
            ),
            (
                "long-value",
                &words,
                r#"[{"address":{"d0":"0","d1":"0"},"value":"a"},{"address":{"d0":"1","d1":"0"},"value":"\"b\""}]"#,
            ),
            ("string", &words, r#"tensor<string>(d0[2],d1[1]):[["a"], ["\"b\""]]"#),
            ("short-value", &texts(&["a"], &[]), r#"["a"]"#),
            ("short", &texts(&[], &[0]), r#"{"type":"tensor<string>(d0[0])","values":[]}"#),
            ("long-value", &texts(&[], &[2, 0, 3]), "[]"),
            (
                "short",
                &Evaluated::Array(Tensor::from_slice::<f32>(&[], &[0, 3]).unwrap()),
                r#"{"type":"tensor<float>(d0[0],d1[3])","values":[]}"#,
            ),
            ("string", &texts(&["NaN", "x"], &[2]), r#"tensor<string>(d0[2]):["NaN", "x"]"#),
        ] {
            let bytes = Shown::from_name(name).unwrap().bytes(found).unwrap();
            assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{name}");
        }
        let refused = Shown::Json(Form::Hex).bytes(&words).unwrap_err();
        assert_eq!(refused.0.to_string(), "texts are not written as hexadecimal digits");
    }
}
