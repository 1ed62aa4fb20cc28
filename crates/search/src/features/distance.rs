//! How far terms of a query stand from each other (Vespa,
//! `searchlib/src/vespa/searchlib/features/termdistancecalculator.cpp`).

use std::cmp::Ordering;

use stead_text::Occurrence;

/// The least distance from a place of one term, which is `words` long, to one of another behind it in the same element, and the position of the
/// first; nothing where there are none such.
pub(super) fn distance(
    first: &[Occurrence],
    second: &[Occurrence],
    words: u32,
) -> Option<(u32, u32)> {
    let more = words.saturating_sub(1);
    let mut best: Option<(u32, u32)> = None;
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        match one.element.cmp(&other.element).then(one.position.cmp(&other.position)) {
            Ordering::Less if one.element < other.element => drop(a.next()),
            Ordering::Less => {
                let between = (other.position - one.position).saturating_sub(more);
                if best.is_none_or(|(least, _)| between < least) {
                    best = Some((between, one.position));
                }
                a.next();
            }
            _ => drop(b.next()),
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use stead_text::Occurrence;

    use super::distance;

    #[test]
    fn the_nearest_pair_counts() {
        let places = |list: &[(u32, u32)]| {
            let place = |(element, position): &(u32, u32)| Occurrence {
                element: *element,
                position: *position,
            };
            list.iter().map(place).collect::<Vec<_>>()
        };
        for (first, second, words, expected) in [
            (&[(0, 1)][..], &[(0, 4)][..], 1, Some((3, 1))),
            (&[(0, 4)], &[(0, 1)], 1, None),
            (&[(0, 0), (0, 7)], &[(0, 5), (0, 9)], 1, Some((2, 7))),
            (&[(0, 0)], &[(1, 1)], 1, None),
            (&[(0, 3), (1, 2)], &[(0, 1), (1, 3)], 1, Some((1, 2))),
            // A phrase of three words ends two words behind its begin.
            (&[(0, 1)], &[(0, 4)], 3, Some((1, 1))),
            (&[], &[(0, 4)], 1, None),
        ] {
            assert_eq!(distance(&places(first), &places(second), words), expected, "{first:?}");
        }
    }
}
