//! Columns of texts and of bytes.

use std::ops::Range;

use stead_expr::text_number;

use super::pieces::Pieces;

/// Texts behind each other, with the number of each that expressions see.
#[derive(Debug, Default, Clone)]
pub struct TextList {
    texts: Pieces,
    hashes: Vec<f64>,
}

impl TextList {
    /// Texts from their bytes; nothing if any is no UTF-8.
    pub(super) fn of(texts: Pieces) -> Option<TextList> {
        let text = |at: usize| std::str::from_utf8(texts.get(at)?).ok();
        let hashes = (0..texts.len()).map(|at| text(at).map(text_number)).collect::<Option<_>>()?;
        Some(TextList { texts, hashes })
    }

    pub(super) fn texts(&self) -> &Pieces {
        &self.texts
    }

    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.texts.has_room(bytes)
    }

    pub(super) fn push(&mut self, text: &str) {
        self.texts.push(text.as_bytes());
        self.hashes.push(text_number(text));
    }

    pub(super) fn set(&mut self, at: usize, text: &str) {
        self.texts.set(at, text.as_bytes());
        put(&mut self.hashes, at, text_number(text));
    }

    pub(super) fn splice(&mut self, at: Range<usize>, by: &TextList) {
        self.texts.splice(at.clone(), &by.texts);
        self.hashes.splice(at, by.hashes.iter().copied());
    }

    pub(super) fn shrink(&mut self) {
        self.texts.shrink();
        self.hashes.shrink_to_fit();
    }

    pub(super) fn memory(&self) -> usize {
        self.texts.memory() + self.hashes.capacity() * size_of::<f64>()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text at a place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&str> {
        std::str::from_utf8(self.texts.get(at)?).ok()
    }

    /// The hashes that expressions know texts by.
    #[must_use]
    pub fn hashes(&self) -> &[f64] {
        &self.hashes
    }
}

/// Puts an element in the place of another, or behind the last.
pub(super) fn put<T>(list: &mut Vec<T>, at: usize, value: T) {
    match list.get_mut(at) {
        Some(place) => *place = value,
        None => list.push(value),
    }
}

/// Bytes behind each other.
#[derive(Debug, Default, Clone)]
pub struct RawColumn {
    bytes: Pieces,
}

impl RawColumn {
    pub(super) fn of(bytes: Pieces) -> RawColumn {
        RawColumn { bytes }
    }

    pub(super) fn pieces(&self) -> &Pieces {
        &self.bytes
    }

    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.has_room(bytes)
    }

    pub(super) fn set(&mut self, at: usize, bytes: &[u8]) {
        self.bytes.set(at, bytes);
    }

    pub(super) fn shrink(&mut self) {
        self.bytes.shrink();
    }

    pub(super) fn memory(&self) -> usize {
        self.bytes.memory()
    }

    /// The bytes of a document.
    #[must_use]
    pub fn get(&self, document: usize) -> Option<&[u8]> {
        self.bytes.get(document)
    }
}

#[cfg(test)]
mod tests {
    use super::{RawColumn, TextList};

    #[test]
    fn texts_and_bytes_stand_behind_each_other() {
        let (mut texts, mut raw) = (TextList::default(), RawColumn::default());
        for (at, text) in ["ab", "", "c"].into_iter().enumerate() {
            texts.push(text);
            raw.set(at, text.as_bytes());
        }
        assert_eq!([0, 1, 2, 3].map(|at| texts.get(at)), [Some("ab"), Some(""), Some("c"), None]);
        assert_eq!(raw.get(2), Some(&b"c"[..]));
        assert_eq!((texts.len(), texts.hashes().len()), (3, 3));
        texts.set(1, "de");
        assert_eq!([0, 1, 2].map(|at| texts.get(at)), [Some("ab"), Some("de"), Some("c")]);
    }
}
