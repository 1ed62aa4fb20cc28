//! Documents that wait to become a segment.

use std::collections::HashMap;

use super::segment::Segment;
use super::write::{Occurrence, SegmentWriter, write_occurrences};

/// What was put since the last segment was written.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The number of each term, in the order in which they came.
    terms: HashMap<Box<str>, u32>,
    /// By the number of their documents, in order.
    entries: Vec<Entry>,
    documents: Vec<Put>,
    /// The number of the document that a lid has now.
    latest: HashMap<u32, u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    term: u32,
    document: u32,
    occurrence: Occurrence,
}

#[derive(Debug, Clone, Copy)]
struct Put {
    lid: u32,
    length: u32,
}

impl Pending {
    /// Puts a document in the place of one of the same lid, if there is one: its terms with where they stand, in that order, the
    /// length being how many there are.
    pub(super) fn put<'t>(&mut self, lid: u32, terms: impl Iterator<Item = (&'t str, Occurrence)>) {
        let document = self.documents.len() as u32;
        let before = self.entries.len();
        for (text, occurrence) in terms {
            let term = match self.terms.get(text) {
                Some(term) => *term,
                None => {
                    let term = self.terms.len() as u32;
                    self.terms.insert(text.into(), term);
                    term
                }
            };
            self.entries.push(Entry { term, document, occurrence });
        }
        let length = (self.entries.len() - before) as u32;
        self.documents.push(Put { lid, length });
        // One without terms is none of the index.
        match length {
            0 => self.latest.remove(&lid),
            _ => self.latest.insert(lid, document),
        };
    }

    /// Forgets a document.
    pub(super) fn remove(&mut self, lid: u32) {
        self.latest.remove(&lid);
    }

    /// The documents as a segment, after which none wait; nothing if there are none.
    pub(super) fn take(&mut self) -> Option<Segment> {
        let Pending { terms, mut entries, documents, latest } = std::mem::take(self);
        let mut kept: Vec<(u32, u32)> = latest.into_iter().collect();
        if kept.is_empty() {
            return None;
        }
        kept.sort_unstable();
        // Numbers of documents in the order of lids, of terms in that of their texts; nothing for documents that others replaced.
        let mut docs = vec![None; documents.len()];
        for (doc, (_, document)) in kept.iter().enumerate() {
            docs[*document as usize] = Some(doc as u32);
        }
        let mut texts: Vec<(Box<str>, u32)> = terms.into_iter().collect();
        texts.sort_unstable();
        let mut order = vec![0; texts.len()];
        for (place, (_, term)) in texts.iter().enumerate() {
            order[*term as usize] = place as u32;
        }
        entries.retain_mut(|entry| {
            let doc = docs[entry.document as usize];
            entry.document = doc.unwrap_or_default();
            entry.term = order[entry.term as usize];
            doc.is_some()
        });
        entries.sort_unstable_by_key(|entry| (entry.term, entry.document, entry.occurrence));

        let length = |document: u32| documents[document as usize].length;
        let (lids, lengths) = kept.iter().map(|(lid, document)| (*lid, length(*document))).unzip();
        debug_assert!(kept.iter().all(|(lid, document)| documents[*document as usize].lid == *lid));
        let mut writer = SegmentWriter::new(lids, lengths);
        let (mut places, mut bytes) = (Vec::new(), Vec::new());
        for of_term in entries.chunk_by(|a, b| a.term == b.term) {
            for of_document in of_term.chunk_by(|a, b| a.document == b.document) {
                places.clear();
                places.extend(of_document.iter().map(|entry| entry.occurrence));
                bytes.clear();
                write_occurrences(&places, &mut bytes);
                writer.document(of_document[0].document, places.len() as u32, &bytes);
            }
            writer.term(&texts[of_term[0].term as usize].0);
        }
        Some(writer.finish())
    }
}
