//! Ids as people and URLs write them.

use crate::fault::Fault;
use stead_node::SequenceId;

/// A text that names a sequence. Digits alone are a number; everything else is a text. Quotation marks around it
/// make a text of digits too: `5` is the number, `"5"` the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdText(pub String);

impl IdText {
    /// The id that this text means.
    ///
    /// # Errors
    /// 0, nothing, and what is too large or too long.
    pub fn read(&self) -> Result<SequenceId, Fault> {
        let text = &*self.0;
        let none = || Fault::invalid("a sequence id is a number above 0 or a text");
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            let number = text.parse().map_err(|_| {
                Fault::invalid(
                    "a sequence id that is a number is below 2^64; a text of digits stands in \
                     quotation marks",
                )
            })?;
            return SequenceId::from_number(number).ok_or_else(none);
        }
        let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text);
        let id = SequenceId::from_text(inner).map_err(|e| Fault::invalid(e.to_string()))?;
        id.ok_or_else(none)
    }

    /// The text that means this id.
    pub fn write(id: &SequenceId) -> String {
        match id {
            SequenceId::Number(number) => number.to_string(),
            SequenceId::Text(text) => {
                let digits = text.bytes().all(|b| b.is_ascii_digit());
                let quoted = text.len() > 1 && text.starts_with('"') && text.ends_with('"');
                if digits || quoted { format!("\"{text}\"") } else { text.to_string() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts() {
        let number = |n| SequenceId::from_number(n);
        let text = |t: &str| SequenceId::from_text(t).ok().flatten();
        let long = "a".repeat(129);
        let cases = [
            ("5", number(5)),
            ("007", number(7)),
            ("18446744073709551615", number(u64::MAX)),
            ("18446744073709551616", None),
            ("0", None),
            ("", None),
            ("\"5\"", text("5")),
            ("\"\"", None),
            ("\"", text("\"")),
            ("\"\"a\"\"", text("\"a\"")),
            ("call-5", text("call-5")),
            ("a/b c", text("a/b c")),
            ("-5", text("-5")),
            (&long, None),
        ];
        for (given, expected) in cases {
            assert_eq!(IdText(given.to_owned()).read().ok(), expected, "{given}");
            if let Some(id) = expected {
                assert_eq!(IdText(IdText::write(&id)).read().unwrap(), id, "{given}");
            }
        }
    }
}
