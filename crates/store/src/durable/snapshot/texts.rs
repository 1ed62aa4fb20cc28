//! Indexes of texts in snapshots. A segment never changes, so that it is written once; which of its documents are gone is a piece of its own.

use std::sync::Arc;

use stead_tensor::Bits;
use stead_text::{FieldIndex, Segment};

use super::load::{Packs, pack};
use super::pieces::Pieces;
use super::table::{TextTable, TypeTable};
use super::{Spot, Written, WrittenTexts};
use crate::error::StoreError;
use crate::live::View;
use crate::packs::Blob;
use crate::parallel::in_parallel;

/// The largest segment in memory that is written: it takes few bytes more, and a piece has fewer than 2^32.
const MAX_SEGMENT_BYTES: usize = u32::MAX as usize - (1 << 20);

impl Pieces<'_> {
    /// The segments of indexes of texts. An index with a segment that is too large is left out: it is made again at a start.
    pub(super) fn texts(
        &mut self,
        view: &View,
        before: Option<&Written>,
    ) -> Result<(Vec<TextTable>, WrittenTexts), StoreError> {
        let (mut tables, mut written) = (Vec::new(), WrittenTexts::default());
        for (about, index) in view.kind().texts().iter().zip(view.texts()) {
            if index.parts().any(|(segment, _)| segment.memory() > MAX_SEGMENT_BYTES) {
                continue;
            }
            let mut segments = Vec::new();
            for (segment, gone) in index.parts() {
                let known = before.and_then(|before| before.texts.segment(segment));
                let spot = match self.stays(known) {
                    Some(spot) => spot,
                    None => self.add(|out| segment.write(out))?,
                };
                written.segments.push((Arc::downgrade(segment), spot));
                if gone.count() == 0 {
                    segments.push((spot, None));
                    continue;
                }
                let known = before.and_then(|before| before.texts.gone(gone));
                let of_gone = match self.stays(known) {
                    Some(spot) => spot,
                    None => self.add(|out| write_gone(gone, out))?,
                };
                written.gone.push((Arc::downgrade(gone), of_gone));
                segments.push((spot, Some(of_gone)));
            }
            let (name, rules) = (about.name.clone(), about.rules(view.kind()));
            tables.push(TextTable { name, rules, segments });
        }
        Ok((tables, written))
    }
}

fn write_gone(gone: &Bits, out: &mut Vec<u8>) {
    gone.words().iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// A segment that was read, and which of its documents are gone, with where both lie.
type Read = ((Arc<Segment>, Spot), (Arc<Bits>, Option<Spot>));

/// The indexes of the texts of the documents of a view, by their numbers. Those that cannot be read, or whose terms would be others now, are
/// missing: they are made again of the texts.
pub(super) fn load(
    of: &TypeTable,
    packs: &Packs,
    view: &View,
) -> (WrittenTexts, Vec<(usize, FieldIndex)>) {
    let (mut written, mut known) = (WrittenTexts::default(), Vec::new());
    let mut documents = Bits::default();
    for lid in view.lids() {
        documents.insert(lid as usize);
    }
    for (number, about) in view.kind().texts().iter().enumerate() {
        let rules = about.rules(view.kind());
        let is_it = |table: &&TextTable| table.name == about.name && table.rules == rules;
        let Some(table) = of.texts.iter().find(is_it) else { continue };
        let Ok(parts) = in_parallel(&table.segments, |of| read(*of, packs)) else { continue };
        let Some(parts) = parts.into_iter().collect::<Option<Vec<Read>>>() else { continue };
        let list = parts.iter().map(|((segment, _), (gone, _))| (segment.clone(), gone.clone()));
        let Ok(index) = FieldIndex::of(list, &documents) else { continue };
        for ((segment, spot), (gone, of_gone)) in &parts {
            written.segments.push((Arc::downgrade(segment), *spot));
            written.gone.extend(of_gone.map(|spot| (Arc::downgrade(gone), spot)));
        }
        known.push((number, index));
    }
    (written, known)
}

/// A segment; nothing if it, or what is gone of it, is damaged.
fn read((spot, gone): (Spot, Option<Spot>), packs: &Packs) -> Result<Option<Read>, StoreError> {
    let bytes = |spot: Spot| Blob { pack: pack(packs, spot)?.clone(), place: spot.place }.bytes();
    let Ok(segment) = Segment::read(&bytes(spot)?) else { return Ok(None) };
    let bits = match gone.map(bytes).transpose()? {
        None => Some(Bits::default()),
        Some(bytes) => {
            let (words, rest) = bytes.as_chunks::<8>();
            let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            Bits::from_words(words, segment.documents()).filter(|_| rest.is_empty())
        }
    };
    Ok(bits.map(|bits| ((Arc::new(segment), spot), (Arc::new(bits), gone))))
}
