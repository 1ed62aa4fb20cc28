//! Reading a segment, which is checked: it is one that a writer might have made, but for what its words are.

use std::sync::Arc;

use stead_tensor::Bits;

use super::super::dictionary::{Dictionary, DictionaryBuilder};
use super::super::elements::{Element, Elements};
use super::super::segment::Segment;
use super::super::view::{FieldIndex, Part};
use super::check::lists;
use super::{ELEMENT, MAGIC, OLDEST, SegmentError, VERSION};

use SegmentError::Damaged;

const SHORT: SegmentError = Damaged("it ends too early");

/// Bytes that are read one after the other.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], SegmentError> {
        let (first, rest) = self.0.split_first_chunk().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u32, SegmentError> {
        self.take().map(u32::from_le_bytes)
    }

    fn bytes(&mut self, count: usize) -> Result<&'b [u8], SegmentError> {
        let (first, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(first)
    }

    /// So many numbers; no memory is taken for what is not there.
    fn numbers(&mut self, count: usize) -> Result<Vec<u32>, SegmentError> {
        let bytes = self.bytes(count.checked_mul(4).ok_or(SHORT)?)?;
        Ok(bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }
}

impl Segment {
    /// Reads what [`Segment::write`] wrote.
    ///
    /// # Errors
    /// [`SegmentError`].
    pub fn read(bytes: &[u8]) -> Result<Segment, SegmentError> {
        let (bytes, sum) = bytes.split_last_chunk().ok_or(SHORT)?;
        let mut rest = Bytes(bytes);
        let (magic, version) = (rest.take()?, rest.number()?);
        if magic != MAGIC || !(OLDEST..=VERSION).contains(&version) {
            return Err(SegmentError::NotSegment);
        }
        if u32::from_le_bytes(*sum) != crc32c::crc32c(bytes) {
            return Err(Damaged("its checksum is another"));
        }
        let mut count = || rest.number().map(|count| count as usize);
        let (documents, elements) = (count()?, count()?);
        let (terms, text_bytes, posting_bytes) = (count()?, count()?, count()?);
        let lids = rest.numbers(documents)?;
        if lids.is_empty() || !lids.is_sorted_by(|a, b| a < b) {
            return Err(Damaged("its documents are not in order"));
        }
        let lengths = rest.numbers(documents)?;
        let elements = read_elements(&mut rest, &lengths, elements)?;
        let ends = rest.numbers(terms)?;
        let texts = std::str::from_utf8(rest.bytes(text_bytes)?);
        let dictionary =
            read_dictionary(texts.map_err(|_| Damaged("its terms are no text"))?, ends)?;
        let postings = rest.bytes(posting_bytes)?;
        if !rest.0.is_empty() {
            return Err(Damaged("something follows it"));
        }
        let lists = lists(postings, dictionary, &lengths, version)?;
        Ok(Segment::new(lids, lengths, elements, lists))
    }
}

/// Reads so many elements of documents of these lengths.
fn read_elements(
    rest: &mut Bytes<'_>,
    lengths: &[u32],
    count: usize,
) -> Result<Elements, SegmentError> {
    if count == 0 {
        return Ok(Elements::default());
    }
    let ends = rest.numbers(lengths.len())?;
    let bytes = rest.bytes(count.checked_mul(ELEMENT).ok_or(SHORT)?)?;
    let mut all = bytes.as_chunks::<ELEMENT>().0.iter();
    let (mut elements, mut begin) = (Elements::default(), 0);
    for (end, length) in ends.into_iter().zip(lengths) {
        let of = end.checked_sub(begin).filter(|of| *of as usize <= all.len());
        let of = of.ok_or(Damaged("elements are not in order"))?;
        begin = end;
        let (mut words, mut next) = (0, 0);
        let mut list = Vec::with_capacity(of as usize);
        for bytes in all.by_ref().take(of as usize) {
            let mut bytes = Bytes(bytes);
            let element = Element {
                number: bytes.number()?,
                words: bytes.number()?,
                weight: bytes.number()?.cast_signed(),
            };
            if element.number < next || element.words == 0 || element.number == u32::MAX {
                return Err(Damaged("elements are not in order"));
            }
            next = element.number + 1;
            words += u64::from(element.words);
            list.push(element);
        }
        if words != u64::from(*length) {
            return Err(Damaged("elements have other words than their document"));
        }
        elements.push(list.into_iter());
    }
    let elements = elements.finish();
    match all.len() == 0 && elements.parts().1.len() == count {
        true => Ok(elements),
        false => Err(Damaged("elements are of no document, or need not be there")),
    }
}

fn read_dictionary(texts: &str, ends: Vec<u32>) -> Result<Dictionary, SegmentError> {
    let mut builder = DictionaryBuilder::new();
    let (mut begin, mut before) = (0, None);
    for end in ends {
        let term = texts.get(begin..end as usize).filter(|term| before.is_none_or(|b| b < *term));
        let term = term.ok_or(Damaged("its terms are not in order"))?;
        builder.push(term);
        (begin, before) = (end as usize, Some(term));
    }
    match begin == texts.len() {
        true => Ok(builder.finish()),
        false => Err(Damaged("its terms are not in order")),
    }
}

impl FieldIndex {
    /// The index of segments, each with which of its documents are gone, of texts of these documents. Some of these may have no words.
    ///
    /// # Errors
    /// [`SegmentError::Damaged`] where a document is in two segments, or is none of these.
    pub fn of(
        parts: impl IntoIterator<Item = (Arc<Segment>, Arc<Bits>)>,
        documents: &Bits,
    ) -> Result<FieldIndex, SegmentError> {
        let (mut index, mut seen) = (FieldIndex::default(), Bits::default());
        for (segment, gone) in parts {
            let mut part = Part::of(segment);
            if gone.iter().any(|doc| doc >= part.segment.lids.len()) {
                return Err(Damaged("what is gone was not there"));
            }
            gone.iter().for_each(|doc| part.leave(doc as u32));
            part.gone = gone;
            for (doc, lid) in part.segment.lids.iter().enumerate() {
                let mut is_of = || documents.contains(*lid as usize) && seen.insert(*lid as usize);
                if !part.gone.contains(doc) && !is_of() {
                    return Err(Damaged("a document is in two segments, or there is none"));
                }
            }
            index.parts.push(part);
        }
        Ok(index)
    }

    /// Its segments that have documents, with which of them are gone.
    pub fn parts(&self) -> impl Iterator<Item = (&Arc<Segment>, &Arc<Bits>)> {
        let alive = self.parts.iter().filter(|part| part.documents() > 0);
        alive.map(|part| (&part.segment, &part.gone))
    }
}
