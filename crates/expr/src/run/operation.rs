//! What a step does with the values of its operands.

use super::column::{Column, rows_of};
use super::pool::Pool;
use super::size::StepError;
use super::{aggregate, cellwise, create, join, layout, merge, nested, numbers, order, peek};
use crate::ir::{Binary, Op, Step, Unary};
use crate::types::TensorType;
use crate::value::{Value, same_cells};

/// The value of a step from its operands.
pub(super) fn operation(
    step: &Step,
    kinds: &[&TensorType],
    operands: &[&Column<'_>],
    is_rounded: bool,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let out = &step.kind;
    let pair = |at: usize| (kinds[at], operands[at]);
    if !is_rounded && computes(&step.op) {
        operands.iter().try_for_each(|column| column.cells.are_doubles())?;
    }
    let are_numbers = out.is_double() && kinds.iter().all(|k| k.is_double());
    Ok(match &step.op {
        Op::Map(Unary::Known(function)) if are_numbers => {
            numbers::map(*function, operands[0], pool)
        }
        Op::Join(Binary::Known(function)) if are_numbers => {
            numbers::join(*function, operands[0], operands[1], pool)
        }
        Op::Map(function) => cellwise::map(function, operands[0], pool)?,
        Op::CellCast(cell) => cellwise::cast(*cell, operands[0], is_rounded, pool)?,
        Op::Join(function) => join::join(function, out, pair(0), pair(1), pool)?,
        Op::Merge(function) => merge::merge(function, out, operands[0], operands[1], pool)?,
        Op::Reduce(aggregator) => aggregate::reduce(*aggregator, out, kinds[0], operands[0], pool),
        Op::Rename(order) => layout::rename(order, out, kinds[0], operands[0]),
        Op::Concat(along) => layout::concat(along, out, pair(0), pair(1), is_rounded, pool)?,
        Op::CellOrder { largest_first } => {
            order::cell_order(*largest_first, out, kinds[0], operands[0], pool)
        }
        Op::UnpackBits { is_big_endian } => {
            layout::unpack_bits(out, *is_big_endian, operands[0], pool)?
        }
        Op::Generate(program) => nested::generate(program, out, operands, is_rounded)?,
        Op::Create(cells) => create::create(cells, out, operands, is_rounded)?,
        Op::Peek(places) => peek::peek(places, out, kinds[0], operands, is_rounded, pool)?,
        Op::MapSubspaces(program) => nested::map_subspaces(program, out, operands[0], pool)?,
        Op::FilterSubspaces(program) => nested::filter_subspaces(program, out, operands[0])?,
        Op::If | Op::Input(_) | Op::Constant(_) | Op::Fused(_) => {
            debug_assert!(false, "these are no operations on operands");
            Column::numbers(Vec::new())
        }
    })
}

/// For each row the value of the side that its condition takes.
pub(super) fn choose(
    kind: &TensorType,
    [condition, yes, no]: [Option<&Column<'_>>; 3],
    pool: &mut Pool,
) -> Column<'static> {
    let Some(condition) = condition else { return Column::numbers(Vec::new()) };
    let numbers = condition.as_numbers();
    let all = |column: &Column<'_>| column.borrowed().into_owned();
    let (yes, no) = match (yes, no) {
        (Some(yes), None) => return all(yes),
        (None, Some(no)) => return all(no),
        // Both may be there for the sake of others.
        (Some(yes), Some(_)) if numbers.iter().all(|n| *n != 0.0) => return all(yes),
        (Some(_), Some(no)) if numbers.iter().all(|n| *n == 0.0) => return all(no),
        (Some(yes), Some(no)) => (yes, no),
        (None, None) => return Column::numbers(Vec::new()),
    };
    let rows = rows_of(&[condition, yes, no]);
    let (width, size) = (kind.mapped_count(), kind.block_size());
    let mut cells = pool.cells(kind.cell());
    let (mut offsets, mut labels, mut count) = (pool.offsets(), pool.labels(), 0);
    offsets.push(0);
    for row in 0..rows {
        let is_yes = numbers[condition.row(row)] != 0.0;
        let column = if is_yes { yes } else { no };
        let blocks = column.blocks(row);
        let range = blocks.start * size..blocks.end * size;
        same_cells!(&mut cells, &column.cells, (to, from) => to.to_mut().extend_from_slice(&from[range]),
            else debug_assert!(false, "both sides are of one type"));
        labels.extend_from_slice(&column.labels[blocks.start * width..blocks.end * width]);
        count += blocks.len() as u32;
        offsets.push(count);
    }
    if width > 0 {
        return Column::sparse(offsets, labels, cells);
    }
    pool.recycle_places(offsets);
    Column::dense(rows, cells)
}

/// Whether an operation computes with the cells of its operands, as doubles or floats; others move them.
fn computes(op: &Op) -> bool {
    matches!(op, Op::Map(_) | Op::Join(_) | Op::Merge(_) | Op::Reduce(_) | Op::CellOrder { .. })
}

/// The value of a step whose operands are these values.
pub(crate) fn step_of_values(
    step: &Step,
    operands: &[&Value],
    is_rounded: bool,
) -> Result<Value, StepError> {
    let columns: Vec<Column<'_>> = operands.iter().map(|v| Column::of_value(v)).collect();
    let kinds: Vec<&TensorType> = operands.iter().map(|v| v.kind()).collect();
    let column = match &step.op {
        Op::If => {
            let is_yes = operands[0].as_double() != Some(0.0);
            return Ok(operands[if is_yes { 1 } else { 2 }].clone());
        }
        _ => {
            let columns: Vec<&Column<'_>> = columns.iter().collect();
            operation(step, &kinds, &columns, is_rounded, &mut Pool::default())
        }
    };
    column.map(|c| c.value(&step.kind, 0))
}
