//! Work cut into pieces that become smaller towards the end.
//!
//! Threads that take equal pieces wait at the end for who took the last: half a piece on the average, and longer than a
//! thread looks before it sleeps. Small pieces from the beginning on would lose what neighbours share: weights that are
//! asked for ahead, rows of an image in the nearest cache. So each thread takes a part of what is left, down to the
//! smallest piece worth taking (guided self-scheduling, Polychronopoulos and Kuck 1987).

use crate::Parallel;
use crate::chunks::WORK_PER_TASK;
use core::ops::Range;

/// The part of what is left that all threads together take: half.
const SHARE: usize = 2;

/// Units cut into pieces, the larger ones first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Guided {
    units: usize,
    /// Units of the smallest piece, but for the last.
    least: usize,
    threads: usize,
}

impl Guided {
    /// Cuts `units` units that are `work` multiply-adds together. On one thread they are one piece.
    pub fn new(par: &dyn Parallel, units: usize, work: usize) -> Guided {
        let threads = par.threads().max(1);
        let of_unit = (work / units.max(1)).max(1);
        let least = match threads {
            1 => units,
            _ => WORK_PER_TASK.div_ceil(of_unit),
        };
        Guided { units, least: least.clamp(1, units.max(1)), threads }
    }

    /// The number of pieces; 0 without units.
    pub fn pieces(&self) -> usize {
        let (mut pieces, mut left) = (0, self.units);
        while left > 0 {
            let (piece, count) = self.round(left);
            pieces += count;
            left = left.saturating_sub(piece * count);
        }
        pieces
    }

    /// The units of piece `i`, which begin where those of the piece before end.
    pub fn piece(&self, mut i: usize) -> Range<usize> {
        let mut left = self.units;
        while left > 0 {
            let (piece, count) = self.round(left);
            if i < count {
                let start = self.units - left + i * piece;
                return start..(start + piece).min(self.units);
            }
            i -= count;
            left = left.saturating_sub(piece * count);
        }
        self.units..self.units
    }

    /// The size of the next pieces, one for each thread, and how many of them there are.
    fn round(&self, left: usize) -> (usize, usize) {
        let piece = (left / (SHARE * self.threads)).max(self.least);
        (piece, left.div_ceil(piece).min(self.threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Serial;

    struct Threads(usize);

    impl Parallel for Threads {
        fn threads(&self) -> usize {
            self.0
        }
        fn for_each(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
            (0..n).for_each(f);
        }
    }

    #[test]
    fn pieces_follow_each_other_and_become_smaller() {
        for threads in [1, 2, 3, 16] {
            for units in [0, 1, 2, 7, 24, 1000] {
                for work in [0, units, units << 12, units << 17, usize::MAX] {
                    let g = Guided::new(&Threads(threads), units, work);
                    let (mut end, mut size) = (0, usize::MAX);
                    for i in 0..g.pieces() {
                        let piece = g.piece(i);
                        assert_eq!(piece.start, end, "{g:?} {i}");
                        assert!(!piece.is_empty() && piece.len() <= size, "{g:?} {i}");
                        (end, size) = (piece.end, piece.len());
                    }
                    assert_eq!(end, units, "{g:?}");
                    assert!(g.piece(g.pieces()).is_empty());
                }
            }
        }
    }

    #[test]
    fn pieces_are_worth_a_thread() {
        let sizes = |g: Guided| {
            let mut sizes = [0; 12];
            (0..g.pieces()).for_each(|i| sizes[i] = g.piece(i).len());
            (g.pieces(), sizes)
        };
        let two = |units, work| sizes(Guided::new(&Threads(2), units, work));
        assert_eq!(two(24, 24 * WORK_PER_TASK), (10, [6, 6, 3, 3, 1, 1, 1, 1, 1, 1, 0, 0]));
        assert_eq!(two(24, 6 * WORK_PER_TASK), (5, [6, 6, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(two(24, WORK_PER_TASK), (1, [24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(sizes(Guided::new(&Serial, 24, usize::MAX)).0, 1);
    }
}
