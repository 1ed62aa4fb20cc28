//! The place in the bytes that a parser has come to.

use crate::error::TreeError;

/// Bytes of a format, and how many of them are read.
pub(super) struct Cursor<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    format: &'static str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(format: &'static str, bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0, format }
    }

    /// The next byte, which stays.
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Whether the next byte is this one, which is then read.
    pub(super) fn skip(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// A syntax error here.
    pub(super) fn expected(&self, expected: &'static str) -> TreeError {
        TreeError::Syntax { format: self.format, offset: self.at, expected }
    }
}
