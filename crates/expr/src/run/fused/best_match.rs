//! For each of a few vectors of the query the best among the vectors of each document.

use std::ops::Range;

use stead_kernels::vector as kernels;
use stead_kernels::vector::Widen;

use super::super::column::Column;
use super::super::numbers::isa;
use super::super::operand::Blocks;
use super::super::pool::Pool;
use super::super::size::{TooLarge, check};
use super::Prepared;
use crate::functions::Aggregator;
use crate::ir::{Best, Measure};
use crate::types::TensorType;
use crate::value::{Cells, Label};

/// How vectors are matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) measure: Measure,
    pub(super) best: Best,
    /// Cells of a vector of the few.
    pub(super) length: usize,
    pub(super) gathered: Option<Aggregator>,
}

/// The few vectors side by side.
pub(super) fn prepare(measure: Measure, length: usize, column: &Column<'_>) -> Option<Prepared> {
    let count = column.cells.len() / length;
    Some(match (measure, &column.cells) {
        (Measure::Hamming, Cells::Int8(few)) => {
            let mut words = vec![0; kernels::hamming_words_len(count, length)];
            kernels::hamming_words(count, length, few, &mut words);
            Prepared::Words(words)
        }
        (Measure::Bits { is_big_endian }, few) => {
            let mut tables = vec![0.0; kernels::bit_tables_len(count, length / 8)];
            kernels::bit_tables(count, length / 8, is_big_endian, &few.floats(), &mut tables);
            Prepared::Floats(tables)
        }
        (Measure::Dot, few) => {
            let mut lanes = vec![0.0; kernels::lanes_len(count, length)];
            kernels::lanes(count, length, &few.floats(), &mut lanes);
            Prepared::Floats(lanes)
        }
        _ => return None,
    })
}

/// The best of each, gathered if there is an aggregator.
pub(super) fn compute(
    how: How,
    out: &TensorType,
    few: &Blocks<'_>,
    many: &Blocks<'_>,
    rows: usize,
    prepared: Option<&Prepared>,
    pool: &mut Pool,
) -> Result<Column<'static>, TooLarge> {
    let blocks = few.of_row(0);
    let count = few.range(&blocks).len() / how.length;
    check(rows, count)?;
    // The few belong to the query, so they were prepared.
    let mut matching = Matching::new(how, count, prepared.ok_or(TooLarge)?, pool);
    let mut matches = Matches {
        gathered: how.gathered,
        numbers: pool.doubles(),
        offsets: pool.offsets(),
        labels: pool.labels(),
    };
    matches.offsets.push(0);
    for row in 0..rows {
        let cells = many.range(&many.of_row(row));
        let found = (!cells.is_empty()).then(|| matching.of(many.cells, cells));
        matches.add(found, few.labels(&blocks), count, out);
    }
    matching.recycle(pool);
    Ok(matches.finish(out, rows, pool))
}

/// The result for the documents so far.
struct Matches {
    gathered: Option<Aggregator>,
    numbers: Vec<f64>,
    offsets: Vec<u32>,
    labels: Vec<Label>,
}

impl Matches {
    /// Adds what a document has for each of the few; nothing if it has no vectors.
    fn add(&mut self, matches: Option<&[f64]>, labels: &[Label], count: usize, out: &TensorType) {
        match (self.gathered, matches) {
            (Some(aggregator), matches) => {
                let matches = matches.unwrap_or_default();
                self.numbers.push(if matches.is_empty() {
                    0.0
                } else {
                    gather(aggregator, matches)
                });
            }
            (None, Some(matches)) => {
                self.numbers.extend_from_slice(matches);
                self.labels.extend_from_slice(labels);
            }
            // What gathers nothing is 0 where there must be a cell.
            (None, None) if out.is_dense() => self.numbers.resize(self.numbers.len() + count, 0.0),
            (None, None) => {}
        }
        self.offsets.push((self.numbers.len() / out.block_size()) as u32);
    }

    fn finish(self, out: &TensorType, rows: usize, pool: &mut Pool) -> Column<'static> {
        let Matches { numbers, offsets, labels, .. } = self;
        if out.is_double() {
            pool.recycle(Column::sparse(offsets, labels, Cells::zeros(out.cell(), 0)));
            return Column::numbers(numbers);
        }
        let mut cells = pool.floats();
        cells.extend(numbers.iter().map(|n| *n as f32));
        pool.recycle(Column::numbers(numbers));
        let cells = Cells::Float(cells.into());
        if out.is_dense() {
            return Column::dense(rows, cells);
        }
        Column::sparse(offsets, labels, cells)
    }
}

fn gather(aggregator: Aggregator, numbers: &[f64]) -> f64 {
    match aggregator {
        Aggregator::Max => {
            numbers.iter().fold(f64::NEG_INFINITY, |most, x| if most < *x { *x } else { most })
        }
        Aggregator::Min => {
            numbers.iter().fold(f64::INFINITY, |least, x| if x < &least { *x } else { least })
        }
        Aggregator::Avg => numbers.iter().sum::<f64>() / numbers.len() as f64,
        _ => numbers.iter().sum(),
    }
}

/// The few vectors of a query at work on those of documents.
struct Matching<'m> {
    how: How,
    count: usize,
    prepared: &'m Prepared,
    /// The best of each lane.
    floats: Vec<f32>,
    words: Vec<u64>,
    /// Cells of a document as floats.
    wide: Vec<f32>,
    results: Vec<f64>,
}

impl<'m> Matching<'m> {
    fn new(how: How, count: usize, prepared: &'m Prepared, pool: &mut Pool) -> Matching<'m> {
        let (floats, words, wide, results) =
            (pool.floats(), pool.words(), pool.floats(), pool.doubles());
        Matching { how, count, prepared, floats, words, wide, results }
    }

    fn recycle(self, pool: &mut Pool) {
        pool.recycle_cells(Cells::Float(self.floats.into()));
        pool.recycle_cells(Cells::Float(self.wide.into()));
        pool.recycle_cells(Cells::Double(self.results.into()));
        pool.recycle_words(self.words);
    }

    /// The best of each of the few among the vectors in these cells.
    fn of(&mut self, cells: &Cells<'_>, range: Range<usize>) -> &[f64] {
        self.results.clear();
        match (self.prepared, cells, self.how.measure) {
            (Prepared::Words(few), Cells::Int8(many), _) => self.hamming(few, &many[range]),
            (Prepared::Floats(tables), Cells::Int8(many), Measure::Bits { is_big_endian }) => {
                self.begin_floats();
                let (bytes, many) = (self.how.length / 8, &many[range]);
                kernels::bit_tokens(isa(), bytes, is_big_endian, tables, many, &mut self.floats);
                self.take_floats();
            }
            (Prepared::Floats(few), cells, _) => {
                self.begin_floats();
                let length = self.how.length;
                let many: &[f32] = match cells {
                    Cells::Float(many) => &many[range],
                    Cells::BFloat16(many) => widened(&many[range], &mut self.wide),
                    Cells::Int8(many) => widened(&many[range], &mut self.wide),
                    _ => &[],
                };
                kernels::tokens(isa(), length, few, many, &mut self.floats);
                self.take_floats();
            }
            _ => debug_assert!(false, "operands of the types that were fused"),
        }
        &self.results
    }

    fn begin_floats(&mut self) {
        self.floats.clear();
        self.floats.resize(self.count.next_multiple_of(kernels::LANES), f32::NEG_INFINITY);
    }

    fn take_floats(&mut self) {
        self.results.extend(self.floats[..self.count].iter().map(|x| f64::from(*x)));
    }

    fn hamming(&mut self, few: &[u64], many: &[i8]) {
        let (extreme, start) = match self.how.best {
            Best::Least | Best::MostInverse => (kernels::Extreme::Least, u64::MAX),
            Best::Most | Best::LeastInverse => (kernels::Extreme::Most, 0),
        };
        let is_inverse = matches!(self.how.best, Best::MostInverse | Best::LeastInverse);
        self.words.clear();
        self.words.resize(kernels::hamming_lanes(self.count), start);
        kernels::hamming_tokens(isa(), self.how.length, extreme, few, many, &mut self.words);
        // Rounded as each step would have.
        let result = |n: &u64| {
            if is_inverse { f64::from((1.0 / (1.0 + *n as f64)) as f32) } else { *n as f64 }
        };
        self.results.extend(self.words[..self.count].iter().map(result));
    }
}

fn widened<'w, T: Widen<f32>>(cells: &[T], wide: &'w mut Vec<f32>) -> &'w [f32] {
    wide.resize(cells.len(), 0.0);
    kernels::widen(isa(), cells, wide);
    wide
}
