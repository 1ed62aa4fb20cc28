//! Products of f32 by tiles of AMX, which multiply bf16 alone: each number in three parts.
//!
//! An f32 has 24 significant bits, a bf16 has 8. So a number is exactly the sum of three bf16: its upper half, that of what is left, and what
//! is left then. Of the nine products of the parts of two numbers the six largest are added up in f32; the other three are less than
//! `2^-21 |a b|` together, and `2^-24 |a b|` on average. Tiles make a product of bf16 in a sixteenth of the time that vectors take for one of
//! f32, so that six of them still take less than half. (The same way is `float_to_bf16x3` in Intel's oneMKL, whose error is that of f32 as
//! well.)
//!
//! Against the exact product the error of a sum is at most `(k + 32) 2^-23 sum |a b|`, where nothing overflows. Tiles take numbers below
//! 2^-126 for zero, as parts and as sums, which adds at most `2^-124 sum (1 + |a| + |b|)`. Rows of `A` with an infinity or a NaN, whose parts
//! would be none, are computed by vectors. `B` must be finite.

mod cut;
mod sweep;

use super::driver::{Job, Shared, vector};
use super::on_tiles::STEP;
use super::shape::{Panels, part};
use super::{Lhs, MatRef, Rhs};
use crate::Isa;
use crate::amx::ROWS;
use crate::simd::{LINE, LINE_BYTES, dispatch};
use cut::STEP_OF_A;
use sweep::{BLOCKS, ByTiles, Task};

/// Panels of `A` that are cut and worked on together.
const PANELS: usize = 2 * BLOCKS;

/// Depth of a block of `k`: with all rows of a block a little more than 1 MiB of parts of `A`, which stay in the second-level cache.
const DEPTH: usize = 768;

/// Rows from which on tiles are faster than vectors. Of 40 rows products by weights in a cache took 4 % less time and by those from memory a
/// fifth more: each row less leaves more of the cutting of `B` to be done, which reads and writes as much for few rows as for many. Of 48 they
/// took a fifth less from a cache, of 64 a tenth less from memory.
pub const LEAST_ROWS: usize = 48;

/// Tiles make such a product in this part of the time of vectors, in which tasks are measured.
const FASTER: usize = 2;

/// Whether a product of these sizes gains.
pub(super) fn pays(isa: Isa, m: usize, n: usize, k: usize) -> bool {
    isa.effective() == Isa::Amx && m >= LEAST_ROWS && n >= 2 * LINE && k >= 2 * STEP
}

/// Numbers of scratch that [`product`] needs: rows that are not finite, and a block of `A`, which begins with a line of the cache.
pub(super) fn scratch_len(m: usize, k: usize) -> usize {
    let panels = Panels::new(m, ROWS).count.min(PANELS);
    PANELS + LINE - 1 + panels * largest_depth(k).div_ceil(STEP) * STEP_OF_A
}

/// `k` cut into blocks that differ by at most one step.
fn blocks(k: usize) -> (usize, usize) {
    let steps = k.div_ceil(STEP);
    (steps, k.div_ceil(DEPTH).max(1))
}

fn largest_depth(k: usize) -> usize {
    let (steps, count) = blocks(k);
    steps.div_ceil(count) * STEP
}

/// Computes a checked product that [`pays`], without accumulation, by what `pack_b` made.
pub(super) fn product(job: &Job<'_>, a: MatRef<'_>, b: &[f32], scratch: &mut [f32]) {
    let panels = Panels::new(job.m, ROWS);
    let (bad, room) = scratch.split_at_mut(PANELS);
    let from = room.as_ptr().align_offset(LINE_BYTES).min(LINE - 1);
    let room = &mut room[from..];
    let (steps, count) = blocks(job.k);
    let mut panel = 0;
    while panel < panels.count {
        let end = (panel + PANELS).min(panels.count);
        for i in 0..count {
            let (from, to) = part(steps, count, i);
            let depth = (from * STEP, (to * STEP).min(job.k));
            cut_panels(job, a, &panels, (panel, end), depth, (i == 0, bad), room);
            multiply(job, &panels, (panel, end), depth, room, b);
        }
        for (panel, rows) in (panel..end).zip(bad.iter().map(|rows| rows.to_bits())) {
            let bad = (0..panels.rows(panel)).filter(|row| rows >> row & 1 != 0);
            bad.for_each(|row| by_vectors(job, a, b, panels.start(panel) + row));
        }
        panel = end;
    }
}

/// Cuts columns `depth` of panels of `A` into `dst`, by several threads, and marks rows that are not finite in `bad`, as bits.
fn cut_panels(
    job: &Job<'_>,
    a: MatRef<'_>,
    panels: &Panels,
    (from, to): (usize, usize),
    depth: (usize, usize),
    (is_first, bad): (bool, &mut [f32]),
    dst: &mut [f32],
) {
    let tasks = tasks(job, panels.start(to) - panels.start(from)).min(to - from);
    let each = (depth.1 - depth.0).div_ceil(STEP) * STEP_OF_A;
    let (dst, bad) = (Shared((dst.as_mut_ptr(), dst.len())), Shared(bad.as_mut_ptr()));
    job.each(tasks, &|i| {
        let (first, last) = part(to - from, tasks, i);
        let (dst, len) = dst.get();
        for panel in first..last {
            let rows = (panels.start(from + panel), panels.rows(from + panel));
            debug_assert!((panel + 1) * each <= len && panel < PANELS);
            // SAFETY: panels are disjoint, inside the scratch that was asked for, and have a number each for their bad rows. A machine
            // with tiles has AVX-512.
            unsafe {
                let dst = core::slice::from_raw_parts_mut(dst.add(panel * each), each);
                let marked = cut::rows(a, rows, depth, dst);
                let bad = bad.get().add(panel);
                let before = if is_first { 0 } else { (*bad).to_bits() };
                bad.write(f32::from_bits(before | marked));
            }
        }
    });
}

/// Multiplies panels that are cut by slivers, by several threads.
fn multiply(
    job: &Job<'_>,
    panels: &Panels,
    (first, last): (usize, usize),
    depth: (usize, usize),
    a: &[f32],
    b: &[f32],
) {
    let slivers = job.n.div_ceil(job.shape.cols());
    let tasks = tasks(job, panels.start(last) - panels.start(first));
    // Columns first: each task then reads its own part of B, the larger operand.
    let col_tasks = tasks.min(slivers);
    let row_tasks = tasks.div_ceil(col_tasks).min(last - first);
    let task = Shared(Task {
        panels: *panels,
        base: first,
        panel: (0, 0),
        sliver: (0, 0),
        depth,
        k: job.k,
        cols: job.n,
        a: a.as_ptr(),
        b: b.as_ptr(),
        c: job.c,
        c_stride: job.c_stride,
        epilogue: job.epilogue.block(depth.0 == 0, depth.1 == job.k),
    });
    job.each(col_tasks * row_tasks, &|i| {
        let (from, to) = part(last - first, row_tasks, i / col_tasks);
        let task = Task {
            panel: (first + from, first + to),
            sliver: part(slivers, col_tasks, i % col_tasks),
            ..task.get()
        };
        // SAFETY: tiles are there where this way pays, panels are cut, and operands have been checked.
        dispatch(job.isa, unsafe { ByTiles::new(task) });
    });
}

/// Tasks for `m` rows of a product, as many as are worth a thread.
fn tasks(job: &Job<'_>, m: usize) -> usize {
    job.tasks(m, job.n.div_ceil(FASTER))
}

/// Computes one row of the product once more.
fn by_vectors(job: &Job<'_>, a: MatRef<'_>, b: &[f32], row: usize) {
    let a = MatRef { data: &a.data[row * a.row_stride..], ..a };
    // SAFETY: the row lies in C and in the operands of the epilogue.
    let (c, epilogue) = unsafe { (job.c.add(row * job.c_stride), job.epilogue.at(row, 0)) };
    let job = Job { m: 1, c, epilogue, ..*job };
    vector(&job, Lhs::Strided(a), Rhs::Packed(b));
}

#[cfg(test)]
mod tests;
