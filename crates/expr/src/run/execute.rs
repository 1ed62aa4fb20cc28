//! Runs the steps of a program that a result needs.

use super::column::{Column, rows_of};
use super::size::TooLarge;
use super::{aggregate, cellwise, create, join, layout, merge, nested, order, peek};
use crate::ir::{Constant, Op, Program, Step};
use crate::types::TensorType;
use crate::value::Value;

/// The result of a program. Steps are computed when something needs them, so that the side of an `if` that no
/// document takes costs nothing.
pub(crate) fn execute(
    program: &Program,
    inputs: &[Column<'_>],
) -> Result<Column<'static>, TooLarge> {
    let mut done: Vec<Option<Column<'_>>> = vec![None; program.steps.len()];
    let mut waiting = vec![program.result];
    while let Some(at) = waiting.last().copied() {
        if done[at].is_some() {
            waiting.pop();
            continue;
        }
        let step = &program.steps[at];
        let needed = needs(step, &done);
        if !needed.is_empty() {
            waiting.extend(needed);
            continue;
        }
        let column = match &step.op {
            Op::Input(number) => inputs[*number].borrowed(),
            Op::Constant(Constant(value)) => Column::of_value(value),
            _ => compute(program, step, &done)?,
        };
        done[at] = Some(column);
        waiting.pop();
    }
    let result = done[program.result].take();
    let result = result.unwrap_or_else(|| Column::numbers(Vec::new()));
    Ok(result.into_owned())
}

/// The steps that are to be computed before this one.
fn needs(step: &Step, done: &[Option<Column<'_>>]) -> Vec<usize> {
    let is_open = |at: &usize| done[*at].is_none();
    if step.op != Op::If {
        return step.operands.iter().copied().filter(is_open).collect();
    }
    let [condition, yes, no] = step.operands[..] else { return Vec::new() };
    let Some(column) = &done[condition] else { return vec![condition] };
    let numbers = column.as_numbers();
    let (any_yes, any_no) = (numbers.iter().any(|n| *n != 0.0), numbers.contains(&0.0));
    [(yes, any_yes), (no, any_no)]
        .into_iter()
        .filter(|(at, is_taken)| *is_taken && is_open(at))
        .map(|(at, _)| at)
        .collect()
}

fn compute(
    program: &Program,
    step: &Step,
    done: &[Option<Column<'_>>],
) -> Result<Column<'static>, TooLarge> {
    if step.op == Op::If {
        return Ok(choose(step, done));
    }
    let operands: Vec<&Column<'_>> =
        step.operands.iter().filter_map(|o| done[*o].as_ref()).collect();
    let kinds: Vec<&TensorType> = step.operands.iter().map(|o| &program.steps[*o].kind).collect();
    debug_assert_eq!(operands.len(), kinds.len(), "every operand is there");
    operation(step, &kinds, &operands)
}

/// The value of a step from its operands.
fn operation(
    step: &Step,
    kinds: &[&TensorType],
    operands: &[&Column<'_>],
) -> Result<Column<'static>, TooLarge> {
    let out = &step.kind;
    let pair = |at: usize| (kinds[at], operands[at]);
    Ok(match &step.op {
        Op::Map(function) => cellwise::map(function, operands[0])?,
        Op::CellCast(cell) => cellwise::cast(*cell, operands[0]),
        Op::Join(function) => join::join(function, out, pair(0), pair(1))?,
        Op::Merge(function) => merge::merge(function, out, operands[0], operands[1])?,
        Op::Reduce(aggregator) => aggregate::reduce(*aggregator, out, kinds[0], operands[0]),
        Op::Rename(order) => layout::rename(order, out, kinds[0], operands[0]),
        Op::Concat(along) => layout::concat(along, out, pair(0), pair(1))?,
        Op::CellOrder { largest_first } => {
            order::cell_order(*largest_first, out, kinds[0], operands[0])
        }
        Op::UnpackBits { is_big_endian } => layout::unpack_bits(out, *is_big_endian, operands[0])?,
        Op::Generate(program) => nested::generate(program, out, operands)?,
        Op::Create(cells) => create::create(cells, out, operands)?,
        Op::Peek(places) => peek::peek(places, out, kinds[0], operands)?,
        Op::MapSubspaces(program) => nested::map_subspaces(program, out, operands[0])?,
        Op::FilterSubspaces(program) => nested::filter_subspaces(program, out, operands[0])?,
        Op::If | Op::Input(_) | Op::Constant(_) => {
            debug_assert!(false, "these are no operations on operands");
            Column::numbers(Vec::new())
        }
    })
}

/// For each row the value of the side that its condition takes.
fn choose(step: &Step, done: &[Option<Column<'_>>]) -> Column<'static> {
    let side = |at: usize| step.operands.get(at).and_then(|o| done[*o].as_ref());
    let Some(condition) = side(0) else { return Column::numbers(Vec::new()) };
    let numbers = condition.as_numbers();
    let all = |column: &Column<'_>| column.borrowed().into_owned();
    let (yes, no) = match (side(1), side(2)) {
        (Some(yes), None) => return all(yes),
        (None, Some(no)) => return all(no),
        // Both may be there for the sake of others.
        (Some(yes), Some(_)) if numbers.iter().all(|n| *n != 0.0) => return all(yes),
        (Some(_), Some(no)) if numbers.iter().all(|n| *n == 0.0) => return all(no),
        (Some(yes), Some(no)) => (yes, no),
        (None, None) => return Column::numbers(Vec::new()),
    };
    let rows = rows_of(&[condition, yes, no]);
    let (width, size) = (step.kind.mapped_count(), step.kind.block_size());
    let (mut offsets, mut labels, mut cells) = (vec![0], Vec::new(), Vec::new());
    let (yes_cells, no_cells) = (yes.cells.doubles(), no.cells.doubles());
    for row in 0..rows {
        let is_yes = numbers[condition.row(row)] != 0.0;
        let (column, from) = if is_yes { (yes, &yes_cells) } else { (no, &no_cells) };
        let blocks = column.blocks(row);
        labels.extend_from_slice(&column.labels[blocks.start * width..blocks.end * width]);
        cells.extend_from_slice(&from[blocks.start * size..blocks.end * size]);
        offsets.push((cells.len() / size) as u32);
    }
    let cells = crate::value::Cells::from_numbers(step.kind.cell(), &cells);
    if width == 0 { Column::dense(rows, cells) } else { Column::sparse(offsets, labels, cells) }
}

/// The value of a step whose operands are these values, if it is not too large.
pub(crate) fn step_of_values(step: &Step, operands: &[&Value]) -> Option<Value> {
    let columns: Vec<Column<'_>> = operands.iter().map(|v| Column::of_value(v)).collect();
    let kinds: Vec<&TensorType> = operands.iter().map(|v| v.kind()).collect();
    let column = match &step.op {
        Op::If => {
            let is_yes = operands[0].as_double() != Some(0.0);
            return Some(operands[if is_yes { 1 } else { 2 }].clone());
        }
        _ => operation(step, &kinds, &columns.iter().collect::<Vec<_>>()),
    };
    column.ok().map(|c| c.value(&step.kind, 0))
}
