//! Tensor types: a cell type and a set of named dimensions, in the order of their names.
//!
//! A mapped dimension `x{}` has labels, an indexed one `x[3]` the indices below its size. A tensor is a list of
//! blocks, one for each combination of labels that is there, and each block is a dense array over the indexed
//! dimensions; a type without mapped dimensions always has exactly one block.

mod cell;
mod error;
mod parse;
mod rules;

pub use cell::{CELL_TYPES, CellType};
pub use error::TypeError;
pub use parse::parse_type;
pub(crate) use parse::read_type;

use std::fmt;
use std::sync::Arc;

/// The most cells of a block: products of sizes stay far from overflow, and one block within 256 MiB of floats.
pub const MAX_BLOCK: usize = 1 << 26;

/// The most dimensions of a type. Published packages have up to five.
pub const MAX_DIMENSIONS: usize = 16;

/// What the places along a dimension are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// `x{}`: texts, any number of them.
    Mapped,
    /// `x[n]`: the numbers below n.
    Indexed(usize),
    /// `x[]`: the numbers below a size that each value has of its own. Values themselves have sizes.
    Unbound,
}

/// A named dimension.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Dimension {
    /// Its name.
    pub name: Arc<str>,
    /// Labels or indices.
    pub extent: Extent,
}

impl Dimension {
    /// A dimension with labels.
    #[must_use]
    pub fn mapped(name: &str) -> Dimension {
        Dimension { name: name.into(), extent: Extent::Mapped }
    }

    /// A dimension with `size` indices.
    #[must_use]
    pub fn indexed(name: &str, size: usize) -> Dimension {
        Dimension { name: name.into(), extent: Extent::Indexed(size) }
    }

    /// A dimension with indices whose number differs from value to value.
    #[must_use]
    pub fn unbound(name: &str) -> Dimension {
        Dimension { name: name.into(), extent: Extent::Unbound }
    }

    /// Whether it has labels.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.extent == Extent::Mapped
    }

    /// The number of indices; `None` for a mapped dimension, and for one whose size is not known.
    #[must_use]
    pub fn size(&self) -> Option<usize> {
        match self.extent {
            Extent::Mapped | Extent::Unbound => None,
            Extent::Indexed(size) => Some(size),
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Mapped => write!(f, "{}{{}}", self.name),
            Extent::Unbound => write!(f, "{}[]", self.name),
            Extent::Indexed(size) => write!(f, "{}[{size}]", self.name),
        }
    }
}

/// The type of a value: cell type and dimensions in the order of their names. Without dimensions it is a
/// number, whose cell type is always `double`. Clones share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorType {
    cell: CellType,
    dimensions: Arc<[Dimension]>,
}

impl TensorType {
    /// The type of a number.
    #[must_use]
    pub fn double() -> TensorType {
        TensorType { cell: CellType::Double, dimensions: Arc::new([]) }
    }

    /// A type with these dimensions, in any order.
    ///
    /// # Errors
    /// When a name stands twice, a size is 0, or a limit is passed.
    pub fn new(cell: CellType, mut dimensions: Vec<Dimension>) -> Result<TensorType, TypeError> {
        if dimensions.len() > MAX_DIMENSIONS {
            return Err(TypeError::TooManyDimensions(dimensions.len()));
        }
        dimensions.sort_by(|a, b| a.name.cmp(&b.name));
        let mut block = 1_usize;
        for (at, dimension) in dimensions.iter().enumerate() {
            if at > 0 && dimensions[at - 1].name == dimension.name {
                return Err(TypeError::Twice(dimension.name.to_string()));
            }
            if let Some(size) = dimension.size() {
                if size == 0 {
                    return Err(TypeError::Empty(dimension.name.to_string()));
                }
                block = block
                    .checked_mul(size)
                    .filter(|b| *b <= MAX_BLOCK)
                    .ok_or_else(|| TypeError::TooLarge(dimension.name.to_string()))?;
            }
        }
        let cell = if dimensions.is_empty() { CellType::Double } else { cell };
        Ok(TensorType { cell, dimensions: dimensions.into() })
    }

    /// The type of the cells.
    #[must_use]
    pub fn cell(&self) -> CellType {
        self.cell
    }

    /// The dimensions in the order of their names.
    #[must_use]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// The dimension of this name.
    #[must_use]
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|d| &*d.name == name)
    }

    /// Whether it is a number.
    #[must_use]
    pub fn is_double(&self) -> bool {
        self.dimensions.is_empty()
    }

    /// The mapped dimensions in order.
    pub fn mapped(&self) -> impl Iterator<Item = &Dimension> {
        self.dimensions.iter().filter(|d| d.is_mapped())
    }

    /// The number of mapped dimensions: labels of a block.
    #[must_use]
    pub fn mapped_count(&self) -> usize {
        self.mapped().count()
    }

    /// Whether there are no mapped dimensions, and so exactly one block.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        self.mapped_count() == 0
    }

    /// Whether all sizes are known, as they are of every value.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        self.unbound().is_none()
    }

    /// The first dimension whose size is not known.
    #[must_use]
    pub fn unbound(&self) -> Option<&Dimension> {
        self.dimensions.iter().find(|d| d.extent == Extent::Unbound)
    }

    /// The indexed dimensions in order with their sizes, if these are known.
    pub fn indexed(&self) -> impl Iterator<Item = (&Dimension, usize)> {
        self.dimensions.iter().filter_map(|d| d.size().map(|s| (d, s)))
    }

    /// The cells of a block, or of a part of one along the dimensions whose sizes are known.
    #[must_use]
    pub fn block_size(&self) -> usize {
        self.indexed().map(|(_, size)| size).product()
    }

    /// The cells from one index to the next of each indexed dimension, in a block with the last dimension innermost.
    #[must_use]
    pub fn strides(&self) -> Vec<usize> {
        let sizes: Vec<usize> = self.indexed().map(|(_, s)| s).collect();
        let mut strides = vec![1; sizes.len()];
        for at in (1..sizes.len()).rev() {
            strides[at - 1] = strides[at] * sizes[at];
        }
        strides
    }

    /// The same dimensions with other cells; a number stays one.
    #[must_use]
    pub fn with_cell(&self, cell: CellType) -> TensorType {
        let cell = if self.is_double() { CellType::Double } else { cell };
        TensorType { cell, dimensions: self.dimensions.clone() }
    }
}

impl fmt::Display for TensorType {
    /// `double`, or `tensor(x[3],y{})` with the cell type where it is not double.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_double() {
            return f.write_str("double");
        }
        f.write_str("tensor")?;
        if self.cell != CellType::Double {
            write!(f, "<{}>", self.cell)?;
        }
        for (at, dimension) in self.dimensions.iter().enumerate() {
            write!(f, "{}{dimension}", if at == 0 { '(' } else { ',' })?;
        }
        f.write_str(")")
    }
}
