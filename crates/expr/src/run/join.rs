//! Functions of pairs of cells.

use super::blocks::{Pairs, pair};
use super::column::{Column, rows_of};
use super::dense::{Axis, Real, coalesce, join_axes, join_block};
use super::nested;
use super::pool::Pool;
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
    pool: &mut Pool,
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
        let cells = cells(function, out.cell(), (&left.1.cells, &right.1.cells), &work, pool)?;
        return Ok(Column::dense(rows, cells));
    }
    let Pairs { offsets, labels, pairs } = pair(out, left, right, rows)?;
    let work = Work { axes: &axes, pairs: &pairs, size_a, size_b };
    let cells = cells(function, out.cell(), (&left.1.cells, &right.1.cells), &work, pool)?;
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
    (a, b): (&Cells<'_>, &Cells<'_>),
    work: &Work<'_>,
    pool: &mut Pool,
) -> Result<Cells<'static>, StepError> {
    if cell == CellType::Double {
        let (a, b) = (pool.wide_doubles(a), pool.wide_doubles(b));
        let mut out = pool.doubles();
        run(function, &a, &b, &mut out, work)?;
        [a, b].into_iter().for_each(|list| pool.recycle_cells(Cells::Double(list)));
        return Ok(Cells::Double(out.into()));
    }
    let mut out = pool.floats();
    match (a, b) {
        // A number beside floats keeps its precision until the result is rounded.
        (Cells::Double(a), b) => {
            let b = pool.wide_floats(b);
            run(function, a, &b, &mut out, work)?;
            pool.recycle_cells(Cells::Float(b));
        }
        (a, Cells::Double(b)) => {
            let a = pool.wide_floats(a);
            run(function, &a, b, &mut out, work)?;
            pool.recycle_cells(Cells::Float(a));
        }
        (a, b) => {
            let (a, b) = (pool.wide_floats(a), pool.wide_floats(b));
            run(function, &a, &b, &mut out, work)?;
            [a, b].into_iter().for_each(|list| pool.recycle_cells(Cells::Float(list)));
        }
    }
    Ok(Cells::Float(out.into()))
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
