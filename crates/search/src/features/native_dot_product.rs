//! `nativeDotProduct` and `nativeDotProduct(field)`: the weights of a query's terms by those of what documents have of them
//! (Vespa, `searchlib/src/vespa/searchlib/features/native_dot_product_feature.cpp`).

use stead_store::DataType;

use super::elements::Places;
use super::terms::{FieldTerms, QueryTerm, matched_weight, query_terms};
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;
use crate::query::Test;

/// A term that asks an attribute.
struct OfAttribute<'q> {
    number: usize,
    name: &'q str,
    test: &'q Test,
    weight: f64,
    is_weighted: bool,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let field = call.name.argument(0).map(str::to_owned);
    let is_known = |name: &String| {
        let mut indexes = call.documents.texts().iter().map(|of| &of.name);
        let mut attributes = call.documents.attributes().iter().map(|of| &of.name);
        indexes.any(|known| known == name) || attributes.any(|known| known == name)
    };
    if !field.as_ref().is_none_or(is_known) {
        return Ok(usual);
    }
    let feature = Feature::documents(move |cx| scores(cx, field.as_deref()));
    Ok(feature.noted(usual))
}

fn scores(cx: &DocumentContext<'_>, field: Option<&str>) -> Result<Computed, String> {
    let Some(matcher) = cx.query.matcher else { return Ok(cx.numbers(|_| 0.0)) };
    let (tree, terms) = (matcher.tree(), query_terms(cx));
    let is_wanted = |name: &str| field.is_none_or(|field| field == name);
    let mut attributes = Vec::new();
    for term in &terms {
        for number in &term.numbers {
            let asked = &tree.terms[*number];
            if matches!(asked.test, Test::Indexed(_)) || !is_wanted(&asked.attribute) {
                continue;
            }
            let kind = cx.column(&asked.attribute).ok().map(|column| column.about().kind.clone());
            attributes.push(OfAttribute {
                number: *number,
                name: &asked.attribute,
                test: &asked.test,
                weight: term.weight,
                is_weighted: matches!(kind, Some(DataType::WeightedSet(_))),
            });
        }
    }
    let texts = cx.query.documents.kind().texts().iter().enumerate();
    let wanted = texts.filter(|(_, index)| is_wanted(&index.name));
    let mut indexes: Vec<FieldTerms<'_>> =
        wanted.filter_map(|(at, _)| FieldTerms::new(cx, at, &terms)).collect();
    let mut places = Places::default();
    cx.try_numbers(|lid| {
        let (segment, row) = matcher.split(lid);
        let mut sum = 0.0;
        for of in &attributes {
            let found = matcher.term(of.number, segment, row).map_err(|e| e.to_string())?;
            if found.is_some() {
                let weight = match of.is_weighted {
                    true => matched_weight(cx, of.name, of.test, lid)? as f64,
                    false => 1.0,
                };
                sum += weight * of.weight;
            }
        }
        for asked in &mut indexes {
            sum += of_text(asked, &terms, &mut places, lid);
        }
        Ok(sum)
    })
}

/// Of a text each term counts by the first element that has it.
fn of_text(asked: &mut FieldTerms<'_>, terms: &[QueryTerm], places: &mut Places, lid: u32) -> f64 {
    places.read(asked, lid);
    let (mut sum, mut seen) = (0.0, vec![false; asked.terms.len()]);
    places.each(|element, of_terms| {
        for (at, _) in of_terms.iter().enumerate().filter(|(_, places)| !places.is_empty()) {
            if !std::mem::replace(&mut seen[at], true) {
                sum += f64::from(element.weight) * terms[asked.terms[at]].weight;
            }
        }
    });
    sum
}
