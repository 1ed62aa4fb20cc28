//! Pieces of bytes of any length behind each other.

use std::ops::Range;

use super::bytes::list;

/// Pieces behind each other, known by their places.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pieces {
    bytes: Vec<u8>,
    /// Where each piece ends.
    ends: Vec<u32>,
}

impl Pieces {
    /// Adds the bytes of all pieces: the end of each, `u32` little-endian, and the pieces behind each other.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(bytemuck::cast_slice(&self.ends));
        out.extend_from_slice(&self.bytes);
    }

    /// So many pieces from [their bytes](Pieces::write); nothing if they are none.
    pub(crate) fn read(count: usize, bytes: &[u8]) -> Option<Pieces> {
        let (ends, bytes) = bytes.split_at_checked(count.checked_mul(size_of::<u32>())?)?;
        let ends: Vec<u32> = list(ends);
        let is_whole = ends.last().map_or(0, |end| *end as usize) == bytes.len();
        (is_whole && ends.is_sorted()).then(|| Pieces { bytes: bytes.to_vec(), ends })
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether this many bytes more can be told apart.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len().checked_add(bytes).is_some_and(|all| u32::try_from(all).is_ok())
    }

    /// The bytes at a place.
    pub(crate) fn get(&self, at: usize) -> Option<&[u8]> {
        let end = *self.ends.get(at)? as usize;
        self.bytes.get(self.begin(at)..end)
    }

    fn begin(&self, at: usize) -> usize {
        at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end as usize)
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        debug_assert!(self.has_room(bytes.len()), "the caller has asked for room");
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Puts a piece in the place of another, or behind the last.
    pub(crate) fn set(&mut self, at: usize, bytes: &[u8]) {
        if at >= self.len() {
            return self.push(bytes);
        }
        let mut one = Pieces::default();
        one.push(bytes);
        self.splice(at..at + 1, &one);
    }

    /// Puts pieces in the place of others.
    pub(crate) fn splice(&mut self, at: Range<usize>, by: &Pieces) {
        let (begin, end) = (self.begin(at.start), self.begin(at.end));
        self.bytes.splice(begin..end, by.bytes.iter().copied());
        let moved = |place: u32| place as usize + by.bytes.len() + begin - end;
        self.ends.iter_mut().skip(at.end).for_each(|place| *place = moved(*place) as u32);
        self.ends.splice(at, by.ends.iter().map(|place| *place + begin as u32));
    }

    /// Gives back memory that nothing lies in.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// The memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::Pieces;

    #[test]
    fn pieces_are_replaced_by_others_of_any_length() {
        for (label, at, by, expected) in [
            ("longer", 1..2, &["wxyz"][..], &["ab", "wxyz", "c"][..]),
            ("shorter", 0..1, &[""], &["", "", "c"]),
            ("several", 0..2, &["1", "22", "333"], &["1", "22", "333", "c"]),
            ("none", 0..3, &[], &[]),
            ("behind", 3..3, &["d"], &["ab", "", "c", "d"]),
        ] {
            let pieces = |texts: &[&str]| {
                let mut pieces = Pieces::default();
                texts.iter().for_each(|text| pieces.push(text.as_bytes()));
                pieces
            };
            let mut found = pieces(&["ab", "", "c"]);
            found.splice(at, &pieces(by));
            let found: Vec<&[u8]> = (0..found.len()).map(|at| found.get(at).unwrap()).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(found, expected, "{label}");
        }
    }
}
