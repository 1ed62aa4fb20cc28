//! `subqueries(field).lsb` and `.msb`: for which of 64 queries a predicate of a document is true
//! (Vespa, `searchlib/src/vespa/searchlib/features/subqueries_feature.cpp`).

use stead_store::Column;

use super::{Call, Feature, default};
use crate::query::Test;

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let field = call.argument(0).to_owned();
    let shift = if call.name.output == "msb" { 32 } else { 0 };
    let feature = Feature::documents(move |cx| {
        let terms = cx.query.matcher.map_or(&[][..], |matcher| &matcher.tree().terms);
        let asked: Vec<_> = terms
            .iter()
            .filter(|term| term.attribute == field)
            .filter_map(|term| match &term.test {
                Test::Predicate(query) => Some(query),
                _ => None,
            })
            .collect();
        if asked.is_empty() {
            return Ok(cx.numbers(|_| 0.0));
        }
        cx.numbers_of(cx.column(&field)?, |place| {
            let Some((Column::Texts(texts), row)) = place else { return 0.0 };
            let predicate = texts.get(row).unwrap_or_default();
            let queries = asked.iter().fold(0, |all, query| all | query.matching(predicate));
            f64::from((queries >> shift) as u32)
        })
    });
    Ok(feature.noted(usual))
}
