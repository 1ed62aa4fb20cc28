//! Tests of texts (Vespa, `searchlib/src/vespa/searchlib/attribute/string_search_helper.cpp`).

use regex::Regex;
use stead_text::{fold, fold_letter};

/// The longest regular expression when it is compiled, in bytes: what RE2, which Vespa uses, allows too.
const MAX_REGEX: usize = 8 << 20;

/// What a text must be. Texts in it are [folded](fold) unless capitals make a difference.
#[derive(Debug, Clone)]
pub enum TextTest {
    /// This.
    Equal(String),
    /// Begins with this.
    Prefix(String),
    /// Has this in it.
    Substring(String),
    /// Ends with this.
    Suffix(String),
    /// Has something in it that fits.
    Regex(Regex),
    /// Is nearly this.
    Fuzzy(Fuzzy),
}

/// A text that may be misspelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fuzzy {
    text: Vec<char>,
    max_edits: usize,
    prefix: usize,
    is_prefix: bool,
}

impl TextTest {
    /// A regular expression; capitals make no difference unless told so.
    ///
    /// # Errors
    /// When it is none, or too large.
    pub fn regex(pattern: &str, is_cased: bool) -> Result<TextTest, String> {
        let regex = regex::RegexBuilder::new(pattern)
            .case_insensitive(!is_cased)
            .size_limit(MAX_REGEX)
            .dfa_size_limit(MAX_REGEX)
            .build();
        regex.map(TextTest::Regex).map_err(|error| match error {
            regex::Error::CompiledTooBig(most) => {
                format!("the regular expression {pattern:.40} takes more than {most} bytes")
            }
            _ => format!("{pattern:.40} is no regular expression"),
        })
    }

    /// Whether a text passes.
    #[must_use]
    pub fn has(&self, text: &str, is_cased: bool) -> bool {
        match self {
            TextTest::Regex(regex) => regex.is_match(text),
            TextTest::Fuzzy(fuzzy) => fuzzy.has(text, is_cased),
            TextTest::Equal(wanted) if is_cased => wanted == text,
            TextTest::Prefix(wanted) if is_cased => text.starts_with(wanted.as_str()),
            TextTest::Substring(wanted) if is_cased => text.contains(wanted.as_str()),
            TextTest::Suffix(wanted) if is_cased => text.ends_with(wanted.as_str()),
            TextTest::Equal(wanted) => wanted.chars().eq(text.chars().map(fold_letter)),
            TextTest::Prefix(wanted) => {
                let mut letters = text.chars().map(fold_letter);
                wanted.chars().all(|letter| letters.next() == Some(letter))
            }
            TextTest::Substring(wanted) => fold(text).contains(wanted.as_str()),
            TextTest::Suffix(wanted) => {
                let mut letters = text.chars().rev().map(fold_letter);
                wanted.chars().rev().all(|letter| letters.next() == Some(letter))
            }
        }
    }
}

impl Fuzzy {
    /// A text that may be misspelled by some letters that are wrong, missing or too many, none of them among the first
    /// `prefix`; `is_prefix` if more may follow.
    #[must_use]
    pub fn new(
        text: &str,
        max_edits: usize,
        prefix: usize,
        is_prefix: bool,
        is_cased: bool,
    ) -> Fuzzy {
        let letter = |letter| if is_cased { letter } else { fold_letter(letter) };
        Fuzzy { text: text.chars().map(letter).collect(), max_edits, prefix, is_prefix }
    }

    fn has(&self, text: &str, is_cased: bool) -> bool {
        let letter = |letter| if is_cased { letter } else { fold_letter(letter) };
        let letters: Vec<char> = text.chars().map(letter).collect();
        let (prefix, wanted) = self.text.split_at(self.prefix.min(self.text.len()));
        let Some(letters) = letters.strip_prefix(prefix) else { return false };
        self.distance(wanted, letters) <= self.max_edits
    }

    /// The distance of Levenshtein; to the nearest beginning of the letters if more may follow.
    fn distance(&self, wanted: &[char], letters: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=wanted.len()).collect();
        let mut best = row[wanted.len()];
        for (at, letter) in letters.iter().enumerate() {
            let mut corner = row[0];
            row[0] = at + 1;
            let mut least = row[0];
            for (column, wanted) in wanted.iter().enumerate() {
                let replaced = corner + usize::from(wanted != letter);
                corner = row[column + 1];
                row[column + 1] = replaced.min(corner + 1).min(row[column] + 1);
                least = least.min(row[column + 1]);
            }
            best = best.min(row[wanted.len()]);
            if least > self.max_edits {
                // No letters that follow make it less.
                return if self.is_prefix { best } else { least };
            }
        }
        if self.is_prefix { best } else { row[wanted.len()] }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fuzzy, TextTest};

    #[test]
    fn texts_pass() {
        let of = |make: fn(String) -> TextTest, text: &str| make(text.to_owned());
        for (test, is_cased, yes, no) in [
            (of(TextTest::Equal, "blur"), false, "BluR", "blurs"),
            (of(TextTest::Equal, "Blur"), true, "Blur", "blur"),
            (of(TextTest::Equal, "\u{e9}t\u{e9}"), false, "\u{c9}T\u{c9}", "ete"),
            (of(TextTest::Prefix, "bl"), false, "BLUR", "b"),
            (of(TextTest::Substring, "lu"), false, "BLUR", "bur"),
            (of(TextTest::Suffix, "ur"), false, "BLUR", "r"),
            (of(TextTest::Suffix, "UR"), true, "BLUR", "blur"),
            (TextTest::regex("^b.+r$", false).unwrap(), false, "BLUR", "blurs"),
            (TextTest::regex("LU", true).unwrap(), true, "BLUR", "blur"),
            (TextTest::Fuzzy(Fuzzy::new("Oasis", 2, 0, false, false)), false, "oases", "oa"),
            (TextTest::Fuzzy(Fuzzy::new("oasis", 1, 0, false, false)), false, "asis", "asi"),
            (TextTest::Fuzzy(Fuzzy::new("oasis", 1, 2, false, false)), false, "oass", "uasis"),
            (TextTest::Fuzzy(Fuzzy::new("oas", 1, 0, true, false)), false, "oatmeal", "otmeal"),
            (TextTest::Fuzzy(Fuzzy::new("", 1, 0, false, false)), false, "a", "ab"),
        ] {
            assert!(test.has(yes, is_cased), "{test:?} {yes}");
            assert!(!test.has(no, is_cased), "{test:?} {no}");
        }
    }

    #[test]
    fn hostile_regular_expressions_are_refused() {
        for pattern in ["(", "a{1000}{1000}{1000}", "(?P<"] {
            assert!(TextTest::regex(pattern, false).is_err(), "{pattern}");
        }
    }
}
