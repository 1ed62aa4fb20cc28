//! `attributeMatch(attribute)` (Vespa, `searchlib/src/vespa/searchlib/features/attributematchfeature.cpp`): how much of what a query asks of
//! attributes one of them has.

use stead_store::DataType;

use super::terms::{matched_weight, query_terms};
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;
use crate::query::Test;

/// What `rank-properties` say.
#[derive(Debug, Clone, Copy)]
struct Settings {
    /// A weight that is 1.
    max_weight: f64,
    /// The part that the completeness of the field has in that of all, from 0 to 1.
    importance: f64,
    is_weighted: bool,
}

/// What a document has.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    matches: f64,
    term_weight: f64,
    significance: f64,
    total: f64,
    max: f64,
    weighted: f64,
    /// All weights of a weighted set, or how many values there are.
    all: f64,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0).to_owned();
    let Some(about) = call.documents.attributes().iter().find(|a| a.name == name) else {
        return Ok(usual);
    };
    let settings = Settings {
        max_weight: call.property("maxWeight").unwrap_or(256.0),
        importance: call.property("fieldCompletenessImportance").unwrap_or(0.05),
        is_weighted: matches!(about.kind, DataType::WeightedSet(_)),
    };
    let output = call.name.output.to_owned();
    let feature = Feature::documents(move |cx| scores(cx, &name, settings, &output));
    Ok(feature.noted(usual))
}

fn scores(
    cx: &DocumentContext<'_>,
    name: &str,
    settings: Settings,
    output: &str,
) -> Result<Computed, String> {
    let Some(matcher) = cx.query.matcher else { return Ok(cx.numbers(|_| 0.0)) };
    let (tree, terms) = (matcher.tree(), query_terms(cx));
    let asks = |number: &&usize| !matches!(tree.terms[**number].test, Test::Indexed(_));
    let of_attributes: Vec<_> =
        terms.iter().filter(|term| term.numbers.iter().any(|n| asks(&n))).collect();
    let all = Totals {
        weight: terms.iter().map(|term| term.weight).sum(),
        significance: terms.iter().map(|term| term.significance).sum(),
        terms: of_attributes.len() as f64,
        attribute_weight: of_attributes.iter().map(|term| term.weight).sum(),
    };
    let values = cx.column(name)?;
    let is_many = matches!(values.about().kind, DataType::Array(_) | DataType::WeightedSet(_));
    let mut elements = is_many.then(|| cx.elements(name)).transpose()?;
    cx.try_numbers(|lid| {
        let (segment, row) = matcher.split(lid);
        let mut found = Found { all: 1.0, ..Found::default() };
        for term in &of_attributes {
            let mut numbers = term.numbers.iter().filter(asks);
            let mut of_name = numbers.find(|number| tree.terms[**number].attribute == name);
            let Some(number) = of_name.take() else { continue };
            if matcher.term(*number, segment, row).map_err(|e| e.to_string())?.is_none() {
                continue;
            }
            found.matches += 1.0;
            found.term_weight += term.weight;
            found.significance += term.significance;
            if settings.is_weighted {
                let weight = matched_weight(cx, name, &tree.terms[*number].test, lid)? as f64;
                found.total += weight;
                found.max = if found.matches == 1.0 { weight } else { found.max.max(weight) };
                found.weighted += weight * term.weight;
            }
        }
        if let Some(elements) = &mut elements {
            let place = elements.at(lid)?;
            found.all = place.map_or(0.0, |(many, places)| match settings.is_weighted {
                true => places.map(|at| f64::from(many.weight(at))).sum(),
                false => places.len() as f64,
            });
        }
        Ok(found.output(output, &all, settings))
    })
}

/// What the query asks.
#[derive(Debug, Clone, Copy)]
struct Totals {
    weight: f64,
    significance: f64,
    /// How many terms ask any attribute, and their weights.
    terms: f64,
    attribute_weight: f64,
}

impl Found {
    fn output(&self, name: &str, all: &Totals, settings: Settings) -> f64 {
        let part = |of: f64, whole: f64| if whole > 0.0 { of / whole } else { 0.0 };
        let of_query = part(self.matches, all.terms);
        let of_field = match settings.is_weighted {
            true if self.total <= 0.0 => 0.0,
            true if self.all <= 0.0 => 1.0,
            true => (self.total / self.all).min(1.0),
            false => part(self.matches, self.all).min(1.0),
        };
        let weight = part(self.term_weight, all.weight);
        let significance = part(self.significance, all.significance);
        match name {
            "queryCompleteness" => of_query,
            "fieldCompleteness" => of_field,
            "normalizedWeight" if self.total > 0.0 => {
                part(self.total, settings.max_weight * all.terms).min(1.0)
            }
            "normalizedWeightedWeight" if self.weighted > 0.0 => {
                let weight = if all.attribute_weight > 0.0 { all.attribute_weight } else { 1.0 };
                part(self.weighted, settings.max_weight * weight).min(1.0)
            }
            "normalizedWeight" | "normalizedWeightedWeight" => 0.0,
            "weight" => weight,
            "significance" => significance,
            "importance" => f64::midpoint(weight, significance),
            "matches" => self.matches,
            "totalWeight" => self.total,
            "averageWeight" => part(self.total, self.matches),
            "maxWeight" => self.max,
            _ => of_query * (1.0 - settings.importance + settings.importance * of_field),
        }
    }
}
