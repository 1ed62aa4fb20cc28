//! `matches`, `rawScore` and `itemRawScore`: what of a query a document has
//! (Vespa, documentation, `reference/ranking/rank-features.html`).

use stead_store::StoreError;

use super::terms::terms_of;
use super::{Call, Feature, default};
use crate::matching::{Matcher, RowSet};
use crate::query::{Sum, Test};

/// Which terms of a query a feature is about.
#[derive(Debug, Clone)]
struct About {
    field: Option<String>,
    label: Option<String>,
    /// The number of a term, as `term` counts them.
    term: Option<usize>,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let first = call.argument(0).to_owned();
    let about = match call.name.name {
        "itemRawScore" => About { field: None, label: Some(first), term: None },
        "matches" => {
            let number = |text: &str| {
                let number = text.parse::<usize>();
                number.map_err(|_| format!("expected the number of a term, found {text:?}"))
            };
            let term = call.name.argument(1).map(number).transpose()?;
            About { field: Some(first), label: None, term }
        }
        _ => {
            let label = call.name.argument(1).map(str::to_owned);
            About { field: Some(first), label, term: None }
        }
    };
    let is_score = call.name.name != "matches";
    let feature = Feature::documents(move |cx| {
        // What one term of the query stands for; none of a number that it does not have.
        let only = about.term.map(|number| {
            let term = terms_of(&cx.query).into_iter().nth(number);
            term.map_or_else(Vec::new, |term| term.numbers)
        });
        let mut labels = LabelScores::new(cx.query.matcher, &about);
        cx.try_numbers(|document| {
            let found = match cx.query.matcher {
                Some(matcher) if is_score => {
                    let own = about.score(matcher, document);
                    own.and_then(|own| Ok(own + labels.score(matcher, document)?))
                }
                Some(matcher) => about
                    .is_matched(matcher, only.as_deref(), document)
                    .map(|is| f64::from(u8::from(is))),
                None => Ok(0.0),
            };
            found.map_err(|error| error.to_string())
        })
    });
    Ok(feature.noted(usual))
}

/// What `labeled` says of a label.
struct LabelScores {
    /// The numbers of those of the label.
    labels: Vec<usize>,
    /// The block that was looked at last, with the documents of it that pass each of them.
    block: Option<(usize, Vec<RowSet>)>,
}

impl LabelScores {
    fn new(matcher: Option<&Matcher<'_>>, about: &About) -> LabelScores {
        let labels = matcher.map_or(&[][..], |matcher| &matcher.tree().labels);
        // A feature of a field is not about parts that may ask others.
        let is_meant = |label: &str| about.field.is_none() && about.label.as_deref() == Some(label);
        let labels = labels.iter().enumerate().filter(|(_, of)| is_meant(&of.label));
        LabelScores { labels: labels.map(|(at, _)| at).collect(), block: None }
    }

    /// The sum of the scores of a document.
    fn score(&mut self, matcher: &Matcher<'_>, document: u32) -> Result<f64, StoreError> {
        if self.labels.is_empty() {
            return Ok(0.0);
        }
        let (segment, row) = matcher.split(document);
        let known = self.block.take().filter(|(of, _)| *of == segment);
        let (_, rows) = match known {
            Some(known) => self.block.insert(known),
            None => {
                let rows = self.labels.iter().map(|label| matcher.labeled(*label, segment));
                self.block.insert((segment, rows.collect::<Result<_, _>>()?))
            }
        };
        let passed = self.labels.iter().zip(rows).filter(|(_, rows)| rows.has(row));
        let score = |label: usize| matcher.tree().labels.get(label).map_or(0.0, |of| of.score);
        Ok(passed.map(|(label, _)| score(*label)).sum())
    }
}

impl About {
    fn concerns(&self, attribute: &str, label: Option<&str>) -> bool {
        self.field.as_deref().is_none_or(|field| field == attribute)
            && (self.label.is_none() || self.label.as_deref() == label)
    }

    /// Whether a document has one of the terms, or of some of them, in the field.
    fn is_matched(
        &self,
        matcher: &Matcher<'_>,
        only: Option<&[usize]>,
        document: u32,
    ) -> Result<bool, StoreError> {
        let tree = matcher.tree();
        let (segment, row) = matcher.split(document);
        let terms = tree.terms.iter().enumerate();
        let terms = terms.filter(|(_, t)| self.concerns(&t.attribute, t.style.label.as_deref()));
        let neighbors = tree.neighbors.iter().enumerate();
        let mut neighbors =
            neighbors.filter(|(_, n)| self.concerns(&n.attribute, n.label.as_deref()));
        for (at, _) in terms.filter(|(at, _)| only.is_none_or(|only| only.contains(at))) {
            if matcher.term(at, segment, row)?.is_some() {
                return Ok(true);
            }
        }
        Ok(only.is_none() && neighbors.any(|(at, _)| matcher.distance(at, segment, row).is_some()))
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
