//! A text: its terms by every rule, in languages with stemmers of every kind of script.
#![no_main]

use std::num::NonZeroUsize;

use libfuzzer_sys::fuzz_target;
use stead_text::{Analysis, Language, Unit};

fuzz_target!(|text: &str| {
    let gram = Unit::Gram(NonZeroUsize::MIN.saturating_add(1));
    for tag in ["en", "de", "el", "ru", "ar", "tr", "fi", "ja"] {
        let language = Language::of_tag(tag);
        for unit in [Unit::Word, Unit::Whole, gram] {
            let analysis = Analysis { unit, ..Analysis::default() };
            for term in analysis.terms(text, language) {
                assert!(!term.text.is_empty() && text.get(term.bytes).is_some());
            }
        }
    }
});
