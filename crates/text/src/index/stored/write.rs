//! Writing a segment.

use super::super::segment::Segment;
use super::{MAGIC, VERSION};

impl Segment {
    /// Writes the segment behind what is there; a few bytes more than its [memory](Segment::memory) at most.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (begin, lists) = (out.len(), self.lists());
        let (texts, ends) = lists.dictionary.parts();
        let (element_ends, elements) = self.elements.parts();
        out.extend_from_slice(&MAGIC);
        let counts = [self.lids.len(), elements.len(), ends.len(), texts.len()];
        numbers([VERSION], out);
        numbers(counts.map(|count| count as u32), out);
        numbers([lists.postings.len() as u32], out);
        numbers(self.lids.iter().copied(), out);
        numbers(self.lengths.iter().copied(), out);
        numbers(element_ends.iter().copied(), out);
        numbers(elements.iter().flat_map(|e| [e.number, e.words, e.weight.cast_unsigned()]), out);
        numbers(ends.iter().copied(), out);
        out.extend_from_slice(texts.as_bytes());
        out.extend_from_slice(&lists.postings);
        let sum = crc32c::crc32c(out.get(begin..).unwrap_or_default());
        numbers([sum], out);
    }
}

fn numbers(numbers: impl IntoIterator<Item = u32>, out: &mut Vec<u8>) {
    numbers.into_iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
}
