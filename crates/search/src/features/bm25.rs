//! `bm25(field)`, of all terms and of those with a label, `bm25_for_labels(field)`, and `elementwise(bm25(field),dimension,type)`
//! (Vespa, `searchlib/src/vespa/searchlib/features/bm25_feature.cpp` and `elementwise_bm25_executor.cpp`).

use std::collections::BTreeMap;

use stead_app::application::rank::FeatureName;
use stead_text::{Bm25, Counter, Element, FieldIndex, Occurrence, Pattern};

use super::labels::tensor;
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

impl Settings {
    /// By the names of features, of which the first that says something is heard.
    fn read(call: &Call<'_>, features: &[&str], average: &str) -> Settings {
        let number = |name: &str| {
            let mut said = features.iter().filter_map(|feature| {
                call.properties.get(&format!("{feature}.{name}"))?.trim().parse::<f64>().ok()
            });
            said.next()
        };
        let plain = Bm25::new(0.0);
        Settings {
            k1: number("k1").unwrap_or(plain.k1),
            b: number("b").unwrap_or(plain.b),
            average: number(average).filter(|average| *average > 0.0),
        }
    }

    fn bm25(self, average: impl FnOnce() -> f64) -> Bm25 {
        Bm25 { k1: self.k1, b: self.b, average: self.average.unwrap_or_else(average) }
    }
}

/// The terms of a query that ask an index.
struct Asked<'c> {
    counter: Counter<'c>,
    weights: Vec<f64>,
    labels: Vec<Option<&'c str>>,
}

impl<'c> Asked<'c> {
    /// Those with a label, or all; nothing where there is no query.
    fn of(
        cx: &DocumentContext<'c>,
        index: usize,
        of: &'c FieldIndex,
        bm25: &Bm25,
        label: Option<&str>,
    ) -> Option<Asked<'c>> {
        let matcher = cx.query.matcher?;
        // All there are, whether they have the field or not (Vespa, `ProtonTermData::setDocumentFrequency`).
        let documents = cx.query.documents.len();
        let mut patterns: Vec<&Pattern> = Vec::new();
        let (mut weights, mut labels) = (Vec::new(), Vec::new());
        for (number, term) in matcher.tree().terms.iter().enumerate() {
            let Test::Indexed(indexed) = &term.test else { continue };
            let has = term.style.label.as_deref();
            let is_meant = label.is_none() || label == has;
            if indexed.index != index || !term.style.is_ranked || !is_meant {
                continue;
            }
            let idf = || Bm25::idf(documents, matcher.frequency(number));
            patterns.push(&indexed.pattern);
            weights.push(bm25.weight(term.style.idf().unwrap_or_else(idf)));
            labels.push(has);
        }
        Some(Asked { counter: of.counter(patterns), weights, labels })
    }

    /// The score of each term that the current document has, with its number.
    fn scores(&mut self, bm25: &Bm25) -> impl Iterator<Item = (usize, f64)> {
        let length = self.counter.length();
        let counter = &mut self.counter;
        self.weights.iter().enumerate().filter_map(move |(term, weight)| {
            let count = counter.count(term);
            (count > 0).then(|| (term, bm25.score(*weight, count, length)))
        })
    }
}

/// The number of the index of a field.
fn index_of(call: &Call<'_>, name: &str) -> Option<usize> {
    call.documents.texts().iter().position(|of| of.name == name)
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0);
    let Some(index) = index_of(call, name) else { return Ok(usual) };
    let settings = Settings::read(call, &[&format!("bm25({name})")], "averageFieldLength");
    let label = call.name.argument(1).map(str::to_owned);
    let feature = Feature::documents(move |cx| {
        let Some(of) = cx.query.documents.text(index) else { return Ok(cx.numbers(|_| 0.0)) };
        let bm25 = settings.bm25(|| of.average_length());
        let Some(mut asked) = Asked::of(cx, index, of, &bm25, label.as_deref()) else {
            return Ok(cx.numbers(|_| 0.0));
        };
        cx.try_numbers(|lid| {
            let has_words = asked.counter.go(lid);
            Ok(if has_words { asked.scores(&bm25).map(|(_, score)| score).sum() } else { 0.0 })
        })
    });
    Ok(feature.noted(usual))
}

pub(super) fn for_labels(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let (name, kind) = (call.argument(0), call.kind.clone());
    let Some(index) = index_of(call, name) else { return Ok(usual) };
    let settings = Settings::read(call, &[&format!("bm25({name})")], "averageFieldLength");
    let feature = Feature::documents(move |cx| {
        let nothing = || cx.tensors(&kind, |_| tensor(&kind, [].into_iter()));
        let Some(of) = cx.query.documents.text(index) else { return nothing() };
        let bm25 = settings.bm25(|| of.average_length());
        let Some(mut asked) = Asked::of(cx, index, of, &bm25, None) else { return nothing() };
        let labels = asked.labels.clone();
        cx.tensors(&kind, |lid| {
            let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
            if asked.counter.go(lid) {
                for (term, score) in asked.scores(&bm25) {
                    if let Some(label) = labels[term] {
                        *sums.entry(label).or_default() += score;
                    }
                }
            }
            let scored = sums.into_iter().filter(|(_, sum)| *sum != 0.0);
            tensor(&kind, scored.map(|(label, sum)| (label.to_owned(), sum)))
        })
    });
    Ok(feature.noted(usual))
}

pub(super) fn elementwise(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let inner = call.name.arguments.first().and_then(|text| FeatureName::parse(text));
    let inner = inner.filter(|inner| inner.name == "bm25" && inner.output.is_empty());
    let name = inner.as_ref().and_then(|inner| inner.argument(0));
    let name = name.ok_or("is not supported: only bm25(field) is computed for elements")?;
    let Some(index) = index_of(call, name) else { return Ok(usual) };
    let (own, plain) = (call.base(), format!("bm25({name})"));
    let settings = Settings::read(call, &[&own, &plain], "averageElementLength");
    let kind = call.kind.clone();
    let feature = Feature::documents(move |cx| of_elements(cx, index, settings, &kind));
    Ok(feature.noted(usual))
}

fn of_elements(
    cx: &DocumentContext<'_>,
    index: usize,
    settings: Settings,
    kind: &stead_expr::TensorType,
) -> Result<Computed, String> {
    let nothing = || cx.tensors(kind, |_| tensor(kind, [].into_iter()));
    let Some(of) = cx.query.documents.text(index) else { return nothing() };
    let bm25 = settings.bm25(|| of.average_element_length());
    let Some(mut asked) = Asked::of(cx, index, of, &bm25, None) else { return nothing() };
    let (mut elements, mut places): (Vec<Element>, Vec<Occurrence>) = (Vec::new(), Vec::new());
    cx.tensors(kind, |lid| {
        let mut scores: BTreeMap<u32, f64> = BTreeMap::new();
        elements.clear();
        if asked.counter.go(lid) {
            elements.extend(asked.counter.elements());
        }
        for (term, weight) in asked.weights.iter().enumerate() {
            places.clear();
            asked.counter.occurrences(term, &mut places);
            for of_element in places.chunk_by(|a, b| a.element == b.element) {
                let number = of_element.first().map_or(0, |place| place.element);
                let at = elements.binary_search_by_key(&number, |element| element.number);
                let words = at.ok().and_then(|at| elements.get(at)).map_or(0, |e| e.words);
                let score = bm25.score(*weight, of_element.len() as u32, words);
                *scores.entry(number).or_default() += score;
            }
        }
        tensor(kind, scores.into_iter().map(|(number, score)| (number.to_string(), score)))
    })
}
