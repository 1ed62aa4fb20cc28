//! Pieces of words of one length, by which text without blanks is found.

use std::num::NonZeroUsize;
use std::ops::Range;

use crate::words::Words;

/// The grams of a text, as ranges of its bytes: every run of `size` characters within a word, one after the other; a word that is shorter
/// is one gram (Vespa's `GramSplitter`).
pub fn grams(text: &str, size: NonZeroUsize) -> impl Iterator<Item = Range<usize>> {
    Words::of(text).flat_map(move |word| {
        let starts = text[word.clone()].char_indices().map(move |(at, _)| word.start + at);
        // The end of a gram is where the character after its last begins, or the end of the word.
        let ends = starts.clone().chain([word.end]).skip(size.get());
        let short = starts.clone().nth(size.get() - 1).is_none().then_some(word.clone());
        starts.zip(ends).map(|(begin, end)| begin..end).chain(short)
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::grams;

    #[test]
    fn grams_are_within_words() {
        for (text, size, expected) in [
            ("", 2, &[][..]),
            ("a", 2, &["a"]),
            ("ab", 2, &["ab"]),
            ("abcd", 2, &["ab", "bc", "cd"]),
            ("abcd e fg", 3, &["abc", "bcd", "e", "fg"]),
            ("abc", 1, &["a", "b", "c"]),
            ("\u{6771}\u{4eac}\u{90fd}", 2, &["\u{6771}\u{4eac}", "\u{4eac}\u{90fd}"]),
        ] {
            let size = NonZeroUsize::new(size).unwrap();
            let found: Vec<&str> = grams(text, size).map(|gram| &text[gram]).collect();
            assert_eq!(found, expected, "{text} {size}");
        }
    }
}
