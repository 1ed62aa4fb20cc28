//! Functions of pairs of cells.

use super::blocks::{Pairs, pair};
use super::column::{Column, rows_of};
use super::dense::{Axis, Real, coalesce, join_axes, join_block};
use super::nested;
use super::size::{StepError, check};
use crate::functions::Visit2;
use crate::ir::Binary;
use crate::types::{CellType, TensorType};
use crate::value::Cells;

/// The function of each pair of cells whose common dimensions agree.
pub(super) fn join(
    function: &Binary,
    out: &TensorType,
    left: (&TensorType, &Column<'_>),
    right: (&TensorType, &Column<'_>),
) -> Result<Column<'static>, StepError> {
    let rows = rows_of(&[left.1, right.1]);
    let (size_a, size_b) = (left.0.block_size(), right.0.block_size());
    let mut axes = join_axes(out, left.0, right.0);
    if out.is_dense() {
        check(rows, out.block_size())?;
        // The rows are one more dimension, the outermost.
        let step = |column: &Column<'_>, size| if column.rows == 1 { 0 } else { size };
        axes.insert(0, Axis { len: rows, a: step(left.1, size_a), b: step(right.1, size_b) });
        let work = Work { axes: &coalesce(axes), pairs: &[(0, 0)], size_a, size_b };
        let cells = cells(function, out.cell(), &left.1.cells, &right.1.cells, &work)?;
        return Ok(Column::dense(rows, cells));
    }
    let Pairs { offsets, labels, pairs } = pair(out, left, right, rows)?;
    let work = Work { axes: &axes, pairs: &pairs, size_a, size_b };
    let cells = cells(function, out.cell(), &left.1.cells, &right.1.cells, &work)?;
    Ok(Column::sparse(offsets, labels, cells))
}

/// Which blocks to join, and how.
pub(super) struct Work<'w> {
    pub(super) axes: &'w [Axis],
    pub(super) pairs: &'w [(u32, u32)],
    pub(super) size_a: usize,
    pub(super) size_b: usize,
}

/// The cells of the function of all pairs of blocks.
pub(super) fn cells(
    function: &Binary,
    cell: CellType,
    a: &Cells<'_>,
    b: &Cells<'_>,
    work: &Work<'_>,
) -> Result<Cells<'static>, StepError> {
    let is_wide = |cells: &Cells<'_>| matches!(cells, Cells::Double(_));
    Ok(match (cell, is_wide(a), is_wide(b)) {
        (CellType::Double, ..) => {
            let mut out: Vec<f64> = Vec::new();
            run(function, &a.doubles(), &b.doubles(), &mut out, work)?;
            Cells::Double(out.into())
        }
        // A number beside floats keeps its precision until the result is rounded.
        (_, true, _) => Cells::Float(run_floats(function, &a.doubles(), &b.floats(), work)?.into()),
        (_, _, true) => Cells::Float(run_floats(function, &a.floats(), &b.doubles(), work)?.into()),
        _ => Cells::Float(run_floats(function, &a.floats(), &b.floats(), work)?.into()),
    })
}

fn run_floats<A: Real, B: Real>(
    function: &Binary,
    a: &[A],
    b: &[B],
    work: &Work<'_>,
) -> Result<Vec<f32>, StepError> {
    let mut out = Vec::new();
    run(function, a, b, &mut out, work)?;
    Ok(out)
}

struct Joining<'j, A, B, R> {
    a: &'j [A],
    b: &'j [B],
    out: &'j mut Vec<R>,
    work: &'j Work<'j>,
}

impl<A: Real, B: Real, R: Real> Visit2 for Joining<'_, A, B, R> {
    fn visit(self, function: impl Fn(f64, f64) -> f64 + Copy) {
        let Joining { a, b, out, work } = self;
        let size: usize = work.axes.iter().map(|x| x.len).product();
        out.reserve(size * work.pairs.len());
        for (i, j) in work.pairs {
            let (a, b) = (&a[*i as usize * work.size_a..], &b[*j as usize * work.size_b..]);
            join_block(work.axes, a, b, out, function);
        }
    }
}

fn run<A: Real, B: Real, R: Real>(
    function: &Binary,
    a: &[A],
    b: &[B],
    out: &mut Vec<R>,
    work: &Work<'_>,
) -> Result<(), StepError> {
    match function {
        Binary::Known(known) => known.visit(Joining { a, b, out, work }),
        Binary::Lambda(program) => {
            let (mut x, mut y): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
            Joining { a, b, out: &mut x, work }.visit(|x, _| x);
            Joining { a, b, out: &mut y, work }.visit(|_, y| y);
            out.extend(nested::numbers(program, vec![x, y])?.into_iter().map(R::narrow));
        }
    }
    Ok(())
}
