//! Letters without what searches do not tell apart: capitals and accents.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The first and the last of the combining marks that accents are.
const ACCENTS: std::ops::RangeInclusive<char> = '\u{300}'..='\u{36f}';

/// Letters that are symbols, not letters, to Vespa (general category So): those in circles and squares.
const ENCLOSED: [std::ops::RangeInclusive<char>; 4] = [
    '\u{24b6}'..='\u{24e9}',
    '\u{1f130}'..='\u{1f149}',
    '\u{1f150}'..='\u{1f169}',
    '\u{1f170}'..='\u{1f189}',
];

/// Marks that stand around a letter (general category Me) and are no part of a word.
const ENCLOSING: [std::ops::RangeInclusive<char>; 5] = [
    '\u{488}'..='\u{489}',
    '\u{1abe}'..='\u{1abe}',
    '\u{20dd}'..='\u{20e0}',
    '\u{20e2}'..='\u{20e4}',
    '\u{a670}'..='\u{a672}',
];

/// A text without capitals, letter by letter.
#[must_use]
pub fn fold(text: &str) -> String {
    text.chars().map(fold_letter).collect()
}

/// A letter that is no capital: the first of those that a capital becomes.
#[must_use]
pub fn fold_letter(letter: char) -> char {
    match letter.is_ascii() {
        true => letter.to_ascii_lowercase(),
        false => letter.to_lowercase().next().unwrap_or(letter),
    }
}

/// A text as it is compared: as it is where capitals make a difference, else [folded](fold), copied only if that changes it.
#[must_use]
pub fn compared(text: &str, is_cased: bool) -> Cow<'_, str> {
    let is_small = || text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    match is_cased || is_small() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(fold(text)),
    }
}

/// A text without accents: decomposed (NFD), without the marks U+0300 to U+036F, as Vespa's `SimpleTransformer` does it.
#[must_use]
pub fn without_accents(text: &str) -> String {
    text.nfd().filter(|c| !ACCENTS.contains(c)).collect()
}

/// Whether a character is part of a word: a letter, a digit or a mark on one (general categories Lu, Ll, Lt, Lm, Lo, Nl, Mn,
/// Mc, Nd and No), as Vespa's `SimpleTokenType` has it.
#[must_use]
pub fn is_of_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let within = |ranges: &[std::ops::RangeInclusive<char>]| ranges.iter().any(|r| r.contains(&c));
    match c.is_alphanumeric() {
        true => !within(&ENCLOSED),
        false => is_combining_mark(c) && !within(&ENCLOSING),
    }
}

#[cfg(test)]
mod tests {
    use super::{compared, fold, is_of_word, without_accents};

    #[test]
    fn capitals_and_accents_go() {
        assert_eq!(fold("\u{c5}NGSTR\u{d6}M"), "\u{e5}ngstr\u{f6}m");
        assert_eq!(compared("Abc", true), "Abc");
        assert_eq!(compared("Abc", false), "abc");
        assert_eq!(without_accents("H\u{e9}\u{301}ll\u{f6} \u{c5}ngstr\u{f6}m"), "Hello Angstrom");
    }

    #[test]
    fn words_are_letters_digits_and_their_marks() {
        for (c, expected, label) in [
            ('a', true, "a letter"),
            ('7', true, "a digit"),
            ('_', false, "punctuation"),
            ('\u{e9}', true, "an accented letter"),
            ('\u{301}', true, "a mark on a letter"),
            ('\u{93e}', true, "a spacing mark"),
            ('\u{20dd}', false, "a circle around a letter"),
            ('\u{24b6}', false, "a letter in a circle"),
            ('\u{2167}', true, "a number of letters"),
            ('\u{bd}', true, "a fraction"),
            ('\u{4e2d}', true, "an ideograph"),
            ('\u{1f600}', false, "a picture"),
            ('\u{20ac}', false, "a currency"),
        ] {
            assert_eq!(is_of_word(c), expected, "{label}");
        }
    }
}
