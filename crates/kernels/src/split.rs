//! Splits element-wise work among threads.

use crate::par::Output;
use crate::{Parallel, chunks};
use core::ops::Range;

/// Elements below which handing work to another thread costs more than it saves: a simple function takes
/// about as long for so many as waking a thread does.
const GRAIN: usize = 32 * 1024;

/// Calls `f(start, part)` for parts of `out` that together are the whole, on several threads when it is
/// long. `start` is the position of the part's first element.
pub fn split<T: Send>(
    parallel: &dyn Parallel,
    out: &mut [T],
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    split_units(parallel, out, 1, GRAIN, f);
}

/// As [`split`], never between the elements of a `unit`, with at least about `grain` elements in a part.
///
/// # Panics
/// When the length is not a multiple of `unit`.
pub fn split_units<T: Send>(
    parallel: &dyn Parallel,
    out: &mut [T],
    unit: usize,
    grain: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let (len, unit) = (out.len(), unit.max(1));
    assert_eq!(len % unit, 0, "a result that is not whole units");
    let count = parallel.threads().min(len / grain.max(1)).max(1);
    if count == 1 {
        return f(0, out);
    }
    let size = (len / unit).div_ceil(count) * unit;
    let parts = Output::new(out);
    parallel.for_each(len.div_ceil(size), &|i| {
        let start = i * size;
        let end = len.min(start + size);
        debug_assert!(start < end);
        // SAFETY: the ranges of different `i` do not overlap and lie inside `out`, which is borrowed for
        // the whole call.
        let part = unsafe { parts.part(start, end - start) };
        f(start, part);
    });
}

/// Calls `f(rows, part, room)` for `count` parts of `out`, which has rows of `cols` elements: as many rows in each as in the others or one more,
/// and a part of `scratch` of `room` elements.
///
/// # Panics
/// When `out` is not whole rows, or `scratch` shorter.
pub fn split_with_room<T: Send>(
    parallel: &dyn Parallel,
    count: usize,
    (out, cols): (&mut [T], usize),
    (scratch, room): (&mut [T], usize),
    f: &(dyn Fn(Range<usize>, &mut [T], &mut [T]) + Sync),
) {
    let rows = out.len() / cols.max(1);
    assert_eq!(out.len(), rows * cols, "a result that is not whole rows");
    chunks::split(parallel, count, rows, out, cols, scratch, room, f);
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    struct Four;
    impl Parallel for Four {
        fn threads(&self) -> usize {
            4
        }
        fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
            std::thread::scope(|scope| {
                for i in 0..n {
                    scope.spawn(move || f(i));
                }
            });
        }
    }

    #[test]
    fn parts_are_the_whole() {
        for (len, unit, grain) in [(0, 1, 1), (7, 7, 1), (12, 3, 1), (100, 1, 30), (99, 9, 10)] {
            let mut out = std::vec![usize::MAX; len];
            split_units(&Four, &mut out, unit, grain, &|start, part| {
                assert!(start % unit == 0 && part.len() % unit == 0);
                part.iter_mut().enumerate().for_each(|(i, v)| *v = start + i);
            });
            assert!(out.iter().enumerate().all(|(i, &v)| i == v), "{len} {unit} {grain}");
        }
    }
}
