//! How exactly what documents have is what a term of a query looks for: `fieldTermMatch(field,term).exactness`
//! (Vespa, `searchlib/src/vespa/searchlib/fef/termmatchdatamerger.cpp`).

use stead_text::{Counter, Occurrence, Pattern, Phrases};

use super::DocumentContext;
use super::terms::query_terms;
use crate::matching::Matcher;
use crate::query::Test;

/// The phrases of a term by its number in an index, with how exact each is; none where all are.
pub(super) fn inexact(
    cx: &DocumentContext<'_>,
    index: usize,
    number: usize,
) -> Vec<(Pattern, f64)> {
    let Some(tree) = cx.query.matcher.map(Matcher::tree) else { return Vec::new() };
    let term = query_terms(cx).into_iter().nth(number);
    let mut found = Vec::new();
    for term in term.iter().flat_map(|term| &term.numbers).filter_map(|at| tree.terms.get(*at)) {
        let Test::Indexed(indexed) = &term.test else { continue };
        let phrases = match &indexed.pattern {
            Pattern::Term(word) => Phrases::word(word.clone()),
            Pattern::Phrases(phrases) => phrases.clone(),
            Pattern::NearPart(near, part) => match near.parts.get(*part) {
                Some(phrases) => phrases.clone(),
                None => continue,
            },
            Pattern::Part(..) | Pattern::Near(_) => continue,
        };
        if indexed.index == index {
            let of = |words: &Vec<String>| Pattern::of_phrases(Phrases::one(words.clone()));
            found.extend(phrases.phrases().iter().map(of).zip(term.exactness.iter().copied()));
        }
    }
    if found.iter().all(|(_, exactness)| *exactness == 1.0) {
        found.clear();
    }
    found
}

/// The average over the places of a term, each of which is as exact as the most exact phrase there. `counter` counts these at the
/// document.
pub(super) fn average(
    phrases: &[(Pattern, f64)],
    counter: &mut Counter<'_>,
    places: &[Occurrence],
) -> f64 {
    let mut found = vec![None::<f64>; places.len()];
    let mut own = Vec::new();
    for (number, (_, exactness)) in phrases.iter().enumerate() {
        own.clear();
        counter.occurrences(number, &mut own);
        for place in &own {
            if let Ok(at) = places.binary_search(place)
                && let Some(most) = found.get_mut(at)
            {
                *most = Some(most.map_or(*exactness, |before| before.max(*exactness)));
            }
        }
    }
    // Vespa keeps it in a float.
    let sum: f64 = found.iter().map(|most| most.map_or(1.0, |most| f64::from(most as f32))).sum();
    sum / places.len().max(1) as f64
}
