//! What a sequence is called.

use std::fmt;
use std::sync::Arc;

/// The most bytes of a text as id. Triton's clients use UUIDs and user names; a longer text is a mistake or
/// an attack on the table's memory.
pub const MAX_TEXT: usize = 128;

/// The id of a sequence, unique among the live sequences of one model version. The number 5 and the text `5`
/// are two ids, as in Triton.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SequenceId {
    /// A number above 0: OpenVINO Model Server's form, and Triton's usual one.
    Number(u64),
    /// A text of 1 to [`MAX_TEXT`] bytes.
    Text(Arc<str>),
}

/// A text that is no id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a sequence id has at most {MAX_TEXT} bytes, this one has {actual}")]
pub struct IdError {
    /// Bytes of the text.
    pub actual: usize,
}

impl SequenceId {
    /// The id of this number; 0 means that none is given.
    pub fn from_number(number: u64) -> Option<SequenceId> {
        (number != 0).then_some(SequenceId::Number(number))
    }

    /// The id of this text; the empty one means that none is given.
    ///
    /// # Errors
    /// [`IdError`] for a text that is too long.
    pub fn from_text(text: &str) -> Result<Option<SequenceId>, IdError> {
        match text.len() {
            0 => Ok(None),
            1..=MAX_TEXT => Ok(Some(SequenceId::Text(text.into()))),
            actual => Err(IdError { actual }),
        }
    }
}

impl fmt::Display for SequenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SequenceId::Number(number) => number.fmt(f),
            SequenceId::Text(text) => {
                text.chars().try_for_each(|c| write!(f, "{}", if c.is_control() { '?' } else { c }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_an_id() {
        assert_eq!(SequenceId::from_number(0), None);
        for n in [1, 1 << 63, u64::MAX] {
            assert_eq!(SequenceId::from_number(n), Some(SequenceId::Number(n)));
        }
        let cases = [
            ("empty", 0, Ok(None)),
            ("longest", MAX_TEXT, Ok(Some(()))),
            ("too long", MAX_TEXT + 1, Err(())),
            ("a mebibyte", 1 << 20, Err(())),
        ];
        for (label, len, expected) in cases {
            let got = SequenceId::from_text(&"a".repeat(len));
            assert_eq!(got.map(|id| id.map(drop)).map_err(drop), expected, "{label}");
        }
    }

    #[test]
    fn a_text_is_shown_without_control_characters() {
        assert_eq!(SequenceId::Text("a\nb".into()).to_string(), "a?b");
    }
}
