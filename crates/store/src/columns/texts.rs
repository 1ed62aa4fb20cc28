//! Columns of texts and of bytes.

use stead_expr::text_number;

/// Texts behind each other, with the number of each that expressions see.
#[derive(Debug, Default)]
pub struct TextList {
    bytes: String,
    /// Where each text ends.
    ends: Vec<usize>,
    hashes: Vec<f64>,
}

impl TextList {
    pub(super) fn push(&mut self, text: &str) {
        self.bytes.push_str(text);
        self.ends.push(self.bytes.len());
        self.hashes.push(text_number(text));
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The text at a place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let begin = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(begin..end)
    }

    /// The hashes that expressions know texts by.
    #[must_use]
    pub fn hashes(&self) -> &[f64] {
        &self.hashes
    }
}

/// Bytes behind each other.
#[derive(Debug, Default)]
pub struct RawColumn {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl RawColumn {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// The bytes of a document.
    #[must_use]
    pub fn get(&self, document: usize) -> Option<&[u8]> {
        let end = *self.ends.get(document)?;
        let begin =
            document.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.bytes.get(begin..end)
    }
}

#[cfg(test)]
mod tests {
    use super::{RawColumn, TextList};

    #[test]
    fn texts_and_bytes_stand_behind_each_other() {
        let (mut texts, mut raw) = (TextList::default(), RawColumn::default());
        for text in ["ab", "", "c"] {
            texts.push(text);
            raw.push(text.as_bytes());
        }
        assert_eq!([0, 1, 2, 3].map(|at| texts.get(at)), [Some("ab"), Some(""), Some("c"), None]);
        assert_eq!(raw.get(2), Some(&b"c"[..]));
        assert_eq!((texts.len(), texts.hashes().len()), (3, 3));
    }
}
