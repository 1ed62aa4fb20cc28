//! Tensors from cells that are given one by one.

use super::column::{Column, rows_of};
use super::size::{StepError, check};
use crate::ir::Cell;
use crate::types::TensorType;
use crate::value::{Cells, Label, Number};

/// A tensor of a cell from each operand; cells of its blocks that are not given are 0, and of two at one place the last counts.
pub(super) fn create(
    cells: &[Cell],
    out: &TensorType,
    operands: &[&Column<'_>],
    is_rounded: bool,
) -> Result<Column<'static>, StepError> {
    let rows = rows_of(operands);
    let (width, size) = (out.mapped_count(), out.block_size());
    let mut blocks: Vec<Vec<Label>> = cells.iter().map(labels).collect();
    blocks.sort_unstable();
    blocks.dedup();
    if width == 0 {
        // One block, even of no cells at all.
        blocks = vec![Vec::new()];
    }
    let place = |cell: &Cell| {
        let block = blocks.binary_search(&labels(cell)).unwrap_or_default();
        block * size + cell.offset
    };
    let places: Vec<usize> = cells.iter().map(place).collect();
    let mut numbers = vec![0.0; check(rows * blocks.len(), size)?];
    for (place, operand) in places.iter().zip(operands) {
        let values = operand.as_numbers();
        for row in 0..rows {
            numbers[row * blocks.len() * size + place] = values[operand.row(row)];
        }
    }
    let mut numbers = Cells::of_numbers(out.cell(), &numbers, is_rounded)?;
    for (place, cell) in places.iter().zip(cells) {
        let Some(whole) = cell.whole else { continue };
        for row in 0..rows {
            numbers.set(row * blocks.len() * size + place, Number::Whole(whole))?;
        }
    }
    if width == 0 {
        return Ok(Column::dense(rows, numbers));
    }
    let offsets = (0..=rows).map(|row| (row * blocks.len()) as u32).collect();
    let all = blocks.concat().repeat(rows);
    Ok(Column::sparse(offsets, all, numbers))
}

fn labels(cell: &Cell) -> Vec<Label> {
    cell.labels.iter().map(crate::ir::HeldLabel::label).collect()
}
