//! How far terms of a query stand from each other (Vespa,
//! `searchlib/src/vespa/searchlib/features/termdistancecalculator.cpp`).

use stead_text::{Element, Occurrence};

/// How far the elements of a field are from each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Elements<'e> {
    /// `element-gap`; nothing if they have nothing to do with each other.
    pub(super) gap: Option<u32>,
    /// Those of the document that have words, in their order.
    pub(super) all: &'e [Element],
}

impl Elements<'_> {
    /// How many words lie between the begin of an element and that of the next.
    fn step(&self, number: u32) -> Option<u32> {
        let gap = self.gap?;
        let at = self.all.binary_search_by_key(&number, |element| element.number);
        Some(at.ok().and_then(|at| self.all.get(at)).map_or(0, |e| e.words).saturating_add(gap))
    }
}

/// The least distance from the last word of a place of one term, which is `words` long, to a place of another behind it, in the same element
/// or, where that is not too far by definition, in the next; and the position of the first. Nothing where there are none such.
pub(super) fn distance(
    first: &[Occurrence],
    second: &[Occurrence],
    words: u32,
    elements: Elements<'_>,
) -> Option<(u32, u32)> {
    let more = words.saturating_sub(1);
    let mut best: Option<(u32, u32)> = None;
    let (mut a, mut b) = (first.iter().peekable(), second.iter().peekable());
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        let end = one.position.saturating_add(more);
        if (other.element, other.position) <= (one.element, end) {
            b.next();
            continue;
        }
        let step = match other.element - one.element {
            0 => Some(0),
            1 => elements.step(one.element),
            _ => None,
        };
        // The nearest behind this place is found: what follows is nearer to a later one only.
        let between = step.map(|step| other.position.saturating_add(step).saturating_sub(end));
        if let Some(between) = between.filter(|b| best.is_none_or(|(least, _)| *b < least)) {
            best = Some((between, one.position));
        }
        a.next();
    }
    best
}

#[cfg(test)]
mod tests {
    use stead_text::{Element, Occurrence};

    use super::{Elements, distance};

    #[test]
    fn the_nearest_pair_counts() {
        let places = |list: &[(u32, u32)]| {
            let place = |(element, position): &(u32, u32)| Occurrence {
                element: *element,
                position: *position,
            };
            list.iter().map(place).collect::<Vec<_>>()
        };
        let all = [(0, 5), (1, 2), (4, 1)];
        let all = all.map(|(number, words)| Element { number, words, weight: 1 });
        for (first, second, words, gap, expected) in [
            (&[(0, 1)][..], &[(0, 4)][..], 1, None, Some((3, 1))),
            (&[(0, 4)], &[(0, 1)], 1, None, None),
            (&[(0, 0), (0, 7)], &[(0, 5), (0, 9)], 1, None, Some((2, 7))),
            (&[(0, 0)], &[(1, 1)], 1, None, None),
            (&[(0, 3), (1, 2)], &[(0, 1), (1, 3)], 1, None, Some((1, 2))),
            // A phrase of three words ends two words behind its begin.
            (&[(0, 1)], &[(0, 4)], 3, None, Some((1, 1))),
            (&[(0, 1)], &[(0, 3), (0, 9)], 3, None, Some((6, 1))),
            (&[], &[(0, 4)], 1, None, None),
            // Elements that have to do with each other.
            (&[(0, 3)], &[(1, 1)], 1, Some(0), Some((3, 3))),
            (&[(0, 3)], &[(1, 1)], 1, Some(2), Some((5, 3))),
            (&[(0, 3)], &[(1, 1)], 2, Some(2), Some((4, 3))),
            (&[(0, 0), (1, 0)], &[(1, 1)], 1, Some(0), Some((1, 0))),
            (&[(0, 3), (1, 1)], &[(1, 0), (2, 5)], 1, Some(0), Some((2, 3))),
            (&[(1, 0)], &[(4, 0)], 1, Some(0), None),
        ] {
            let elements = Elements { gap, all: &all };
            let found = distance(&places(first), &places(second), words, elements);
            assert_eq!(found, expected, "{first:?} {second:?} {gap:?}");
        }
    }
}
