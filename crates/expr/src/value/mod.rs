//! Values: tensors of any mix of mapped and indexed dimensions.

mod cells;
mod convert;
mod exact;
mod label;

pub use cells::Cells;
pub(crate) use cells::same_cells;
pub use exact::{Bit, Element, Inexact, Number};
pub use label::{Label, Labels, MAX_LABEL};

use crate::map_cells;
use crate::types::{CellType, TensorType};

/// A tensor, or a number. Immutable; its blocks stand in the order of their labels, each of them once.
#[derive(Debug, Clone)]
pub struct Value {
    kind: TensorType,
    /// The labels of each block behind each other.
    labels: Labels,
    cells: Cells<'static>,
}

/// Why parts do not make a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Cells of another type.
    #[error("{expected} needs cells of type {}, got {found}", expected.cell())]
    Cells {
        /// The type of the value.
        expected: TensorType,
        /// That of the cells.
        found: CellType,
    },
    /// The wrong number of cells.
    #[error("{of} needs {expected} cells, got {found}")]
    Count {
        /// The type of the value.
        of: TensorType,
        /// As the blocks need.
        expected: usize,
        /// As there are.
        found: usize,
    },
    /// A type without a size.
    #[error("a value has sizes, which {0} has not")]
    Unbound(TensorType),
    /// A block that is there twice.
    #[error("the block {0} stands twice")]
    Twice(String),
}

impl Value {
    /// A number.
    #[must_use]
    pub fn double(number: f64) -> Value {
        let cells = Cells::Double(vec![number].into());
        Value { kind: TensorType::double(), labels: Labels::default(), cells }
    }

    /// A tensor of these blocks in any order: for each block its labels in the order of the mapped dimensions, and
    /// its cells with the last indexed dimension innermost.
    ///
    /// # Errors
    /// When the numbers of labels and cells or the type of the cells do not fit, or a block stands twice.
    pub fn new(
        kind: TensorType,
        labels: Labels,
        cells: Cells<'static>,
    ) -> Result<Value, ValueError> {
        if cells.cell_type() != kind.cell() {
            return Err(ValueError::Cells { expected: kind, found: cells.cell_type() });
        }
        if !kind.is_bound() {
            return Err(ValueError::Unbound(kind));
        }
        let (mapped, block) = (kind.mapped_count(), kind.block_size());
        let blocks = labels.as_slice().len().checked_div(mapped).unwrap_or(1);
        let has_whole_blocks = labels.as_slice().len() == blocks * mapped;
        match blocks.checked_mul(block) {
            Some(expected) if has_whole_blocks && expected == cells.len() => {}
            expected => {
                let expected = expected.unwrap_or(usize::MAX);
                return Err(ValueError::Count { of: kind, expected, found: cells.len() });
            }
        }
        if mapped == 0 {
            return Ok(Value { kind, labels, cells });
        }
        let rows: Vec<&[Label]> = labels.as_slice().chunks_exact(mapped).collect();
        let twice = |row: &[Label]| {
            let texts: Vec<String> = row.iter().map(|l| l.text()).collect();
            ValueError::Twice(texts.join(","))
        };
        if rows.is_sorted() {
            if let Some(pair) = rows.windows(2).find(|w| w[0] == w[1]) {
                return Err(twice(pair[0]));
            }
            return Ok(Value { kind, labels, cells });
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_unstable_by_key(|at| rows[*at]);
        if let Some(pair) = order.windows(2).find(|w| rows[w[0]] == rows[w[1]]) {
            return Err(twice(rows[pair[0]]));
        }
        let sorted: Vec<Label> = order.iter().flat_map(|at| rows[*at].iter().copied()).collect();
        let cells = gather(&cells, &order, block);
        Ok(Value { kind, labels: Labels::hold(sorted), cells })
    }

    /// Parts that are known to fit, with blocks in order.
    pub(crate) fn from_parts(kind: TensorType, labels: Vec<Label>, cells: Cells<'static>) -> Value {
        Value { kind, labels: Labels::hold(labels), cells }
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> &TensorType {
        &self.kind
    }

    /// The labels of each block behind each other.
    #[must_use]
    pub fn labels(&self) -> &[Label] {
        self.labels.as_slice()
    }

    /// The cells of each block behind each other.
    #[must_use]
    pub fn cells(&self) -> &Cells<'static> {
        &self.cells
    }

    /// The number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        match self.kind.mapped_count() {
            0 => 1,
            mapped => self.labels().len() / mapped,
        }
    }

    /// The blocks in the order in which people and files see them: whole numbers first, then texts. The order in
    /// which they stand is that of symbols, which another process has otherwise.
    #[must_use]
    pub fn in_order_of_texts(&self) -> Vec<usize> {
        let mapped = self.kind.mapped_count();
        let mut order: Vec<usize> = (0..self.blocks()).collect();
        let key = |at: &usize| -> Vec<(u32, String)> {
            let text = |label: &Label| match label.as_number() {
                Some(number) => (number, String::new()),
                None => (u32::MAX, label.text()),
            };
            self.labels()[at * mapped..][..mapped].iter().map(text).collect()
        };
        order.sort_by_cached_key(key);
        order
    }

    /// The number that it is; `None` for a tensor.
    #[must_use]
    pub fn as_double(&self) -> Option<f64> {
        if self.kind.is_double() { self.cells.get(0) } else { None }
    }

    /// Whether another has the same type, labels, and cells by a rule for floats; whole numbers are the same or not.
    fn is_like(&self, other: &Value, same: impl Fn(f64, f64) -> bool) -> bool {
        if self.kind != other.kind || self.labels() != other.labels() {
            return false;
        }
        if let (Cells::Int64(a), Cells::Int64(b)) = (&self.cells, &other.cells) {
            return a == b;
        }
        let (a, b) = (self.cells.doubles(), other.cells.doubles());
        a.iter().zip(b.iter()).all(|(a, b)| same(*a, *b) || (a.is_nan() && b.is_nan()))
    }
}

/// Blocks of cells in another order.
pub(crate) fn gather(cells: &Cells<'_>, order: &[usize], block: usize) -> Cells<'static> {
    map_cells!(cells, a => {
        let mut sorted = Vec::with_capacity(order.len() * block);
        order.iter().for_each(|at| sorted.extend_from_slice(&a[at * block..][..block]));
        sorted
    })
}

/// Whether two numbers are the same within about one unit in the last place of a float: the meaning of `~=`, and
/// the rule by which Vespa's conformance cases compare.
#[must_use]
pub fn approx_equal(a: f64, b: f64) -> bool {
    let (x, y) = (a as f32, b as f32);
    if !(-1.0..=1.0).contains(&a) || !(-1.0..=1.0).contains(&b) {
        // Beyond the range of float the quotient tells, for infinities equality.
        return a == b || ((b / a) as f32 == 1.0);
    }
    a == b || x == y || next_towards(y, x) == x
}

/// The next float after `from` on the way to `to`.
fn next_towards(from: f32, to: f32) -> f32 {
    if from < to { from.next_up() } else { from.next_down() }
}

impl PartialEq for Value {
    /// The same type, labels and cells; NaN equals NaN.
    fn eq(&self, other: &Value) -> bool {
        self.is_like(other, |a, b| a == b)
    }
}

impl Value {
    /// Whether the types and labels are the same and the cells are by [`approx_equal`]; NaN equals NaN.
    #[must_use]
    pub fn approx_eq(&self, other: &Value) -> bool {
        self.is_like(other, approx_equal)
    }
}
