//! Texts that are nearly predicates: reading them ends, with what they are or with a place.
#![allow(clippy::unwrap_used)]

use stead_store::predicate::{Known, evaluate};

/// Knows something of everything.
struct Anybody;

impl Known for Anybody {
    fn has(&self, name: &str, value: &str) -> u64 {
        (name.len() as u64).rotate_left(value.len() as u32)
    }

    fn within(&self, name: &str, from: i64, to: i64) -> u64 {
        assert!(from <= to);
        (name.len() as u64) ^ (from as u64) ^ (to as u64)
    }
}

const TEXTS: [&str; 2] = [
    include_str!("../../../fuzz/seeds/predicate/all"),
    include_str!("../../../fuzz/seeds/predicate/ranges"),
];

const PIECES: [&str; 20] = [
    "(", ")", "[", "]", "..", ",", "'", "\"", "\\", "\\x", "-", "+", " in ", " not ", " and ",
    " or ", "7", "\u{e9}", "\n", "",
];

/// A xorshift generator (Marsaglia, 2003).
fn below(state: &mut u64, end: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % end.max(1) as u64) as usize
}

#[test]
fn changed_texts_are_read_or_refused_with_a_place() {
    for text in TEXTS {
        assert!(evaluate(text, &Anybody).is_ok(), "{text}");
    }
    let mut read = 0;
    for seed in 1..=20_000_u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut text: Vec<char> = TEXTS[below(&mut state, TEXTS.len())].chars().collect();
        for _ in 0..=below(&mut state, 2) {
            let from = below(&mut state, text.len());
            let to = (from + below(&mut state, 5)).min(text.len());
            text.splice(from..to, PIECES[below(&mut state, PIECES.len())].chars());
        }
        let text: String = text.into_iter().collect();
        match evaluate(&text, &Anybody) {
            Ok(found) => {
                read += 1;
                let opposite = evaluate(&format!("not ({text})"), &Anybody).unwrap();
                assert_eq!(opposite, !found, "seed {seed}: {text}");
            }
            Err(error) => assert!(error.at <= text.len(), "seed {seed}: {error}"),
        }
    }
    // Changes within names and numbers leave predicates.
    assert!(read > 1000, "{read}");
}
