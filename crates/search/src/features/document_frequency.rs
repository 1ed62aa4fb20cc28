//! `queryTermDocumentFrequency(field)`: how many documents have each term of the query that asks a field
//! (Vespa, documentation, `reference/ranking/rank-features.html`).

use super::labels::tensor;
use super::terms::terms_of;
use super::{Call, Feature, default};
use crate::query::Test;

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let (name, kind) = (call.argument(0), call.kind.clone());
    let Some(index) = call.documents.texts().iter().position(|of| of.name == name) else {
        return Ok(usual);
    };
    let feature = Feature::query(move |cx| {
        let Some(matcher) = cx.matcher else { return tensor(&kind, [].into_iter()) };
        let asks = |number: &&usize| match &matcher.tree().terms[**number].test {
            Test::Indexed(indexed) => indexed.index == index,
            _ => false,
        };
        let terms = terms_of(cx).into_iter().enumerate();
        let cells = terms.filter_map(|(at, term)| {
            let number = term.numbers.iter().find(asks)?;
            let count = matcher.frequency(*number);
            Some((at.to_string(), count as f64))
        });
        tensor(&kind, cells)
    });
    Ok(feature.noted(usual))
}
