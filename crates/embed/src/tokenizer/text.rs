//! The way back: where the tokens of a text stand in it, and the text of ids.

use std::ops::Range;

use super::{Tokenizer, TokenizerError, guarded};

impl Tokenizer {
    /// The tokens of a text without those around it, each with the bytes of the text that it stands for.
    ///
    /// # Errors
    /// When the tokenizer has no token for a part of it and none for what is unknown.
    pub fn spans(&self, text: &str) -> Result<Vec<(u32, Range<usize>)>, TokenizerError> {
        let encoding =
            guarded(|| self.library.encode(text, false)).map_err(TokenizerError::Text)?;
        let spans = encoding.get_offsets().iter().map(|(from, to)| *from..*to);
        Ok(encoding.get_ids().iter().copied().zip(spans).collect())
    }

    /// The text of ids; those around texts are left out.
    ///
    /// # Errors
    /// When the tokenizer has no way back.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        guarded(|| self.library.decode(ids, true)).map_err(TokenizerError::Text)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Settings, Tokenizer};

    #[test]
    fn tokens_know_their_text() {
        let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nblue\ntrain\n##s\n,\ncaf\n##e\n";
        let tokenizer = Tokenizer::from_vocabulary(words, Settings::default()).unwrap();
        for (text, expected, back) in [
            ("", &[][..], ""),
            ("Blue trains", &["Blue", "train", "s"], "blue trains"),
            // Accents are taken away before tokens are looked for, and stay in the text.
            ("Blue, caf\u{e9}s!", &["Blue", ",", "caf", "\u{e9}", "s", "!"], "blue, cafes"),
        ] {
            let spans = tokenizer.spans(text).unwrap();
            let parts: Vec<&str> = spans.iter().map(|(_, span)| &text[span.clone()]).collect();
            assert_eq!(parts, expected, "{text}");
            let ids: Vec<u32> = spans.iter().map(|(id, _)| *id).collect();
            assert_eq!(ids, tokenizer.encode(text).unwrap(), "{text}");
            let decoded = tokenizer.decode(&ids).unwrap();
            assert!(decoded.starts_with(back), "{text}: {decoded}");
        }
    }
}
