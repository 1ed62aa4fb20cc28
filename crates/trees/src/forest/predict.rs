//! Scores of a batch of rows.

use stead_kernels::Isa;
use stead_kernels::forest::{BLOCK, PART, Sum};

use super::Forest;
use super::columns::Buffers;
use super::program::{Block, Program, Sums};
use super::rows::Rows;

/// Blocks whose codes are made before trees are added: the codes of a hundred features in eight
/// blocks are 200 KB, in reach of the second-level cache.
const BLOCKS: usize = 8;

/// Why rows cannot be scored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictError {
    /// Rows of another width than the model.
    #[error("a row has {found} features, the model {expected}")]
    Features {
        /// What rows have.
        found: usize,
        /// What the model has.
        expected: usize,
    },
    /// Room for another number of scores.
    #[error("room for {found} scores, {expected} are computed")]
    Scores {
        /// The length of the slice.
        found: usize,
        /// Rows times outputs.
        expected: usize,
    },
}

/// Memory to work in, to be used again for the next batch.
#[derive(Debug, Default)]
pub struct Scratch {
    buffers: Buffers,
    codes: Vec<i8>,
    f32s: Vec<f32>,
    f64s: Vec<f64>,
    row: Vec<f64>,
}

impl Forest {
    /// Scores rows: [`Forest::outputs`] numbers for each, behind each other.
    ///
    /// # Errors
    /// Rows of another width than [`Forest::features`]; `scores` of another length.
    pub fn predict(&self, rows: &Rows<'_>, scores: &mut [f64]) -> Result<(), PredictError> {
        self.predict_with(Isa::detect(), rows, &mut Scratch::default(), scores)
    }

    /// As [`Forest::predict`], with an instruction set and memory from the caller. Allocates only
    /// when the scratch is new or was used with a smaller forest.
    ///
    /// # Errors
    /// As [`Forest::predict`].
    pub fn predict_with(
        &self,
        isa: Isa,
        rows: &Rows<'_>,
        scratch: &mut Scratch,
        scores: &mut [f64],
    ) -> Result<(), PredictError> {
        let (found, expected) = (rows.features(), self.features.len());
        if found != expected {
            return Err(PredictError::Features { found, expected });
        }
        let (found, expected) = (scores.len(), rows.len() * self.outputs());
        if found != expected {
            return Err(PredictError::Scores { found, expected });
        }
        let Scratch { buffers, codes, f32s, f64s, row } = scratch;
        let mut first = 0;
        let mut blocks = [Block { first: 0, count: 0, width: 0 }; BLOCKS];
        while first < rows.len() {
            let mut used = 0;
            while used < BLOCKS && first < rows.len() {
                blocks[used] = block(first, rows.len() - first);
                first += blocks[used].count;
                used += 1;
            }
            let blocks = &blocks[..used];
            let room = self.columns.count * BLOCK;
            codes.resize(room * BLOCKS, 0);
            for (block, codes) in blocks.iter().zip(codes.chunks_exact_mut(room.max(1))) {
                let place = (block.first, block.count, block.width);
                self.columns.encode(isa, rows, place, buffers, codes);
            }
            match &self.sums {
                Sums::Narrow(program) => {
                    let base = self.base.iter().map(|x| *x as f32);
                    run(isa, program, base, blocks, codes, room, f32s);
                    self.finish(blocks, f32s, row, scores, f64::from);
                }
                Sums::Wide(program) => {
                    run(isa, program, self.base.iter().copied(), blocks, codes, room, f64s);
                    self.finish(blocks, f64s, row, scores, |x| x);
                }
            }
        }
        Ok(())
    }

    /// From the sums of blocks, which have the rows of an output behind each other, to scores.
    fn finish<T: Copy>(
        &self,
        blocks: &[Block],
        sums: &[T],
        row: &mut Vec<f64>,
        scores: &mut [f64],
        widen: impl Fn(T) -> f64,
    ) {
        let (outputs, sums_of_row) = (self.outputs(), self.base.len());
        row.resize(sums_of_row, 0.0);
        for (block, sums) in blocks.iter().zip(sums.chunks_exact(sums_of_row * BLOCK)) {
            let scores = &mut scores[block.first * outputs..][..block.count * outputs];
            for (i, score) in scores.chunks_exact_mut(outputs).enumerate() {
                for (output, x) in row.iter_mut().enumerate() {
                    *x = widen(sums[output * block.width + i]) / self.divide;
                }
                self.link.apply(row, self.narrow, score);
            }
        }
    }
}

/// The next block of `left` rows.
fn block(first: usize, left: usize) -> Block {
    // Three parts cost nearly as much as a whole block.
    let width = if left > BLOCK - PART { BLOCK } else { PART };
    Block { first, count: left.min(width), width }
}

/// Trees outside, blocks inside: the splits of a run are read from memory once for all blocks.
fn run<T: Sum + Default>(
    isa: Isa,
    program: &Program<T>,
    base: impl ExactSizeIterator<Item = T> + Clone,
    blocks: &[Block],
    codes: &[i8],
    codes_of_block: usize,
    sums: &mut Vec<T>,
) {
    let sums_of_block = base.len() * BLOCK;
    sums.resize(sums_of_block * BLOCKS, T::default());
    for (block, sums) in blocks.iter().zip(sums.chunks_exact_mut(sums_of_block)) {
        for (sums, base) in sums.chunks_exact_mut(block.width).zip(base.clone()) {
            sums.fill(base);
        }
    }
    for run in &program.runs {
        for (i, block) in blocks.iter().enumerate() {
            let codes = &codes[i * codes_of_block..][..codes_of_block];
            let sums = &mut sums[i * sums_of_block..][..sums_of_block];
            program.add(isa, run, *block, codes, sums);
        }
    }
}
