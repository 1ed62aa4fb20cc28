//! The inputs of models that give a vector for each token: ColBERT.

use crate::Tokens;

/// Characters that are no token of a document.
pub const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// The ids around the tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks {
    /// The first.
    pub start: u32,
    /// Behind it: that it is a query, or that it is a document.
    pub role: u32,
    /// The last.
    pub end: u32,
}

/// A document: its marks and tokens, without those that are to be skipped, `most` at most (Vespa, `ColBertEmbedder`).
#[must_use]
pub fn document(tokens: &[u32], skipped: &[u32], marks: Marks, most: usize) -> Tokens {
    let tokens = tokens.iter().copied().filter(|token| !skipped.contains(token));
    let ids = between(tokens, marks, most);
    Tokens::all(ids)
}

/// A query: its marks and tokens, and masks behind them so that it has `most` ids, to which the model does not attend.
#[must_use]
pub fn query(tokens: &[u32], mask: u32, marks: Marks, most: usize) -> Tokens {
    let mut ids = between(tokens.iter().copied(), marks, most);
    let attended = ids.len();
    ids.resize(most.max(attended), mask);
    Tokens { ids, attended, skips_zero: false }
}

fn between(tokens: impl Iterator<Item = u32>, marks: Marks, most: usize) -> Vec<u32> {
    let Marks { start, role, end } = marks;
    let mut ids = vec![start, role];
    ids.extend(tokens.take(most.saturating_sub(3)));
    ids.push(end);
    ids
}

#[cfg(test)]
mod tests {
    use super::{Marks, document, query};

    /// Facts from Vespa's `ColBertEmbedderTest`.
    #[test]
    fn tokens_stand_between_marks() {
        let of = |role| Marks { start: 101, role, end: 102 };
        for (label, tokens, most, expected, attended) in [
            ("padded", &[7, 8][..], 8, &[101, 1, 7, 8, 102, 103, 103, 103][..], 5),
            ("cut", &[7, 8, 9], 5, &[101, 1, 7, 8, 102], 5),
            ("empty", &[], 4, &[101, 1, 102, 103], 3),
            ("no room", &[7], 2, &[101, 1, 102], 3),
        ] {
            let found = query(tokens, 103, of(1), most);
            assert_eq!((found.ids.as_slice(), found.attended), (expected, attended), "{label}");
        }
        for (label, tokens, most, expected) in [
            ("not padded", &[7, 8][..], 8, &[101, 2, 7, 8, 102][..]),
            ("punctuation is skipped before it is cut", &[5, 7, 5, 8, 9], 5, &[101, 2, 7, 8, 102]),
        ] {
            let found = document(tokens, &[5, 6], of(2), most);
            assert_eq!(
                (found.ids.as_slice(), found.attended),
                (expected, expected.len()),
                "{label}"
            );
        }
    }
}
