//! The different parts of a tensor along an axis.

use super::Dims;
use core::cmp::Ordering;

/// Where [`unique`] writes, each with an entry for every part of the axis.
#[derive(Debug)]
pub struct UniqueParts<'a> {
    /// Of each different part the first place where it stands.
    pub first: &'a mut [i64],
    /// For each place the number of its part among the different ones.
    pub inverse: &'a mut [i64],
    /// How often each different part stands there.
    pub counts: &'a mut [i64],
    /// Room to work in.
    pub order: &'a mut [i64],
}

/// Finds the different parts along the axis, in the order of `compare`, element by element, if they are to be `sorted`, else in that
/// in which they come. Gives their number; entries behind it are 0.
///
/// # Panics
/// When lengths do not fit.
pub fn unique<T>(
    (outer, axis, inner): Dims,
    x: &[T],
    sorted: bool,
    compare: impl Fn(&T, &T) -> Ordering,
    parts: UniqueParts<'_>,
) -> usize {
    let UniqueParts { first, inverse, counts, order } = parts;
    assert_eq!(x.len(), outer * axis * inner, "length of the source");
    for (what, len) in [
        ("first", first.len()),
        ("inverse", inverse.len()),
        ("counts", counts.len()),
        ("order", order.len()),
    ] {
        assert_eq!(len, axis, "length of {what}");
    }
    let element = |o: usize, part: i64, i: usize| &x[(o * axis + part as usize) * inner + i];
    let of = |a: i64, b: i64| {
        let mut all = (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i)));
        all.find_map(|(o, i)| match compare(element(o, a, i), element(o, b, i)) {
            Ordering::Equal => None,
            other => Some(other),
        })
        .unwrap_or(Ordering::Equal)
    };
    order.iter_mut().zip(0i64..).for_each(|(slot, i)| *slot = i);
    order.sort_unstable_by(|&a, &b| of(a, b).then(a.cmp(&b)));
    first.fill(0);
    counts.fill(0);
    let mut found = 0;
    for at in 0..axis {
        let part = order[at];
        if at == 0 || of(order[at - 1], part) != Ordering::Equal {
            first[found] = part;
            found += 1;
        }
        inverse[part as usize] = found as i64 - 1;
        counts[found - 1] += 1;
    }
    if !sorted {
        // The order is no longer needed: now it has the new number of each.
        order.fill(-1);
        counts.fill(0);
        let mut next = 0;
        for (place, number) in inverse.iter_mut().enumerate() {
            let new = &mut order[*number as usize];
            if *new < 0 {
                *new = next as i64;
                first[next] = place as i64;
                next += 1;
            }
            *number = *new;
            counts[*new as usize] += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_their_places() {
        // Dimensions, elements, whether sorted; the first places, the numbers and the counts.
        type Case<'a> = (&'a str, Dims, &'a [i32], bool, &'a [i64], &'a [i64], &'a [i64]);
        let cases: [Case<'_>; 5] = [
            (
                "sorted",
                (1, 6, 1),
                &[2, 1, 1, 3, 4, 3],
                true,
                &[1, 0, 3, 4],
                &[1, 0, 0, 2, 3, 2],
                &[2, 1, 2, 1],
            ),
            (
                "as they come",
                (1, 6, 1),
                &[2, 1, 1, 3, 4, 3],
                false,
                &[0, 1, 3, 4],
                &[0, 1, 1, 2, 3, 2],
                &[1, 2, 2, 1],
            ),
            ("rows", (1, 3, 2), &[5, 0, 1, 9, 5, 0], true, &[1, 0], &[1, 0, 1], &[1, 2]),
            ("columns", (2, 3, 1), &[1, 1, 0, 2, 2, 0], true, &[2, 0], &[1, 1, 0], &[1, 2]),
            ("nothing", (1, 0, 4), &[], true, &[], &[], &[]),
        ];
        for (label, dims, x, sorted, want_first, want_inverse, want_counts) in cases {
            let mut room = [[7i64; 6]; 4];
            let [first, inverse, counts, order] = room.each_mut().map(|r| &mut r[..dims.1]);
            let parts = UniqueParts { first, inverse, counts, order };
            let found = unique(dims, x, sorted, i32::cmp, parts);
            assert_eq!(found, want_first.len(), "{label}");
            assert_eq!(&room[0][..found], want_first, "{label}");
            assert_eq!(&room[1][..dims.1], want_inverse, "{label}");
            assert_eq!(&room[2][..found], want_counts, "{label}");
        }
    }
}
