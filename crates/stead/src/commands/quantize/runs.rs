//! The inputs that a model is calibrated and compared with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use stead_engine::{IoSpec, Session};
use stead_quantize::Run;
use stead_tensor::{Shape, Tensor, TensorView, npz};

use super::QuantizeArgs;
use crate::failure::Failure;
use crate::inputs;

/// Runs on the files of `--calibrate`, or one on random inputs.
pub(super) fn of(session: &Session, args: &QuantizeArgs) -> Result<Vec<Run>, Failure> {
    let declared = session.model().inputs();
    if args.calibrate.is_empty() {
        let dims: BTreeMap<String, usize> =
            args.dim.iter().map(|text| inputs::parse_dim(text)).collect::<Result<_, _>>()?;
        let named = inputs::gather(declared, &[], &[], &dims, args.seed)?;
        return Ok(vec![by_position(declared, named)]);
    }
    let mut runs = Vec::new();
    for path in &args.calibrate {
        runs.extend(of_file(declared, path)?);
    }
    Ok(runs)
}

fn by_position(declared: &[IoSpec], named: Vec<(String, Tensor)>) -> Run {
    let mut named: BTreeMap<String, Tensor> = named.into_iter().collect();
    declared.iter().map(|input| named.remove(&input.name)).collect()
}

/// The runs of one file.
fn of_file(declared: &[IoSpec], path: &Path) -> Result<Vec<Run>, Failure> {
    let bad = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
    let file = File::open(path).map_err(|e| bad(&e))?;
    let arrays = npz::read(BufReader::new(file), u64::MAX).map_err(|e| bad(&e))?;
    for (name, _) in &arrays {
        if !declared.iter().any(|input| input.name == *name) {
            let names: Vec<&str> = declared.iter().map(|input| input.name.as_str()).collect();
            return Err(bad(&format!(
                "the model has no input `{name}`; its inputs are {}",
                names.join(", ")
            )));
        }
    }
    let given = by_position(declared, arrays);
    for (input, tensor) in declared.iter().zip(&given) {
        if tensor.is_none() && !input.optional {
            return Err(bad(&format!("no array for the input `{}`", input.name)));
        }
    }
    let is_stack = |(input, tensor): (&IoSpec, &Option<Tensor>)| {
        let rank = input.dims.as_ref().map(Vec::len);
        tensor.as_ref().is_some_and(|t| rank.is_some_and(|rank| t.shape().rank() == rank + 1))
    };
    let mut stacks = declared.iter().zip(&given).map(is_stack).zip(&given);
    let lengths: Vec<usize> =
        given.iter().flatten().filter_map(|t| t.shape().first().copied()).collect();
    let stacked = stacks.clone().any(|(stack, _)| stack);
    if !stacked {
        return Ok(vec![given]);
    }
    let count = lengths.first().copied().unwrap_or(0);
    let all_stacked = stacks.all(|(stack, tensor)| stack || tensor.is_none());
    if !all_stacked || lengths.iter().any(|&n| n != count) || count == 0 {
        return Err(bad(
            &"either all arrays hold a run in each row, the same number of them, or none does",
        ));
    }
    (0..count)
        .map(|at| {
            let row = |tensor: &Option<Tensor>| tensor.as_ref().map(|t| row_of(t, at)).transpose();
            given.iter().map(row).collect::<Result<Run, _>>().map_err(|e| bad(&e))
        })
        .collect()
}

/// The tensor at a place along the first dimension.
fn row_of(tensor: &Tensor, at: usize) -> Result<Tensor, stead_tensor::TensorError> {
    let (shape, view) = (tensor.shape(), tensor.view());
    let inner = Shape::new(shape.get(1..).unwrap_or_default())?;
    if tensor.dtype() == stead_tensor::DType::String {
        let (from, to) = (at * inner.elements(), (at + 1) * inner.elements());
        let strings = view.strings().get(from..to).unwrap_or_default();
        return TensorView::from_strings(inner, strings)?.to_tensor();
    }
    let bytes = inner.byte_len(tensor.dtype());
    let part = view.bytes().get(at * bytes..(at + 1) * bytes).unwrap_or_default();
    TensorView::from_bytes(tensor.dtype(), inner, part)?.to_tensor()
}
