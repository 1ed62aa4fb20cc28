//! Texts as hits show them.

use stead_store::{FieldValue, TextIndex};
use stead_text::{Language, fold};

use super::fields::Shown;
use super::snippet::{Piece, SnippetSettings, marked, snippet};
use super::words::Asked;
use crate::result::Item;

/// What stands around words that were found, and where something is left out (Vespa, `qr-searchers.def`, `JuniperSearcher.java`): without
/// marks three dots.
const TAGS: [&str; 3] = ["<hi>", "</hi>", "<sep />"];
const PLAIN: [&str; 3] = ["", "", "..."];

/// The value of a field as [`Shown::Marked`] or [`Shown::Snippet`] shows it, by the index of its texts; nothing where it shows
/// something else, or the value has no texts.
pub(crate) fn shown(
    value: &FieldValue,
    shown: &Shown,
    asked: &Asked<'_>,
    index: (usize, &TextIndex),
    (language, has_marks, settings): (Language, bool, SnippetSettings),
) -> Option<Item> {
    let text = |text: &str| {
        let marks = asked.marks(index, text, language);
        let pieces = match shown {
            Shown::Snippet => snippet(text, &marks, &settings),
            _ => marked(text, &marks),
        };
        let [open, close, cut] = if has_marks { TAGS } else { PLAIN };
        let piece = |piece: &Piece| match piece {
            Piece::Text(bytes) => text[bytes.clone()].to_owned(),
            Piece::Mark(bytes) => [open, &text[bytes.clone()], close].concat(),
            Piece::Cut => cut.to_owned(),
        };
        pieces.iter().map(piece).collect::<String>()
    };
    if !matches!(shown, Shown::Marked | Shown::Snippet) {
        return None;
    }
    match value {
        FieldValue::Text(value) if !value.is_empty() => Some(Item::Text(text(value))),
        FieldValue::Array(list) if !list.is_empty() => {
            let one = |value: &FieldValue| match value {
                FieldValue::Text(value) => Some(Item::Text(text(value))),
                _ => None,
            };
            Some(Item::List(list.iter().map(one).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

/// The terms that an index has of a value; without one each text is a term (Vespa, `tokens_converter.cpp`,
/// `attribute_tokens_dfw.cpp`).
pub(crate) fn tokens(
    value: &FieldValue,
    index: Option<&TextIndex>,
    is_cased: bool,
    language: Language,
) -> Option<Item> {
    let of = |text: &str| match index {
        Some(index) => {
            let terms = index.analysis.terms(text, language);
            Item::List(terms.map(|term| Item::Text(term.text.into_owned())).collect())
        }
        None if is_cased => Item::List(vec![Item::text(text)]),
        None => Item::List(vec![Item::Text(fold(text))]),
    };
    let one = |value: &FieldValue| match value {
        FieldValue::Text(text) => Some(of(text)),
        _ => None,
    };
    match value {
        FieldValue::Text(text) if !text.is_empty() => Some(of(text)),
        FieldValue::Array(list) if !list.is_empty() => {
            Some(Item::List(list.iter().map(one).collect::<Option<_>>()?))
        }
        FieldValue::Weighted(list) if !list.is_empty() => {
            let pair = |(value, weight): &(FieldValue, i32)| {
                let weight = Item::Integer(i64::from(*weight));
                Some(Item::map([("item", one(value)?), ("weight", weight)]))
            };
            Some(Item::List(list.iter().map(pair).collect::<Option<_>>()?))
        }
        _ => None,
    }
}
