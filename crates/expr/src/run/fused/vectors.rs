//! A measure between one vector and each of many.

use std::ops::Range;

use stead_kernels::vector as kernels;
use stead_kernels::vector::{Floats, Wide, Widen};

use super::super::column::Column;
use super::super::numbers::isa;
use super::super::operand::Blocks;
use super::super::pool::Pool;
use super::super::size::TooLarge;
use super::{Prepared, cells_of, each_float, each_kernel_cell, placed, places};
use crate::ir::Measure;
use crate::types::{CellType, TensorType};
use crate::value::Cells;

/// The longest vectors of int8 cells whose dot product is exact in f32: 2^14 each, and whole numbers to 2^24.
const MAX_EXACT: usize = 1 << 10;

/// The measure between each vector of `list`, along its innermost dimensions, and that of `vector`.
pub(super) fn compute(
    measure: Measure,
    out: &TensorType,
    list: &Blocks<'_>,
    vector: &Blocks<'_>,
    rows: usize,
    prepared: Option<&Prepared>,
    pool: &mut Pool,
) -> Result<Column<'static>, TooLarge> {
    let length = match measure {
        Measure::Bits { .. } => vector.size / 8,
        _ => vector.size,
    };
    let work = Work { list, vector, length, rows };
    let (at, count) = places(out, list, rows, list.size / length, pool)?;
    let is_double = |blocks: &Blocks<'_>| blocks.cells.cell_type() == CellType::Double;
    let cells = match measure {
        Measure::Hamming => work.hamming(count, out.cell(), pool),
        Measure::Bits { is_big_endian } => {
            work.bits(is_big_endian, count, prepared, out.cell(), pool)
        }
        _ => {
            let measure = match measure {
                Measure::SquaredDistance => kernels::Measure::SquaredDistance,
                _ => kernels::Measure::Dot,
            };
            if is_double(list) || is_double(vector) {
                let mut result = pool.doubles();
                result.resize(count, 0.0);
                work.doubles(measure, &mut result, pool);
                Cells::Double(result.into())
            } else {
                let mut result = pool.floats();
                result.resize(count, 0.0);
                work.floats(measure, &mut result, pool);
                cells_of(result, out.cell(), pool)
            }
        }
    };
    Ok(placed(at, rows, cells))
}

struct Work<'w> {
    list: &'w Blocks<'w>,
    vector: &'w Blocks<'w>,
    /// Cells of a vector of the list.
    length: usize,
    rows: usize,
}

impl Work<'_> {
    /// Calls with the cells of vectors of the list, where the cell of their vector begins, and where their results begin; once
    /// if all lie behind each other and have the same.
    fn each(&self, mut call: impl FnMut(Range<usize>, usize, Range<usize>)) {
        let results = |cells: &Range<usize>| cells.len() / self.length;
        if self.vector.is_one
            && let Some(blocks) = self.list.of_all(self.rows)
        {
            let cells = self.list.range(&blocks);
            let count = results(&cells);
            return call(cells, 0, 0..count);
        }
        let mut at = 0;
        for row in 0..self.rows {
            let cells = self.list.range(&self.list.of_row(row));
            let vector = self.vector.range(&self.vector.of_row(row)).start;
            let count = results(&cells);
            call(cells, vector, at..at + count);
            at += count;
        }
    }

    fn floats(&self, measure: kernels::Measure, out: &mut [f32], pool: &mut Pool) {
        if let (Cells::Int8(list), Cells::Int8(vector), kernels::Measure::Dot) =
            (self.list.cells, self.vector.cells, measure)
            && self.length > MAX_EXACT
        {
            return self.each(|cells, begin, to| {
                let vector = &vector[begin..begin + self.length];
                for (row, out) in list[cells].chunks_exact(self.length).zip(&mut out[to]) {
                    *out = kernels::dot_i8(isa(), row, vector) as f32;
                }
            });
        }
        let mut wide = pool.floats();
        each_float!(self.list.cells, list => each_float!(self.vector.cells, vector => {
            self.run(measure, list, vector, &mut wide, out);
        }));
        pool.recycle_cells(Cells::Float(wide.into()));
    }

    fn doubles(&self, measure: kernels::Measure, out: &mut [f64], pool: &mut Pool) {
        let mut wide = pool.doubles();
        each_kernel_cell!(self.list.cells, list => each_kernel_cell!(self.vector.cells, vector => {
            self.run(measure, list, vector, &mut wide, out);
        }, else ()), else ());
        pool.recycle_cells(Cells::Double(wide.into()));
    }

    fn run<W: Wide + Floats, T: Widen<W>, V: Widen<W>>(
        &self,
        measure: kernels::Measure,
        list: &[T],
        vector: &[V],
        wide: &mut Vec<W>,
        out: &mut [W],
    ) {
        self.each(|cells, begin, to| {
            let stored = &vector[begin..begin + self.length];
            let vector = V::as_wide(stored).unwrap_or_else(|| {
                wide.clear();
                wide.extend(stored.iter().map(|x| x.wide()));
                wide
            });
            kernels::rows(isa(), measure, vector, &list[cells], &mut out[to]);
        });
    }

    fn hamming(&self, count: usize, cell: CellType, pool: &mut Pool) -> Cells<'static> {
        let mut result = pool.offsets();
        result.resize(count, 0);
        if let (Cells::Int8(list), Cells::Int8(vector)) = (self.list.cells, self.vector.cells) {
            self.each(|cells, begin, to| {
                let vector = &vector[begin..begin + self.length];
                kernels::hamming_rows(isa(), vector, &list[cells], &mut result[to]);
            });
        } else {
            debug_assert!(false, "the cells of a fused hamming distance are int8");
        }
        let mut cells = pool.cells(cell);
        match &mut cells {
            Cells::Double(to) => to.to_mut().extend(result.iter().map(|n| f64::from(*n))),
            Cells::Float(to) => to.to_mut().extend(result.iter().map(|n| *n as f32)),
            _ => debug_assert!(false, "sums are floats"),
        }
        pool.recycle(Column::sparse(result, Vec::new(), Cells::zeros(CellType::Int8, 0)));
        cells
    }

    fn bits(
        &self,
        is_big_endian: bool,
        count: usize,
        prepared: Option<&Prepared>,
        cell: CellType,
        pool: &mut Pool,
    ) -> Cells<'static> {
        let mut result = pool.floats();
        result.resize(count, 0.0);
        let bytes = self.length;
        let mut own = pool.floats();
        if let Cells::Int8(list) = self.list.cells {
            let vectors = self.vector.cells.floats();
            self.each(|cells, begin, to| {
                let tables: &[f32] = match prepared {
                    Some(Prepared::Floats(tables)) => tables,
                    _ => {
                        own.resize(kernels::bit_tables_len(1, bytes), 0.0);
                        let vector = &vectors[begin..begin + 8 * bytes];
                        kernels::bit_tables(1, bytes, is_big_endian, vector, &mut own);
                        &own
                    }
                };
                let (many, to) = (&list[cells], &mut result[to]);
                kernels::bit_sums(isa(), bytes, is_big_endian, tables, many, to);
            });
        } else {
            debug_assert!(false, "bits are those of int8 cells");
        }
        pool.recycle_cells(Cells::Float(own.into()));
        cells_of(result, cell, pool)
    }
}
