//! Places buffers in an arena by lifetime.

use std::cmp::Reverse;

use stead_tensor::ALIGNMENT;

use super::free::Free;

/// A buffer and the steps between which its content matters, both ends included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lifetime {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

/// The most buffers that are placed by size at once, which compares each with all before: two million comparisons.
const FEW: usize = 2048;

/// The most that are placed by size where the way through time has wasted memory: a tenth of a second.
const SOME: usize = 8 * FEW;

/// Offsets for the buffers and the size of the arena, or `None` when the size overflows.
///
/// Few buffers are placed [by size](by_size). A plan of an unrolled loop has tens of thousands, which would take time by the square of
/// their number: they are placed [through time](through_time), and by size only where that leaves more than an eighth of the arena unused
/// at its fullest step. Of many buffers it seldom leaves a thirtieth.
pub(crate) fn place(buffers: &[Lifetime]) -> Option<(Vec<usize>, usize)> {
    if buffers.len() <= FEW {
        return by_size(buffers);
    }
    let best = through_time(buffers)?;
    if best.1 - best.1 / 8 > fullest(buffers)? && buffers.len() <= SOME {
        let other = by_size(buffers)?;
        return Some(if other.1 < best.1 { other } else { best });
    }
    Some(best)
}

/// The largest buffer first, each at the lowest offset where it overlaps no placed buffer that lives at the same time.
///
/// This is the strategy that does best in the literature on static tensor arenas (Pisarchyk and Lee, "Efficient Memory Management for
/// Deep Neural Net Inference", 2020).
fn by_size(buffers: &[Lifetime]) -> Option<(Vec<usize>, usize)> {
    let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].bytes > 0).collect();
    order.sort_by_key(|&i| Reverse(buffers[i].bytes));
    let mut offsets = vec![0usize; buffers.len()];
    // Placed buffers sorted by offset, so that the first gap is found in one sweep.
    let mut placed: Vec<usize> = Vec::with_capacity(order.len());
    let mut total = 0usize;
    for i in order {
        let wanted = &buffers[i];
        let mut offset = 0usize;
        for &j in &placed {
            let other = &buffers[j];
            if other.last < wanted.first || wanted.last < other.first {
                continue;
            }
            if offset.checked_add(wanted.bytes)? <= offsets[j] {
                break;
            }
            offset = offset.max(offsets[j].checked_add(aligned(other.bytes)?)?);
        }
        offsets[i] = offset;
        total = total.max(offset.checked_add(aligned(wanted.bytes)?)?);
        let at = placed.partition_point(|&j| offsets[j] <= offset);
        placed.insert(at, i);
    }
    Some((offsets, total))
}

/// As an allocator would that is asked for each buffer when it begins: the smallest hole that is large enough, of those that begin
/// together the longest life first. Time runs forwards and backwards, and the smaller arena is taken. `n log n` for `n` buffers.
fn through_time(buffers: &[Lifetime]) -> Option<(Vec<usize>, usize)> {
    let end = buffers.iter().map(|b| b.last).max().unwrap_or(0);
    let forwards = allocate(buffers, |b| (b.first, b.last))?;
    let backwards = allocate(buffers, |b| (end - b.last, end - b.first))?;
    Some(if backwards.1 < forwards.1 { backwards } else { forwards })
}

fn allocate(
    buffers: &[Lifetime],
    life: impl Fn(&Lifetime) -> (usize, usize),
) -> Option<(Vec<usize>, usize)> {
    let life = |i: usize| life(&buffers[i]);
    let mut begins: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].bytes > 0).collect();
    let mut ends = begins.clone();
    ends.sort_by_key(|&i| life(i).1);
    begins.sort_by_key(|&i| (life(i).0, Reverse(life(i).1), Reverse(buffers[i].bytes)));
    let mut ends = ends.into_iter().peekable();
    let mut offsets = vec![0usize; buffers.len()];
    let mut free = Free::default();
    for i in begins {
        while let Some(j) = ends.next_if(|&j| life(j).1 < life(i).0) {
            free.give(offsets[j], aligned(buffers[j].bytes)?);
        }
        offsets[i] = free.take(aligned(buffers[i].bytes)?)?;
    }
    Some((offsets, free.total()))
}

/// Bytes of all buffers that live together, where these are most: no arena is smaller.
fn fullest(buffers: &[Lifetime]) -> Option<usize> {
    let mut borders = Vec::with_capacity(2 * buffers.len());
    for buffer in buffers {
        let bytes = aligned(buffer.bytes)?;
        borders.extend([(buffer.first, true, bytes), (buffer.last.checked_add(1)?, false, bytes)]);
    }
    // At the same step ends come before beginnings.
    borders.sort_unstable();
    let (mut now, mut most) = (0usize, 0usize);
    for (_, begins, bytes) in borders {
        now = if begins { now.checked_add(bytes)? } else { now - bytes };
        most = most.max(now);
    }
    Some(most)
}

/// Buffers begin at multiples of the alignment, so the rest of a last one is of no use.
fn aligned(bytes: usize) -> Option<usize> {
    bytes.checked_next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Placed = Option<(Vec<usize>, usize)>;

    /// No two buffers that live together overlap, all begin aligned and end within the arena.
    fn check_apart(label: &str, buffers: &[Lifetime], placed: &Placed) {
        let (offsets, total) = placed.as_ref().unwrap();
        let mut order: Vec<usize> = (0..buffers.len()).filter(|&i| buffers[i].bytes > 0).collect();
        order.sort_by_key(|&i| offsets[i]);
        for (at, &i) in order.iter().enumerate() {
            let (a, end) = (&buffers[i], offsets[i] + buffers[i].bytes);
            assert_eq!(offsets[i] % ALIGNMENT, 0, "{label}");
            assert!(end <= *total, "{label}: {i} ends at {end} of {total}");
            for &j in order[at + 1..].iter().take_while(|&&j| offsets[j] < end) {
                let b = &buffers[j];
                assert!(a.last < b.first || b.last < a.first, "{label}: {i} {a:?} and {j} {b:?}");
            }
        }
    }

    #[test]
    fn buffers_that_live_together_never_overlap() {
        let cases: [(&str, &[(usize, usize, usize)], usize); 5] = [
            ("chain reuses two places", &[(64, 0, 1), (64, 1, 2), (64, 2, 3), (64, 3, 4)], 128),
            ("all alive", &[(64, 0, 9), (128, 0, 9), (1, 0, 9)], 256),
            ("a gap is filled", &[(256, 0, 9), (64, 0, 2), (64, 3, 9), (64, 0, 9)], 384),
            ("empty", &[(0, 0, 3), (64, 0, 1)], 64),
            ("nothing", &[], 0),
        ];
        for (label, lives, total) in cases {
            let life = |&(bytes, first, last)| Lifetime { bytes, first, last };
            let buffers: Vec<_> = lives.iter().map(life).collect();
            for placed in [by_size(&buffers), through_time(&buffers), place(&buffers)] {
                check_apart(label, &buffers, &placed);
                assert_eq!(placed.unwrap().1, total, "{label}");
            }
        }
    }

    #[test]
    fn a_size_that_overflows_is_none() {
        let huge = |bytes| vec![Lifetime { bytes, first: 0, last: 1 }; 3];
        for bytes in [usize::MAX, usize::MAX - 63, usize::MAX / 2] {
            let buffers = huge(bytes);
            for placed in [by_size(&buffers), through_time(&buffers), place(&buffers)] {
                assert_eq!(placed, None, "{bytes}");
            }
        }
    }

    /// Numbers below a bound, the same for a seed.
    fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        }
    }

    #[test]
    fn both_ways_keep_random_buffers_apart() {
        for seed in 0..200u64 {
            let mut number = numbers(seed);
            let (count, span) = (1 + number(300), 1 + number(200));
            let longest = 1 + number(if seed % 2 == 0 { 4 } else { span });
            let largest = 1 + number(if seed % 3 == 0 { 5 } else { 100_000 });
            let life = |_| {
                let first = number(span);
                Lifetime { bytes: number(largest) * 40, first, last: first + number(longest) }
            };
            let buffers: Vec<Lifetime> = (0..count).map(life).collect();
            let least = fullest(&buffers).unwrap();
            for (way, placed) in [("size", by_size(&buffers)), ("time", through_time(&buffers))] {
                let label = format!("seed {seed} by {way}");
                check_apart(&label, &buffers, &placed);
                assert!(placed.unwrap().1 >= least, "{label}");
            }
        }
    }

    /// What plans of unrolled loops are made of: in each of `count` iterations one buffer of the family.
    fn families(count: usize, seed: u64) -> Vec<(&'static str, Vec<Lifetime>)> {
        let mut number = numbers(seed);
        let mut family = |name, life: &dyn Fn(usize, usize, usize) -> (usize, usize, usize)| {
            let mut one = |i| {
                let (bytes, first, last) = life(i, number(count), number(count));
                Lifetime { bytes, first, last }
            };
            (name, (0..count).map(&mut one).collect())
        };
        let ordered = |a: usize, b: usize| (a.min(b), a.max(b));
        vec![
            family("rows until the end", &|i, _, _| (64, i, count)),
            family("rows to both ends", &|i, _, _| {
                if i % 2 == 0 { (64, i, count) } else { (64, 0, i) }
            }),
            family("any lives", &|_, a, b| (64, ordered(a, b).0, ordered(a, b).1)),
            family("any lives and sizes", &|i, a, b| {
                (1 + i * 7919 % 100_000, ordered(a, b).0, ordered(a, b).1)
            }),
            family("temporaries and rows", &|i, a, _| {
                (64 * (1 + i % 5), i, if i % 5 == 0 { count } else { i + a % 4 })
            }),
            family("windows", &|i, a, _| (64 * (1 + i % 5), i, i + a % (count / 10))),
        ]
    }

    #[test]
    fn many_buffers_take_little_more_than_by_size() {
        for (label, buffers) in families(FEW + 1000, 3) {
            let placed = place(&buffers);
            check_apart(label, &buffers, &placed);
            let (total, by_size) = (placed.unwrap().1, by_size(&buffers).unwrap().1);
            assert!(total <= by_size + by_size / 32, "{label}: {total} for {by_size}");
        }
    }

    #[test]
    fn a_hundred_thousand_buffers_nearly_fill_the_arena() {
        // By size this would be five thousand million comparisons.
        for (label, buffers) in families(100_000, 5) {
            let (least, total) = (fullest(&buffers).unwrap(), place(&buffers).unwrap().1);
            assert!(total <= least + least / 32, "{label}: {total} for {least}");
        }
    }

    #[test]
    fn holes_that_are_left_over_are_placed_by_size() {
        // Small ones that stay lie between large ones that leave, and what comes then is larger than each hole.
        let mut buffers = Vec::new();
        for at in 0..FEW {
            buffers.push(Lifetime { bytes: 64, first: 2 * at, last: 10 * FEW });
            buffers.push(Lifetime { bytes: 640, first: 2 * at + 1, last: 5 * FEW });
        }
        buffers.extend(vec![Lifetime { bytes: 6400, first: 6 * FEW, last: 9 * FEW }; 200]);
        let placed = place(&buffers);
        check_apart("holes", &buffers, &placed);
        assert!(placed.unwrap().1 <= by_size(&buffers).unwrap().1);
    }
}
