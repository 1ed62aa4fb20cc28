//! The cells of either tensor, with a function of both where both have one.

use super::column::{Column, rows_of};
use super::dense::Axis;
use super::join::{Work, cells};
use super::pool::Pool;
use super::size::StepError;
use crate::ir::Binary;
use crate::types::TensorType;
use crate::value::{Cells, Label, gather};

/// Where a block of the result comes from.
#[derive(Clone, Copy)]
enum Source {
    Left(usize),
    Right(usize),
    /// The place in the list of blocks that both have.
    Both(usize),
}

/// Merges two columns of the same dimensions.
pub(super) fn merge(
    function: &Binary,
    out: &TensorType,
    left: &Column<'_>,
    right: &Column<'_>,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let rows = rows_of(&[left, right]);
    let (width, size) = (out.mapped_count(), out.block_size());
    let (mut offsets, mut labels, mut sources, mut pairs) =
        (vec![0], Vec::new(), Vec::new(), Vec::new());
    for row in 0..rows {
        let (mut a, mut b) = (left.blocks(row), right.blocks(row));
        loop {
            let order = match (a.is_empty(), b.is_empty()) {
                (true, true) => break,
                (true, false) => std::cmp::Ordering::Greater,
                (false, true) => std::cmp::Ordering::Less,
                (false, false) => {
                    labels_of(left, a.start, width).cmp(labels_of(right, b.start, width))
                }
            };
            let (source, own) = match order {
                std::cmp::Ordering::Less => {
                    (Source::Left(a.start), labels_of(left, a.start, width))
                }
                std::cmp::Ordering::Greater => {
                    (Source::Right(b.start), labels_of(right, b.start, width))
                }
                std::cmp::Ordering::Equal => {
                    pairs.push((a.start as u32, b.start as u32));
                    (Source::Both(pairs.len() - 1), labels_of(left, a.start, width))
                }
            };
            a.start += usize::from(order.is_le());
            b.start += usize::from(order.is_ge());
            labels.extend_from_slice(own);
            sources.push(source);
        }
        offsets.push(sources.len() as u32);
    }
    let axes = [Axis { len: size, a: 1, b: 1 }];
    let work = Work { axes: &axes, pairs: &pairs, size_a: size, size_b: size };
    let both = cells(function, out.cell(), (&left.cells, &right.cells), &work, pool)?;
    let all = together(out, &sources, [&left.cells, &right.cells, &both]);
    Ok(if out.is_dense() { Column::dense(rows, all) } else { Column::sparse(offsets, labels, all) })
}

fn labels_of<'c>(column: &'c Column<'_>, block: usize, width: usize) -> &'c [Label] {
    &column.labels[block * width..][..width]
}

/// The blocks of the result from the three arrays in which they stand.
fn together(out: &TensorType, sources: &[Source], parts: [&Cells<'_>; 3]) -> Cells<'static> {
    let size = out.block_size();
    let place = |source: &Source| match source {
        Source::Left(at) => (0, *at),
        Source::Right(at) => (1, *at),
        Source::Both(at) => (2, *at),
    };
    if sources.iter().all(|s| matches!(s, Source::Both(_))) {
        let order: Vec<usize> = sources.iter().map(|s| place(s).1).collect();
        return gather(parts[2], &order, size);
    }
    let mut result = Vec::with_capacity(sources.len() * size);
    let parts = parts.map(Cells::doubles);
    for (part, at) in sources.iter().map(place) {
        result.extend_from_slice(&parts[part][at * size..][..size]);
    }
    Cells::from_numbers(out.cell(), &result)
}
