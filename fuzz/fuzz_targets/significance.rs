//! Bytes as a file of models of significance: refused with a reason, or every word of a query is as rare as numbers can be.
//!
//! The first byte tells whether the file is packed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_search::query::{QueryTree, Said, SignificanceModels, Term, TermStyle, Test, TextTest};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, file)) = bytes.split_first() else { return };
    let mut models = SignificanceModels::default();
    if let Err(error) = models.read(file, first & 1 == 1) {
        assert!(!error.to_string().is_empty());
        return;
    }
    let term = |said| Term {
        attribute: "f".to_owned(),
        test: Test::Text { test: TextTest::Equal(String::new()), is_cased: false },
        style: TermStyle::default(),
        said,
        language: None,
        exactness: Vec::new(),
        item: 0,
    };
    let said = [Said::Word("Hello".to_owned()), Said::Any(vec!["world".to_owned(), "a".to_owned()])];
    for language in [None, Some("un"), Some("en-US"), Some("nb")] {
        let terms = said.iter().cloned().map(term).collect();
        let mut tree = QueryTree { terms, ..QueryTree::default() };
        if models.tell(&mut tree, language).is_ok() {
            for style in tree.terms.iter().map(|term| &term.style) {
                assert!(style.idf().is_none_or(|idf| idf.is_finite() && idf >= 0.0));
                assert!(style.rarity().is_none_or(|rarity| (0.5..=1.0).contains(&rarity)));
            }
        }
    }
});
