//! The types of values.

use std::fmt;
use stead_tensor::DType;

/// A named value and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueInfo {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: ValueType,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// A dense tensor.
    Tensor {
        /// The element type.
        dtype: DType,
        /// The dimensions, or `None` when not even the rank is known.
        dims: Option<Vec<Dim>>,
    },
    /// A sparse tensor.
    SparseTensor {
        /// The element type.
        dtype: DType,
        /// As for a dense tensor.
        dims: Option<Vec<Dim>>,
    },
    /// A list of values of one type.
    Sequence(Box<ValueType>),
    /// A value or none.
    Optional(Box<ValueType>),
    /// A map.
    Map {
        /// An integer type or string.
        key: DType,
        /// The type of the values.
        value: Box<ValueType>,
    },
    /// A type that only the operators of some domain know.
    Opaque {
        /// That domain.
        domain: String,
        /// The name of the type.
        name: String,
    },
    /// The file gives no type, as it may in a body or a function.
    Unknown,
}

/// One dimension of a declared shape.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Dim {
    /// A fixed size.
    Known(usize),
    /// A size that each call decides; equal names within a model mean equal sizes.
    Symbol(String),
    /// A size that each call decides.
    Unknown,
}

impl Dim {
    /// The size, if it is fixed.
    pub const fn known(&self) -> Option<usize> {
        match self {
            Dim::Known(n) => Some(*n),
            Dim::Symbol(_) | Dim::Unknown => None,
        }
    }
}

impl ValueType {
    /// A dense tensor type.
    pub const fn tensor(dtype: DType, dims: Option<Vec<Dim>>) -> ValueType {
        ValueType::Tensor { dtype, dims }
    }

    /// The element type, if this is a dense tensor.
    pub const fn dtype(&self) -> Option<DType> {
        match self {
            ValueType::Tensor { dtype, .. } => Some(*dtype),
            _ => None,
        }
    }

    /// The dimensions, if this is a dense tensor whose rank is known.
    pub fn dims(&self) -> Option<&[Dim]> {
        match self {
            ValueType::Tensor { dims, .. } => dims.as_deref(),
            _ => None,
        }
    }

    /// The shape, if this is a dense tensor all of whose dimensions are fixed.
    pub fn fixed_dims(&self) -> Option<Vec<usize>> {
        self.dims()?.iter().map(Dim::known).collect()
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(n) => write!(f, "{n}"),
            Dim::Symbol(name) => f.write_str(name),
            Dim::Unknown => f.write_str("?"),
        }
    }
}

impl fmt::Display for ValueType {
    /// `f32[batch,3]`, `seq(i64[?])`, `f32[...]` for an unknown rank.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueType::Tensor { dtype, dims } => write_tensor(f, *dtype, dims.as_deref()),
            ValueType::SparseTensor { dtype, dims } => {
                f.write_str("sparse ")?;
                write_tensor(f, *dtype, dims.as_deref())
            }
            ValueType::Sequence(inner) => write!(f, "seq({inner})"),
            ValueType::Optional(inner) => write!(f, "optional({inner})"),
            ValueType::Map { key, value } => write!(f, "map({key},{value})"),
            ValueType::Opaque { domain, name } => write!(f, "opaque({domain}.{name})"),
            ValueType::Unknown => f.write_str("?"),
        }
    }
}

fn write_tensor(f: &mut fmt::Formatter<'_>, dtype: DType, dims: Option<&[Dim]>) -> fmt::Result {
    write!(f, "{dtype}[")?;
    match dims {
        None => f.write_str("...")?,
        Some(dims) => {
            for (i, dim) in dims.iter().enumerate() {
                write!(f, "{}{dim}", if i == 0 { "" } else { "," })?;
            }
        }
    }
    f.write_str("]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_shown_short() {
        let dims = vec![Dim::Symbol("batch".into()), Dim::Known(3), Dim::Unknown];
        let tensor = ValueType::tensor(DType::F32, Some(dims));
        let any = ValueType::tensor(DType::I64, None);
        let cases = [
            (tensor.clone(), "f32[batch,3,?]"),
            (ValueType::tensor(DType::Bool, Some(vec![])), "bool[]"),
            (ValueType::Sequence(Box::new(any.clone())), "seq(i64[...])"),
            (ValueType::Optional(Box::new(tensor)), "optional(f32[batch,3,?])"),
            (ValueType::Map { key: DType::String, value: Box::new(any) }, "map(string,i64[...])"),
        ];
        for (ty, expected) in cases {
            assert_eq!(ty.to_string(), expected);
        }
    }
}
