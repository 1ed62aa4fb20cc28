//! `matches`, `rawScore` and `itemRawScore`: what of a query a document has
//! (Vespa, documentation, `reference/ranking/rank-features.html`).

use stead_store::StoreError;

use super::{Call, Feature, default};
use crate::matching::Matcher;
use crate::query::{Sum, Test};

/// Which terms of a query a feature is about.
#[derive(Debug, Clone)]
struct About {
    field: Option<String>,
    label: Option<String>,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let first = call.argument(0).to_owned();
    let about = match call.name.name {
        "itemRawScore" => About { field: None, label: Some(first) },
        _ => About { field: Some(first), label: call.name.argument(1).map(str::to_owned) },
    };
    let is_score = call.name.name != "matches";
    let feature = Feature::documents(move |cx| {
        cx.try_numbers(|document| {
            let found = match cx.query.matcher {
                Some(matcher) if is_score => about.score(matcher, document),
                Some(matcher) => {
                    about.is_matched(matcher, document).map(|is| f64::from(u8::from(is)))
                }
                None => Ok(0.0),
            };
            found.map_err(|error| error.to_string())
        })
    });
    Ok(feature.noted(usual))
}

impl About {
    fn concerns(&self, attribute: &str, label: Option<&str>) -> bool {
        self.field.as_deref().is_none_or(|field| field == attribute)
            && (self.label.is_none() || self.label.as_deref() == label)
    }

    fn is_matched(&self, matcher: &Matcher<'_>, document: u32) -> Result<bool, StoreError> {
        let tree = matcher.tree();
        let (segment, row) = matcher.split(document);
        let terms = tree.terms.iter().enumerate();
        let terms = terms.filter(|(_, t)| self.concerns(&t.attribute, t.style.label.as_deref()));
        let neighbors = tree.neighbors.iter().enumerate();
        let mut neighbors =
            neighbors.filter(|(_, n)| self.concerns(&n.attribute, n.label.as_deref()));
        for (at, _) in terms {
            if matcher.term(at, segment, row)?.is_some() {
                return Ok(true);
            }
        }
        Ok(neighbors.any(|(at, _)| matcher.distance(at, segment, row).is_some()))
    }

    /// The sum of the scores that operators give: sums of products, and how close vectors are.
    fn score(&self, matcher: &Matcher<'_>, document: u32) -> Result<f64, StoreError> {
        let tree = matcher.tree();
        let (segment, row) = matcher.split(document);
        let mut sum = 0.0;
        for (at, term) in tree.terms.iter().enumerate() {
            let gives_score =
                matches!(&term.test, Test::Weighted(weighted) if weighted.sum != Sum::Any);
            if gives_score && self.concerns(&term.attribute, term.style.label.as_deref()) {
                sum += matcher.term(at, segment, row)?.unwrap_or(0.0);
            }
        }
        for (at, neighbor) in tree.neighbors.iter().enumerate() {
            if self.concerns(&neighbor.attribute, neighbor.label.as_deref()) {
                sum += matcher.closeness(at, segment, row).unwrap_or(0.0);
            }
        }
        Ok(sum)
    }
}
