//! `nativeProximity` (Vespa, `searchlib/src/vespa/searchlib/features/nativeproximityfeature.cpp`): how near the words of a query stand in a
//! text, across its elements where the profile says how far these are from each other.

use super::super::distance::{Elements, distance};
use super::super::terms::{FieldTerms, QueryTerm, query_terms};
use super::super::{Call, DocumentContext, Feature, default};
use super::table::Table;
use super::{indexes, is_normalized, number, number_of, table};
use crate::columns::Computed;
use crate::query::ElementGaps;

/// How a field is looked at.
struct Proximity {
    /// The number of its index.
    index: usize,
    weight: f64,
    /// `element-gap`
    gap: Option<u32>,
    forward: Table,
    reverse: Table,
    /// The part of words in their order, from 0 to 1.
    importance: f64,
    /// What is 1.
    whole: f64,
}

/// Two terms that ask the same field, by their places among these.
struct Pair {
    first: usize,
    second: usize,
    weight: f64,
}

/// So many terms that follow each other are compared.
const WINDOW: f64 = 4.0;

pub(in crate::features) fn build(call: &Call<'_>) -> Result<Feature, String> {
    const NAME: &str = "nativeProximity";
    let mut list = Vec::new();
    for (index, name, of) in indexes(call) {
        let forward = table(call, NAME, "proximityTable", name)?;
        let reverse = table(call, NAME, "reverseProximityTable", name)?;
        let importance = number_of(call, NAME, "proximityImportance", name).unwrap_or(0.5);
        let property = call.properties.get(&format!("{NAME}.elementGap.{name}"));
        let gap = property.and_then(|text| ElementGaps::parse(text)).unwrap_or(of.element_gap);
        let sum = forward.max * importance + reverse.max * (1.0 - importance);
        list.push(Proximity {
            index,
            weight: of.weight as f64,
            gap,
            forward,
            reverse,
            importance,
            whole: if is_normalized(call) && sum > 0.0 { sum } else { 1.0 },
        });
    }
    let window = number(call, NAME, "slidingWindowSize").unwrap_or(WINDOW).max(0.0) as usize;
    let feature = Feature::documents(move |cx| scores(cx, &list, window));
    Ok(feature.noted(default::build(call)?))
}

/// The pairs of terms that ask a field, with what all their weights are together.
fn pairs(asked: &FieldTerms<'_>, terms: &[QueryTerm], window: usize) -> (Vec<Pair>, f64) {
    let weight = |at: usize| {
        let term = &terms[asked.terms[at]];
        term.significance * term.weight
    };
    let (mut pairs, mut total) = (Vec::new(), 0.0);
    for first in 0..asked.terms.len() {
        for second in (first + 1..asked.terms.len()).take(window.saturating_sub(1)) {
            // As little as the two between them that have the least to do with each other.
            let chain = asked.terms[first..=second].windows(2);
            let links = chain.map(|pair| terms[pair[1]].connectedness(terms.get(pair[0])));
            let connectedness = links.fold(1.0, f64::min) / (second - first) as f64;
            let weight = (weight(first) + weight(second)) * connectedness;
            if weight > 0.0 {
                pairs.push(Pair { first, second, weight });
                total += weight;
            }
        }
    }
    (pairs, total)
}

fn scores(cx: &DocumentContext<'_>, list: &[Proximity], window: usize) -> Result<Computed, String> {
    let terms = query_terms(cx);
    let lengths: Vec<u32> = terms.iter().map(|term| term.words(cx)).collect();
    let mut found = Vec::new();
    for of in list {
        let Some(asked) = FieldTerms::new(cx, of.index, &terms) else { continue };
        let (pairs, total) = pairs(&asked, &terms, window);
        if !pairs.is_empty() {
            found.push((of, asked, pairs, total));
        }
    }
    let all: f64 = found.iter().map(|(of, ..)| of.weight).sum();
    let (mut places, mut elements) = (Vec::new(), Vec::new());
    cx.try_numbers(|lid| {
        let mut score = 0.0;
        for (of, asked, pairs, total) in &mut found {
            if !asked.go(lid) {
                continue;
            }
            places.resize_with(asked.terms.len().max(places.len()), Vec::new);
            let count = asked.terms.len();
            for (at, places) in places.iter_mut().enumerate().take(count) {
                places.clear();
                places.extend_from_slice(asked.places(at));
            }
            elements.clear();
            elements.extend(asked.elements());
            let near = |a: usize, b: usize, table: &Table| {
                let elements = Elements { gap: of.gap, all: &elements };
                let found = distance(&places[a], &places[b], lengths[asked.terms[a]], elements);
                // Words that are not both there are as far as can be.
                found.map_or_else(
                    || table.get(usize::MAX),
                    |(d, _)| table.get(d.saturating_sub(1) as usize),
                )
            };
            let sum = pairs.iter().map(|pair| {
                let forward = near(pair.first, pair.second, &of.forward) * of.importance;
                let reverse = near(pair.second, pair.first, &of.reverse) * (1.0 - of.importance);
                (forward + reverse) * pair.weight / of.whole
            });
            score += sum.sum::<f64>() * of.weight / *total;
        }
        Ok(if all > 0.0 { score / all } else { score })
    })
}
