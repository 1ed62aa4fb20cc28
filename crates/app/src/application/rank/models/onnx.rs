//! Types of the inputs and outputs of ONNX models.

use std::collections::HashMap;

use stead_expr::{CellType, Dimension, TensorType};
use stead_onnx::{Dim, ValueInfo, ValueType};
use stead_tensor::DType;

use crate::application::rank::compile::Why;
use crate::application::rank::uses::SourceType;

/// A name as expressions may have it.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// The sizes of symbols, as what is bound to the inputs decides them.
#[derive(Default)]
pub(super) struct Sizes<'i> {
    /// `None` for a size that differs from value to value.
    symbols: HashMap<&'i str, Option<usize>>,
    /// Whether any size differs from value to value.
    is_open: bool,
}

impl<'i> Sizes<'i> {
    /// Takes the sizes of symbols from what is bound to an input.
    pub(super) fn bind(
        &mut self,
        model: &str,
        input: &'i ValueInfo,
        source: &SourceType,
    ) -> Result<(), Why> {
        let ValueType::Tensor { dtype, dims } = &input.ty else { return Ok(()) };
        let wrong = |expected: String| {
            Err(Why::Wrong(format!(
                "input {} of onnx-model {model} expects {expected}, found a {source}",
                input.name
            )))
        };
        if (*dtype == DType::String) != source.is_text() {
            let expected = if source.is_text() { "numbers" } else { "texts" };
            return wrong(expected.to_owned());
        }
        let Some(found) = source.dimensions() else {
            return wrong("at most one mapped dimension".to_owned());
        };
        let Some(dims) = dims else {
            self.is_open |= found.iter().any(|(_, size)| size.is_none());
            return Ok(());
        };
        // Fields have no dimensions of size 1 that could be written.
        let missing = match source {
            SourceType::Tensor(_) => 0,
            _ => dims.len().saturating_sub(found.len()),
        };
        if found.len() + missing != dims.len() {
            return wrong(format!("{} dimensions", dims.len()));
        }
        let sizes = std::iter::repeat_n(("", Some(1)), missing);
        let sizes = sizes.chain(found.iter().map(|(name, size)| (name.as_str(), *size)));
        for ((name, size), dim) in sizes.zip(dims.iter()) {
            let name = if name.is_empty() { String::new() } else { format!(" {name}") };
            self.is_open |= size.is_none();
            match dim {
                Dim::Known(expected) if size.is_some_and(|size| size != *expected) => {
                    return wrong(format!("size {expected} of dimension{name}"));
                }
                Dim::Symbol(symbol) => match self.symbols.get(symbol.as_str()) {
                    Some(Some(other)) if size.is_some_and(|size| size != *other) => {
                        return wrong(format!("size {other} of dimension{name} ({symbol})"));
                    }
                    // What is known once is known.
                    Some(Some(_)) => {}
                    _ => _ = self.symbols.insert(symbol, size),
                },
                _ => {}
            }
        }
        Ok(())
    }
}

/// The type of an output: dimensions `d0`, `d1` and so on, mapped by the numbers from 0 where sizes differ from value to
/// value, and cells as Vespa's content nodes have them, or their own.
pub(super) fn output_type(
    model: &str,
    output: &ValueInfo,
    sizes: &Sizes<'_>,
    has_own_cells: bool,
) -> Result<TensorType, Why> {
    let unknown = |what: &str| {
        Err(Why::Unknown(format!(
            "{what} of output {} of onnx-model {model} is not known before the model runs",
            output.name
        )))
    };
    let ValueType::Tensor { dtype, dims: Some(dims) } = &output.ty else {
        return unknown("the shape");
    };
    if *dtype == DType::String {
        let text =
            format!("output {} of onnx-model {model} are texts, which no tensor has", output.name);
        return Err(Why::Wrong(text));
    }
    let mut dimensions = Vec::new();
    for (at, dim) in dims.iter().enumerate() {
        let size = match dim {
            Dim::Known(size) => Some(*size),
            Dim::Symbol(symbol) => match sizes.symbols.get(symbol.as_str()) {
                Some(size) => *size,
                None if sizes.is_open => None,
                None => return unknown(&format!("dimension {symbol}")),
            },
            Dim::Unknown if sizes.is_open => None,
            Dim::Unknown => return unknown(&format!("dimension {at}")),
        };
        let name = format!("d{at}");
        dimensions.push(match size {
            Some(size) => Dimension::indexed(&name, size),
            None => Dimension::mapped(&name),
        });
    }
    let cell = if has_own_cells { own_cell_type(*dtype) } else { cell_type(*dtype) };
    TensorType::new(cell, dimensions).map_err(|e| Why::Wrong(e.to_string()))
}

/// The shape of what is bound to an input, if it is always the same.
pub(super) fn shape(input: &ValueInfo, source: &SourceType) -> Option<Vec<usize>> {
    let sizes: Option<Vec<usize>> =
        source.dimensions()?.into_iter().map(|(_, size)| size).collect();
    let ValueType::Tensor { dims, .. } = &input.ty else { return None };
    let sizes = sizes?;
    // Fields have no dimensions of size 1 that could be written.
    let missing = match (source, dims) {
        (SourceType::Tensor(_), _) | (_, None) => 0,
        (_, Some(dims)) => dims.len().saturating_sub(sizes.len()),
    };
    Some(std::iter::repeat_n(1, missing).chain(sizes).collect())
}

/// The type of an output that has this shape when the model runs.
pub(super) fn probed_type(
    model: &str,
    output: &ValueInfo,
    shape: Option<&Vec<usize>>,
    has_own_cells: bool,
) -> Result<TensorType, Why> {
    let dims = shape.map(|shape| shape.iter().map(|size| Dim::Known(*size)).collect());
    let ValueType::Tensor { dtype, .. } = &output.ty else {
        return Err(Why::Unknown(format!(
            "output {} of onnx-model {model} is no tensor",
            output.name
        )));
    };
    let ty = ValueType::Tensor { dtype: *dtype, dims };
    output_type(model, &ValueInfo { ty, ..output.clone() }, &Sizes::default(), has_own_cells)
}

/// The cells in which the elements of an output come: the smallest that hold them as Vespa has it.
#[must_use]
pub fn cell_type(dtype: DType) -> CellType {
    match dtype {
        DType::I8 => CellType::Int8,
        DType::BF16 => CellType::BFloat16,
        DType::U8 | DType::I16 | DType::U16 | DType::F16 | DType::F32 | DType::Bool => {
            CellType::Float
        }
        _ => CellType::Double,
    }
}

/// The cells that have the elements of an output as they are; of unsigned numbers the next larger type with a sign.
fn own_cell_type(dtype: DType) -> CellType {
    match dtype {
        DType::F16 => CellType::Float16,
        DType::BF16 => CellType::BFloat16,
        DType::F32 => CellType::Float,
        DType::I8 => CellType::Int8,
        DType::I16 => CellType::Int16,
        DType::I32 | DType::U16 => CellType::Int32,
        DType::I64 | DType::U32 | DType::U64 => CellType::Int64,
        DType::U8 => CellType::UInt8,
        DType::Bool => CellType::Bool,
        _ => CellType::Double,
    }
}
