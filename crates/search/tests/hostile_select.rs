//! JSON that is nearly a query or a grouping: reading it ends, with a tree or with a reason.

use stead_search::grouping::syntax::parse;
use stead_search::select::{groupings, read};

use crate::changed::changed;

const TEXTS: [&str; 2] = [
    include_str!("../../../fuzz/seeds/select/operators"),
    include_str!("../../../fuzz/seeds/select/groupings"),
];

/// What is put into texts: every sign, and names that mean something.
const PIECES: [&str; 26] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "\\",
    ",",
    ":",
    "-",
    "null",
    "true",
    "1e400",
    "9",
    "children",
    "attributes",
    "{\"and\":[",
    "{\"phrase\":[",
    "label",
    "each",
    "(",
    ")",
    ";",
    "\u{e9}",
    "\u{0}",
    "",
];

#[test]
fn changed_texts_are_read_or_refused_with_a_reason() {
    assert!(read(TEXTS[0]).is_ok(), "{:?}", read(TEXTS[0]));
    let texts = groupings(TEXTS[1]).unwrap_or_default();
    assert!(texts.len() == 2 && texts.iter().all(|text| parse(text).is_ok()), "{texts:?}");
    let (mut trees, mut operations) = (0, 0);
    for seed in 1..=5_000_u64 {
        let text = changed(seed, &TEXTS, &PIECES, (3, 6));
        match read(&text) {
            Ok(statement) => {
                trees += 1;
                assert!(statement.groupings.is_empty(), "seed {seed}");
            }
            Err(error) => assert!(!error.to_string().is_empty(), "seed {seed}"),
        }
        for text in groupings(&text).unwrap_or_default() {
            operations += usize::from(parse(&text).is_ok());
        }
    }
    // Changes within names, numbers and texts leave what can be read.
    assert!(trees > 100 && operations > 100, "{trees} {operations}");
}
