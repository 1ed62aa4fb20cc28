//! Places buffers in an arena by lifetime.

use stead_tensor::ALIGNMENT;

/// A buffer and the steps between which its content matters, both ends included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetime {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

/// Offsets for the buffers and the size of the arena, or `None` when the size overflows.
///
/// Greedy by size: the largest buffer first, each at the lowest offset where it overlaps no placed buffer
/// that lives at the same time. This is the strategy that does best in the literature on static tensor
/// arenas (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020).
pub(crate) fn place(buffers: &[Lifetime]) -> Option<(Vec<usize>, usize)> {
    /// The part of the placed buffers above which a sweep over all is quicker than a choice that has to be sorted.
    const MANY: usize = 64;
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(buffers[i].bytes));
    let mut offsets = vec![0usize; buffers.len()];
    // Placed buffers sorted by offset, so that the first gap is found in one sweep.
    let mut placed: Vec<usize> = Vec::with_capacity(buffers.len());
    let mut times = Times::new(buffers.iter().map(|b| b.last).max().unwrap_or(0));
    let mut near = Vec::new();
    let mut total = 0usize;
    for i in order {
        let wanted = &buffers[i];
        if wanted.bytes == 0 {
            continue;
        }
        // A plan of an unrolled loop has thousands of buffers, of which few live at any one time.
        let few = times.meeting(wanted, placed.len() / MANY, &mut near);
        if few {
            near.sort_unstable_by_key(|&j| offsets[j]);
        }
        let mut offset = 0usize;
        for &j in if few { &near } else { &placed } {
            let other = &buffers[j];
            if other.last < wanted.first || wanted.last < other.first {
                continue;
            }
            if offset.checked_add(wanted.bytes)? <= offsets[j] {
                break;
            }
            let end = offsets[j].checked_add(other.bytes)?.checked_next_multiple_of(ALIGNMENT)?;
            offset = offset.max(end);
        }
        offsets[i] = offset;
        total = total.max(offset.checked_add(wanted.bytes)?);
        let at = placed.partition_point(|&j| offsets[j] <= offset);
        placed.insert(at, i);
        times.add(i, wanted);
    }
    Some((offsets, total.checked_next_multiple_of(ALIGNMENT)?))
}

/// Placed buffers by the times in which they live.
struct Times {
    /// A segment tree over time: a buffer is noted at the largest nodes that lie within its life, of which a way from a leaf
    /// to the root meets one at most.
    nodes: Vec<Vec<usize>>,
    leaves: usize,
    /// The buffers by the time at which they begin.
    begins: Vec<Vec<usize>>,
}

impl Times {
    /// Times up to `last`.
    fn new(last: usize) -> Times {
        let leaves = last.saturating_add(1).next_power_of_two();
        Times { nodes: vec![Vec::new(); 2 * leaves], leaves, begins: vec![Vec::new(); leaves] }
    }

    fn add(&mut self, index: usize, buffer: &Lifetime) {
        self.begins[buffer.first].push(index);
        let (mut low, mut high) = (buffer.first + self.leaves, buffer.last + self.leaves + 1);
        while low < high {
            if low % 2 == 1 {
                self.nodes[low].push(index);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.nodes[high].push(index);
            }
            (low, high) = (low / 2, high / 2);
        }
    }

    /// Puts the buffers that live at the same time as `wanted` into `found`, each once; false when there are more than `most`,
    /// or as many times to look at, and `found` is not complete.
    fn meeting(&self, wanted: &Lifetime, most: usize, found: &mut Vec<usize>) -> bool {
        found.clear();
        if wanted.last - wanted.first > most {
            return false;
        }
        // Those that live when it begins, and those that begin later while it lives.
        let mut node = wanted.first + self.leaves;
        while node > 0 {
            found.extend(&self.nodes[node]);
            if found.len() > most {
                return false;
            }
            node /= 2;
        }
        for begun in self.begins.get(wanted.first + 1..=wanted.last).unwrap_or_default() {
            found.extend(begun);
            if found.len() > most {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(label: &str, lifetimes: &[(usize, usize, usize)], expected_total: usize) {
        let buffers: Vec<_> =
            lifetimes.iter().map(|&(bytes, first, last)| Lifetime { bytes, first, last }).collect();
        let (offsets, total) = place(&buffers).unwrap();
        for (i, a) in buffers.iter().enumerate() {
            assert_eq!(offsets[i] % ALIGNMENT, 0, "{label}");
            for (j, b) in buffers.iter().enumerate().skip(i + 1) {
                let together = a.first <= b.last && b.first <= a.last;
                let overlap =
                    offsets[i] < offsets[j] + b.bytes && offsets[j] < offsets[i] + a.bytes;
                assert!(!(together && overlap && a.bytes > 0 && b.bytes > 0), "{label}: {i} {j}");
            }
        }
        assert_eq!(total, expected_total, "{label}");
    }

    #[test]
    fn buffers_that_live_together_never_overlap() {
        check("chain reuses two places", &[(64, 0, 1), (64, 1, 2), (64, 2, 3), (64, 3, 4)], 128);
        check("all alive", &[(64, 0, 9), (128, 0, 9), (1, 0, 9)], 256);
        check("a gap is filled", &[(256, 0, 9), (64, 0, 2), (64, 3, 9), (64, 0, 9)], 384);
        check("empty", &[(0, 0, 3), (64, 0, 1)], 64);
    }

    /// The strategy as it is written down, without an index.
    fn plain(buffers: &[Lifetime]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].bytes > 0).collect();
        order.sort_by_key(|&i| std::cmp::Reverse(buffers[i].bytes));
        let mut offsets = vec![0; buffers.len()];
        for (at, &i) in order.iter().enumerate() {
            let a = &buffers[i];
            let meets = |&&j: &&usize| a.first <= buffers[j].last && buffers[j].first <= a.last;
            let mut others: Vec<usize> = order[..at].iter().filter(meets).copied().collect();
            others.sort_by_key(|&j| offsets[j]);
            for j in others {
                if offsets[i] + a.bytes <= offsets[j] {
                    break;
                }
                let end = (offsets[j] + buffers[j].bytes).next_multiple_of(ALIGNMENT);
                offsets[i] = offsets[i].max(end);
            }
        }
        offsets
    }

    #[test]
    fn an_index_of_times_changes_no_place() {
        for seed in 0..200u64 {
            let mut state = seed;
            let mut number = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) as usize % below
            };
            let (count, span) = (1 + number(300), 1 + number(200));
            let longest = 1 + number(if seed % 2 == 0 { 4 } else { span });
            let buffers: Vec<Lifetime> = (0..count)
                .map(|_| {
                    let first = number(span);
                    Lifetime { bytes: number(5) * 40, first, last: first + number(longest) }
                })
                .collect();
            assert_eq!(place(&buffers).unwrap().0, plain(&buffers), "seed {seed}");
        }
    }
}
