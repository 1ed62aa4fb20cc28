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
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(buffers[i].bytes));
    let mut offsets = vec![0usize; buffers.len()];
    // Placed buffers sorted by offset, so that the first gap is found in one sweep.
    let mut placed: Vec<usize> = Vec::with_capacity(buffers.len());
    let mut total = 0usize;
    for i in order {
        let wanted = &buffers[i];
        if wanted.bytes == 0 {
            continue;
        }
        let mut offset = 0usize;
        for &j in &placed {
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
    }
    Some((offsets, total.checked_next_multiple_of(ALIGNMENT)?))
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
}
