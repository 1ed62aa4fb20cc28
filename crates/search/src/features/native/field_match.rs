//! `nativeFieldMatch` (Vespa, `searchlib/src/vespa/searchlib/features/nativefieldmatchfeature.cpp`): how often and how early a text has the
//! words of a query. Of several elements the length is that of all of them.

use super::super::terms::{FieldTerms, QueryTerm, query_terms};
use super::super::{Call, DocumentContext, Feature, default};
use super::table::Table;
use super::{indexes, is_normalized, number, number_of, table};
use crate::columns::Computed;

/// How a field is looked at.
struct FieldMatch {
    /// The number of its index.
    index: usize,
    weight: f64,
    first: Table,
    count: Table,
    /// The part of the first occurrence, from 0 to 1.
    importance: f64,
    /// Instead of the length of the text.
    average: Option<u32>,
    /// What is 1.
    whole: f64,
}

/// Shorter texts are taken to have so many words where nothing is said.
const SHORTEST: f64 = 6.0;

pub(in crate::features) fn build(call: &Call<'_>) -> Result<Feature, String> {
    const NAME: &str = "nativeFieldMatch";
    let mut list = Vec::new();
    for (index, name, of) in indexes(call) {
        let first = table(call, NAME, "firstOccurrenceTable", name)?;
        let count = table(call, NAME, "occurrenceCountTable", name)?;
        let importance = number_of(call, NAME, "firstOccurrenceImportance", name).unwrap_or(0.5);
        let sum = first.max * importance + count.max * (1.0 - importance);
        let average = number(call, NAME, &format!("averageFieldLength.{name}"));
        list.push(FieldMatch {
            index,
            weight: of.weight as f64,
            first,
            count,
            importance,
            average: average.map(|average| average as u32),
            whole: if is_normalized(call) && sum > 0.0 { sum } else { 1.0 },
        });
    }
    let shortest = number(call, NAME, "minFieldLength").unwrap_or(SHORTEST).max(2.0) as u32;
    let feature = Feature::documents(move |cx| scores(cx, &list, shortest));
    Ok(feature.noted(default::build(call)?))
}

fn scores(
    cx: &DocumentContext<'_>,
    list: &[FieldMatch],
    shortest: u32,
) -> Result<Computed, String> {
    let terms = query_terms(cx);
    let weight = |term: &QueryTerm| term.significance * term.weight;
    let found = list.iter().filter_map(|of| Some((of, FieldTerms::new(cx, of.index, &terms)?)));
    let mut found: Vec<(&FieldMatch, FieldTerms<'_>)> = found.collect();
    let mut total = 0.0;
    for (of, asked) in &found {
        total += asked.terms.iter().map(|term| weight(&terms[*term]) * of.weight).sum::<f64>();
    }
    cx.try_numbers(|lid| {
        let mut score = 0.0;
        for (of, asked) in &mut found {
            if !asked.go(lid) {
                continue;
            }
            let length = of.average.unwrap_or_else(|| asked.length()).max(shortest);
            for at in 0..asked.terms.len() {
                let places = asked.places(at);
                let (Some(first), count) = (places.first(), places.len()) else { continue };
                let early = of.first.get(scaled(first.position, &of.first, length - 1));
                let often = of.count.get(scaled(count as u32, &of.count, length));
                let part = early * of.importance + often * (1.0 - of.importance);
                score += part * of.weight / of.whole * weight(&terms[asked.terms[at]]);
            }
        }
        Ok(if total > 0.0 { score / total } else { score })
    })
}

/// The place in a table of a number out of a whole.
fn scaled(number: u32, table: &Table, of: u32) -> usize {
    let at = u64::from(number) * (table.len() as u64 - 1) / u64::from(of.max(1));
    usize::try_from(at).unwrap_or(usize::MAX)
}
