//! Tensors for a model's inputs, from what the command line says.

mod fill;
mod literal;
mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use stead_engine::{Dim, IoSpec};
use stead_tensor::npy::{self, NpyError};
use stead_tensor::{Shape, Tensor, npz};

use crate::failure::Failure;
pub use fill::Fill;
pub use spec::{Spec, parse_dim, parse_dtype, parse_random, parse_spec};

/// Makes one tensor for every required input, in the model's order; optional ones only if they are given.
/// What no `spec` gives is random in the declared shape, free dimensions taken from `dims` and else 1; the inputs that
/// `zeros` names are zeros instead.
pub fn gather(
    declared: &[IoSpec],
    specs: &[Spec],
    zeros: &[&str],
    dims: &BTreeMap<String, usize>,
    seed: u64,
) -> Result<Vec<(String, Tensor)>, Failure> {
    let mut given: BTreeMap<String, Tensor> = BTreeMap::new();
    for spec in specs {
        for (name, tensor) in resolve(spec, declared, seed)? {
            if !declared.iter().any(|input| input.name == name) {
                let names: Vec<&str> = declared.iter().map(|input| input.name.as_str()).collect();
                return Err(Failure::usage(format!(
                    "the model has no input `{name}`; its inputs are {}",
                    names.join(", ")
                )));
            }
            if given.insert(name.clone(), tensor).is_some() {
                return Err(Failure::usage(format!("input `{name}` is given twice")));
            }
        }
    }
    let free: BTreeSet<&str> = declared
        .iter()
        .flat_map(|input| input.dims.iter().flatten())
        .filter_map(|dim| if let Dim::Symbol(name) = dim { Some(&**name) } else { None })
        .collect();
    if let Some(unknown) = dims.keys().find(|name| !free.contains(name.as_str())) {
        let has = match free.is_empty() {
            true => "all sizes are fixed".to_owned(),
            false => format!("it has {}", Vec::from_iter(free).join(", ")),
        };
        let what = format!("--dim: the model has no free dimension `{unknown}`; {has}");
        return Err(Failure::usage(what));
    }
    let mut inputs = Vec::with_capacity(declared.len());
    for input in declared {
        let tensor = match given.remove(&input.name) {
            Some(tensor) => tensor,
            None if input.optional => continue,
            None => {
                let shape = shape_of(input, dims)?;
                if zeros.contains(&&*input.name) {
                    let shape = Shape::new(&shape).map_err(Failure::usage)?;
                    Tensor::zeros(input.dtype, shape).map_err(Failure::failed)?
                } else {
                    Fill::new(&input.name, seed).tensor(input.dtype, &shape, None)?
                }
            }
        };
        inputs.push((input.name.clone(), tensor));
    }
    Ok(inputs)
}

/// The declared shape with every free dimension decided.
fn shape_of(input: &IoSpec, dims: &BTreeMap<String, usize>) -> Result<Vec<usize>, Failure> {
    let size = |dim: &Dim| match dim {
        Dim::Known(n) => *n,
        Dim::Symbol(name) => dims.get(name).copied().unwrap_or(1),
        Dim::Unknown => 1,
    };
    match &input.dims {
        Some(declared) => Ok(declared.iter().map(size).collect()),
        None => Err(Failure::usage(format!(
            "the model does not tell the shape of input `{}`: give it with --input",
            input.name
        ))),
    }
}

/// The tensors that one spec gives.
fn resolve(spec: &Spec, declared: &[IoSpec], seed: u64) -> Result<Vec<(String, Tensor)>, Failure> {
    let bad = |path: &Path, e: NpyError| Failure::failed(format!("{}: {e}", path.display()));
    match spec {
        Spec::Npz(path) => npz::read(open(path)?, u64::MAX).map_err(|e| bad(path, e)),
        Spec::Npy { name, path } => {
            let tensor = npy::read(&mut open(path)?, u64::MAX).map_err(|e| bad(path, e))?;
            Ok(vec![(name.clone(), tensor)])
        }
        Spec::Literal { name, value } => {
            let input = declared.iter().find(|input| input.name == *name);
            let dtype = input.map_or(stead_tensor::DType::F32, |input| input.dtype);
            let tensor = literal::tensor(value, dtype)
                .map_err(|e| Failure::usage(format!("input `{name}`: {e}")))?;
            Ok(vec![(name.clone(), input.map_or(tensor.clone(), |i| as_declared(tensor, i)))])
        }
        Spec::Random(random) => {
            let mut fill = Fill::new(&random.name, seed);
            let tensor = fill.tensor(random.dtype, &random.dims, random.range)?;
            Ok(vec![(random.name.clone(), tensor)])
        }
    }
}

/// Opens a file that the user named; its size is the user's business, so no limit holds.
fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|e| Failure::failed(format!("{}: {e}", path.display())))?;
    Ok(BufReader::new(file))
}

/// A single literal number also serves where the model declares a shape of ones, such as `[1]`.
fn as_declared(tensor: Tensor, input: &IoSpec) -> Tensor {
    let fixed: Option<Vec<usize>> =
        input.dims.as_ref().and_then(|dims| dims.iter().map(Dim::known).collect());
    match fixed.and_then(|dims| Shape::new(&dims).ok()) {
        Some(shape) if tensor.shape().rank() == 0 && shape.elements() == 1 => {
            tensor.reshaped(shape).unwrap_or(tensor)
        }
        _ => tensor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stead_tensor::DType;

    fn model() -> Vec<IoSpec> {
        let input = |name: &str, dtype, dims: Vec<Dim>, optional| IoSpec {
            name: name.to_owned(),
            dtype,
            dims: Some(dims),
            optional,
        };
        vec![
            input("x", DType::F32, vec![Dim::Symbol("batch".into()), Dim::Known(3)], false),
            input("sr", DType::I64, vec![], false),
            input("bias", DType::F32, vec![Dim::Known(1)], true),
        ]
    }

    fn shapes(specs: &[&str], dims: &[(&str, usize)]) -> Result<Vec<String>, String> {
        let specs: Result<Vec<Spec>, Failure> = specs.iter().map(|s| parse_spec(s)).collect();
        let dims = dims.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let made = specs.and_then(|specs| gather(&model(), &specs, &[], &dims, 0));
        let show =
            |(name, t): &(String, Tensor)| format!("{name} {} {:?}", t.dtype(), t.shape().dims());
        made.map(|inputs| inputs.iter().map(show).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn shapes_come_from_the_model_and_the_command_line() {
        let ok = |rows: &[&str]| Ok(rows.iter().map(|r| (*r).to_owned()).collect::<Vec<_>>());
        assert_eq!(shapes(&[], &[]), ok(&["x f32 [1, 3]", "sr i64 []"]));
        assert_eq!(shapes(&[], &[("batch", 4)]), ok(&["x f32 [4, 3]", "sr i64 []"]));
        assert_eq!(shapes(&["sr=16000"], &[]), ok(&["x f32 [1, 3]", "sr i64 []"]));
        assert_eq!(
            shapes(&["bias=0.5", "x:f32:2x3"], &[]),
            ok(&["x f32 [2, 3]", "sr i64 []", "bias f32 [1]"])
        );
    }

    #[test]
    fn mistakes_name_what_is_wrong() {
        let cases: [(&[&str], &[(&str, usize)], &str); 4] = [
            (&["y=1"], &[], "the model has no input `y`; its inputs are x, sr, bias"),
            (&["sr=1", "sr=2"], &[], "input `sr` is given twice"),
            (&["sr=1.5"], &[], "input `sr`: 1.5 is not a value of type i64"),
            (&[], &[("seq", 4)], "--dim: the model has no free dimension `seq`; it has batch"),
        ];
        for (specs, dims, expected) in cases {
            assert_eq!(shapes(specs, dims), Err(expected.to_owned()));
        }
    }
}
