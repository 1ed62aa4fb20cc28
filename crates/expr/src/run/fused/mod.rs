//! Steps that stand for several.

mod best_match;
mod product;
mod softmax;
mod sums;
mod vectors;

use super::column::Column;
use super::operand::{Blocks, Operand};
use super::pool::Pool;
use super::size::{TooLarge, check};
use crate::ir::{Fused, Measure, Op, Step};
use crate::types::{CellType, TensorType};
use crate::value::{Cells, Label};

/// Runs the same expression on the array of cells of the types that kernels read, which are Vespa's.
macro_rules! each_kernel_cell {
    ($cells:expr, $array:ident => $body:expr, else $other:expr) => {
        match $cells {
            crate::Cells::Double($array) => $body,
            crate::Cells::Float($array) => $body,
            crate::Cells::BFloat16($array) => $body,
            crate::Cells::Int8($array) => $body,
            _ => {
                debug_assert!(false, "steps of other cells are not fused");
                $other
            }
        }
    };
}
use each_kernel_cell;

/// Runs the same expression on the array of cells that f32 holds exactly.
macro_rules! each_float {
    ($cells:expr, $array:ident => $body:expr) => {
        match $cells {
            crate::Cells::Float($array) => $body,
            crate::Cells::BFloat16($array) => $body,
            crate::Cells::Int8($array) => $body,
            _ => debug_assert!(false, "doubles are computed as doubles, and others are not fused"),
        }
    };
}
use each_float;

/// What a fused step makes of an operand that is the same for all documents, once for the query.
#[derive(Debug)]
pub(crate) enum Prepared {
    /// Vectors side by side, or sums of bits.
    Floats(Vec<f32>),
    /// Vectors of bytes side by side.
    Words(Vec<u64>),
}

/// The operand of a step that is prepared once for all documents.
pub(crate) fn prepared_operand(step: &Step) -> Option<usize> {
    match &step.op {
        Op::Fused(Fused::BestMatch { .. }) => Some(step.operands[0]),
        Op::Fused(Fused::Vectors(Measure::Bits { .. }) | Fused::Product(_)) => {
            Some(step.operands[1])
        }
        _ => None,
    }
}

/// Prepares an operand that has one value.
pub(crate) fn prepare(step: &Step, column: &Column<'_>) -> Option<Prepared> {
    match &step.op {
        Op::Fused(Fused::BestMatch { measure, length, .. }) => {
            best_match::prepare(*measure, *length, column)
        }
        Op::Fused(Fused::Product(product)) => product::prepare(product, column),
        // The one vector is all of the few.
        Op::Fused(Fused::Vectors(measure @ Measure::Bits { .. })) => {
            best_match::prepare(*measure, column.cells.len().max(1), column)
        }
        _ => None,
    }
}

/// The value of a fused step.
pub(super) fn compute(
    step: &Step,
    fused: &Fused,
    operands: &[Operand<'_>],
    prepared: Option<&Prepared>,
    pool: &mut Pool,
) -> Result<Column<'static>, TooLarge> {
    let out = &step.kind;
    // Outside of batches nothing was prepared.
    let own = match (prepared, operands.first(), fused) {
        (None, Some(Operand::Column(column, _)), Fused::BestMatch { .. }) => prepare(step, column),
        _ => None,
    };
    let prepared = prepared.or(own.as_ref());
    let rows = operands.iter().map(|o| o.rows()).find(|rows| *rows != 1).unwrap_or(1);
    let blocks = |at: usize| operands.get(at).and_then(|o| o.blocks()).ok_or(TooLarge);
    match fused {
        Fused::Vectors(measure) => {
            vectors::compute(*measure, out, &blocks(0)?, &blocks(1)?, rows, prepared, pool)
        }
        Fused::BestMatch { measure, best, length, gathered } => {
            let (measure, best, length, gathered) = (*measure, *best, *length, *gathered);
            let how = best_match::How { measure, best, length, gathered };
            best_match::compute(how, out, &blocks(0)?, &blocks(1)?, rows, prepared, pool)
        }
        Fused::Product(product) => {
            let operands = (&blocks(0)?, &blocks(1)?);
            product::compute(product, out, operands, rows, prepared, pool)
        }
        Fused::Softmax(form) => softmax::compute(*form, out, &blocks(0)?, rows, pool),
        Fused::SparseDot => Ok(sums::sparse_dot(&blocks(0)?, &blocks(1)?, rows, pool)),
        Fused::WeightedSum(terms) => Ok(sums::weighted(terms, operands, rows, pool)),
    }
}

/// Where the blocks of each row of a result begin, and their labels.
type Places = (Option<Vec<u32>>, Vec<Label>);

/// The places of a result that has a block for each of `list`, with `size` cells of its own, and the number of all cells.
fn places(
    out: &TensorType,
    list: &Blocks<'_>,
    rows: usize,
    size: usize,
    pool: &mut Pool,
) -> Result<(Places, usize), TooLarge> {
    let mut labels = pool.labels();
    if out.is_dense() {
        return Ok(((None, labels), check(rows, size)?));
    }
    let (mut offsets, mut count) = (pool.offsets(), 0);
    offsets.push(0);
    for row in 0..rows {
        let blocks = list.of_row(row);
        count += blocks.len();
        check(count, size)?;
        labels.extend_from_slice(list.labels(&blocks));
        offsets.push(count as u32);
    }
    Ok(((Some(offsets), labels), count * size))
}

/// A result of cells at their places.
fn placed((offsets, labels): Places, rows: usize, cells: Cells<'static>) -> Column<'static> {
    match offsets {
        Some(offsets) => Column::sparse(offsets, labels, cells),
        None => Column::dense(rows, cells),
    }
}

/// Results of floats as cells of a type, in memory of the pool.
fn cells_of(floats: Vec<f32>, cell: CellType, pool: &mut Pool) -> Cells<'static> {
    if cell == CellType::Float {
        return Cells::Float(floats.into());
    }
    let mut doubles = pool.doubles();
    doubles.extend(floats.iter().map(|x| f64::from(*x)));
    pool.recycle_cells(Cells::Float(floats.into()));
    Cells::Double(doubles.into())
}
