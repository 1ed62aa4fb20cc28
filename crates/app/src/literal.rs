//! Tensors written as JSON or TOML values.

use serde_json::Value;

/// One element of a [`Literal`].
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A number with a fraction or exponent.
    Float(f64),
    /// A text.
    Str(String),
}

/// A scalar or a nested array, row-major, whose element type the model decides.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// The dimensions; none for a scalar.
    pub dims: Vec<usize>,
    /// The elements.
    pub values: Vec<Scalar>,
}

/// As deep as a tensor can be.
const MAX_RANK: usize = 8;

impl Literal {
    /// Reads a number, a truth value, a text or nested arrays of them.
    ///
    /// # Errors
    /// What is wrong, in words, when arrays are ragged, too deep, or hold something else.
    pub fn from_json(value: &Value) -> Result<Literal, String> {
        let mut dims = Vec::new();
        let mut first = value;
        while let Value::Array(items) = first {
            if dims.len() == MAX_RANK {
                return Err(format!("at most {MAX_RANK} dimensions"));
            }
            dims.push(items.len());
            match items.first() {
                Some(item) => first = item,
                None => break,
            }
        }
        let mut values = Vec::new();
        collect(value, &dims, &mut values)?;
        Ok(Literal { dims, values })
    }
}

/// Recursion is as deep as `dims` is long, which `from_json` bounds.
fn collect(value: &Value, dims: &[usize], out: &mut Vec<Scalar>) -> Result<(), String> {
    match (value, dims) {
        (Value::Array(items), [dim, inner @ ..]) if items.len() == *dim => {
            items.iter().try_for_each(|item| collect(item, inner, out))
        }
        (Value::Array(_), _) | (_, [_, ..]) => Err("arrays of equal lengths".to_owned()),
        (Value::Bool(b), []) => {
            out.push(Scalar::Bool(*b));
            Ok(())
        }
        (Value::Number(n), []) => {
            let int = n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
            match (int, n.as_f64()) {
                (Some(i), _) => out.push(Scalar::Int(i)),
                (None, Some(f)) => out.push(Scalar::Float(f)),
                (None, None) => return Err("numbers in range".to_owned()),
            }
            Ok(())
        }
        (Value::String(s), []) => {
            out.push(Scalar::Str(s.clone()));
            Ok(())
        }
        _ => Err("numbers, truth values or strings".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shapes_of_literals() {
        let deep = (0..9).fold(json!(1), |v, _| json!([v]));
        let cases = [
            ("scalar", json!(16000), Ok(vec![])),
            ("matrix", json!([[1, 2.5], [3, 4]]), Ok(vec![2, 2])),
            ("empty", json!([[], []]), Ok(vec![2, 0])),
            ("ragged", json!([[1], [2, 3]]), Err(())),
            ("ragged depth", json!([1, [2]]), Err(())),
            ("object", json!([{}]), Err(())),
            ("null", json!(null), Err(())),
            ("too deep", deep, Err(())),
        ];
        for (label, value, expected) in cases {
            assert_eq!(
                Literal::from_json(&value).map(|l| l.dims).map_err(|_| ()),
                expected,
                "{label}"
            );
        }
    }
}
