//! In which parts the rows of a product are computed, and by which threads.
//!
//! Rows are computed block by block, so that those that are normalised when they are complete, or that an inner product makes, are in the
//! second-level cache all the while. The threads of a run share the rows of a block where each gets enough of them: it computes its rows
//! from the first product to the last number, and reads nothing that another processor has in its cache. Few rows are shared by columns, in
//! the kernel.

use std::ops::Range;
use stead_kernels::gemm::RowBlocks;
use stead_kernels::split::split_with_room;
use stead_kernels::{Isa, Parallel, Serial};

/// Rows that a thread has at least where threads share rows: each reads all of the weights for them, where otherwise each would read its
/// columns. With 32 rows each two threads took 8 % less time for a layer of 2 MB of weights, and 6 % more for one of 19 MB, which come
/// from memory; with 64 rows they took 5 % less for either.
const fn least(weights: usize) -> usize {
    if weights <= 4 << 20 { 32 } else { 64 }
}

/// Numbers of a line of the cache, at which the rooms of threads begin.
const LINE: usize = 16;

/// The parts of the rows of a product.
pub(super) struct Rows {
    blocks: Vec<Range<usize>>,
    /// Rows that a thread has at least.
    least: usize,
    /// Numbers that a thread needs beside its rows, by how many threads share a block, from one thread on.
    rooms: Vec<usize>,
}

impl Rows {
    /// All `m` rows at once, which need `room` numbers.
    pub fn at_once(m: usize, room: usize) -> Rows {
        Rows { blocks: std::iter::once(0..m).collect(), least: m, rooms: vec![room] }
    }

    /// Blocks of the `m` rows, for which each thread reads so many bytes of weights, and of which so many need `room` numbers.
    pub fn in_blocks(isa: Isa, m: usize, weights: usize, room: impl Fn(usize) -> usize) -> Rows {
        let least_rows = least(weights).max(RowBlocks::least(isa));
        let blocks: Vec<Range<usize>> = RowBlocks::new(isa, m).ranges().collect();
        let (least, most) =
            blocks.iter().fold((m, 0), |(least, most), b| (least.min(b.len()), most.max(b.len())));
        let room = |threads: usize| {
            let sizes = least / threads..=most.div_ceil(threads);
            sizes.map(&room).max().unwrap_or(0).next_multiple_of(LINE)
        };
        let rooms = (1..=(most / least_rows).max(1)).map(room).collect();
        Rows { blocks, least: least_rows, rooms }
    }

    /// Numbers that all threads need together.
    pub fn scratch_len(&self) -> usize {
        self.rooms.iter().zip(1..).map(|(room, threads)| room * threads).max().unwrap_or(0)
    }

    /// Calls `f` for each part with its rows, the threads that may compute it, the part of `out`, which has `cols` columns, and its room.
    pub fn each(
        &self,
        parallel: &dyn Parallel,
        (out, cols): (&mut [f32], usize),
        scratch: &mut [f32],
        f: &(dyn Fn(Range<usize>, &dyn Parallel, &mut [f32], &mut [f32]) + Sync),
    ) {
        for block in &self.blocks {
            let out = &mut out[block.start * cols..block.end * cols];
            let threads = parallel.threads();
            let share = self.rooms.get(threads.wrapping_sub(1));
            let Some(&room) = share.filter(|_| threads > 1 && block.len() / threads >= self.least)
            else {
                f(block.clone(), parallel, out, scratch);
                continue;
            };
            let part = |rows: Range<usize>, out: &mut [f32], room: &mut [f32]| {
                f(block.start + rows.start..block.start + rows.end, &Serial, out, room);
            };
            split_with_room(parallel, threads, (out, cols), (scratch, room), &part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Rows that a thread has at least where weights are few.
    const LEAST: usize = least(0);

    struct Threads(usize);

    impl Parallel for Threads {
        fn threads(&self) -> usize {
            self.0
        }
        fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
            (0..n).rev().for_each(f);
        }
    }

    #[test]
    fn each_row_is_computed_once_with_room_enough() {
        let need = |rows: usize| 3 * rows + 5;
        for m in [0, 1, 31, 63, 64, 100, 224, 225, 1000] {
            for threads in [1, 2, 3, 64] {
                let rows = Rows::in_blocks(Isa::Scalar, m, 0, need);
                let (mut out, mut scratch) = (vec![0.0; 2 * m], vec![0.0; rows.scratch_len()]);
                let parts = Mutex::new(Vec::new());
                rows.each(
                    &Threads(threads),
                    (&mut out, 2),
                    &mut scratch,
                    &|part, on, out, room| {
                        assert!(out.len() == 2 * part.len() && room.len() >= need(part.len()));
                        assert!(on.threads() == 1 || part.len() < threads * LEAST, "{part:?}");
                        out.iter_mut()
                            .zip(2 * part.start..)
                            .for_each(|(x, at)| *x += at as f32 + 1.0);
                        parts.lock().unwrap().push(part);
                    },
                );
                let expected: Vec<f32> = (0..2 * m).map(|at| at as f32 + 1.0).collect();
                assert_eq!(out, expected, "{m} rows on {threads} threads");
                let parts = parts.into_inner().unwrap();
                let is_fair = parts.iter().all(|part| part.len() >= LEAST.min(m));
                assert!(
                    is_fair && parts.iter().all(|part| part.len() <= RowBlocks::most(Isa::Scalar)),
                    "{parts:?}"
                );
            }
        }
    }
}
