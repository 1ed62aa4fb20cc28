//! The commonest tensor of a feed: numbers of a dense block in one list, read from the text itself. A tree of JSON values takes
//! several times as long to make as the cells.

use serde_json::value::RawValue;

use super::read::{JsonError, from_json};
use crate::types::{CellType, TensorType};
use crate::value::{Cells, Labels, Value};

/// [`from_json`] of the text of JSON.
///
/// # Errors
/// Those of `from_json`, and where the text has numbers that no double is.
pub fn from_json_text(kind: &TensorType, json: &RawValue) -> Result<Value, JsonError> {
    if let Some(numbers) = numbers(kind, json.get()) {
        let cells = Cells::from_numbers(kind.cell(), &numbers);
        return Ok(Value::new(kind.clone(), Labels::default(), cells)?);
    }
    let json = serde_json::from_str(json.get()).map_err(|error| {
        // The place is one in the tensor, of which the reader does not know where it stands.
        let text = error.to_string();
        JsonError::Text(text.split(" at line ").next().unwrap_or_default().to_owned())
    })?;
    from_json(kind, &json)
}

/// The cells of `[1.5, 2]` or `{"values": [1.5, 2]}`; nothing where anything else stands, be it right or wrong. The text is JSON.
fn numbers(kind: &TensorType, text: &str) -> Option<Vec<f64>> {
    // Of the other types not every number is an element.
    let is_rounded = matches!(
        kind.cell(),
        CellType::Double | CellType::Float | CellType::BFloat16 | CellType::Int8
    );
    if !kind.is_dense() || !kind.is_bound() || !is_rounded {
        return None;
    }
    let text = match text.trim().strip_prefix('{') {
        None => text,
        Some(inside) => {
            let values = inside.trim_start().strip_prefix("\"values\"")?.trim_start();
            values.strip_prefix(':')?.trim_end().strip_suffix('}')?
        }
    };
    let list = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let size = kind.block_size();
    // A cell takes a digit and a comma, so no text asks for more memory than it has.
    if list.len() < size.checked_mul(2)? - 1 {
        return None;
    }
    let mut cells = Vec::with_capacity(size);
    for piece in list.split(',') {
        // What is neither a digit nor a sign begins no number of JSON, though Rust reads "inf" and "nan".
        let number = piece.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
        cells.push(number);
    }
    (cells.len() == size).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse_type;

    #[test]
    fn texts_are_read_as_their_json_is() {
        for (kind, is_plain, text) in [
            ("tensor<float>(x[3])", true, r#"{"values":[1,-0.5,1e3]}"#),
            ("tensor<float>(x[3])", true, " { \"values\" : [ 1 ,\n-0 , 16777217 ] } "),
            ("tensor(x[3])", true, "[9007199254740993, 0.1, 18446744073709551615]"),
            ("tensor<bfloat16>(x[2])", true, "[1.00390625, 3e38]"),
            ("tensor<int8>(x[2])", true, "[200, -1.5]"),
            ("tensor<float>(x[2])", true, "[1e300, 1e-300]"),
            ("tensor(x[2],y[2])", true, "[1,2,3,4]"),
            ("tensor()", true, "[1]"),
            ("tensor(x[2],y[2])", false, "[[1,2],[3,4]]"),
            ("tensor<float>(x[2])", false, r#"["NaN", null]"#),
            ("tensor<float>(x[2])", false, r#"{"values":[1,2],"type":"tensor<float>(x[2])"}"#),
            ("tensor<float>(x[2])", false, r#"{"type":"tensor<float>(x[2])","values":[1,2]}"#),
            ("tensor<float>(x[2])", false, r#"{"values":"3F80000040000000"}"#),
            ("tensor<float>(x[2])", false, r#"{"cells":{"0":1,"1":2}}"#),
            ("tensor<int16>(x[2])", false, "[1,2]"),
            ("tensor<float>(x{})", false, r#"{"values":{"a":1}}"#),
            ("tensor(x[])", false, "[1,2,3]"),
            // Wrong, and refused with the same words.
            ("tensor<float>(x[2])", false, "[1]"),
            ("tensor<float>(x[2])", false, "[1,2,3]"),
            ("tensor<float>(x[2])", false, "[]"),
            ("tensor<float>(x[2])", false, "[1,true]"),
            ("tensor<float>(x[2])", false, "[1,[2]]"),
            ("tensor<float>(x[2])", false, r#"{"values":[1,2],"values":[3,4,5]}"#),
            ("tensor<float>(x[2])", false, "true"),
            ("tensor<float>(x[1000000])", false, "[1]"),
        ] {
            let kind = parse_type(kind).unwrap();
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            assert_eq!(numbers(&kind, raw.get()).is_some(), is_plain, "{kind} from {text}");
            let expected = from_json(&kind, &serde_json::from_str(text).unwrap());
            assert_eq!(from_json_text(&kind, raw), expected, "{kind} from {text}");
        }
        let raw: &RawValue = serde_json::from_str("[1e999]").unwrap();
        let error = from_json_text(&parse_type("tensor(x[1])").unwrap(), raw).unwrap_err();
        assert_eq!(error.to_string(), "number out of range");
    }
}
