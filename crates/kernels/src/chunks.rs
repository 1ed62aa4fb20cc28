//! Cuts outputs into disjoint parts for the threads of a [`Parallel`].

use crate::Parallel;
use core::ops::Range;

/// Multiply-adds (or moves) below which another thread costs more than it brings.
pub(crate) const WORK_PER_TASK: usize = 1 << 17;

/// How many tasks `work` elementary operations are worth, at most `limit`.
pub(crate) fn tasks(par: &dyn Parallel, work: usize, limit: usize) -> usize {
    let threads = par.threads();
    if threads <= 1 {
        return 1;
    }
    (work / WORK_PER_TASK).clamp(1, 2 * threads).min(limit.max(1))
}

/// Pointers that tasks make disjoint slices of.
struct Parts<T, U> {
    data: *mut T,
    room: *mut U,
}

// SAFETY: each task makes slices of elements that no other task has; see `split`.
unsafe impl<T: Send, U: Send> Sync for Parts<T, U> {}

impl<T, U> Parts<T, U> {
    /// # Safety
    /// The ranges lie in the slices, and nobody else holds them.
    #[expect(clippy::mut_from_ref, reason = "ranges are disjoint")]
    unsafe fn take(&self, data: Range<usize>, room: Range<usize>) -> (&mut [T], &mut [U]) {
        // SAFETY: the caller's promise.
        unsafe {
            (
                core::slice::from_raw_parts_mut(self.data.add(data.start), data.len()),
                core::slice::from_raw_parts_mut(self.room.add(room.start), room.len()),
            )
        }
    }
}

/// Cuts `data`, made of `count` chunks of `len` elements, and `scratch`, `room` elements for each task,
/// among `tasks` tasks: `f` gets its range of chunks, their elements and its room.
///
/// # Panics
/// If `data` or `scratch` is shorter than that.
#[expect(clippy::too_many_arguments, reason = "two buffers, each with its measure")]
pub(crate) fn split<T: Send, U: Send>(
    par: &dyn Parallel,
    tasks: usize,
    count: usize,
    data: &mut [T],
    len: usize,
    scratch: &mut [U],
    room: usize,
    f: &(dyn Fn(Range<usize>, &mut [T], &mut [U]) + Sync),
) {
    let data = &mut data[..count * len];
    let scratch = &mut scratch[..tasks * room];
    if tasks <= 1 {
        if count > 0 {
            f(0..count, data, scratch);
        }
        return;
    }
    let parts = Parts { data: data.as_mut_ptr(), room: scratch.as_mut_ptr() };
    par.for_each(tasks, &|task| {
        let chunks = task * count / tasks..(task + 1) * count / tasks;
        if chunks.is_empty() {
            return;
        }
        let elements = chunks.start * len..chunks.end * len;
        // SAFETY: the ranges of different tasks are disjoint and end inside the slices, which are
        // borrowed until all tasks have ended.
        let (data, room) = unsafe { parts.take(elements, task * room..(task + 1) * room) };
        f(chunks, data, room);
    });
}

/// [`split`] without scratch.
pub(crate) fn split_chunks<T: Send>(
    par: &dyn Parallel,
    tasks: usize,
    count: usize,
    data: &mut [T],
    len: usize,
    f: &(dyn Fn(Range<usize>, &mut [T]) + Sync),
) {
    split(par, tasks, count, data, len, &mut [] as &mut [u8], 0, &|range, data, _| f(range, data));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    struct Backwards;

    impl Parallel for Backwards {
        fn threads(&self) -> usize {
            3
        }
        fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
            (0..n).rev().for_each(f);
        }
    }

    #[test]
    fn every_chunk_is_handed_out_once() {
        for tasks_wanted in [1, 2, 3, 7] {
            let (mut data, mut room) = ([0u8; 10], [0u8; 14]);
            split(&Backwards, tasks_wanted, 5, &mut data, 2, &mut room, 2, &|range, data, room| {
                assert_eq!(data.len(), range.len() * 2);
                data.iter_mut().for_each(|x| *x += 1);
                room.iter_mut().for_each(|x| *x += 1);
            });
            assert_eq!(data, [1; 10]);
        }
    }

    #[test]
    fn little_work_is_one_task() {
        assert_eq!(tasks(&Backwards, 10, 100), 1);
        assert_eq!(tasks(&Backwards, usize::MAX, 100), 6);
        assert_eq!(tasks(&Backwards, usize::MAX, 2), 2);
        assert_eq!(tasks(&Serial, usize::MAX, 100), 1);
    }
}
