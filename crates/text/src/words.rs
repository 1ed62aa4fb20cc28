//! Where the words of a text are.

use std::ops::Range;

use crate::letters::is_of_word;

/// The words of a text, as ranges of its bytes: runs of characters that are [part of a word](is_of_word).
///
/// As Vespa's `SimpleTokenizer` has it, letters and digits are one run (`mp3`), and so are ideographs: text in languages that write
/// no blanks is found by `match: gram`.
#[derive(Debug, Clone)]
pub struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Words<'t> {
    /// The words of a text.
    #[must_use]
    pub fn of(text: &'t str) -> Words<'t> {
        Words { text, at: 0 }
    }
}

impl Iterator for Words<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let begin = self.run(self.at, false);
        let end = self.run(begin, true);
        self.at = end;
        (begin < end).then_some(begin..end)
    }
}

impl Words<'_> {
    /// Where characters end from a place on that are all part of a word, or are all none.
    fn run(&self, mut at: usize, is_word: bool) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(at) {
            // Most characters are a byte each.
            let (is_of_word, size) = match byte.is_ascii() {
                true => (byte.is_ascii_alphanumeric(), 1),
                false => match self.text.get(at..).and_then(|rest| rest.chars().next()) {
                    Some(c) => (is_of_word(c), c.len_utf8()),
                    None => break,
                },
            };
            if is_of_word != is_word {
                break;
            }
            at += size;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    #[test]
    fn a_word_is_a_run_of_letters_and_digits() {
        for (text, expected) in [
            ("", &[][..]),
            (" \t.,;", &[]),
            ("one two", &["one", "two"]),
            ("(mp3), A4-paper", &["mp3", "A4", "paper"]),
            ("it's snake_case", &["it", "s", "snake", "case"]),
            ("h\u{e9}llo e\u{301}t", &["h\u{e9}llo", "e\u{301}t"]),
            ("\u{6771}\u{4eac}\u{3001}tower", &["\u{6771}\u{4eac}", "tower"]),
            ("a\u{1f600}b", &["a", "b"]),
        ] {
            let words: Vec<&str> = Words::of(text).map(|word| &text[word]).collect();
            assert_eq!(words, expected, "{text}");
        }
    }
}
