//! Texts that chance has changed.

use crate::chance::Chance;

/// One of some texts in which at most `most` times a part of fewer than `length` characters gave way to one of some pieces; the same
/// for the same seed.
pub fn changed(
    seed: u64,
    texts: &[&str],
    pieces: &[&str],
    (most, length): (usize, usize),
) -> String {
    let mut chance = Chance::new(seed);
    let mut text: Vec<char> = texts[chance.below(texts.len())].chars().collect();
    for _ in 0..=chance.below(most) {
        let from = chance.below(text.len());
        let to = (from + chance.below(length)).min(text.len());
        text.splice(from..to, pieces[chance.below(pieces.len())].chars());
    }
    text.into_iter().collect()
}
