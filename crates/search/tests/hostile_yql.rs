//! Texts that are nearly queries: reading them ends, with a tree or with a place.

use stead_search::yql::parse;

const TEXTS: [&str; 2] = [
    include_str!("../../../fuzz/seeds/yql/statement"),
    include_str!("../../../fuzz/seeds/yql/functions"),
];

/// What is put into texts: every sign, and the beginnings of things that have an end.
const PIECES: [&str; 24] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    "\\u",
    "|",
    ";",
    "@",
    ".",
    "-",
    "!",
    "/*",
    "//",
    "1e",
    "L",
    " and ",
    " order by ",
    "\u{e9}",
    "",
];

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

#[test]
fn changed_texts_are_read_or_refused_with_a_place() {
    for text in TEXTS {
        assert!(parse(text).is_ok(), "{:?}", parse(text));
    }
    let mut read = 0;
    for seed in 1..=5_000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut text: Vec<char> = TEXTS[chance.below(TEXTS.len())].chars().collect();
        for _ in 0..=chance.below(4) {
            let from = chance.below(text.len());
            let to = (from + chance.below(8)).min(text.len());
            text.splice(from..to, PIECES[chance.below(PIECES.len())].chars());
        }
        let text: String = text.into_iter().collect();
        match parse(&text) {
            Ok(statement) => {
                read += 1;
                let groupings = statement.groupings.iter();
                assert!(groupings.into_iter().all(|g| text[g.at..].starts_with(&g.text)), "{text}");
            }
            Err(error) => {
                let lines = text.split('\n').count();
                assert!(error.line <= lines && error.column > 0, "seed {seed}: {error}");
            }
        }
    }
    // Changes within names, numbers and texts leave queries that can be read.
    assert!(read > 100, "{read}");
}
