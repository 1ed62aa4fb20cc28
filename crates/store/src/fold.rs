//! Texts without capitals, as Vespa compares them.

use std::borrow::Cow;

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
