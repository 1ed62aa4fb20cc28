//! The same cells in other places: renamed dimensions, tensors behind each other, bits as cells.

use super::blocks::{Pairs, Sorter, pair};
use super::column::{Column, rows_of};
use super::dense::{Axis, coalesce, each_line};
use super::pool::Pool;
use super::size::{StepError, check};
use crate::map_cells;
use crate::types::TensorType;
use crate::value::{Cells, gather, same_cells};

/// Dimensions under other names, and so in another order: `order` has for each the dimension that it was.
pub(super) fn rename(
    order: &[usize],
    out: &TensorType,
    kind: &TensorType,
    column: &Column<'_>,
) -> Column<'static> {
    let number = |at: &usize, is_mapped: bool| {
        let before = kind.dimensions()[..*at].iter();
        before.filter(|d| d.is_mapped() == is_mapped).count()
    };
    let of_form = |is_mapped: bool| -> Vec<usize> {
        let same = order.iter().filter(|at| kind.dimensions()[**at].is_mapped() == is_mapped);
        same.map(|at| number(at, is_mapped)).collect()
    };
    let (mapped, indexed) = (of_form(true), of_form(false));
    let (sizes, strides): (Vec<usize>, Vec<usize>) =
        kind.indexed().map(|(_, s)| s).zip(kind.strides()).unzip();
    let axes: Vec<Axis> = indexed
        .iter()
        .zip(out.strides())
        .map(|(at, b)| Axis { len: sizes[*at], a: strides[*at], b })
        .collect();
    let size = kind.block_size();
    let cells = permute(&column.cells, &coalesce(axes), size);
    let Some(offsets) = &column.offsets else { return Column::dense(column.rows, cells) };

    let width = mapped.len();
    let mut labels: Vec<_> = column
        .labels
        .chunks_exact(width)
        .flat_map(|row| mapped.iter().map(|at| row[*at]))
        .collect();
    let mut blocks: Vec<usize> = (0..column.block_count()).collect();
    let mut sorter = Sorter::new(width);
    for row in 0..column.rows {
        let range = column.blocks(row);
        let (labels, blocks) = (&mut labels[..range.end * width], &mut blocks[..range.end]);
        sorter.sort(labels, blocks, range.start);
    }
    let cells = gather(&cells, &blocks, size);
    Column::sparse(offsets.to_vec(), labels, cells)
}

/// Each block with its cells in the places that the loops tell.
fn permute(cells: &Cells<'_>, axes: &[Axis], size: usize) -> Cells<'static> {
    if let [Axis { a: 1, b: 1, .. }] = axes {
        return cells.clone().into_owned();
    }
    map_cells!(cells, all => {
        let mut result = all.to_vec();
        for (from, to) in all.chunks_exact(size).zip(result.chunks_exact_mut(size)) {
            each_line(axes, |a, b, axis| {
                for i in 0..axis.len {
                    to[b + i * axis.b] = from[a + i * axis.a];
                }
            });
        }
        result
    })
}

/// Two tensors behind each other along a dimension.
pub(super) fn concat(
    along: &str,
    out: &TensorType,
    left: (&TensorType, &Column<'_>),
    right: (&TensorType, &Column<'_>),
    is_rounded: bool,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    let rows = rows_of(&[left.1, right.1]);
    let is_dense = out.is_dense();
    let Pairs { offsets, labels, pairs } =
        if is_dense { Pairs::default() } else { pair(out, left, right, rows)? };
    let count = if is_dense { rows } else { pairs.len() };
    let mut cells = pool.zeros(out.cell(), check(count, out.block_size())?);
    let mut begin = 0;
    for (is_left, (kind, column)) in [(true, left), (false, right)] {
        let block = |at: usize| match pairs.get(at) {
            Some((block, _)) if is_left => *block as usize,
            Some((_, block)) => *block as usize,
            None => column.row(at),
        };
        let part = Part { kind, out, along, begin };
        let from = column.cells.borrowed().convert(out.cell(), is_rounded)?;
        begin += part.copy(from, count, &block, &mut cells);
    }
    Ok(if out.is_dense() {
        Column::dense(rows, cells)
    } else {
        Column::sparse(offsets, labels, cells)
    })
}

/// One of two tensors behind each other.
struct Part<'p> {
    kind: &'p TensorType,
    out: &'p TensorType,
    along: &'p str,
    /// The first index along the dimension.
    begin: usize,
}

impl Part<'_> {
    /// Copies blocks of cells of the result's type to their part of the result's; returns how many indices along the dimension it has.
    fn copy(
        &self,
        from: Cells<'_>,
        count: usize,
        block: &dyn Fn(usize) -> usize,
        to: &mut Cells<'static>,
    ) -> usize {
        let own: Vec<(&str, usize)> =
            self.kind.indexed().map(|(d, _)| &*d.name).zip(self.kind.strides()).collect();
        let step = |name: &str| own.iter().find(|(n, _)| *n == name).map_or(0, |(_, s)| *s);
        let places =
            self.kind.dimension(self.along).and_then(crate::types::Dimension::size).unwrap_or(1);
        let (mut axes, mut shift) = (Vec::new(), 0);
        for ((dimension, size), b) in self.out.indexed().zip(self.out.strides()) {
            let is_along = &*dimension.name == self.along;
            if is_along {
                shift = self.begin * b;
            }
            axes.push(Axis {
                len: if is_along { places } else { size },
                a: step(&dimension.name),
                b,
            });
        }
        let axes = coalesce(axes);
        let (size, out_size) = (self.kind.block_size(), self.out.block_size());
        let line = |copy: &mut dyn FnMut(usize, usize)| {
            for (target, block) in (0..count).map(block).enumerate() {
                each_line(&axes, |a, b, axis| {
                    for i in 0..axis.len {
                        copy(
                            block * size + a + i * axis.a,
                            target * out_size + shift + b + i * axis.b,
                        );
                    }
                });
            }
        };
        same_cells!(to, from, (to, from) => {
            let to = to.to_mut();
            line(&mut |a, b| to[b] = from[a]);
        }, else debug_assert!(false, "cells were cast to the type of the result"));
        places
    }
}

/// Eight cells for each: its bits as an int8, from the highest if `is_big_endian`.
pub(super) fn unpack_bits(
    out: &TensorType,
    is_big_endian: bool,
    column: &Column<'_>,
    pool: &mut Pool,
) -> Result<Column<'static>, StepError> {
    check(column.block_count(), out.block_size())?;
    let shift = |place: u32| if is_big_endian { 7 - place } else { place };
    let bits = |byte: i8| (0..8).map(move |place| f64::from(byte >> shift(place) & 1));
    let numbers: Vec<f64> = match &column.cells {
        Cells::Int8(cells) => cells.iter().flat_map(|c| bits(*c)).collect(),
        Cells::UInt8(cells) => cells.iter().flat_map(|c| bits(*c as i8)).collect(),
        other => other.doubles().iter().flat_map(|c| bits(*c as i8)).collect(),
    };
    let cells = Cells::from_numbers(out.cell(), &numbers);
    Ok(super::cellwise::with_cells(column, cells, pool))
}

/// Blocks of a column in which a row's blocks are these.
pub(super) fn select(
    kind: &TensorType,
    column: &Column<'_>,
    rows: usize,
    mut is_kept: impl FnMut(usize) -> bool,
) -> Column<'static> {
    let (width, size) = (kind.mapped_count(), kind.block_size());
    let (mut offsets, mut labels, mut kept) = (vec![0], Vec::new(), Vec::new());
    for row in 0..rows {
        for block in column.blocks(row).filter(|b| is_kept(*b)) {
            labels.extend_from_slice(&column.labels[block * width..][..width]);
            kept.push(block);
        }
        offsets.push(kept.len() as u32);
    }
    debug_assert_eq!(column.cells.len(), column.block_count() * size, "whole blocks");
    Column::sparse(offsets, labels, gather(&column.cells, &kept, size))
}
