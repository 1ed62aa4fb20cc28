//! Functions of each cell, and other cell types.

use super::column::Column;
use super::dense::Real;
use super::nested;
use super::pool::Pool;
use super::size::StepError;
use crate::functions::Visit1;
use crate::ir::Unary;
use crate::types::CellType;
use crate::value::Cells;

/// The function of each cell.
pub(super) fn map(
    function: &Unary,
    column: &Column<'_>,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let cells = match column.cells.cell_type().decay() {
        CellType::Double => {
            let (cells, mut result) = (pool.wide_doubles(&column.cells), pool.doubles());
            run(function, &cells, &mut result)?;
            pool.recycle_cells(Cells::Double(cells));
            Cells::Double(result.into())
        }
        _ => {
            let (cells, mut result) = (pool.wide_floats(&column.cells), pool.floats());
            run(function, &cells, &mut result)?;
            pool.recycle_cells(Cells::Float(cells));
            Cells::Float(result.into())
        }
    };
    Ok(with_cells(column, cells, pool))
}

/// The same cells as another type.
pub(super) fn cast(
    cell: CellType,
    column: &Column<'_>,
    is_rounded: bool,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let cells = column.cells.borrowed().convert(cell, is_rounded)?;
    Ok(with_cells(column, cells.into_owned(), pool))
}

/// Other cells in the same blocks.
pub(super) fn with_cells(
    column: &Column<'_>,
    cells: Cells<'static>,
    pool: &mut Pool,
) -> Column<'static> {
    let Some(offsets) = &column.offsets else { return Column::dense(column.rows, cells) };
    let (mut own_offsets, mut labels) = (pool.offsets(), pool.labels());
    own_offsets.extend_from_slice(offsets);
    labels.extend_from_slice(&column.labels);
    Column { rows: column.rows, offsets: Some(own_offsets.into()), labels: labels.into(), cells }
}

struct Mapping<'m, T> {
    cells: &'m [T],
    result: &'m mut Vec<T>,
}

impl<T: Real> Visit1 for Mapping<'_, T> {
    fn visit(self, function: impl Fn(f64) -> f64 + Copy) {
        self.result.extend(self.cells.iter().map(|x| T::narrow(function(x.wide()))));
    }
}

fn run<T: Real>(function: &Unary, cells: &[T], result: &mut Vec<T>) -> Result<(), StepError> {
    match function {
        Unary::Known(known) => known.visit(Mapping { cells, result }),
        Unary::In(list) => {
            let list: Vec<f64> = list.iter().map(|bits| f64::from_bits(*bits)).collect();
            let is_in = |x: f64| f64::from(u8::from(list.contains(&x)));
            result.extend(cells.iter().map(|x| T::narrow(is_in(x.wide()))));
        }
        Unary::Lambda(program) => {
            let numbers = cells.iter().map(|x| x.wide()).collect();
            result.extend(nested::numbers(program, vec![numbers])?.into_iter().map(T::narrow));
        }
    }
    Ok(())
}
