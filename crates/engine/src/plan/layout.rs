//! Where the buffers of a segment lie: those whose content matters at the same time lie apart.

use super::branches::Chain;
use super::place::{Lifetime, place};

/// Where a buffer lies in the arena; no bytes for one that no step touches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Room {
    pub offset: usize,
    pub bytes: usize,
}

/// When a buffer is touched.
#[derive(Clone, Copy)]
struct Use {
    first: Moment,
    last: Moment,
    /// Whether it is only touched inside of one branch.
    is_private: bool,
}

/// When a step runs: steps of branches of one part run at the same time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Moment {
    time: usize,
    /// The branch, counted over all parts, and the place in it.
    branch: Option<usize>,
    at: usize,
}

/// A room for each buffer of so many `bytes`, and the size of the arena; `None` when it overflows. `touched` are the buffers of
/// each step, `parts` the order of the steps, and `live` the buffers that are read after all of them.
///
/// What only one branch touches lies in memory of its own for each branch, in which the branch uses places again; all else
/// that a part with branches touches is kept for as long as the whole part.
pub(crate) fn lay_out(
    bytes: &[usize],
    touched: &[Vec<usize>],
    parts: &[Vec<Chain>],
    live: &[usize],
) -> Option<(Vec<Room>, usize)> {
    let (moments, branches, end) = moments(touched.len(), parts);
    let mut uses: Vec<Option<Use>> = vec![None; bytes.len()];
    for &step in parts.iter().flatten().flatten() {
        let now = moments[step];
        for &buffer in &touched[step] {
            let used = uses[buffer].get_or_insert(Use {
                first: now,
                last: now,
                is_private: now.branch.is_some(),
            });
            used.is_private &= used.first.branch == now.branch;
            used.last = now;
        }
    }
    for &buffer in live {
        if let Some(used) = &mut uses[buffer] {
            used.is_private = false;
            used.last.time = end;
        }
    }
    let mut rooms = vec![Room::default(); bytes.len()];
    let mut private: Vec<Vec<usize>> = vec![Vec::new(); branches.len()];
    let mut shared = Vec::new();
    for (buffer, used) in uses.iter().enumerate() {
        let Some(used) = used else { continue };
        rooms[buffer].bytes = bytes[buffer];
        match used.first.branch {
            Some(branch) if used.is_private => private[branch].push(buffer),
            _ => shared.push(buffer),
        }
    }
    let life = |buffer: usize, time: fn(Moment) -> usize| {
        let (first, last) = uses[buffer].map_or((0, 0), |u| (time(u.first), time(u.last)));
        Lifetime { bytes: bytes[buffer], first, last }
    };
    let mut lifetimes: Vec<Lifetime> =
        shared.iter().map(|&buffer| life(buffer, |moment| moment.time)).collect();
    let mut inside = Vec::with_capacity(branches.len());
    for (buffers, &time) in private.iter().zip(&branches) {
        let own: Vec<_> = buffers.iter().map(|&buffer| life(buffer, |moment| moment.at)).collect();
        let (offsets, bytes) = place(&own)?;
        inside.push(offsets);
        lifetimes.push(Lifetime { bytes, first: time, last: time });
    }
    let (offsets, arena) = place(&lifetimes)?;
    for (&buffer, &offset) in shared.iter().zip(&offsets) {
        rooms[buffer].offset = offset;
    }
    for ((buffers, inside), start) in private.iter().zip(&inside).zip(&offsets[shared.len()..]) {
        for (&buffer, offset) in buffers.iter().zip(inside) {
            rooms[buffer].offset = start + offset;
        }
    }
    Some((rooms, arena))
}

/// When each step runs, the time of each branch, and the time after all.
fn moments(steps: usize, parts: &[Vec<Chain>]) -> (Vec<Moment>, Vec<usize>, usize) {
    let mut moments = vec![Moment::default(); steps];
    let (mut branches, mut time) = (Vec::new(), 0);
    for part in parts {
        if let [chain] = part.as_slice() {
            for &step in chain {
                moments[step] = Moment { time, branch: None, at: 0 };
                time += 1;
            }
            continue;
        }
        for chain in part {
            for (at, &step) in chain.iter().enumerate() {
                moments[step] = Moment { time, branch: Some(branches.len()), at };
            }
            branches.push(time);
        }
        time += 1;
    }
    (moments, branches, time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_uses_places_again() {
        let bytes = [64, 64, 64, 128];
        let touched = [vec![0], vec![0, 1], vec![1, 2]];
        let (rooms, arena) = lay_out(&bytes, &touched, &[vec![vec![0, 1, 2]]], &[2]).unwrap();
        assert_eq!(arena, 128);
        assert_eq!(rooms[0].offset, rooms[2].offset);
        assert_eq!(rooms[3], Room::default(), "touched by nobody");
    }

    #[test]
    fn branches_lie_apart_and_use_their_own_places_again() {
        // Two branches of three steps, each with a result that a last step reads.
        let bytes = [64; 7];
        let touched =
            [vec![0], vec![0, 1], vec![1, 2], vec![3], vec![3, 4], vec![4, 5], vec![2, 5, 6]];
        let parts = [vec![vec![0, 1, 2], vec![3, 4, 5]], vec![vec![6]]];
        let (rooms, arena) = lay_out(&bytes, &touched, &parts, &[6]).unwrap();
        let apart = |a: usize, b: usize| rooms[a].offset != rooms[b].offset;
        for a in [0, 1, 2] {
            assert!([3, 4, 5].into_iter().all(|b| apart(a, b)), "{rooms:?}");
        }
        assert!(apart(0, 1) && apart(1, 2) && apart(3, 4) && apart(4, 5) && apart(2, 5));
        // Two for each branch, and the results; the last buffer lies where a branch worked.
        assert_eq!(arena, 6 * 64);
        assert!(apart(6, 2) && apart(6, 5));
    }

    #[test]
    fn one_order_of_branches_is_laid_out_as_well() {
        let (rooms, arena) =
            lay_out(&[64, 64], &[vec![0], vec![1]], &[vec![vec![1], vec![0]]], &[0, 1]).unwrap();
        assert_eq!(arena, 128);
        assert_ne!(rooms[0].offset, rooms[1].offset);
        assert_eq!(lay_out(&[usize::MAX, 64], &[vec![0, 1]], &[vec![vec![0]]], &[]), None);
    }
}
