//! From the outputs of a model to an answer.

use super::{BASE64, Format};
use crate::fault::Fault;
use crate::json::write_str;
use crate::tensors::append_json_nested;
use crate::tfserving::special::is_special;
use base64::Engine;
use stead_node::Code;
use stead_tensor::Tensor;

/// Writes an answer: `predictions` or `outputs`, without a name for a single output.
///
/// # Errors
/// Types that JSON cannot carry; in row format, several outputs that differ in their first dimension.
pub fn encode_predict(format: Format, outputs: &[(String, Tensor)]) -> Result<Vec<u8>, Fault> {
    let values: usize = outputs.iter().map(|(_, t)| t.shape().elements()).sum();
    let mut out = Vec::with_capacity(64 + values * 10);
    match (format, outputs) {
        (Format::Row, [(name, tensor)]) => {
            out.extend_from_slice(b"{\"predictions\":");
            write_value(&mut out, name, tensor, tensor.shape().dims(), 0)?;
        }
        (Format::Row, _) => {
            out.extend_from_slice(b"{\"predictions\":");
            write_rows(&mut out, outputs)?;
        }
        (Format::Column, [(name, tensor)]) => {
            out.extend_from_slice(b"{\"outputs\":");
            write_value(&mut out, name, tensor, tensor.shape().dims(), 0)?;
        }
        (Format::Column, _) => {
            out.extend_from_slice(b"{\"outputs\":{");
            for (i, (name, tensor)) in outputs.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write_str(&mut out, name);
                out.push(b':');
                write_value(&mut out, name, tensor, tensor.shape().dims(), 0)?;
            }
            out.push(b'}');
        }
    }
    out.push(b'}');
    Ok(out)
}

/// Whether a value is repeated in each row: what names the sequence is one value, however many rows there are.
fn is_for_all(name: &str, tensor: &Tensor) -> bool {
    is_special(name) && tensor.shape().dims() == [1]
}

/// The first dimension that all outputs have, if row format can hold them.
pub fn rows_of(outputs: &[(String, Tensor)]) -> Option<usize> {
    let mut firsts = outputs
        .iter()
        .filter(|(name, tensor)| !is_for_all(name, tensor))
        .map(|(_, tensor)| tensor.shape().dims().first().copied());
    let Some(rows) = firsts.next() else { return Some(1) };
    rows.filter(|_| firsts.all(|other| other == rows))
}

fn write_rows(out: &mut Vec<u8>, outputs: &[(String, Tensor)]) -> Result<(), Fault> {
    let Some(rows) = rows_of(outputs) else {
        return Err(Fault::new(
            Code::InvalidArgument,
            "outputs differ in their first dimension: row format cannot hold them, use inputs",
        ));
    };
    out.push(b'[');
    for row in 0..rows {
        if row > 0 {
            out.push(b',');
        }
        out.push(b'{');
        for (i, (name, tensor)) in outputs.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            write_str(out, name);
            out.push(b':');
            let shape = tensor.shape();
            let inner = shape.dims().get(1..).unwrap_or_default();
            let step: usize = inner.iter().product();
            let row = if is_for_all(name, tensor) { 0 } else { row };
            write_value(out, name, tensor, inner, row * step)?;
        }
        out.push(b'}');
    }
    out.push(b']');
    Ok(())
}

fn write_value(
    out: &mut Vec<u8>,
    name: &str,
    tensor: &Tensor,
    dims: &[usize],
    first: usize,
) -> Result<(), Fault> {
    // TensorFlow's rule: names with this suffix are binary. What is no UTF-8 is so in any case.
    let binary = name.ends_with("_bytes");
    append_json_nested(out, tensor, dims, first, |out, string| {
        match std::str::from_utf8(string) {
            Ok(text) if !binary => write_str(out, text),
            _ => {
                out.extend_from_slice(b"{\"b64\":\"");
                out.extend_from_slice(BASE64.encode(string).as_bytes());
                out.extend_from_slice(b"\"}");
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let y = ("y".to_owned(), Tensor::from_slice(&[1f32, 2., 3., 4.], &[2, 2]).unwrap());
        let n = ("n".to_owned(), Tensor::from_slice(&[5i64, 6], &[2]).unwrap());
        let s = ("s_bytes".to_owned(), Tensor::from_strings(vec![b"a".to_vec()], &[1]).unwrap());
        let cases = [
            (Format::Row, vec![y.clone()], r#"{"predictions":[[1.0,2.0],[3.0,4.0]]}"#),
            (
                Format::Row,
                vec![y.clone(), n.clone()],
                r#"{"predictions":[{"y":[1.0,2.0],"n":5},{"y":[3.0,4.0],"n":6}]}"#,
            ),
            (Format::Column, vec![n.clone()], r#"{"outputs":[5,6]}"#),
            (
                Format::Column,
                vec![y.clone(), n],
                r#"{"outputs":{"y":[[1.0,2.0],[3.0,4.0]],"n":[5,6]}}"#,
            ),
            (Format::Column, vec![s.clone()], r#"{"outputs":[{"b64":"YQ=="}]}"#),
        ];
        for (format, outputs, expected) in cases {
            let got = encode_predict(format, &outputs).unwrap();
            assert_eq!(String::from_utf8(got).unwrap(), expected);
        }
        assert!(encode_predict(Format::Row, &[y, s]).is_err(), "different first dimensions");
    }
}
