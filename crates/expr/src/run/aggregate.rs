//! Fewer dimensions: the cells along the others become one.

use super::blocks::Sorter;
use super::column::Column;
use super::dense::{Axis, Real, coalesce, each_line};
use crate::functions::{Aggregator, Gather, median};
use crate::types::{CellType, TensorType};
use crate::value::{Cells, Label};

/// Gathers the cells of each row along the dimensions that the result does not have.
pub(super) fn reduce(
    aggregator: Aggregator,
    out: &TensorType,
    kind: &TensorType,
    column: &Column<'_>,
) -> Column<'static> {
    let groups = group(out, kind, column);
    let axes = axes(out, kind);
    let work = Work {
        axes: &axes,
        targets: &groups.targets,
        size: kind.block_size(),
        out_size: out.block_size(),
        out_blocks: groups.blocks,
    };
    let is_wide = column.cells.cell_type().decay() == CellType::Double;
    let numbers = if is_wide {
        work.run(aggregator, &column.cells.doubles())
    } else {
        work.run(aggregator, &column.cells.floats())
    };
    let cells = match out.cell() {
        CellType::Double => Cells::Double(numbers.into()),
        cell => Cells::from_numbers(cell, &numbers),
    };
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

fn group(out: &TensorType, kind: &TensorType, column: &Column<'_>) -> Groups {
    let is_kept = |name: &str| out.dimension(name).is_some();
    let kept: Vec<usize> =
        kind.mapped().enumerate().filter(|(_, d)| is_kept(&d.name)).map(|(at, _)| at).collect();
    let width = kind.mapped_count();
    let mut targets = vec![0; column.block_count()];
    if kept.is_empty() {
        for row in 0..column.rows {
            targets[column.blocks(row)].fill(row as u32);
        }
        return Groups { offsets: None, labels: Vec::new(), targets, blocks: column.rows };
    }
    let (mut offsets, mut labels, mut blocks) = (vec![0], Vec::new(), 0);
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
    size: usize,
    out_size: usize,
    out_blocks: usize,
}

impl Work<'_> {
    fn run<T: Real>(&self, aggregator: Aggregator, cells: &[T]) -> Vec<f64> {
        if aggregator == Aggregator::Median {
            return self.medians(cells);
        }
        let mut result = Vec::new();
        aggregator.visit(Folding { work: self, cells, result: &mut result });
        // How many cells became one: the same for all cells of a block of the result.
        let mut counts = vec![0_usize; self.out_blocks];
        self.targets.iter().for_each(|t| counts[*t as usize] += self.size / self.out_size);
        for (block, count) in counts.iter().enumerate() {
            let cells = &mut result[block * self.out_size..][..self.out_size];
            if *count == 0 {
                // Gathering nothing gives 0, whatever the aggregator.
                cells.fill(0.0);
            } else if aggregator == Aggregator::Avg {
                cells.iter_mut().for_each(|c| *c /= *count as f64);
            }
        }
        result
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
        *self.result = vec![start; work.out_blocks * work.out_size];
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
