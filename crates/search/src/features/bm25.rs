//! `bm25(field)` (Vespa, `searchlib/src/vespa/searchlib/features/bm25_feature.cpp`).

use stead_text::{Bm25, FieldIndex, Pattern};

use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;
use crate::query::Test;

/// What `rank-properties` say.
#[derive(Debug, Clone, Copy)]
struct Settings {
    k1: f64,
    b: f64,
    /// Instead of that of the index.
    average: Option<f64>,
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0);
    let Some(index) = call.documents.texts().iter().position(|of| of.name == name) else {
        return Ok(usual);
    };
    let plain = Bm25::new(0.0);
    let settings = Settings {
        k1: call.property("k1").unwrap_or(plain.k1),
        b: call.property("b").unwrap_or(plain.b),
        average: call.property("averageFieldLength").filter(|average| *average > 0.0),
    };
    let feature = Feature::documents(move |cx| match cx.query.documents.text(index) {
        Some(of) => scores(cx, index, of, settings),
        None => Ok(cx.numbers(|_| 0.0)),
    });
    Ok(feature.noted(usual))
}

fn scores(
    cx: &DocumentContext<'_>,
    index: usize,
    of: &FieldIndex,
    settings: Settings,
) -> Result<Computed, String> {
    let Some(matcher) = cx.query.matcher else { return Ok(cx.numbers(|_| 0.0)) };
    let bm25 = Bm25 {
        k1: settings.k1,
        b: settings.b,
        average: settings.average.unwrap_or_else(|| of.average_length()),
    };
    let documents = of.documents();
    let (mut patterns, mut weights): (Vec<&Pattern>, Vec<f64>) = (Vec::new(), Vec::new());
    for (number, term) in matcher.tree().terms.iter().enumerate() {
        let Test::Indexed(indexed) = &term.test else { continue };
        if indexed.index != index || !term.style.is_ranked {
            continue;
        }
        let idf = || {
            let with = matcher.of_index(number).map_or(0, stead_tensor::Bits::count);
            Bm25::idf(documents, with)
        };
        patterns.push(&indexed.pattern);
        weights.push(bm25.weight(term.style.significance.unwrap_or_else(idf)));
    }
    let mut counter = of.counter(patterns);
    cx.try_numbers(|lid| {
        if !counter.go(lid) {
            return Ok(0.0);
        }
        let length = counter.length();
        let scores = weights.iter().enumerate().filter_map(|(term, weight)| {
            let count = counter.count(term);
            (count > 0).then(|| bm25.score(*weight, count, length))
        });
        Ok(scores.sum())
    })
}
