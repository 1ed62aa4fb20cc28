//! Texts that are nearly groupings: reading them ends, with operations or with a place.

use stead_search::grouping::syntax::parse;

use crate::changed::changed;

const TEXTS: [&str; 2] = [
    include_str!("../../../fuzz/seeds/grouping/operations"),
    include_str!("../../../fuzz/seeds/grouping/expressions"),
];

/// What is put into texts: every sign, and the beginnings of things that have an end.
const PIECES: [&str; 26] = [
    "(", ")", "[", "]", "{", "}", "'", "\"", "\\", "\\u", "<", ">", ";", "$", ".", "-", "=", "/*",
    "#", "1e", "inf", " and ", ",", "7", "a", "\u{e9}",
];

#[test]
fn changed_texts_are_read_or_refused_with_a_place() {
    for text in TEXTS {
        assert!(parse(text).is_ok(), "{:?}", parse(text));
    }
    let mut read = 0;
    for seed in 1..=5_000_u64 {
        let text = changed(seed, &TEXTS, &PIECES, (2, 4));
        match parse(&text) {
            Ok(operations) => {
                read += 1;
                for operation in operations {
                    let written = operation.to_string();
                    let again = parse(&written).unwrap_or_else(|e| panic!("{seed}: {e} {written}"));
                    assert_eq!(again[0].to_string(), written, "seed {seed}");
                }
            }
            Err(error) => {
                let lines = text.split('\n').count();
                assert!(error.line <= lines && error.column > 0, "seed {seed}: {error}");
            }
        }
    }
    // Changes within names, numbers and texts leave groupings that can be read.
    assert!(read > 100, "{read}");
}
