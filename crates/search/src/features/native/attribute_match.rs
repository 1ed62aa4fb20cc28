//! `nativeAttributeMatch` (Vespa, `searchlib/src/vespa/searchlib/features/nativeattributematchfeature.cpp`): the weights that documents have
//! of what a query asks of attributes.

use stead_store::DataType;

use super::super::terms::{matched_weight, query_terms};
use super::super::{Call, DocumentContext, Feature, default};
use super::table::Table;
use super::{fields, is_normalized, table};
use crate::columns::Computed;
use crate::query::Test;

/// How an attribute is looked at.
struct AttributeMatch {
    name: String,
    weight: f64,
    table: Table,
    /// What is 1.
    whole: f64,
    is_weighted: bool,
}

pub(in crate::features) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let mut list = Vec::new();
    for name in fields(call, call.documents.attributes().iter().map(|a| a.name.as_str())) {
        let of = call.field(name);
        let attribute = call.documents.attributes().iter().find(|a| a.name == name);
        // Words of a text that has an index are those of the index.
        let is_index = call.documents.texts().iter().any(|index| index.name == name);
        let Some(attribute) = attribute.filter(|_| of.weight > 0 && !is_index) else { continue };
        let table = table(call, "nativeAttributeMatch", "weightTable", name)?;
        let whole = if is_normalized(call) && table.max > 0.0 { table.max } else { 1.0 };
        list.push(AttributeMatch {
            name: name.to_owned(),
            weight: of.weight as f64,
            table,
            whole,
            is_weighted: matches!(attribute.kind, DataType::WeightedSet(_)),
        });
    }
    let feature = Feature::documents(move |cx| scores(cx, &list));
    Ok(feature.noted(default::build(call)?))
}

fn scores(cx: &DocumentContext<'_>, list: &[AttributeMatch]) -> Result<Computed, String> {
    let Some(matcher) = cx.query.matcher else { return Ok(cx.numbers(|_| 0.0)) };
    let tree = matcher.tree();
    let mut asked = Vec::new();
    for term in query_terms(cx) {
        for number in &term.numbers {
            let of = list.iter().find(|of| {
                let tested = &tree.terms[*number];
                tested.attribute == of.name && !matches!(tested.test, Test::Indexed(_))
            });
            if let Some(of) = of.filter(|_| term.weight != 0.0) {
                asked.push((*number, of, of.weight * term.weight));
            }
        }
    }
    let total: f64 = asked.iter().map(|(.., weight)| weight).sum();
    if asked.is_empty() || total == 0.0 {
        return Ok(cx.numbers(|_| 0.0));
    }
    cx.try_numbers(|lid| {
        let (segment, row) = matcher.split(lid);
        let mut score = 0.0;
        for (number, of, weight) in &asked {
            let matched = matcher.term(*number, segment, row).map_err(|e| e.to_string())?;
            if matched.is_none() {
                continue;
            }
            let times = match of.is_weighted {
                true => matched_weight(cx, &of.name, &tree.terms[*number].test, lid)?,
                false => 1,
            };
            score += of.table.symmetric(times) * weight / of.whole;
        }
        Ok(score / total)
    })
}
