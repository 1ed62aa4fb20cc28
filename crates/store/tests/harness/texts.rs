//! Indexes of texts beside the texts that they are of.

use std::collections::BTreeMap;

use stead_store::{FieldValue, View};
use stead_text::{Language, Occurrence};

/// Whether the indexes of a view tell of its documents, and of nothing else.
pub fn check(view: &View, fields: &BTreeMap<u32, Vec<(usize, FieldValue)>>) {
    for (number, about) in view.kind().texts().iter().enumerate() {
        let index = view.text(number).unwrap();
        let (mut expected, mut words) = (BTreeMap::new(), 0);
        for (lid, fields) in fields {
            let Some((_, value)) = fields.iter().find(|(field, _)| *field == about.field) else {
                continue;
            };
            let mut count = 0;
            for (term, at) in about.terms(value, Language::english()) {
                let of_term: &mut BTreeMap<u32, Vec<Occurrence>> =
                    expected.entry(term.into_owned()).or_default();
                of_term.entry(*lid).or_default().push(at);
                count += 1;
            }
            assert_eq!(index.length(*lid).unwrap_or(0), count, "{}", about.name);
            words += u64::from(count);
        }
        assert_eq!(index.words(), words, "{}", about.name);
        for (term, places) in expected {
            assert_eq!(index.frequency(&term), places.len(), "{} {term}", about.name);
            for (lid, places) in places {
                let mut found = Vec::new();
                index.occurrences(&term, lid, &mut found);
                assert_eq!(found, places, "{} {term}", about.name);
            }
        }
    }
}
