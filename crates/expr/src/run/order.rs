//! Cells replaced by their place when all are sorted.

use super::cellwise::with_cells;
use super::column::Column;
use super::pool::Pool;
use crate::types::TensorType;
use crate::value::Cells;

/// The place of each cell among those of its row, from 0; equal cells in the order in which they stand, NaN last.
pub(super) fn cell_order(
    largest_first: bool,
    out: &TensorType,
    kind: &TensorType,
    column: &Column<'_>,
    pool: &mut Pool,
) -> Column<'static> {
    let (cells, size) = (column.cells.doubles(), kind.block_size());
    let mut places = vec![0.0; cells.len()];
    for row in 0..column.rows {
        let blocks = column.blocks(row);
        let mut order: Vec<usize> = (blocks.start * size..blocks.end * size).collect();
        order.sort_by(|a, b| {
            let (x, y) = (cells[*a], cells[*b]);
            let by_value = if largest_first { y.total_cmp(&x) } else { x.total_cmp(&y) };
            // Zero has one value, whatever its sign.
            let by_value = if x == y { std::cmp::Ordering::Equal } else { by_value };
            x.is_nan().cmp(&y.is_nan()).then(by_value)
        });
        order.iter().enumerate().for_each(|(place, cell)| places[*cell] = place as f64);
    }
    with_cells(column, Cells::from_numbers(out.cell(), &places), pool)
}
