//! Many queries: blocks of keys by blocks of queries.

use super::ahead::Ahead;
use super::few::soften;
use super::transposed::{add_transposed, softmax_block};
use super::{Attention, Sizes};
use crate::Isa;
use crate::gemm::MatRef;
use crate::gemm::epilogue::Epilogue;
use crate::gemm::pack::{pack_panel, pack_sliver, sliver_width, slivers_len};
use crate::gemm::shape::{Panels, Shape, shape};
use crate::gemm::tile::{Later, Operands, tile};
use crate::simd::{Simd, SimdOp};

/// Queries in a block.
const QUERIES: usize = 64;

/// Keys in a block, about: whole panels. A block of scores of 64 x 140 f32 is 35 KiB, which the
/// second-level cache feeds without delay.
const KEYS: usize = 128;

/// Scratch, in order: packed keys, packed values (if their rows are not whole vectors), packed
/// queries, scores, sums of weighted values, and the running maximum, sum and correction of each query.
struct Layout {
    keys: usize,
    values: usize,
    queries: usize,
    scores: usize,
    sums: usize,
}

impl Layout {
    fn new(shape: Shape, z: Sizes) -> Layout {
        let queries = z.queries.min(QUERIES).next_multiple_of(shape.lanes);
        let stride = score_stride(shape, z.queries.min(QUERIES));
        Layout {
            keys: z.keys * z.width,
            values: if packs_values(shape, z) {
                slivers_len(shape, z.keys, z.value_width)
            } else {
                0
            },
            queries: queries * z.width,
            scores: stride * largest_block(shape, z.keys),
            sums: z.queries.min(QUERIES) * sums_stride(shape, z),
        }
    }

    fn len(&self) -> usize {
        self.keys + self.values + self.queries + self.scores + self.sums + 3 * QUERIES
    }
}

pub fn scratch_len(shape: Shape, sizes: Sizes) -> usize {
    Layout::new(shape, sizes).len()
}

/// From the scores of one key to those of the next, for `count` queries: an odd number of vectors. Processors tell loads from
/// the stores before them by the last 12 bits of an address, and scores that are turned into weights in place would wait for
/// others a power of two away.
fn score_stride(shape: Shape, count: usize) -> usize {
    (count.div_ceil(shape.lanes) | 1) * shape.lanes
}

/// From the sums of one query to those of the next: whole vectors.
fn sums_stride(shape: Shape, z: Sizes) -> usize {
    z.value_width.next_multiple_of(shape.lanes)
}

/// Tiles read whole vectors of `V`.
fn packs_values(shape: Shape, z: Sizes) -> bool {
    !z.value_width.is_multiple_of(shape.lanes)
}

fn panels_per_block(shape: Shape) -> usize {
    KEYS.div_ceil(shape.rows)
}

fn largest_block(shape: Shape, keys: usize) -> usize {
    let panels = Panels::new(keys, shape.rows);
    // The larger panels come first.
    panels.start(panels_per_block(shape).min(panels.count))
}

/// The least number of tiles of scores and of sums.
fn tiles(shape: Shape, z: Sizes) -> usize {
    let scores = z.queries.div_ceil(shape.cols()) * z.keys.div_ceil(shape.rows);
    scores + z.queries.div_ceil(shape.rows) * z.value_width.div_ceil(shape.cols())
}

pub struct Tiled<'a, 'b> {
    pub sizes: Sizes,
    pub job: &'a Attention<'b>,
    /// A row of `value_width` numbers for each query, `out_stride` apart, that nobody else reads or writes meanwhile.
    pub out: *mut f32,
    pub out_stride: usize,
    pub scratch: &'a mut [f32],
    /// What comes after this head.
    pub ahead: Ahead,
}

impl SimdOp for Tiled<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let Tiled { sizes: z, job, out, out_stride, scratch, mut ahead } = self;
        let shape = const { shape(S::ISA) };
        let layout = Layout::new(shape, z);
        let (keys, rest) = scratch.split_at_mut(layout.keys);
        let (values, rest) = rest.split_at_mut(layout.values);
        let (queries, rest) = rest.split_at_mut(layout.queries);
        let (scores, rest) = rest.split_at_mut(layout.scores);
        let (sums, rest) = rest.split_at_mut(layout.sums);
        let (max, rest) = rest.split_at_mut(QUERIES);
        let (sum, correction) = rest.split_at_mut(QUERIES);

        let panels = Panels::new(z.keys, shape.rows);
        for i in 0..panels.count {
            let (start, rows) = (panels.start(i), panels.rows(i));
            let dst = &mut keys[start * z.width..(start + rows) * z.width];
            pack_panel(S::ISA, job.k, (start, rows), z.width, dst);
        }
        if packs_values(shape, z) {
            let mut col = 0;
            while col < z.value_width {
                let width = sliver_width(shape, z.value_width, col);
                let cols = width.min(z.value_width - col);
                let dst = &mut values[col * z.keys..(col + width) * z.keys];
                pack_sliver(S::ISA, job.v, (col, cols), z.keys, width, dst);
                col += width;
            }
        }

        ahead.spread(tiles(shape, z));
        let mut first = 0;
        while first < z.queries {
            let count = (z.queries - first).min(QUERIES);
            let stride = score_stride(shape, count);
            let padded = count.next_multiple_of(shape.lanes);
            let block = Block { z, job, first, count, padded, stride, panels };
            block.pack_queries(S::ISA, queries);
            max.fill(f32::NEG_INFINITY);
            sum.fill(0.0);
            // No query of the block sees more keys than its last.
            let visible = job.visible(first + count - 1, z.keys);
            let mut panel = 0;
            while panel < panels.count && panels.start(panel) < visible {
                let end = (panel + panels_per_block(shape)).min(panels.count);
                let from = panels.start(panel);
                let len = panels.start(end) - from;
                let scores = &mut scores[..len * stride];
                block.score(s, (panel, end), keys, queries, scores, &mut ahead);
                block.hide(s, from, scores);
                for col in (0..padded).step_by(S::LANES) {
                    let state = [&mut max[col..], &mut sum[col..], &mut correction[col..]];
                    softmax_block(s, &mut scores[col..], stride, len, state);
                }
                if panel > 0 {
                    block.rescale(s, correction, sums);
                }
                block.add_values(s, from, len, scores, values, sums, panel > 0, &mut ahead);
                panel = end;
            }
            if panel == 0 {
                sums.fill(0.0);
            }
            for (sum, factor) in sum.iter().zip(correction.iter_mut()) {
                *factor = if *sum == 0.0 { 0.0 } else { 1.0 / *sum };
            }
            // SAFETY: the rows of these queries exist, and are not used otherwise.
            unsafe {
                block.write(s, correction, sums, out.wrapping_add(first * out_stride), out_stride)
            };
            first += count;
        }
    }
}

/// Some queries, `padded` to whole vectors, whose scores lie `stride` numbers a key.
#[derive(Clone, Copy)]
struct Block<'a, 'b> {
    z: Sizes,
    job: &'a Attention<'b>,
    first: usize,
    count: usize,
    padded: usize,
    stride: usize,
    panels: Panels,
}

impl Block<'_, '_> {
    /// Q transposed, in slivers.
    fn pack_queries(&self, isa: Isa, dst: &mut [f32]) {
        let shape = shape(isa);
        let q = self.job.q;
        let width = self.z.width;
        let q = MatRef {
            data: &q.data[self.first * q.row_stride..],
            row_stride: 1,
            col_stride: q.row_stride,
        };
        let mut col = 0;
        while col < self.count {
            let sliver = sliver_width(shape, self.count, col);
            let cols = sliver.min(self.count - col);
            let dst = &mut dst[col * width..(col + sliver) * width];
            pack_sliver(isa, q, (col, cols), width, sliver, dst);
            col += sliver;
        }
    }

    /// The scores of the panels of keys `from..to`, with what the epilogue can add.
    #[inline(always)]
    fn score<S: Simd>(
        &self,
        s: S,
        (from, to): (usize, usize),
        keys: &[f32],
        queries: &[f32],
        scores: &mut [f32],
        ahead: &mut Ahead,
    ) {
        let depth = self.z.width;
        let base = self.panels.start(from);
        let epilogue = Epilogue {
            alpha: self.job.scale,
            bias_row: self.one_mask().map(|m| &m[base..]),
            ..Epilogue::default()
        }
        .raw();
        let shape = const { shape(S::ISA) };
        let mut col = 0;
        while col < self.padded {
            let width = sliver_width(shape, self.padded, col);
            for panel in from..to {
                let (start, rows) = (self.panels.start(panel), self.panels.rows(panel));
                debug_assert!((start - base + rows) * self.stride <= scores.len());
                ahead.turn(s);
                // SAFETY: keys has `rows * depth` numbers for the panel, queries `width * depth`
                // for the sliver, and scores a row of `stride` for each key.
                unsafe {
                    let operands = Operands {
                        depth,
                        a: keys.as_ptr().add(start * depth),
                        a_stride: rows,
                        a_row: 1,
                        b: queries.as_ptr().add(col * depth),
                        b_stride: width,
                        c: scores.as_mut_ptr().add((start - base) * self.stride + col),
                        c_stride: self.stride,
                        cols: width,
                        later: Later::nothing(keys.as_ptr()),
                        epilogue: &epilogue,
                        at: (start - base, 0),
                    };
                    if width == 2 * S::LANES {
                        tile::<S, 2>(s, rows, operands);
                    } else {
                        tile::<S, 1>(s, rows, operands);
                    }
                }
            }
            col += width;
        }
    }

    /// The mask, if one row is for all queries and nothing comes between product and mask.
    fn one_mask(&self) -> Option<&[f32]> {
        match self.job.mask {
            Some(m) if m.row_stride == 0 && self.job.softcap.is_none() => Some(m.data),
            _ => None,
        }
    }

    /// Softcap, mask and causal order of the scores of keys from `from` on.
    #[inline(always)]
    fn hide<S: Simd>(&self, s: S, from: usize, scores: &mut [f32]) {
        if let Some(cap) = self.job.softcap {
            soften(s, scores, cap);
        }
        if let Some(mask) = self.job.mask
            && self.one_mask().is_none()
        {
            let row_stride = mask.row_stride;
            let mask = &mask.data[self.first * row_stride + from..];
            add_transposed(s, mask, row_stride, self.count, scores, self.stride);
        }
        if let Some(offset) = self.job.causal {
            for (j, row) in scores.chunks_exact_mut(self.stride).enumerate() {
                // Query first + i sees key from + j only if from + j <= first + i + offset.
                let hidden = (from + j) as isize - self.first as isize - offset;
                let hidden = usize::try_from(hidden).unwrap_or(0).min(self.count);
                row[..hidden].fill(f32::NEG_INFINITY);
            }
        }
    }

    /// Multiplies each row of the sums by its query's factor.
    #[inline(always)]
    fn rescale<S: Simd>(&self, s: S, factors: &[f32], sums: &mut [f32]) {
        let stride = sums_stride(const { shape(S::ISA) }, self.z);
        for (row, factor) in sums.chunks_exact_mut(stride).zip(&factors[..self.count]) {
            let factor = s.splat(*factor);
            for x in row.chunks_exact_mut(S::LANES) {
                s.store(x, s.mul(s.load(x), factor));
            }
        }
    }

    /// Writes each row of the sums, multiplied by its query's factor.
    ///
    /// # Safety
    /// `out` must have `value_width` numbers for each of `count` rows.
    #[inline(always)]
    unsafe fn write<S: Simd>(
        &self,
        s: S,
        factors: &[f32],
        sums: &[f32],
        out: *mut f32,
        out_stride: usize,
    ) {
        let cols = self.z.value_width;
        let stride = sums_stride(const { shape(S::ISA) }, self.z);
        let rows = sums.chunks_exact(stride).zip(&factors[..self.count]);
        for (i, (row, factor)) in rows.enumerate() {
            let factor = s.splat(*factor);
            for (v, x) in row.chunks_exact(S::LANES).enumerate() {
                let (col, x) = (v * S::LANES, s.mul(s.load(x), factor));
                // SAFETY: row i < count has columns up to `cols`, as the caller promises.
                unsafe {
                    let to = out.add(i * out_stride + col);
                    if cols - col >= S::LANES {
                        s.store_ptr(to, x);
                    } else {
                        s.store_part_ptr(to, x, cols - col);
                    }
                }
            }
        }
    }

    /// Adds the product of the weights of `len` keys from `from` on with their values.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "the operands of a product")]
    fn add_values<S: Simd>(
        &self,
        s: S,
        from: usize,
        len: usize,
        weights: &[f32],
        packed: &[f32],
        sums: &mut [f32],
        accumulate: bool,
        ahead: &mut Ahead,
    ) {
        let shape = const { shape(S::ISA) };
        let (keys, cols) = (self.z.keys, self.z.value_width);
        let sums_stride = sums_stride(shape, self.z);
        let epilogue = Epilogue { accumulate, ..Epilogue::default() }.raw();
        let panels = Panels::new(self.count, shape.rows);
        let mut col = 0;
        while col < cols {
            let width = sliver_width(shape, cols, col);
            let (b, b_stride) = if packs_values(shape, self.z) {
                (packed[col * keys + from * width..].as_ptr(), width)
            } else {
                (
                    self.job.v.data[from * self.job.v.row_stride + col..].as_ptr(),
                    self.job.v.row_stride,
                )
            };
            for panel in 0..panels.count {
                let (row, rows) = (panels.start(panel), panels.rows(panel));
                debug_assert!((len - 1) * self.stride + row + rows <= weights.len());
                debug_assert!((row + rows) * sums_stride <= sums.len());
                ahead.turn(s);
                // SAFETY: weights has `stride` numbers for each key, the values a vector or two,
                // and the sums as many columns in each of `count` rows.
                unsafe {
                    let operands = Operands {
                        depth: len,
                        a: weights.as_ptr().add(row),
                        a_stride: self.stride,
                        a_row: 1,
                        b,
                        b_stride,
                        c: sums.as_mut_ptr().add(row * sums_stride + col),
                        c_stride: sums_stride,
                        cols: width,
                        later: Later::nothing(b),
                        epilogue: &epilogue,
                        at: (0, 0),
                    };
                    if width == 2 * S::LANES {
                        tile::<S, 2>(s, rows, operands);
                    } else {
                        tile::<S, 1>(s, rows, operands);
                    }
                }
            }
            col += width;
        }
    }
}
