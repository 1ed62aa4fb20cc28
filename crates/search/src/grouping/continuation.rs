//! Continuations: which page of each list of a result somebody sees
//! (Vespa, `container-search/src/main/java/com/yahoo/search/grouping/vespa/OffsetContinuation.java` and `IntegerEncoder.java`).

use std::collections::{HashMap, HashSet};

/// The place of a list or group in a result: the number of the grouping, 0 for its root, and numbers of lists and groups in turn.
pub(super) type Place = Vec<u32>;

/// The longest text of continuations that is read.
const MAX_TEXT: usize = 1 << 16;

/// Where the pages of lists begin.
#[derive(Debug, Clone, Default)]
pub(super) struct Offsets {
    /// By the number of the list in the grouping: the greatest of all its places.
    by_tag: HashMap<u32, u32>,
    by_place: HashMap<Place, u32>,
    /// The lists that somebody has turned pages of: what is inside of them begins anew.
    turned: HashSet<Place>,
}

/// A page of one list.
pub(super) struct Page<'p> {
    pub(super) place: &'p [u32],
    pub(super) tag: u32,
    pub(super) offset: u32,
    /// Whether it is another than the one that is seen.
    pub(super) is_other: bool,
}

impl Offsets {
    /// Those of continuations for the grouping of a number; later ones take the place of earlier ones.
    ///
    /// # Errors
    /// A text that is no continuation.
    pub(super) fn read(texts: &[String], grouping: u32) -> Result<Offsets, String> {
        let mut offsets = Offsets::default();
        for text in texts {
            let wrong = || format!("'{text:.60}' is no continuation");
            if text.len() > MAX_TEXT {
                return Err(wrong());
            }
            let mut numbers = Numbers { bytes: text.as_bytes() };
            while !numbers.bytes.is_empty() {
                let (place, rest) = numbers.page().ok_or_else(wrong)?;
                if place.first() != Some(&grouping) {
                    continue;
                }
                let [tag, offset, flags] = rest;
                if flags & 1 != 0 {
                    offsets.turned.insert(place.clone());
                } else {
                    offsets.turned.remove(&place);
                }
                let known = offsets.by_tag.entry(tag).or_default();
                *known = (*known).max(offset);
                offsets.by_place.insert(place, offset);
            }
        }
        Ok(offsets)
    }

    /// Where the page that is seen of any list of a number begins at most.
    pub(super) fn of_tag(&self, tag: u32) -> u32 {
        self.by_tag.get(&tag).copied().unwrap_or(0)
    }

    /// Where the page of a list begins.
    pub(super) fn of_place(&self, place: &[u32]) -> u32 {
        self.by_place.get(place).copied().unwrap_or(0)
    }

    /// Whether nobody has turned a page of a list.
    pub(super) fn is_stable(&self, place: &[u32]) -> bool {
        !self.turned.contains(place)
    }
}

/// Numbers that are read from a text.
struct Numbers<'t> {
    bytes: &'t [u8],
}

impl Numbers<'_> {
    /// How many digits of four bits follow, and these; the lowest bit is the sign.
    fn next(&mut self) -> Option<u32> {
        let digit = |byte: u8| byte.checked_sub(b'A').filter(|digit| *digit < 16).map(u32::from);
        let (count, rest) = self.bytes.split_first()?;
        let (digits, rest) = rest.split_at_checked(digit(*count)? as usize)?;
        self.bytes = rest;
        let mut number: u32 = 0;
        for byte in digits {
            number = number.checked_mul(16)? | digit(*byte)?;
        }
        // Nothing here is less than 0.
        (number & 1 == 0).then_some(number >> 1)
    }

    /// A place with its length before it, and the three numbers behind it.
    fn page(&mut self) -> Option<(Place, [u32; 3])> {
        let length = self.next()?;
        let place = (0..length).map(|_| self.next()).collect::<Option<Place>>()?;
        Some((place, [self.next()?, self.next()?, self.next()?]))
    }
}

impl Page<'_> {
    /// The page as a text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        let length = self.place.len() as u32;
        let flags = u32::from(self.is_other);
        let numbers = std::iter::once(&length).chain(self.place);
        numbers.chain(&[self.tag, self.offset, flags]).for_each(|n| write(*n, &mut text));
        text
    }
}

fn write(number: u32, text: &mut String) {
    let number = u64::from(number) << 1;
    let count = (64 - number.leading_zeros()).div_ceil(4);
    let digit = |value: u64| char::from(b'A' + (value & 15) as u8);
    text.push(digit(u64::from(count)));
    (0..count).rev().for_each(|at| text.push(digit(number >> (4 * at))));
}

#[cfg(test)]
mod tests {
    use super::{Offsets, Page};

    #[test]
    fn pages_are_vespas_texts() {
        for (place, tag, offset, is_other, expected) in [
            (&[0_u32, 0, 0][..], 2, 1, false, "BGAAABEBCA"),
            (&[0, 0, 0], 2, 10, true, "BGAAABECBEBC"),
            (&[1, 0, 300], 7, 0, false, "BGBCADCFIBOAA"),
        ] {
            let text = Page { place, tag, offset, is_other }.text();
            assert_eq!(text, expected);
            let offsets = Offsets::read(&[text], place[0]).unwrap();
            assert_eq!((offsets.of_tag(tag), offsets.of_place(place)), (offset, offset));
            assert_eq!(offsets.is_stable(place), !is_other);
        }
    }

    #[test]
    fn the_last_one_of_a_list_holds() {
        let page = |offset, is_other| Page { place: &[0, 0, 0], tag: 2, offset, is_other }.text();
        let both = page(20, true) + &page(10, false);
        let offsets = Offsets::read(&[both], 0).unwrap();
        assert_eq!((offsets.of_place(&[0, 0, 0]), offsets.of_tag(2)), (10, 20));
        assert!(offsets.is_stable(&[0, 0, 0]));
        assert_eq!(Offsets::read(&[page(5, false)], 1).unwrap().of_tag(2), 0);
    }

    #[test]
    fn what_is_no_continuation() {
        for text in ["x", "B", "BG", "BGAAABEB", "PAAAAAAAAAAAAAAA", "BBA", &"P".repeat(100)] {
            assert!(Offsets::read(&[text.to_owned()], 0).is_err(), "{text}");
        }
    }
}
