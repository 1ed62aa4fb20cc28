//! Checks and prepares the operands, and splits the work.

use super::block::Block;
use super::ends::{Raw, Zeros};
use super::finish::Finish;
use super::pack::{COLS, copied_stride, copy_row, limits_at, padded, reads_in_place};
use super::split::Plan;
use super::sum::RowSum;
use super::tile::rows;
use super::{Byte, Left, Right, Target, pack, packed_len};
use crate::gemm::driver::Shared;
use crate::gemm::shape::{Panels, WORK_PER_TASK, part};
use crate::gemm::vector::MAX_VECTOR_ROWS;
use crate::par::for_ranges;
use crate::simd::{LINE, LINE_BYTES, Simd, SimdOp, dispatch, dispatch_bytes};
use crate::{Isa, Parallel};

/// How many products of bytes tiles of AMX make in the time that WORK_PER_TASK is measured in, products of f32: 1024 a
/// cycle over 64.
const TILES_FASTER: usize = 16;

/// Bytes of `A` that are worked on together, so that they stay in the second-level cache.
pub(super) const BLOCK_A: usize = 1 << 19;

/// Numbers of scratch that [`gemm`] needs for these operands, of which only types, sizes and strides are looked at.
pub fn scratch_len<A: Byte, B: Byte>(
    isa: Isa,
    m: usize,
    n: usize,
    k: usize,
    a: &Left<'_, A>,
    b: &Right<'_, B>,
) -> usize {
    scratch_len_by(isa.effective(), true, (m, n, k), a, b)
}

/// As [`scratch_len`], for [`gemm_by`].
pub(super) fn scratch_len_by<A: Byte, B: Byte>(
    isa: Isa,
    dot4: bool,
    (m, n, k): (usize, usize, usize),
    a: &Left<'_, A>,
    b: &Right<'_, B>,
) -> usize {
    let unit = unit(isa, m);
    let copied = if let Some(plan) = split_plan(isa, dot4, (m, n, k)) {
        plan.scratch_len()
    } else if reads_in_place(m, k, &a.matrix, unit) {
        0
    } else {
        m * copied_stride(k, unit) / 4 + LINE - 1
    };
    let packed = if b.packed.is_some() { 0 } else { packed_len(k, n) };
    m + copied + packed
}

/// `C[i, j] = sum over p of (A[i, p] - a_zero[i]) (B[p, j] - b_zero[j])`, with `A` of `m x k`, `B` of `k x n` and `C` of
/// `m x n` at `c_stride` elements from row to row (ONNX MatMulInteger), and what [`Target`] makes of it. The result is the
/// same on every instruction set and for any number of threads.
///
/// # Panics
/// If an operand is smaller than its sizes say, or `scratch` than [`scratch_len`].
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub fn gemm<A: Byte, B: Byte>(
    isa: Isa,
    par: &dyn Parallel,
    m: usize,
    n: usize,
    k: usize,
    a: Left<'_, A>,
    b: Right<'_, B>,
    c: Target<'_>,
    c_stride: usize,
    scratch: &mut [i32],
) {
    gemm_by(isa.effective(), true, par, (m, n, k), a, b, c, c_stride, scratch);
}

/// As [`gemm`], with instructions for products of bytes only if `dot4`.
#[expect(clippy::too_many_arguments, reason = "the operands of a matrix product")]
pub(super) fn gemm_by<A: Byte, B: Byte>(
    isa: Isa,
    dot4: bool,
    par: &dyn Parallel,
    (m, n, k): (usize, usize, usize),
    a: Left<'_, A>,
    b: Right<'_, B>,
    c: Target<'_>,
    c_stride: usize,
    scratch: &mut [i32],
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(a.matrix.covers(m, k) && a.zero.covers(m), "A smaller than m x k");
    let least = scratch_len_by(isa, dot4, (m, n, k), &a, &b);
    assert!(scratch.len() >= least, "scratch too small");
    assert!(b.zero.covers(n), "zero points of B");
    let (sums, scratch) = scratch.split_at_mut(m);
    let (packed, scratch) = match (b.packed, b.matrix) {
        (Some(packed), _) => {
            assert_eq!(packed.len(), packed_len(k, n), "length of packed B");
            (packed, scratch)
        }
        (None, matrix) => {
            let (packed, rest) = scratch.split_at_mut(packed_len(k, n));
            let Some(matrix) = matrix else { panic!("B is missing") };
            pack(k, n, matrix, packed);
            (&*packed, rest)
        }
    };
    let (a_shift, b_shift) = (128 * i32::from(A::SIGNED), -128 * i32::from(!B::SIGNED));
    let unit = unit(isa, m);
    let in_place = reads_in_place(m, k, &a.matrix, unit);
    let plan = split_plan(isa, dot4, (m, n, k));
    let has_b_zero = !b.zero.are_all(-b_shift, n);
    let (at, stride) = if in_place || plan.is_some() {
        (a.matrix.data.as_ptr().cast(), a.matrix.row_stride)
    } else {
        let stride = copied_stride(k, unit);
        // A row of a tile that lies in two lines takes twice as long to read.
        let from = scratch.as_ptr().align_offset(LINE_BYTES).min(LINE - 1);
        (copy(par, (m, k, stride), &a, &mut scratch[from..]), stride)
    };
    if has_b_zero && plan.is_none() {
        for (i, sum) in sums.iter_mut().enumerate() {
            // SAFETY: row i has k bytes, in A as in a copy of it.
            let row = unsafe { core::slice::from_raw_parts(at.add(i * stride), k) };
            *sum = dispatch_bytes(isa, dot4, RowSum(row));
        }
    }
    let sums = if has_b_zero { sums.as_mut_ptr() } else { core::ptr::null_mut() };
    let (quads, b_packed) = (k.div_ceil(4), packed.as_ptr());
    let job = Block {
        panels: (m, 0, 0),
        slivers: (0, 0),
        n,
        k,
        a: at,
        a_stride: stride,
        parts: None,
        b: b_packed,
        finish: Finish {
            sums: core::ptr::null(),
            sums_stride: COLS,
            row: 0,
            rows: 0,
            col: 0,
            cols: 0,
            k,
            a_zero: Zeros::new(&a.zero, a_shift),
            b_zero: Zeros::new(&b.zero, b_shift),
            row_sums: sums,
            col_sums: b_packed.wrapping_add(padded(n) * quads),
            raw: Raw::new(c, m, n, c_stride),
        },
    };
    let panels = Panels::new(m, panel_rows(isa, dot4, m)).count;
    let Some(plan) = plan else {
        return sweep((isa, dot4), par, Block { panels: (m, 0, panels), ..job });
    };
    let limits = &packed[limits_at(k, n)..];
    for first in (0..panels).step_by(plan.together) {
        let last = (first + plan.together).min(panels);
        let by = (isa, dot4);
        // SAFETY: A has `m` rows of `k` numbers, as was checked, and there is a sum for each.
        let parts = unsafe { plan.split(by, par, &a, limits, (first, last), sums, scratch) };
        sweep(by, par, Block { panels: (m, first, last), parts: Some(parts), ..job });
    }
}

/// Runs the panels of `job`, by all slivers, in tasks.
fn sweep((isa, dot4): (Isa, bool), par: &dyn Parallel, job: Block) {
    let (m, first, last) = job.panels;
    let by_tiles = uses_tiles(isa, m);
    let (panels, slivers) = (last - first, job.n.div_ceil(COLS));
    let threads = par.threads();
    // Products of bytes take less time than those of f32.
    let faster = if by_tiles { TILES_FASTER } else { 4 };
    let all = Panels::new(m, panel_rows(isa, dot4, m));
    let rows = all.start(last) - all.start(first);
    let work = rows.saturating_mul(job.n).saturating_mul(job.k) / (faster * WORK_PER_TASK);
    let tasks = if threads <= 1 { 1 } else { work.clamp(1, 2 * threads) };
    // Columns first: each task then reads its own part of B, the larger operand.
    let col_tasks = tasks.min(slivers);
    let row_tasks = tasks.div_ceil(col_tasks).min(panels);
    let job = Shared(job);
    let run = |i: usize| {
        let (from, to) = part(panels, row_tasks, i / col_tasks);
        let block = Block {
            panels: (m, first + from, first + to),
            slivers: part(slivers, col_tasks, i % col_tasks),
            ..job.get()
        };
        #[cfg(target_arch = "x86_64")]
        if by_tiles {
            // SAFETY: the machine has tiles, and panels and rows are cut for them.
            return dispatch(isa, unsafe { super::amx::ByTiles::new(block) });
        }
        dispatch_bytes(isa, dot4, block);
    };
    if col_tasks * row_tasks == 1 {
        run(0);
    } else {
        par.for_each(col_tasks * row_tasks, &run);
    }
}

/// How `A` is split, if it is.
fn split_plan(isa: Isa, dot4: bool, (m, n, k): (usize, usize, usize)) -> Option<Plan> {
    if uses_tiles(isa, m) { None } else { Plan::new(isa, dot4, m, n, k) }
}

/// Rows of a tile of AMX, and bytes in each.
const TILE_ROWS: usize = 16;
const TILE_BYTES: usize = 64;

/// Whether tiles of AMX compute a product of `m` rows. One of up to four waits for `B`, whatever multiplies. At 1024
/// products a cycle a tile of sixteen rows takes 16 cycles, and one of five no more: at least 320 products a cycle, more than
/// twice what two instructions of VNNI are.
fn uses_tiles(isa: Isa, m: usize) -> bool {
    isa.effective() == Isa::Amx && m > MAX_VECTOR_ROWS
}

/// Bytes of a row of `A` that are read at a time.
fn unit(isa: Isa, m: usize) -> usize {
    if uses_tiles(isa, m) { TILE_BYTES } else { 4 }
}

/// Most rows of a panel.
fn panel_rows(isa: Isa, dot4: bool, m: usize) -> usize {
    struct Rows;
    impl SimdOp for Rows {
        type Output = usize;
        #[inline(always)]
        fn eval<S: Simd>(self, _: S) -> usize {
            rows::<S>()
        }
    }
    if uses_tiles(isa, m) { TILE_ROWS } else { dispatch_bytes(isa, dot4, Rows) }
}

/// Copies `A` as unsigned bytes, rows `stride` apart with zeros behind them.
fn copy<A: Byte>(
    par: &dyn Parallel,
    (m, k, stride): (usize, usize, usize),
    a: &Left<'_, A>,
    scratch: &mut [i32],
) -> *const u8 {
    let at = Shared(scratch.as_mut_ptr().cast::<u8>());
    debug_assert!(scratch.len() * 4 >= m * stride);
    for_ranges(par, m, k, &|from, to| {
        for i in from..to {
            // SAFETY: rows are disjoint, and inside the scratch that scratch_len asked for.
            let row = unsafe { core::slice::from_raw_parts_mut(at.get().add(i * stride), stride) };
            copy_row(&a.matrix, i, k, row);
        }
    });
    at.get()
}
