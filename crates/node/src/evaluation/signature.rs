//! Functions of models as Vespa tells of them: names, and the types of tensors
//! (facts: `model-integration/src/main/java/ai/vespa/modelintegration/evaluator/TensorConverter.java`).

use std::fmt;

use stead_engine::{Dim, IoSpec};
use stead_expr::{CellType, Dimension, TensorType};
use stead_tensor::DType;

/// A function of a model: named arguments to one value.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationFunction {
    /// Its name.
    pub name: String,
    /// What it takes, in the order of the names.
    pub arguments: Vec<EvaluationArgument>,
    /// What it gives, with the name that Vespa has for it among the arguments; nothing where it has none.
    pub result: Option<EvaluationArgument>,
}

/// A name with its type.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluationArgument {
    /// The name.
    pub name: String,
    /// The type.
    pub kind: EvaluationType,
}

/// What an argument or result is.
#[derive(Debug, Clone, PartialEq)]
pub enum EvaluationType {
    /// A tensor, or a number.
    Tensor(TensorType),
    /// Texts, or numbers of which the model does not tell how many axes they have.
    Array {
        /// The type of the elements.
        dtype: DType,
        /// The sizes, as far as they are known.
        dims: Option<Vec<Option<usize>>>,
    },
}

impl EvaluationType {
    /// That of an input or output of a network: axes are the dimensions `d0`, `d1`, and so on.
    pub(super) fn of_spec(spec: &IoSpec) -> EvaluationType {
        let known = |dim: &Dim| dim.known().filter(|size| *size > 0);
        let dims: Option<Vec<Option<usize>>> =
            spec.dims.as_ref().map(|dims| dims.iter().map(known).collect());
        let tensor = |dims: &Vec<Option<usize>>| {
            let dimension = |(at, size): (usize, &Option<usize>)| match size {
                Some(size) => Dimension::indexed(&format!("d{at}"), *size),
                None => Dimension::unbound(&format!("d{at}")),
            };
            TensorType::new(cell_type(spec.dtype), dims.iter().enumerate().map(dimension).collect())
        };
        let is_number = spec.dtype != DType::String;
        match dims.as_ref().filter(|_| is_number).map(tensor) {
            Some(Ok(kind)) => EvaluationType::Tensor(kind),
            _ => EvaluationType::Array { dtype: spec.dtype, dims },
        }
    }
}

/// The cells that Vespa's container has of elements.
pub(super) const fn cell_type(dtype: DType) -> CellType {
    match dtype {
        DType::I8 => CellType::Int8,
        DType::BF16 => CellType::BFloat16,
        DType::F16 | DType::F32 => CellType::Float,
        _ => CellType::Double,
    }
}

impl fmt::Display for EvaluationType {
    /// As Vespa writes types: `tensor()` for a number, and `tensor<string>(d0[])` for texts, which it does not have.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvaluationType::Tensor(kind) if kind.is_double() => f.write_str("tensor()"),
            EvaluationType::Tensor(kind) => kind.fmt(f),
            EvaluationType::Array { dtype, dims } => {
                let cell = match dtype {
                    DType::String => "string",
                    other => cell_type(*other).name(),
                };
                write!(f, "tensor<{cell}>(")?;
                let Some(dims) = dims else { return f.write_str("...)") };
                for (at, size) in dims.iter().enumerate() {
                    let size = size.map(|size| size.to_string()).unwrap_or_default();
                    write!(f, "{}d{at}[{size}]", if at == 0 { "" } else { "," })?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A name of a network as Vespa has it: what cannot stand in a name is `_` (`OnnxImporter.asValidIdentifier`).
pub(super) fn plain_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '@');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_the_container() {
        let dims = |list: &[Option<usize>]| {
            let dim = |size: &Option<usize>| size.map_or(Dim::Unknown, Dim::Known);
            Some(list.iter().map(dim).collect::<Vec<_>>())
        };
        for (dtype, dims, expected) in [
            (DType::F32, dims(&[None, None, Some(16)]), "tensor<float>(d0[],d1[],d2[16])"),
            (DType::F16, dims(&[Some(3)]), "tensor<float>(d0[3])"),
            (DType::I64, dims(&[None, Some(2)]), "tensor(d0[],d1[2])"),
            (DType::I32, dims(&[Some(0)]), "tensor(d0[])"),
            (DType::U8, dims(&[Some(1)]), "tensor(d0[1])"),
            (DType::I8, dims(&[Some(1)]), "tensor<int8>(d0[1])"),
            (DType::BF16, dims(&[Some(1)]), "tensor<bfloat16>(d0[1])"),
            (DType::F32, dims(&[]), "tensor()"),
            (DType::String, dims(&[None, Some(2)]), "tensor<string>(d0[],d1[2])"),
            (DType::String, dims(&[]), "tensor<string>()"),
            (DType::F32, None, "tensor<float>(...)"),
        ] {
            let spec = IoSpec { name: "x".to_owned(), dtype, dims, optional: false };
            assert_eq!(EvaluationType::of_spec(&spec).to_string(), expected);
        }
    }

    #[test]
    fn names_are_those_of_the_container() {
        for (name, expected) in
            [("input", "input"), ("a/b:0", "a_b_0"), ("$x@y-z", "$x@y_z"), ("\u{e9}", "_")]
        {
            assert_eq!(plain_name(name), expected);
        }
    }
}
