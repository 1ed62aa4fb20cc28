//! Linear attention: a state of keys by values that every position reads and updates, in the place of scores of all
//! positions.
//!
//! With the state `S` of one head, the factors `g` of a position (1 where there is no decay) and its rate `b`:
//!
//! * `S = g S` by rows of the state,
//! * `u = b (v - S' k)` by the delta rule, else `u = v`,
//! * `S = S + k u'` and `o = scale S' q`.
//!
//! (Katharopoulos et al., "Transformers are RNNs", 2020; Yang et al., "Gated Delta Networks", 2024.) Columns of the state
//! are independent of each other: a block of them stays in the nearest cache through all positions.

use crate::par::Output;
use crate::simd::{Simd, SimdOp, dispatch};
use crate::{Isa, Parallel};

/// The sizes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearSizes {
    /// Sequences.
    pub batches: usize,
    /// Positions of each.
    pub positions: usize,
    /// Heads of queries, a multiple of `heads`; those that share a state follow each other.
    pub query_heads: usize,
    /// Heads of keys, values and states.
    pub heads: usize,
    /// Rows of a state.
    pub key_width: usize,
    /// Columns of a state.
    pub value_width: usize,
}

/// Numbers for each position and head.
#[derive(Debug, Clone, Copy)]
pub struct PerHead<'a> {
    /// `[batches, positions, heads * width]`, or `[batches, positions, 1]` for a `width` of 0.
    pub data: &'a [f32],
    /// Numbers of a head; 0 where all heads share one.
    pub width: usize,
}

impl PerHead<'_> {
    fn row(&self, heads: usize) -> usize {
        (heads * self.width).max(1)
    }

    /// The numbers of a head at a position of the whole batch.
    #[inline(always)]
    fn at(&self, heads: usize, position: usize, head: usize) -> &[f32] {
        &self.data[position * self.row(heads) + head * self.width..][..self.width.max(1)]
    }

    fn check(&self, z: &LinearSizes, widths: &[usize]) {
        assert!(widths.contains(&self.width), "width of numbers of a head");
        let len = z.batches * z.positions * self.row(z.heads);
        assert_eq!(self.data.len(), len, "numbers of heads");
    }
}

/// The operands, heads of a position behind each other.
#[derive(Debug, Clone, Copy)]
pub struct Linear<'a> {
    /// How large all are.
    pub sizes: LinearSizes,
    /// `[batches, positions, query_heads * key_width]`
    pub q: &'a [f32],
    /// `[batches, positions, heads * key_width]`
    pub k: &'a [f32],
    /// `[batches, positions, heads * value_width]`
    pub v: &'a [f32],
    /// What the state is multiplied by at each position: a factor for each row (`key_width`) or one for all (1).
    pub decay: Option<PerHead<'a>>,
    /// The rate of the delta rule, for each head (1) or for all (0).
    pub rate: Option<PerHead<'a>>,
    /// The states before, `[batches, heads, key_width, value_width]`; zeros when there are none.
    pub past: Option<&'a [f32]>,
    /// Factor of the output.
    pub scale: f32,
}

impl Linear<'_> {
    fn check(&self, out: &[f32], state: &[f32]) {
        let z = &self.sizes;
        let rows = z.batches * z.positions;
        assert!(z.heads > 0 && z.query_heads.is_multiple_of(z.heads), "heads of queries");
        assert_eq!(self.q.len(), rows * z.query_heads * z.key_width, "length of the queries");
        assert_eq!(self.k.len(), rows * z.heads * z.key_width, "length of the keys");
        assert_eq!(self.v.len(), rows * z.heads * z.value_width, "length of the values");
        assert_eq!(out.len(), rows * z.query_heads * z.value_width, "length of the output");
        assert_eq!(state.len(), z.batches * z.heads * z.key_width * z.value_width, "states");
        assert!(self.past.is_none_or(|p| p.len() == state.len()), "states before");
        if let Some(decay) = &self.decay {
            decay.check(z, &[1, z.key_width]);
        }
        if let Some(rate) = &self.rate {
            rate.check(z, &[0, 1]);
        }
    }
}

/// Vectors of columns that are worked on together: with sums for the output and for what the state predicts they fill
/// half of the smallest register file.
const BLOCK: usize = 4;

/// Writes the output `[batches, positions, query_heads * value_width]` and the states after the last position.
///
/// # Panics
/// When lengths do not fit the sizes.
pub fn linear_attention(
    isa: Isa,
    parallel: &dyn Parallel,
    job: &Linear<'_>,
    out: &mut [f32],
    state: &mut [f32],
) {
    job.check(out, state);
    let z = job.sizes;
    match job.past {
        Some(past) if z.positions == 0 => return state.copy_from_slice(past),
        None => state.fill(0.0),
        Some(_) => {}
    }
    // As wide as the widest vectors have it: the same pieces on all instruction sets.
    let columns = BLOCK * 16;
    let pieces = z.value_width.div_ceil(columns);
    let (out, state) = (Output::new(out), Output::new(state));
    parallel.for_each(z.batches * z.heads * pieces, &|i| {
        let (unit, piece) = (i / pieces, i % pieces);
        let (batch, head) = (unit / z.heads, unit % z.heads);
        let first = piece * columns;
        let end = z.value_width.min(first + columns);
        dispatch(isa, Piece { job, batch, head, columns: (first, end), out: &out, state: &state });
    });
}

/// Some columns of one state through all positions.
struct Piece<'a, 'b> {
    job: &'a Linear<'b>,
    batch: usize,
    head: usize,
    columns: (usize, usize),
    out: &'a Output<f32>,
    state: &'a Output<f32>,
}

impl SimdOp for Piece<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn eval<S: Simd>(self, s: S) {
        let (mut at, end) = self.columns;
        while end - at >= BLOCK * S::LANES {
            self.block::<S, BLOCK>(s, at, S::LANES);
            at += BLOCK * S::LANES;
        }
        while at < end {
            let lanes = S::LANES.min(end - at);
            self.block::<S, 1>(s, at, lanes);
            at += lanes;
        }
    }
}

impl Piece<'_, '_> {
    /// `NV` vectors of columns from `column` on; of a single one the first `lanes`.
    #[inline(always)]
    fn block<S: Simd, const NV: usize>(&self, s: S, column: usize, lanes: usize) {
        let (job, z) = (self.job, self.job.sizes);
        let (rows, width) = (z.key_width, z.value_width);
        let group = z.query_heads / z.heads;
        debug_assert!(lanes == S::LANES || NV == 1);
        let start = (self.batch * z.heads + self.head) * rows * width + column;
        debug_assert!(column + (NV - 1) * S::LANES + lanes <= width);
        let columns = Columns { s, lanes };
        let state = self.state.start().wrapping_add(start);
        for position in 0..z.positions {
            let token = self.batch * z.positions + position;
            let from = match job.past {
                Some(past) if position == 0 => past.as_ptr().wrapping_add(start),
                _ => state.cast_const(),
            };
            let k = &job.k[(token * z.heads + self.head) * rows..][..rows];
            let value = job.v.as_ptr().wrapping_add((token * z.heads + self.head) * width + column);
            let decay = job.decay.as_ref().map(|d| d.at(z.heads, token, self.head));
            let factor = |row: usize| match decay {
                None => 1.0,
                Some([one]) => *one,
                Some(each) => each[row],
            };
            let mut update = [s.zero(); NV];
            for (v, x) in update.iter_mut().enumerate() {
                *x = columns.load(value.wrapping_add(v * S::LANES));
            }
            if let Some(rate) = job.rate {
                let rate = s.splat(rate.at(z.heads, token, self.head)[0]);
                let mut known = [s.zero(); NV];
                for (row, &k) in k.iter().enumerate() {
                    let factor = s.splat(factor(row) * k);
                    for (v, sum) in known.iter_mut().enumerate() {
                        let x = columns.load(from.wrapping_add(row * width + v * S::LANES));
                        *sum = s.fma(factor, x, *sum);
                    }
                }
                for (x, known) in update.iter_mut().zip(known) {
                    *x = s.mul(rate, s.sub(*x, known));
                }
            }
            for member in 0..group {
                let head = token * z.query_heads + self.head * group + member;
                let q = &job.q[head * rows..][..rows];
                let mut sums = [s.zero(); NV];
                for (row, (&q, &k)) in q.iter().zip(k).enumerate() {
                    let (q, k, factor) = (s.splat(q), s.splat(k), s.splat(factor(row)));
                    for (v, sum) in sums.iter_mut().enumerate() {
                        let at = row * width + v * S::LANES;
                        // The first head of the group brings the state up to date.
                        let x = if member == 0 {
                            let old = columns.load(from.wrapping_add(at));
                            let x = s.fma(k, update[v], s.mul(factor, old));
                            columns.store(state.wrapping_add(at), x);
                            x
                        } else {
                            columns.load(state.wrapping_add(at).cast_const())
                        };
                        *sum = s.fma(q, x, *sum);
                    }
                }
                let out = self.out.start().wrapping_add(head * width + column);
                for (v, sum) in sums.into_iter().enumerate() {
                    columns.store(out.wrapping_add(v * S::LANES), s.mul(sum, s.splat(job.scale)));
                }
            }
        }
    }
}

/// Vectors of columns, of which the first `lanes` are there.
#[derive(Clone, Copy)]
struct Columns<S> {
    s: S,
    lanes: usize,
}

// Functions and not closures, which are not compiled for the instruction set.
impl<S: Simd> Columns<S> {
    #[inline(always)]
    fn load(self, p: *const f32) -> S::F32 {
        // SAFETY: check() has seen that all operands have their sizes, and a piece reads only columns that they have.
        unsafe {
            match self.lanes == S::LANES {
                true => self.s.load_ptr(p),
                false => self.s.load_part_ptr(p, self.lanes),
            }
        }
    }

    #[inline(always)]
    fn store(self, p: *mut f32, v: S::F32) {
        // SAFETY: as above, and no other piece writes these columns of its state and of its outputs.
        unsafe {
            match self.lanes == S::LANES {
                true => self.s.store_ptr(p, v),
                false => self.s.store_part_ptr(p, v, self.lanes),
            }
        }
    }
}

#[cfg(test)]
mod tests;
