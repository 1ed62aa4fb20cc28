//! Attention of all heads of a batch.

use super::ahead::{Ahead, Rows};
use super::{
    Attention, Mask, Sizes, attention, attention_scratch_len, attention_to, half, is_tiled,
};
use crate::gemm::MatRef;
use crate::simd::LINE;
use crate::{Isa, Parallel};

/// Where the matrix of each head lies, in elements. Columns follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeadLayout {
    /// The first element of the first head of the first batch entry.
    pub offset: usize,
    /// From one batch entry to the next.
    pub batch: usize,
    /// From one head to the next.
    pub head: usize,
    /// From one row to the next.
    pub row: usize,
}

impl HeadLayout {
    /// The first element of a head.
    pub(super) fn start(&self, batch: usize, head: usize) -> usize {
        self.offset + batch * self.batch + head * self.head
    }
}

/// An operand of all heads.
#[derive(Debug, Clone, Copy)]
pub struct Heads<'a> {
    /// The elements.
    pub data: &'a [f32],
    /// Where they lie.
    pub at: HeadLayout,
}

impl<'a> Heads<'a> {
    fn of(&self, batch: usize, head: usize) -> &'a [f32] {
        self.data.get(self.at.start(batch, head)..).unwrap_or_default()
    }

    fn matrix(&self, batch: usize, head: usize) -> MatRef<'a> {
        MatRef { data: self.of(batch, head), row_stride: self.at.row, col_stride: 1 }
    }
}

/// Attention of `batches x heads` heads, where `heads / kv_heads` heads in a row share keys and values.
#[derive(Debug, Clone, Copy)]
pub struct MultiHead<'a> {
    /// Batch entries.
    pub batches: usize,
    /// Heads of the queries, a multiple of `kv_heads`.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// The sizes of each head.
    pub sizes: Sizes,
    /// Queries.
    pub q: Heads<'a>,
    /// Keys.
    pub k: Heads<'a>,
    /// Values.
    pub v: Heads<'a>,
    /// What is added to the scores.
    pub mask: Option<Heads<'a>>,
    /// How many of the keys each batch entry has, all if absent: the queries are then its last ones.
    pub lens: Option<&'a [i64]>,
    /// Factor of the scores.
    pub scale: f32,
    /// As in [`Attention::softcap`].
    pub softcap: Option<f32>,
    /// As in [`Attention::causal`]; with `lens` the offset of a batch entry is its length minus the number
    /// of queries instead.
    pub causal: Option<isize>,
    /// Whether operands may be rounded to bf16, as they are on tiles of AMX where there is neither softcap nor causal order.
    pub halves: bool,
}

impl MultiHead<'_> {
    /// The head of keys and values that a head of queries uses.
    pub(super) fn shared(&self, head: usize) -> usize {
        head / (self.heads / self.kv_heads.max(1)).max(1)
    }

    /// The sizes and operands of one head.
    fn one(&self, batch: usize, head: usize) -> (Sizes, Attention<'_>) {
        let shared = self.shared(head);
        let (keys, causal) = self.visible(batch);
        let one = Attention {
            q: self.q.matrix(batch, head),
            k: self.k.matrix(batch, shared),
            v: self.v.matrix(batch, shared),
            mask: self.mask.map(|m| Mask { data: m.of(batch, head), row_stride: m.at.row }),
            scale: self.scale,
            softcap: self.softcap,
            causal,
        };
        (Sizes { keys, ..self.sizes }, one)
    }

    /// What one head reads and writes.
    fn ahead(&self, batch: usize, head: usize, out: *const f32, out_row: usize) -> Ahead {
        let (Sizes { queries, keys, width, value_width }, one) = self.one(batch, head);
        let of = |x: MatRef<'_>, rows, cols| Rows {
            at: x.data.as_ptr(),
            stride: x.row_stride,
            rows,
            cols,
        };
        let out = Rows { at: out, stride: out_row, rows: queries, cols: value_width };
        let (q, k) = (of(one.q, queries, width), of(one.k, keys, width));
        Ahead::new([q, k, of(one.v, keys, value_width), out])
    }

    /// The keys of a batch entry and where its causal frontier lies.
    fn visible(&self, batch: usize) -> (usize, Option<isize>) {
        let keys = self.sizes.keys;
        match self.lens.and_then(|lens| lens.get(batch)) {
            None => (keys, self.causal),
            Some(&len) => {
                let frontier = (len as isize).saturating_sub(self.sizes.queries as isize);
                (len.clamp(0, keys as i64) as usize, self.causal.map(|_| frontier))
            }
        }
    }
}

/// The most tasks that heads are cut into. Plans are made before the number of threads is known, and scratch
/// should not grow with the machine.
const MAX_TASKS: usize = 8;

/// Numbers of scratch that [`multi_head`] needs for this many heads. `varied` if batch entries have different numbers of keys,
/// `halves` as in [`MultiHead::halves`].
pub fn multi_head_scratch_len(
    isa: Isa,
    sizes: Sizes,
    heads: usize,
    varied: bool,
    halves: bool,
) -> usize {
    // Fewer keys may need more scratch, as they may fall into panels less evenly.
    let fewest = if varied { 0 } else { sizes.keys };
    let one = (fewest..=sizes.keys)
        .map(|keys| Sizes { keys, ..sizes })
        .map(|sizes| {
            let half = halves && half::pays(isa, sizes);
            let half = if half { half::scratch_len(isa, sizes) } else { 0 };
            attention_scratch_len(isa, sizes).max(half)
        })
        .fold(0, usize::max);
    // The scratch of each task begins with a line of the cache.
    let room = (one + result_len(sizes, halves)).next_multiple_of(LINE);
    heads.clamp(1, MAX_TASKS) * room
}

/// Numbers of a result that is copied to its place when it is whole.
fn result_len(sizes: Sizes, halves: bool) -> usize {
    if is_tiled(sizes) && !halves { 0 } else { sizes.queries * sizes.value_width }
}

/// A pointer that tasks write disjoint elements through.
struct Shared(*mut f32);

// SAFETY: every task writes elements of its own; see `multi_head`.
unsafe impl Sync for Shared {}

impl Shared {
    fn at(&self, offset: usize) -> *mut f32 {
        self.0.wrapping_add(offset)
    }
}

/// Computes all heads into `out`, whose heads lie as `out_at` says and must not overlap.
///
/// # Panics
/// If an operand is too small, or `scratch` smaller than [`multi_head_scratch_len`].
pub fn multi_head(
    isa: Isa,
    par: &dyn Parallel,
    job: &MultiHead<'_>,
    out: &mut [f32],
    out_at: HeadLayout,
    scratch: &mut [f32],
) {
    let Sizes { queries, value_width, .. } = job.sizes;
    let count = job.batches * job.heads;
    if count == 0 || queries == 0 || value_width == 0 {
        return;
    }
    let last_head = out_at.start(job.batches - 1, job.heads - 1);
    assert!(last_head + (queries - 1) * out_at.row + value_width <= out.len(), "output too small");
    let parts = count.min(MAX_TASKS);
    let room = scratch.len() / parts;
    let result_len = result_len(job.sizes, job.halves);
    assert!(room >= result_len, "scratch too small");
    let tasks = if par.threads() > 1 { parts } else { 1 };
    let (to, rooms) = (Shared(out.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
    let work = |task: usize| {
        // SAFETY: `parts * room` numbers are in `scratch`, no task is beyond `parts`, and every task has a part of its own.
        let room = unsafe { core::slice::from_raw_parts_mut(rooms.at(task * room), room) };
        let (result, scratch) = room.split_at_mut(result_len);
        let end = (task + 1) * count / tasks;
        for index in task * count / tasks..end {
            let place = |index: usize| {
                let (batch, head) = (index / job.heads, index % job.heads);
                (batch, head, to.at(out_at.start(batch, head)))
            };
            let (batch, head, dst) = place(index);
            let (sizes, one) = job.one(batch, head);
            let halves = job.halves && one.softcap.is_none() && one.causal.is_none();
            if halves && half::pays(isa, sizes) {
                half::attention(isa, sizes, &one, result, value_width, scratch);
            } else if is_tiled(sizes) {
                let ahead = if index + 1 < end {
                    let (batch, head, dst) = place(index + 1);
                    job.ahead(batch, head, dst, out_at.row)
                } else {
                    Ahead::nothing()
                };
                // SAFETY: the last row of the last head ends inside `out` (asserted above), and heads do
                // not overlap, so that no other task writes here.
                unsafe { attention_to(isa, sizes, &one, dst, out_at.row, scratch, ahead) };
                continue;
            } else {
                attention(isa, sizes, &one, result, value_width, scratch);
            }
            for (row, values) in result.chunks_exact(value_width).enumerate() {
                // SAFETY: as above.
                unsafe {
                    let dst = dst.add(row * out_at.row);
                    core::ptr::copy_nonoverlapping(values.as_ptr(), dst, value_width);
                }
            }
        }
    };
    if tasks == 1 { work(0) } else { par.for_each(tasks, &work) }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::Serial;
    use crate::par::Backwards;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn each_head_is_an_attention_of_its_own_on_any_number_of_threads() {
        const BATCHES: usize = 3;
        const HEADS: usize = 4;
        const KV_HEADS: usize = 2;
        for isa in Isa::available() {
            // By vectors, by tiles, with results cut off within a vector, and by blocks of queries and keys.
            for (queries, keys, width, value_width) in
                [(2, 9, 5, 3), (5, 7, 8, 16), (33, 40, 17, 18), (70, 150, 16, 32)]
            {
                let sizes = Sizes { queries, keys, width, value_width };
                let numbers = |n: usize, by: usize| -> Vec<f32> {
                    (0..n).map(|i| (i * by % 997) as f32 * 0.002 - 1.0).collect()
                };
                // A row has all heads, and some numbers behind them.
                let at = |heads: usize, rows: usize, cols: usize| {
                    let row = heads * cols + 3;
                    HeadLayout { offset: 1, batch: rows * row, head: cols, row }
                };
                let (q_at, out_at) = (at(HEADS, queries, width), at(HEADS, queries, value_width));
                let (k_at, v_at) = (at(KV_HEADS, keys, width), at(KV_HEADS, keys, value_width));
                let data = |at: HeadLayout, by| numbers(BATCHES * at.batch + 1, by);
                let (q, k, v) = (data(q_at, 7), data(k_at, 11), data(v_at, 13));
                let job = MultiHead {
                    batches: BATCHES,
                    heads: HEADS,
                    kv_heads: KV_HEADS,
                    sizes,
                    q: Heads { data: &q, at: q_at },
                    k: Heads { data: &k, at: k_at },
                    v: Heads { data: &v, at: v_at },
                    mask: None,
                    lens: None,
                    scale: 0.7,
                    softcap: None,
                    causal: None,
                    halves: false,
                };
                let len = multi_head_scratch_len(isa, sizes, BATCHES * HEADS, false, false);
                let run = |par: &dyn Parallel| {
                    let mut scratch = vec![f32::NAN; len];
                    let mut out = vec![9.0; BATCHES * out_at.batch + 1];
                    multi_head(isa, par, &job, &mut out, out_at, &mut scratch);
                    out
                };
                let got = run(&Serial);
                assert_eq!(got, run(&Backwards(4)), "{isa:?} {sizes:?}");
                let mut want = vec![9.0; got.len()];
                let mut scratch = vec![f32::NAN; attention_scratch_len(isa, sizes)];
                for (batch, head) in (0..BATCHES).flat_map(|b| (0..HEADS).map(move |h| (b, h))) {
                    let one = Attention {
                        q: job.q.matrix(batch, head),
                        k: job.k.matrix(batch, head / 2),
                        v: job.v.matrix(batch, head / 2),
                        mask: None,
                        scale: 0.7,
                        softcap: None,
                        causal: None,
                    };
                    let out = &mut want[out_at.start(batch, head)..];
                    attention(isa, sizes, &one, out, out_at.row, &mut scratch);
                }
                assert_eq!(got, want, "{isa:?} {sizes:?}");
            }
        }
    }

    #[test]
    fn heads_share_keys_and_results_go_to_their_rows() {
        // Two heads of width 1 share one key head; values are averaged evenly as all keys are equal.
        let sizes = Sizes { queries: 2, keys: 2, width: 1, value_width: 1 };
        let at = |batch, head, row| HeadLayout { offset: 0, batch, head, row };
        let job = MultiHead {
            batches: 1,
            heads: 2,
            kv_heads: 1,
            sizes,
            q: Heads { data: &[1.0, 2.0, 3.0, 4.0], at: at(4, 1, 2) },
            k: Heads { data: &[1.0, 1.0], at: at(2, 2, 1) },
            v: Heads { data: &[10.0, 20.0], at: at(2, 2, 1) },
            mask: None,
            lens: None,
            scale: 1.0,
            softcap: None,
            causal: Some(0),
            halves: false,
        };
        let isa = Isa::detect();
        let mut scratch = [0.0; 4096];
        let len = multi_head_scratch_len(isa, sizes, 2, true, false);
        let mut out = [0.0; 4];
        multi_head(isa, &Serial, &job, &mut out, at(4, 1, 2), &mut scratch[..len]);
        assert_eq!(out, [10.0, 10.0, 15.0, 15.0], "causal");
        let job = MultiHead { lens: Some(&[1]), ..job };
        multi_head(isa, &Serial, &job, &mut out, at(4, 1, 2), &mut scratch[..len]);
        assert_eq!(out, [0.0, 0.0, 10.0, 10.0], "the one key belongs to the last query");
    }
}
