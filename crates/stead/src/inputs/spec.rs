//! The grammar of `--input`, `--random` and `--dim`.
//!
//! ```text
//! @inputs.npz              every array of the archive, under the inputs' names
//! name=@file.npy           one array
//! name=<literal>           a JSON number, string, boolean or nested array
//! name:dtype:AxBxC         random values
//! name:dtype:AxBxC:min:max random values, min inclusive, max exclusive
//! ```
//!
//! Names of tensors may hold `:` (`serving_default_x:0`), so random specs are split from the right.

use std::path::PathBuf;

use stead_tensor::DType;

use crate::failure::Failure;

/// One `--input`.
#[derive(Debug, Clone, PartialEq)]
pub enum Spec {
    /// All arrays of an npz file.
    Npz(PathBuf),
    /// One npy file.
    Npy {
        /// The input.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// A value written out.
    Literal {
        /// The input.
        name: String,
        /// The value as JSON.
        value: serde_json::Value,
    },
    /// Random values.
    Random(RandomSpec),
}

/// `name:dtype:AxBxC[:min:max]`.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomSpec {
    /// The input.
    pub name: String,
    /// Its type.
    pub dtype: DType,
    /// Its shape; empty for a scalar.
    pub dims: Vec<usize>,
    /// Smallest value and first value that is too large.
    pub range: Option<(f64, f64)>,
}

/// Reads one `--input`.
pub fn parse_spec(text: &str) -> Result<Spec, Failure> {
    if let Some(path) = text.strip_prefix('@') {
        return Ok(Spec::Npz(path.into()));
    }
    if let Some(random) = random(text) {
        return Ok(Spec::Random(random));
    }
    let Some((name, value)) = text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
        return Err(Failure::usage(format!(
            "input `{text}`: expected name=@file.npy, name=<literal>, @file.npz or name:dtype:AxBxC[:min:max]"
        )));
    };
    let name = name.to_owned();
    if let Some(path) = value.strip_prefix('@') {
        return Ok(Spec::Npy { name, path: path.into() });
    }
    match serde_json::from_str(value) {
        Ok(value) => Ok(Spec::Literal { name, value }),
        Err(_) => Err(Failure::usage(format!("input `{name}`: `{value}` is no JSON value"))),
    }
}

/// Reads one `--random`.
pub fn parse_random(text: &str) -> Result<RandomSpec, Failure> {
    random(text).ok_or_else(|| {
        Failure::usage(format!("`{text}`: expected name:dtype:AxBxC[:min:max], as in x:f32:1x128"))
    })
}

/// Reads one `--dim name=size`.
pub fn parse_dim(text: &str) -> Result<(String, usize), Failure> {
    let pair = text.rsplit_once('=').and_then(|(name, n)| Some((name.to_owned(), n.parse().ok()?)));
    pair.ok_or_else(|| Failure::usage(format!("--dim `{text}`: expected name=size, as in seq=128")))
}

fn random(text: &str) -> Option<RandomSpec> {
    let fields: Vec<&str> = text.rsplitn(5, ':').collect();
    // From the right: shape, dtype, name; or max, min, shape, dtype, name.
    if let [dims, dtype, ..] = fields[..]
        && let (Some(dims), Some(dtype)) = (parse_dims(dims), parse_dtype(dtype))
    {
        let name = text.rsplitn(3, ':').nth(2)?.to_owned();
        return Some(RandomSpec { name, dtype, dims, range: None });
    }
    let [max, min, dims, dtype, name] = fields[..] else { return None };
    let range = Some((min.parse().ok()?, max.parse().ok()?));
    let (dims, dtype) = (parse_dims(dims)?, parse_dtype(dtype)?);
    Some(RandomSpec { name: name.to_owned(), dtype, dims, range })
}

/// `1x128`; the empty text and `scalar` mean no dimensions.
fn parse_dims(text: &str) -> Option<Vec<usize>> {
    if text.is_empty() || text == "scalar" {
        return Some(Vec::new());
    }
    text.split('x').map(|n| n.parse().ok()).collect()
}

/// A type by stead's name (`f32`), NumPy's (`float32`) or KServe's (`FP32`).
pub fn parse_dtype(text: &str) -> Option<DType> {
    let text = text.to_ascii_lowercase();
    DType::from_name(&text).or_else(|| {
        let (name, _) = LONG_NAMES.iter().find(|(_, long)| long.contains(&text.as_str()))?;
        DType::from_name(name)
    })
}

const LONG_NAMES: &[(&str, &[&str])] = &[
    ("f32", &["float32", "fp32", "float"]),
    ("f64", &["float64", "fp64", "double"]),
    ("f16", &["float16", "fp16"]),
    ("bf16", &["bfloat16"]),
    ("i8", &["int8"]),
    ("i16", &["int16"]),
    ("i32", &["int32"]),
    ("i64", &["int64"]),
    ("u8", &["uint8"]),
    ("u16", &["uint16"]),
    ("u32", &["uint32"]),
    ("u64", &["uint64"]),
    ("string", &["bytes", "str"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn random_spec(name: &str, dtype: DType, dims: &[usize], range: Option<(f64, f64)>) -> Spec {
        Spec::Random(RandomSpec { name: name.to_owned(), dtype, dims: dims.to_vec(), range })
    }

    #[test]
    fn every_form_is_read() {
        let literal = |name: &str, value| Spec::Literal { name: name.to_owned(), value };
        let cases = [
            ("@in.npz", Spec::Npz("in.npz".into())),
            ("x=@x.npy", Spec::Npy { name: "x".into(), path: "x.npy".into() }),
            ("sr=16000", literal("sr", serde_json::json!(16000))),
            ("x=[[1,2],[3,4]]", literal("x", serde_json::json!([[1, 2], [3, 4]]))),
            ("t=\"a:b\"", literal("t", serde_json::json!("a:b"))),
            ("x:f32:1x128", random_spec("x", DType::F32, &[1, 128], None)),
            ("x:0:f32:1x128", random_spec("x:0", DType::F32, &[1, 128], None)),
            ("a:b:0:int64:2:0:30522", random_spec("a:b:0", DType::I64, &[2], Some((0.0, 30522.0)))),
            ("x:f32:1x2:-1.5:2", random_spec("x", DType::F32, &[1, 2], Some((-1.5, 2.0)))),
            ("s:f32:", random_spec("s", DType::F32, &[], None)),
            ("s:FP16:scalar", random_spec("s", DType::F16, &[], None)),
            ("x:0=@x.npy", Spec::Npy { name: "x:0".into(), path: "x.npy".into() }),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_spec(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_text_is_a_usage_error() {
        for text in
            ["", "x", "=1", "x=one", "x:f99:1x2", "x:f32:1xa", "x:f32:1x2:0", "x:f32:1x2:a:b"]
        {
            assert!(matches!(parse_spec(text), Err(Failure::Usage(_))), "{text}");
        }
        for text in ["seq", "seq=", "seq=-1", "seq=x"] {
            assert!(matches!(parse_dim(text), Err(Failure::Usage(_))), "{text}");
        }
        assert_eq!(parse_dim("a=b=3"), Ok(("a=b".to_owned(), 3)));
    }
}
