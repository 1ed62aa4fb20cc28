//! Cuts outputs into disjoint parts for the threads of a [`Parallel`].

use crate::Parallel;
use crate::par::Output;
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
    let (data, scratch) = (Output::new(data), Output::new(scratch));
    par.for_each(tasks, &|task| {
        let chunks = task * count / tasks..(task + 1) * count / tasks;
        if chunks.is_empty() {
            return;
        }
        // SAFETY: the parts of different tasks are disjoint, and both slices are borrowed until all tasks
        // have ended.
        let (data, room) = unsafe {
            (data.part(chunks.start * len, chunks.len() * len), scratch.part(task * room, room))
        };
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
    use crate::par::Backwards;

    #[test]
    fn every_chunk_is_handed_out_once() {
        for tasks_wanted in [1, 2, 3, 7] {
            let (mut data, mut room) = ([0u8; 10], [0u8; 14]);
            split(
                &Backwards(3),
                tasks_wanted,
                5,
                &mut data,
                2,
                &mut room,
                2,
                &|range, data, room| {
                    assert_eq!(data.len(), range.len() * 2);
                    data.iter_mut().for_each(|x| *x += 1);
                    room.iter_mut().for_each(|x| *x += 1);
                },
            );
            assert_eq!(data, [1; 10]);
        }
    }

    #[test]
    fn little_work_is_one_task() {
        assert_eq!(tasks(&Backwards(3), 10, 100), 1);
        assert_eq!(tasks(&Backwards(3), usize::MAX, 100), 6);
        assert_eq!(tasks(&Backwards(3), usize::MAX, 2), 2);
        assert_eq!(tasks(&Serial, usize::MAX, 100), 1);
    }
}
