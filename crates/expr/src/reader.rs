//! A place in a text that is being read: what types and expressions read in the same way.

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'t> {
    pub(crate) text: &'t str,
    /// The byte at which it stands.
    pub(crate) at: usize,
}

/// Whether a byte may stand in a name of a dimension, or of anything else that is not quoted.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'t> Reader<'t> {
    /// What is left, after spaces.
    pub(crate) fn rest(&mut self) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_ascii_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// The next byte after spaces; 0 at the end.
    pub(crate) fn peek(&mut self) -> u8 {
        self.rest().as_bytes().first().copied().unwrap_or(0)
    }

    /// Takes a sign if it is next.
    pub(crate) fn take(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        self.at += if is_next { sign.len() } else { 0 };
        is_next
    }

    /// The bytes of names that are next, digits among them; an empty text if there are none.
    pub(crate) fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.bytes().position(|b| !is_name_byte(b)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }
}
