//! Attention of all heads of a batch.

use super::{Attention, Mask, Sizes, attention, attention_scratch_len, half};
use crate::gemm::MatRef;
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

/// Numbers in a line of the cache, with which the scratch of each task begins.
const LINE: usize = 16;

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
    let room = (one + sizes.queries * sizes.value_width).next_multiple_of(LINE);
    heads.clamp(1, MAX_TASKS) * room
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
    assert!(room >= queries * value_width, "scratch too small");
    let tasks = if par.threads() > 1 { parts } else { 1 };
    let (to, rooms) = (Shared(out.as_mut_ptr()), Shared(scratch.as_mut_ptr()));
    let work = |task: usize| {
        // SAFETY: `parts * room` numbers are in `scratch`, no task is beyond `parts`, and every task has a part of its own.
        let room = unsafe { core::slice::from_raw_parts_mut(rooms.at(task * room), room) };
        let (result, scratch) = room.split_at_mut(queries * value_width);
        for index in task * count / tasks..(task + 1) * count / tasks {
            let (batch, head) = (index / job.heads, index % job.heads);
            one_head(isa, job, batch, head, result, scratch);
            let start = out_at.start(batch, head);
            for (row, values) in result.chunks_exact(value_width).enumerate() {
                let dst = to.at(start + row * out_at.row);
                // SAFETY: the last row of the last head ends inside `out` (asserted above), and heads do
                // not overlap, so that no other task writes here.
                unsafe { core::ptr::copy_nonoverlapping(values.as_ptr(), dst, value_width) };
            }
        }
    };
    if tasks == 1 { work(0) } else { par.for_each(tasks, &work) }
}

fn one_head(
    isa: Isa,
    job: &MultiHead<'_>,
    batch: usize,
    head: usize,
    result: &mut [f32],
    scratch: &mut [f32],
) {
    let shared = job.shared(head);
    let (keys, causal) = job.visible(batch);
    let sizes = Sizes { keys, ..job.sizes };
    let one = Attention {
        q: job.q.matrix(batch, head),
        k: job.k.matrix(batch, shared),
        v: job.v.matrix(batch, shared),
        mask: job.mask.map(|m| Mask { data: m.of(batch, head), row_stride: m.at.row }),
        scale: job.scale,
        softcap: job.softcap,
        causal,
    };
    let halves = job.halves && one.softcap.is_none() && one.causal.is_none();
    if halves && half::pays(isa, sizes) {
        half::attention(isa, sizes, &one, result, sizes.value_width, scratch);
    } else {
        attention(isa, sizes, &one, result, sizes.value_width, scratch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

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
