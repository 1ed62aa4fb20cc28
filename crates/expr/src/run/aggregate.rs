//! Fewer dimensions: the cells along the others become one.

use super::blocks::Sorter;
use super::column::Column;
use super::dense::{Axis, Real, coalesce, each_line};
use super::pool::Pool;
use crate::functions::{Aggregator, Gather, median};
use crate::types::{CellType, TensorType};
use crate::value::{Cells, Label};

/// Gathers the cells of each row along the dimensions that the result does not have.
pub(super) fn reduce(
    aggregator: Aggregator,
    out: &TensorType,
    kind: &TensorType,
    column: &Column<'_>,
    pool: &mut Pool,
) -> Column<'static> {
    let groups = group(out, kind, column, pool);
    let axes = axes(out, kind);
    let mut counts = pool.offsets();
    counts.resize(groups.blocks, 0);
    groups.targets.iter().for_each(|t| counts[*t as usize] += 1);
    let work = Work {
        axes: &axes,
        targets: &groups.targets,
        counts: &counts,
        size: kind.block_size(),
        out_size: out.block_size(),
        out_blocks: groups.blocks,
    };
    let is_wide = column.cells.cell_type().decay() == CellType::Double;
    let mut numbers = pool.doubles();
    if is_wide {
        let cells = pool.wide_doubles(&column.cells);
        work.run(aggregator, &cells, &mut numbers);
        pool.recycle_cells(Cells::Double(cells));
    } else {
        let cells = pool.wide_floats(&column.cells);
        work.run(aggregator, &cells, &mut numbers);
        pool.recycle_cells(Cells::Float(cells));
    }
    let cells = pool.narrow(numbers, out.cell());
    pool.recycle_places(counts);
    pool.recycle_places(groups.targets);
    match groups.offsets {
        Some(offsets) => Column::sparse(offsets, groups.labels, cells),
        None => Column::dense(column.rows, cells),
    }
}

/// The blocks of a result and which of them each block goes to.
struct Groups {
    offsets: Option<Vec<u32>>,
    labels: Vec<Label>,
    targets: Vec<u32>,
    blocks: usize,
}

fn group(out: &TensorType, kind: &TensorType, column: &Column<'_>, pool: &mut Pool) -> Groups {
    let is_kept = |name: &str| out.dimension(name).is_some();
    let kept: Vec<usize> =
        kind.mapped().enumerate().filter(|(_, d)| is_kept(&d.name)).map(|(at, _)| at).collect();
    let width = kind.mapped_count();
    let mut targets = pool.offsets();
    targets.resize(column.block_count(), 0);
    if kept.is_empty() {
        for row in 0..column.rows {
            targets[column.blocks(row)].fill(row as u32);
        }
        return Groups { offsets: None, labels: Vec::new(), targets, blocks: column.rows };
    }
    let (mut offsets, mut labels, mut blocks) = (pool.offsets(), pool.labels(), 0);
    offsets.push(0);
    let mut sorter = Sorter::new(kept.len());
    for row in 0..column.rows {
        let range = column.blocks(row);
        let mut keys: Vec<Label> = range
            .clone()
            .flat_map(|b| kept.iter().map(move |at| column.labels[b * width + at]))
            .collect();
        let mut order: Vec<usize> = range.collect();
        sorter.sort(&mut keys, &mut order, 0);
        let keys = keys.chunks_exact(kept.len());
        let mut last = None;
        for (key, block) in keys.zip(order) {
            if last != Some(key) {
                labels.extend_from_slice(key);
                blocks += 1;
                last = Some(key);
            }
            targets[block] = blocks as u32 - 1;
        }
        offsets.push(blocks as u32);
    }
    Groups { offsets: Some(offsets), labels, targets, blocks }
}

/// The loops over a block, with the steps through it and through a block of the result.
fn axes(out: &TensorType, kind: &TensorType) -> Vec<Axis> {
    let kept: Vec<(String, usize)> =
        out.indexed().map(|(d, _)| d.name.to_string()).zip(out.strides()).collect();
    let step = |name: &str| kept.iter().find(|(n, _)| n == name).map_or(0, |(_, s)| *s);
    let axis = |((d, len), a): ((&crate::types::Dimension, usize), usize)| Axis {
        len,
        a,
        b: step(&d.name),
    };
    coalesce(kind.indexed().zip(kind.strides()).map(axis).collect())
}

struct Work<'w> {
    axes: &'w [Axis],
    /// The block of the result for each block.
    targets: &'w [u32],
    /// How many blocks each block of the result gathers.
    counts: &'w [u32],
    size: usize,
    out_size: usize,
    out_blocks: usize,
}

impl Work<'_> {
    /// Adds the cells of the result to an empty list.
    fn run<T: Real>(&self, aggregator: Aggregator, cells: &[T], result: &mut Vec<f64>) {
        if aggregator == Aggregator::Median {
            return result.extend(self.medians(cells));
        }
        aggregator.visit(Folding { work: self, cells, result });
        for (block, count) in self.counts.iter().enumerate() {
            let cells = &mut result[block * self.out_size..][..self.out_size];
            let count = *count as usize * (self.size / self.out_size);
            if count == 0 {
                // Gathering nothing gives 0, whatever the aggregator.
                cells.fill(0.0);
            } else if aggregator == Aggregator::Avg {
                cells.iter_mut().for_each(|c| *c /= count as f64);
            }
        }
    }

    fn medians<T: Real>(&self, cells: &[T]) -> Vec<f64> {
        let mut lists: Vec<Vec<f64>> = vec![Vec::new(); self.out_blocks * self.out_size];
        for (block, target) in self.targets.iter().enumerate() {
            let (cells, lists) =
                (&cells[block * self.size..], &mut lists[*target as usize * self.out_size..]);
            each_line(self.axes, |a, b, axis| {
                for i in 0..axis.len {
                    lists[b + i * axis.b].push(cells[a + i * axis.a].wide());
                }
            });
        }
        lists.iter_mut().map(|l| median(l)).collect()
    }
}

struct Folding<'f, T> {
    work: &'f Work<'f>,
    cells: &'f [T],
    result: &'f mut Vec<f64>,
}

impl<T: Real> Gather for Folding<'_, T> {
    fn gather(self, start: f64, step: impl Fn(f64, f64) -> f64 + Copy) {
        let work = self.work;
        self.result.resize(work.out_blocks * work.out_size, start);
        for (block, target) in work.targets.iter().enumerate() {
            let cells = &self.cells[block * work.size..];
            let result = &mut self.result[*target as usize * work.out_size..];
            each_line(work.axes, |a, b, axis| match (axis.a, axis.b) {
                (1, 0) => {
                    result[b] =
                        cells[a..][..axis.len].iter().fold(result[b], |acc, x| step(acc, x.wide()));
                }
                (1, 1) => {
                    for (acc, x) in result[b..][..axis.len].iter_mut().zip(&cells[a..][..axis.len])
                    {
                        *acc = step(*acc, x.wide());
                    }
                }
                _ => {
                    for i in 0..axis.len {
                        let acc = &mut result[b + i * axis.b];
                        *acc = step(*acc, cells[a + i * axis.a].wide());
                    }
                }
            });
        }
    }
}
