//! Files that are nearly models of significance: reading them ends, with a reason or with models by which words are as rare as numbers can be.

use stead_search::query::{QueryTree, Said, SignificanceModels, Term, TermStyle, Test, TextTest};

use crate::changed::changed;

/// What follows the first byte is the file.
const SEEDS: [&[u8]; 2] = [
    include_bytes!("../../../fuzz/seeds/significance/plain"),
    include_bytes!("../../../fuzz/seeds/significance/packed"),
];

/// What is put into texts: every sign, and what means something.
const PIECES: [&str; 20] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "-",
    "null",
    "1e400",
    "9",
    "18446744073709551616",
    "\"languages\":{",
    "document-count",
    "document-frequencies",
    "en",
    "\u{e9}",
    "\u{0}",
    "",
];

/// How many words are known of a file; nothing of one that cannot be read.
fn known(file: &[u8], is_packed: bool) -> Option<usize> {
    let mut models = SignificanceModels::default();
    if let Err(error) = models.read(file, is_packed) {
        assert!(!error.to_string().is_empty());
        return None;
    }
    let mut known = 0;
    for language in [None, Some("un"), Some("en-US"), Some("nb")] {
        let term = |said| Term {
            attribute: "f".to_owned(),
            test: Test::Text { test: TextTest::Equal(String::new()), is_cased: false },
            style: TermStyle::default(),
            said,
            language: None,
            exactness: Vec::new(),
            item: 0,
        };
        let any = Said::Any(vec!["world".to_owned(), "Hello".to_owned()]);
        let terms = [Said::Word("Hello".to_owned()), any].map(term).into();
        let mut tree = QueryTree { terms, ..QueryTree::default() };
        if models.tell(&mut tree, language).is_ok() {
            for style in tree.terms.iter().map(|term| &term.style) {
                let (idf, rarity) = (style.idf(), style.rarity());
                assert!(idf.is_none_or(|idf| idf.is_finite() && idf >= 0.0), "{idf:?}");
                assert!(rarity.is_none_or(|rarity| (0.5..=1.0).contains(&rarity)), "{rarity:?}");
                known += usize::from(idf.is_some());
            }
        }
    }
    Some(known)
}

#[test]
fn changed_files_are_read_or_refused_with_a_reason() {
    // Both of English, which is asked twice, and of Norwegian; where there are no texts the word alone.
    assert_eq!(SEEDS.map(|seed| known(&seed[1..], seed[0] & 1 == 1)), [Some(7), Some(7)]);
    let text = String::from_utf8_lossy(&SEEDS[0][1..]);
    let (mut read, mut refused) = (0, 0);
    for seed in 1..=5_000_u64 {
        let text = changed(seed, &[&text], &PIECES, (3, 6));
        match known(text.as_bytes(), false) {
            Some(_) => read += 1,
            None => refused += 1,
        }
    }
    // Changes within names, numbers and texts leave what can be read.
    assert!(read > 100 && refused > 100, "{read} {refused}");
    for (at, bit) in (1..SEEDS[1].len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut file = SEEDS[1].to_vec();
        file[at] ^= 1 << bit;
        known(&file[1..], true);
        known(&file[1..at], true);
    }
}
