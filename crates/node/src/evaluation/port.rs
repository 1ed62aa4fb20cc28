//! What a model takes or gives under a name.

use stead_app::application::rank::SourceType;
use stead_engine::IoSpec;
use stead_expr::{CellType, TensorType};
use stead_tensor::DType;

/// An input or output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Port {
    /// Its name.
    pub(crate) name: String,
    /// The type of its elements.
    pub(crate) dtype: DType,
    /// Its sizes, -1 for any; with a type, those of the indexed dimensions.
    pub(crate) shape: Vec<i64>,
    /// The type of a function's value; a network has axes instead of dimensions.
    pub(crate) kind: Option<TensorType>,
}

impl Port {
    /// That of a network.
    pub(super) fn of_spec(spec: &IoSpec) -> Port {
        let dims = spec.dims.iter().flatten();
        let size = |size: Option<usize>| size.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
        Port {
            name: spec.name.clone(),
            dtype: spec.dtype,
            shape: dims.map(|dim| size(dim.known())).collect(),
            kind: None,
        }
    }

    /// That of a function.
    pub(super) fn of_type(name: &str, kind: &TensorType) -> Port {
        let indexed = kind.dimensions().iter().filter(|d| !d.is_mapped());
        let size = |size: Option<usize>| size.and_then(|n| i64::try_from(n).ok()).unwrap_or(-1);
        Port {
            name: name.to_owned(),
            dtype: dtype(kind.cell()),
            shape: indexed.map(|d| size(d.size())).collect(),
            kind: Some(kind.clone()),
        }
    }

    /// That of a name of a function.
    pub(super) fn of_source(name: &str, kind: &SourceType) -> Port {
        match kind {
            SourceType::Tensor(kind) => Port::of_type(name, kind),
            SourceType::Field(_) | SourceType::Text => {
                Port { name: name.to_owned(), dtype: DType::String, shape: Vec::new(), kind: None }
            }
        }
    }
}

const fn dtype(cell: CellType) -> DType {
    match cell {
        CellType::Double => DType::F64,
        CellType::Float => DType::F32,
        CellType::BFloat16 => DType::BF16,
        CellType::Int8 => DType::I8,
        CellType::Float16 => DType::F16,
        CellType::Int16 => DType::I16,
        CellType::Int32 => DType::I32,
        CellType::Int64 => DType::I64,
        CellType::UInt8 => DType::U8,
        CellType::Bool => DType::Bool,
    }
}
