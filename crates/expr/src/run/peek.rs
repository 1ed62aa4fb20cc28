//! Parts of tensors at fixed places along some dimensions.

use super::column::{Column, rows_of};
use super::dense::{Axis, coalesce, each_line};
use super::pool::Pool;
use super::size::{StepError, check};
use crate::ir::Place;
use crate::types::TensorType;
use crate::value::{Label, same_cells};

/// The part of the first operand at places, each with the number of its dimension. A place that is not there gives
/// zeros, or no block where the result has mapped dimensions.
pub(super) fn peek(
    places: &[(usize, Place)],
    out: &TensorType,
    kind: &TensorType,
    operands: &[&Column<'_>],
    is_rounded: bool,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let column = operands[0];
    let rows = rows_of(operands);
    let parts = Parts::new(places, kind);
    let width = kind.mapped_count();
    let numbers: Vec<_> = operands.iter().skip(1).map(|o| o.as_numbers()).collect();
    let number = |operand: usize, row: usize| numbers[operand - 1][operands[operand].row(row)];
    let (size, out_size) = (kind.block_size(), out.block_size());

    let (mut offsets, mut labels) = (pool.offsets(), pool.labels());
    offsets.push(0);
    // Where each block of the result begins in the cells, or `ZEROS`.
    let mut sources = pool.words();
    for row in 0..rows {
        let begin = sources.len();
        if let Some((wanted, shift)) = parts.of_row(|operand| number(operand, row)) {
            for block in column.blocks(row) {
                let own = &column.labels[block * width..][..width];
                if wanted.iter().all(|(at, label)| own[*at] == *label) {
                    labels.extend(parts.free.iter().map(|at| own[*at]));
                    sources.push((block * size + shift) as u64);
                }
            }
        }
        if out.is_dense() && sources.len() == begin {
            sources.push(ZEROS);
        }
        offsets.push(sources.len() as u32);
    }
    check(sources.len(), out_size)?;
    let mut cells = pool.zeros(column.cells.cell_type(), sources.len() * out_size);
    same_cells!(&mut cells, &column.cells, (result, all) => {
        let result = result.to_mut();
        for (to, source) in result.chunks_exact_mut(out_size).zip(&sources) {
            if *source != ZEROS {
                let source = *source as usize;
                each_line(&parts.axes, |a, b, axis| {
                    for i in 0..axis.len {
                        to[b + i * axis.b] = all[source + a + i * axis.a];
                    }
                });
            }
        }
    }, else debug_assert!(false, "cells of the type of the operand"));
    pool.recycle_words(sources);
    let cells = pool.convert(cells, out.cell(), is_rounded)?;
    if !out.is_dense() {
        return Ok(Column::sparse(offsets, labels, cells));
    }
    pool.recycle_places(offsets);
    Ok(Column::dense(rows, cells))
}

/// A part that is not there.
const ZEROS: u64 = u64::MAX;

/// What is known of the places before the rows are.
struct Parts<'p> {
    /// Mapped dimensions with a place: their number among the labels.
    mapped: Vec<(usize, &'p Place)>,
    /// Indexed dimensions with a place: size and step.
    indexed: Vec<(usize, usize, &'p Place)>,
    /// Mapped dimensions without one.
    free: Vec<usize>,
    /// The loops over the indexed dimensions without one.
    axes: Vec<Axis>,
}

impl<'p> Parts<'p> {
    fn new(places: &'p [(usize, Place)], kind: &TensorType) -> Parts<'p> {
        let mut parts =
            Parts { mapped: Vec::new(), indexed: Vec::new(), free: Vec::new(), axes: Vec::new() };
        let (strides, mut labels, mut indices) = (kind.strides(), 0, 0);
        for (number, dimension) in kind.dimensions().iter().enumerate() {
            let place = places.iter().find(|(at, _)| *at == number).map(|(_, place)| place);
            match (dimension.size(), place) {
                (None, Some(place)) => parts.mapped.push((labels, place)),
                (None, None) => parts.free.push(labels),
                (Some(size), Some(place)) => parts.indexed.push((size, strides[indices], place)),
                (Some(len), None) => parts.axes.push(Axis { len, a: strides[indices], b: 0 }),
            }
            if dimension.is_mapped() { labels += 1 } else { indices += 1 }
        }
        let mut step = 1;
        for axis in parts.axes.iter_mut().rev() {
            axis.b = step;
            step *= axis.len;
        }
        parts.axes = coalesce(std::mem::take(&mut parts.axes));
        parts
    }

    /// The labels that blocks must have and where in a block the part begins; `None` when there is no such place.
    fn of_row(&self, number: impl Fn(usize) -> f64) -> Option<(Vec<(usize, Label)>, usize)> {
        let mut wanted = Vec::with_capacity(self.mapped.len());
        for (at, place) in &self.mapped {
            let label = match place {
                Place::Label(label) => label.label(),
                Place::Index(index) => Label::number(*index as u32)?,
                Place::Operand(operand) => Label::find(&(number(*operand) as i64).to_string())?,
            };
            wanted.push((*at, label));
        }
        let mut shift = 0;
        for (size, step, place) in &self.indexed {
            let index = match place {
                Place::Index(index) => *index as i64,
                Place::Label(_) => return None,
                Place::Operand(operand) => number(*operand) as i64,
            };
            let index = usize::try_from(index).ok().filter(|i| i < size)?;
            shift += index * step;
        }
        Some((wanted, shift))
    }
}
