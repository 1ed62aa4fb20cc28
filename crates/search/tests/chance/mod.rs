//! Texts that chance has changed.

/// A xorshift generator (Marsaglia, 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// One of some texts in which at most `most` times a part of fewer than `length` characters gave way to one of some pieces; the same
/// for the same seed.
pub fn changed(
    seed: u64,
    texts: &[&str],
    pieces: &[&str],
    (most, length): (usize, usize),
) -> String {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut text: Vec<char> = texts[chance.below(texts.len())].chars().collect();
    for _ in 0..=chance.below(most) {
        let from = chance.below(text.len());
        let to = (from + chance.below(length)).min(text.len());
        text.splice(from..to, pieces[chance.below(pieces.len())].chars());
    }
    text.into_iter().collect()
}
