//! `elementCompleteness(field)`: how much of a query and of an element is matched, of the best element
//! (Vespa, `searchlib/src/vespa/searchlib/features/element_completeness_feature.cpp`).

use super::elements::Places;
use super::terms::{FieldTerms, query_terms};
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;

/// How much the element counts, and not the query, where nothing is said.
const IMPORTANCE: f64 = 0.5;

/// What is known of the best element.
#[derive(Debug, Clone, Copy, Default)]
struct Best {
    score: f64,
    completeness: f64,
    of_field: f64,
    of_query: f64,
    weight: f64,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0);
    let Some(index) = call.documents.texts().iter().position(|of| of.name == name) else {
        return Ok(usual);
    };
    let importance = call.property("fieldCompletenessImportance").unwrap_or(IMPORTANCE);
    let output: fn(&Best) -> f64 = match call.name.output {
        "fieldCompleteness" => |best| best.of_field,
        "queryCompleteness" => |best| best.of_query,
        "elementWeight" => |best| best.weight,
        _ => |best| best.completeness,
    };
    Ok(Feature::documents(move |cx| scores(cx, index, importance, output)).noted(usual))
}

fn scores(
    cx: &DocumentContext<'_>,
    index: usize,
    importance: f64,
    output: fn(&Best) -> f64,
) -> Result<Computed, String> {
    let terms: Vec<_> = query_terms(cx).into_iter().filter(|term| term.weight != 0.0).collect();
    let Some(mut asked) = FieldTerms::new(cx, index, &terms) else {
        return Ok(cx.numbers(|_| 0.0));
    };
    let weights: Vec<f64> = asked.terms.iter().map(|term| terms[*term].weight).collect();
    let total: f64 = weights.iter().sum();
    let mut places = Places::default();
    cx.try_numbers(|lid| {
        places.read(&mut asked, lid);
        let mut best = Best::default();
        places.each(|element, of_terms| {
            let matched = of_terms.iter().zip(&weights).filter(|(places, _)| !places.is_empty());
            let (count, weight) =
                matched.fold((0_u32, 0.0), |(count, sum), (_, weight)| (count + 1, sum + weight));
            let of_field = f64::from(count.min(element.words)) / f64::from(element.words.max(1));
            let of_query = weight / total;
            let completeness = of_field * importance + of_query * (1.0 - importance);
            let score = completeness * f64::from(element.weight);
            // The first of several that are as good; none that weighs nothing or less.
            if score > best.score {
                let weight = f64::from(element.weight);
                best = Best { score, completeness, of_field, of_query, weight };
            }
        });
        Ok(output(&best))
    })
}
