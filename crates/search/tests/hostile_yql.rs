//! Texts that are nearly queries: reading them ends, with a tree or with a place.

use stead_search::yql::parse;

use crate::changed::changed;

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

#[test]
fn changed_texts_are_read_or_refused_with_a_place() {
    for text in TEXTS {
        assert!(parse(text).is_ok(), "{:?}", parse(text));
    }
    let mut read = 0;
    for seed in 1..=5_000_u64 {
        let text = changed(seed, &TEXTS, &PIECES, (4, 8));
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
