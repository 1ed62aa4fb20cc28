//! The indexes of the texts of documents, as their writer has them.

use std::sync::Arc;

use stead_text::{FieldIndex, FieldWriter, Merge, Merged};

use super::view::View;
use crate::error::StoreError;
use crate::kind::{DocumentType, TextIndex};
use crate::parallel::in_parallel;
use crate::value::FieldValue;

/// The documents that a thread indexes at a time when all are, and the most that wait to become a segment: waiting ones take several times the
/// memory.
const TOGETHER: usize = 4096;

/// Changes the indexes of texts, one for each [`TextIndex`](crate::TextIndex) of a type of documents.
#[derive(Debug)]
pub(super) struct Texts {
    writers: Vec<FieldWriter>,
    /// The documents that were put since the last segments were written.
    waiting: usize,
}

/// An index's segments that are better joined, with the number of the index.
#[derive(Debug)]
pub struct TextMerge {
    index: usize,
    merge: Merge,
}

/// The same, joined.
#[derive(Debug)]
pub struct TextMerged {
    index: usize,
    merged: Merged,
}

impl TextMerge {
    /// Joins them, on any thread.
    #[must_use]
    pub fn run(self) -> TextMerged {
        TextMerged { index: self.index, merged: self.merge.run() }
    }
}

impl Texts {
    pub(super) fn new(kind: &DocumentType) -> Texts {
        let writers = kind.texts().iter().map(|_| FieldWriter::default()).collect();
        Texts { writers, waiting: 0 }
    }

    /// The indexes of all documents of a view. `known` has some by their numbers; of the others a part of the documents is indexed by each core.
    pub(super) fn of(view: &View, known: Vec<(usize, FieldIndex)>) -> Result<Texts, StoreError> {
        let mut all = Texts::new(view.kind());
        let is_known = |number: usize| known.iter().any(|(of, _)| *of == number);
        let missing: Vec<usize> = (0..all.writers.len()).filter(|at| !is_known(*at)).collect();
        if !missing.is_empty() {
            let lids: Vec<u32> = view.lids().collect();
            let parts: Vec<&[u32]> = lids.chunks(TOGETHER).collect();
            for part in in_parallel(&parts, |lids| some(view, lids, &missing))? {
                for (number, part) in missing.iter().zip(part) {
                    all.writers[*number].absorb(part);
                }
            }
            all.settle();
        }
        // Segments of these that are better joined are joined when documents come.
        for (number, index) in known {
            if let Some(writer) = all.writers.get_mut(number) {
                *writer = FieldWriter::of(index);
            }
        }
        Ok(all)
    }

    /// Puts the texts of a document in the place of those that it has.
    pub(super) fn put(&mut self, kind: &DocumentType, lid: u32, fields: &[(usize, FieldValue)]) {
        put(self.writers.iter_mut().zip(kind.texts()), kind, lid, fields);
        self.waited();
    }

    /// Puts the texts that some changes concern in the place of those that a document has. `before` reads the document as it was: the language
    /// of texts is another field.
    pub(super) fn update(
        &mut self,
        kind: &DocumentType,
        lid: u32,
        changes: &[(usize, Option<FieldValue>)],
        before: impl FnOnce() -> Result<Vec<(usize, FieldValue)>, StoreError>,
    ) -> Result<(), StoreError> {
        let is_changed = |field: usize| changes.iter().any(|(changed, _)| *changed == field);
        let changes_language = kind.language_fields().iter().any(|field| is_changed(*field));
        if !changes_language && !kind.texts().iter().any(|index| is_changed(index.field)) {
            return Ok(());
        }
        if !kind.language_fields().is_empty() {
            let mut fields = before()?;
            fields.retain(|(field, _)| !is_changed(*field));
            let new = changes.iter().filter_map(|(field, v)| Some((*field, v.clone()?)));
            fields.extend(new);
            self.put(kind, lid, &fields);
            return Ok(());
        }
        for (writer, index) in self.writers.iter_mut().zip(kind.texts()) {
            let language = kind.language(index.field, |_| None);
            match changes.iter().find(|(field, _)| *field == index.field) {
                Some((_, Some(value))) => {
                    writer.put_weighted(lid, index.terms(value, language), &index.weights(value))
                }
                Some((_, None)) => writer.remove(lid),
                None => {}
            }
        }
        self.waited();
        Ok(())
    }

    /// Writes segments of what waits, if that is much.
    fn waited(&mut self) {
        self.waiting += 1;
        if self.waiting >= TOGETHER {
            self.publish();
        }
    }

    /// Takes the texts of a document away.
    pub(super) fn remove(&mut self, lid: u32) {
        self.writers.iter_mut().for_each(|writer| writer.remove(lid));
    }

    /// The indexes with all changes.
    pub(super) fn publish(&mut self) -> Arc<[FieldIndex]> {
        self.waiting = 0;
        self.writers.iter_mut().map(FieldWriter::publish).collect()
    }

    /// What is better joined and is not being joined.
    pub(super) fn merges(&mut self) -> Vec<TextMerge> {
        self.some(FieldWriter::merge)
    }

    /// The same with what is better joined while nothing changes.
    pub(super) fn rests(&mut self) -> Vec<TextMerge> {
        self.some(|writer| writer.merge().or_else(|| writer.rest()))
    }

    fn some(&mut self, merge: impl Fn(&mut FieldWriter) -> Option<Merge>) -> Vec<TextMerge> {
        let writers = self.writers.iter_mut().enumerate();
        let merges =
            writers.filter_map(|(index, writer)| Some(TextMerge { index, merge: merge(writer)? }));
        merges.collect()
    }

    /// Takes up what was joined.
    pub(super) fn install(&mut self, merged: TextMerged) {
        if let Some(writer) = self.writers.get_mut(merged.index) {
            writer.install(merged.merged);
        }
    }

    /// Joins all that is better joined, now.
    pub(super) fn settle(&mut self) {
        self.writers.iter_mut().for_each(FieldWriter::settle);
    }
}

/// The indexes of some numbers, of some documents.
fn some(view: &View, lids: &[u32], numbers: &[usize]) -> Result<Vec<FieldWriter>, StoreError> {
    let kind = view.kind();
    let indexes: Vec<&TextIndex> = numbers.iter().filter_map(|at| kind.texts().get(*at)).collect();
    let mut writers: Vec<FieldWriter> = indexes.iter().map(|_| FieldWriter::default()).collect();
    for lid in lids {
        let fields = read(view, *lid, |field| indexes.iter().any(|of| of.field == field))?;
        put(writers.iter_mut().zip(indexes.iter().copied()), kind, *lid, &fields);
    }
    Ok(writers)
}

/// Puts the texts of a document in the place of those that indexes have of it.
fn put<'i>(
    indexes: impl Iterator<Item = (&'i mut FieldWriter, &'i TextIndex)>,
    kind: &DocumentType,
    lid: u32,
    fields: &[(usize, FieldValue)],
) {
    let value = |number: usize| fields.iter().find(|(field, _)| *field == number).map(|(_, v)| v);
    for (writer, index) in indexes {
        match value(index.field) {
            Some(of) => {
                let language = kind.language(index.field, value);
                writer.put_weighted(lid, index.terms(of, language), &index.weights(of));
            }
            None => writer.remove(lid),
        }
    }
}

/// The texts of a document, and what names their language.
pub(super) fn stored(view: &View, lid: u32) -> Result<Vec<(usize, FieldValue)>, StoreError> {
    read(view, lid, |field| view.kind().texts().iter().any(|of| of.field == field))
}

/// Fields of a document, and what names the language of its texts.
fn read(
    view: &View,
    lid: u32,
    is_wanted: impl Fn(usize) -> bool,
) -> Result<Vec<(usize, FieldValue)>, StoreError> {
    let is_language = |field: usize| view.kind().language_fields().contains(&field);
    Ok(view.read(lid, |field| is_language(field) || is_wanted(field))?.unwrap_or_default())
}
