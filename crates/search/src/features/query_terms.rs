//! What a query's terms are and where documents have them, number by number: `term`, `queryTermCount`, `matchCount`, `fieldTermMatch`,
//! `termDistance`, `fieldLength` and `averageFieldLength` (Vespa, documentation, `reference/ranking/rank-features.html`).

use stead_expr::Value;
use stead_text::Element;

use super::distance::{Elements, distance};
use super::exactness::{average, inexact};
use super::terms::{FieldTerms, QueryTerm, query_terms, terms_of};
use super::{Call, DocumentContext, Feature, Run, default};
use crate::columns::Computed;

/// Where neither a term nor a word of a field is known.
const NOWHERE: f64 = 1_000_000.0;

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let (field, output) = (call.argument(0).to_owned(), call.name.output.to_owned());
    let index = call.documents.texts().iter().position(|index| index.name == field);
    let number = |at: usize| {
        let text = call.argument(at);
        text.parse::<usize>().map_err(|_| format!("expected the number of a term, found {text:?}"))
    };
    let feature = match (call.name.name, index) {
        ("queryTermCount", _) => Feature::query(|cx| Ok(Value::double(terms_of(cx).len() as f64))),
        ("term", _) => {
            let number = number(0)?;
            let without = match &usual.run {
                Run::Always(value) => value.clone(),
                _ => Value::double(0.0),
            };
            Feature::query(move |cx| {
                if cx.matcher.is_none() {
                    return Ok(without.clone());
                }
                let terms = terms_of(cx);
                let found = terms.get(number);
                let before = number.checked_sub(1).and_then(|before| terms.get(before));
                Ok(Value::double(found.map_or(0.0, |term| match output.as_str() {
                    "significance" => term.significance,
                    "weight" => term.weight,
                    _ => term.connectedness(before),
                })))
            })
        }
        ("matchCount", _) => Feature::documents(move |cx| match_count(cx, &field)),
        ("averageFieldLength", Some(index)) => {
            let said = call.property("averageFieldLength");
            Feature::query(move |cx| {
                let of = || cx.documents.text(index).map_or(0.0, |of| of.average_length());
                Ok(Value::double(said.unwrap_or_else(of)))
            })
        }
        ("fieldLength", Some(index)) => Feature::documents(move |cx| {
            // Known where the query asks the field.
            let mut asked = FieldTerms::new(cx, index, &query_terms(cx));
            cx.try_numbers(|lid| {
                let length = asked.as_mut().and_then(|asked| asked.matched_length(lid));
                Ok(length.map_or(NOWHERE, f64::from))
            })
        }),
        ("fieldTermMatch", Some(index)) => {
            let number = number(1)?;
            Feature::documents(move |cx| field_term_match(cx, index, number, &output))
        }
        ("termDistance", Some(index)) => {
            let (first, second) = (number(1)?, number(2)?);
            let gap = call.field(call.argument(0)).element_gap;
            Feature::documents(move |cx| term_distance(cx, index, (first, second), gap, &output))
        }
        _ => return Ok(usual),
    };
    Ok(feature.noted(usual))
}

/// How many terms of the query a document has in a field.
fn match_count(cx: &DocumentContext<'_>, field: &str) -> Result<Computed, String> {
    let Some(matcher) = cx.query.matcher else { return Ok(cx.numbers(|_| 0.0)) };
    let tree = matcher.tree();
    let asks = |number: &usize| tree.terms[*number].attribute == field;
    let terms: Vec<Vec<usize>> = query_terms(cx)
        .into_iter()
        .map(|term| term.numbers.into_iter().filter(asks).collect::<Vec<_>>())
        .filter(|numbers| !numbers.is_empty())
        .collect();
    cx.try_numbers(|lid| {
        let (segment, row) = matcher.split(lid);
        let mut count = 0.0;
        for numbers in &terms {
            for number in numbers {
                let found = matcher.term(*number, segment, row).map_err(|e| e.to_string())?;
                if found.is_some() {
                    count += 1.0;
                    break;
                }
            }
        }
        Ok(count)
    })
}

/// Where and how often a document has a term.
fn field_term_match(
    cx: &DocumentContext<'_>,
    index: usize,
    number: usize,
    output: &str,
) -> Result<Computed, String> {
    let nothing = if output.ends_with("Position") { NOWHERE } else { 0.0 };
    let mut asked = FieldTerms::new(cx, index, &query_terms(cx));
    let place = asked.as_ref().and_then(|asked| asked.terms.iter().position(|at| *at == number));
    let phrases = if output == "exactness" { inexact(cx, index, number) } else { Vec::new() };
    let of = cx.query.documents.text(index).filter(|_| !phrases.is_empty());
    let mut exact = of.map(|of| of.counter(phrases.iter().map(|(pattern, _)| pattern).collect()));
    cx.try_numbers(|lid| {
        let Some((asked, place)) = asked.as_mut().zip(place) else { return Ok(nothing) };
        if !asked.go(lid) {
            return Ok(nothing);
        }
        let places = asked.places(place);
        let positions = places.iter().map(|place| place.position);
        Ok(match output {
            _ if places.is_empty() => nothing,
            "firstPosition" => positions.min().map_or(nothing, f64::from),
            "lastPosition" => positions.max().map_or(nothing, f64::from),
            "exactness" => exact.as_mut().map_or(1.0, |exact| match exact.go(lid) {
                true => average(&phrases, exact, places),
                false => 1.0,
            }),
            "weight" => {
                let elements: Vec<u32> = places.iter().map(|place| place.element).collect();
                // An occurrence weighs what its element does, 1 where that is of no weighted set.
                asked
                    .elements()
                    .map(|element| {
                        let count =
                            elements.iter().filter(|number| **number == element.number).count();
                        count as f64 * f64::from(element.weight)
                    })
                    .sum()
            }
            _ => places.len() as f64,
        })
    })
}

/// How far a document has one term behind another.
fn term_distance(
    cx: &DocumentContext<'_>,
    index: usize,
    (first, second): (usize, usize),
    gap: Option<u32>,
    output: &str,
) -> Result<Computed, String> {
    let terms = query_terms(cx);
    let words = |number: usize| terms.get(number).map_or(1, |term: &QueryTerm| term.words(cx));
    let (from, to) = if output.starts_with("reverse") { (second, first) } else { (first, second) };
    let mut asked = FieldTerms::new(cx, index, &terms);
    let place = |number: usize| asked.as_ref()?.terms.iter().position(|at| *at == number);
    let pair = place(from).zip(place(to));
    cx.try_numbers(|lid| {
        let Some((asked, (a, b))) = asked.as_mut().zip(pair) else { return Ok(NOWHERE) };
        if !asked.go(lid) {
            return Ok(NOWHERE);
        }
        let begin = asked.places(a).to_vec();
        let all: Vec<Element> = asked.elements().collect();
        let elements = Elements { gap, all: &all };
        let found = distance(&begin, asked.places(b), words(from), elements);
        Ok(found.map_or(NOWHERE, |(between, position)| {
            f64::from(if output.ends_with("Position") { position } else { between })
        }))
    })
}
