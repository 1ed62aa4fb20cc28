//! Programs within programs: lambdas over cells, generated cells, functions of blocks.

use super::column::{Column, rows_of};
use super::layout::select;
use super::machine::execute;
use super::pool::Pool;
use super::size::{StepError, check};
use crate::ir::Program;
use crate::types::{CellType, TensorType};
use crate::value::Cells;

/// Cells of a lambda are computed in pieces of this many, so that what its steps leave stays in the cache.
const PIECE: usize = 4096;

/// The results of a program of numbers for lists of numbers of the same length.
pub(super) fn numbers(program: &Program, inputs: Vec<Vec<f64>>) -> Result<Vec<f64>, StepError> {
    let count = inputs.first().map_or(0, Vec::len);
    let mut results = Vec::with_capacity(count);
    for begin in (0..count).step_by(PIECE) {
        let end = (begin + PIECE).min(count);
        let piece = |list: &Vec<f64>| Column::numbers(list[begin..end].to_vec());
        let result =
            execute(program, &inputs.iter().map(piece).collect::<Vec<_>>()).map_err(|f| f.error)?;
        extend(&mut results, &result, end - begin);
    }
    Ok(results)
}

/// Adds the numbers of a column, each row's or the only one for all.
fn extend(results: &mut Vec<f64>, column: &Column<'_>, rows: usize) {
    match (column.rows, &*column.as_numbers()) {
        (1, [number]) => results.resize(results.len() + rows, *number),
        (_, numbers) => results.extend_from_slice(numbers),
    }
}

/// A tensor whose cells are computed from their indices and from values outside.
pub(super) fn generate(
    program: &Program,
    out: &TensorType,
    outside: &[&Column<'_>],
    is_rounded: bool,
) -> Result<Column<'static>, StepError> {
    let (rows, size) = (rows_of(outside), out.block_size());
    let mut results = Vec::with_capacity(check(rows, size)?);
    let kinds = &program.inputs[out.dimensions().len()..];
    for row in 0..rows {
        // What differs from document to document is one value within a row.
        let of_row: Vec<_> =
            outside.iter().zip(kinds).map(|(c, kind)| c.value(kind, row)).collect();
        for begin in (0..size).step_by(PIECE) {
            let cells = begin..(begin + PIECE).min(size);
            let mut inputs: Vec<Column<'_>> = Vec::with_capacity(program.inputs.len());
            for ((_, length), step) in out.indexed().zip(out.strides()) {
                let index = |cell: usize| (cell / step % length) as f64;
                inputs.push(Column::numbers(cells.clone().map(index).collect()));
            }
            inputs.extend(of_row.iter().map(Column::of_value));
            let result = execute(program, &inputs).map_err(|f| f.error)?;
            extend(&mut results, &result, cells.len());
        }
    }
    Ok(Column::dense(rows, Cells::of_numbers(out.cell(), &results, is_rounded)?))
}

/// A function of each block.
pub(super) fn map_subspaces(
    program: &Program,
    out: &TensorType,
    column: &Column<'_>,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let (blocks, result) = of_blocks(program, column)?;
    let cells = result.cells.borrowed().convert(out.cell(), program.is_rounded)?.into_owned();
    let cells = if result.rows == 1 && blocks != 1 {
        check(blocks, out.block_size())?;
        let all = crate::map_cells!(cells, a => a.repeat(blocks));
        all.into_owned()
    } else {
        cells
    };
    Ok(super::cellwise::with_cells(column, cells, pool))
}

/// The blocks for which a function has a cell that is not 0.
pub(super) fn filter_subspaces(
    program: &Program,
    kind: &TensorType,
    column: &Column<'_>,
) -> Result<Column<'static>, StepError> {
    let (_, result) = of_blocks(program, column)?;
    let cells = result.cells.doubles();
    let size = program.steps[program.result].kind.block_size();
    let is_kept = |block: usize| {
        let at = if result.rows == 1 { 0 } else { block };
        cells[at * size..][..size].iter().any(|c| *c != 0.0)
    };
    Ok(select(kind, column, column.rows, is_kept))
}

/// A program whose rows are the blocks of a column.
fn of_blocks(
    program: &Program,
    column: &Column<'_>,
) -> Result<(usize, Column<'static>), StepError> {
    let blocks = column.block_count();
    let cells = column.cells.borrowed();
    // A block that is a number is a double.
    let cells = match program.inputs[0].is_double() {
        true => cells.convert(CellType::Double, program.is_rounded)?,
        false => cells,
    };
    let result = execute(program, &[Column::dense(blocks, cells)]).map_err(|f| f.error)?;
    Ok((blocks, result))
}
