//! `fieldMatch(field)`: how well a text matches a query, by the segments of the text that do so best
//! (Vespa, `searchlib/src/vespa/searchlib/features/fieldmatchfeature.cpp`).

mod measures;
mod segments;
mod settings;
#[cfg(test)]
mod tests;

use self::measures::{Measures, Occurrences};
use self::segments::{Asked, Text};
use self::settings::Settings;
use super::terms::{CONNECTEDNESS, FieldTerms, query_terms};
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;
use crate::query::Test;

/// An output, of what is measured.
type Output = fn(&Measures, &Text<'_>) -> f64;

/// The outputs of segments by their names.
const OUTPUTS: [(&str, Output); 30] = [
    ("", |m, text| m.score(text)),
    ("proximity", |m, text| m.proximity(text)),
    ("completeness", |m, text| m.completeness(text)),
    ("queryCompleteness", |m, text| m.query_completeness(text)),
    ("fieldCompleteness", |m, text| m.field_completeness(text)),
    ("orderness", |m, _| m.orderness()),
    ("relatedness", |m, _| m.relatedness()),
    ("earliness", |m, text| m.earliness(text)),
    ("longestSequenceRatio", |m, _| m.longest_sequence_ratio()),
    ("segmentProximity", |m, text| m.segment_proximity(text)),
    ("unweightedProximity", |m, _| m.unweighted_proximity()),
    ("absoluteProximity", |m, _| m.absolute_proximity()),
    ("occurrence", |_, text| Occurrences::of(text).relative),
    ("absoluteOccurrence", |_, text| Occurrences::of(text).absolute),
    ("weightedOccurrence", |_, text| Occurrences::of(text).weighted),
    ("weightedAbsoluteOccurrence", |_, text| Occurrences::of(text).weighted_absolute),
    ("significantOccurrence", |_, text| Occurrences::of(text).significant),
    ("weight", |m, _| m.weight),
    ("significance", |m, _| m.significance),
    ("importance", |m, _| m.importance()),
    ("segments", |m, _| m.segments.into()),
    ("matches", |m, _| m.matches.into()),
    // Matches of terms of which nobody knows where they stand: there are none here.
    ("degradedMatches", |_, _| 0.0),
    ("outOfOrder", |m, _| m.out_of_order.into()),
    ("gaps", |m, _| m.gaps.into()),
    ("gapLength", |m, _| m.gap_length.into()),
    ("longestSequence", |m, _| m.longest_sequence().into()),
    ("head", |m, _| m.head().into()),
    ("tail", |m, _| m.tail().into()),
    ("segmentDistance", |m, _| m.segment_distance.into()),
];

/// How rare a word of a phrase is where nothing is said: nobody counts it alone.
const RARE: f64 = 1.0;

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0).to_owned();
    let Some(index) = call.documents.texts().iter().position(|of| of.name == name) else {
        return Ok(usual);
    };
    if call.documents.texts()[index].is_many {
        return Err("is of texts of one element".to_owned());
    }
    let (settings, wanted) = (Settings::read(call)?, call.name.output.to_owned());
    let output = OUTPUTS.iter().find(|(name, _)| *name == wanted);
    let (_, output) = *output.ok_or_else(|| format!("has no output {wanted}"))?;
    let is_filter = call.field(&name).is_filter;
    let feature = Feature::documents(move |cx| {
        let query = Query::of(cx, index, &name);
        match is_filter {
            // Where terms stand is not known of filters.
            true => query.without_places(cx, index, &wanted, &settings),
            false => query.with_places(cx, index, output, &settings),
        }
    });
    Ok(feature.noted(usual))
}

/// What a query asks of a field.
struct Query {
    /// By the place of a term among those that ask the field: its words. A phrase has several.
    terms: Vec<Vec<Asked>>,
    /// Of all terms, whatever they ask.
    weight: f64,
    significance: f64,
}

impl Query {
    fn of(cx: &DocumentContext<'_>, index: usize, name: &str) -> Query {
        let tree = cx.query.matcher.map(crate::matching::Matcher::tree);
        let mut query = Query { terms: Vec::new(), weight: 0.0, significance: 0.0 };
        let terms = query_terms(cx);
        for (at, term) in terms.iter().enumerate() {
            let tested = term.numbers.iter().filter_map(|number| tree?.terms.get(*number));
            let of_field = |test: &Test| match test {
                Test::Indexed(indexed) if indexed.index == index => {
                    Some(indexed.pattern.phrase_length())
                }
                _ => None,
            };
            let mut in_field = tested.filter_map(|tested| Some((of_field(&tested.test)?, tested)));
            let (words, said) = match in_field.next() {
                Some((words, tested)) => (Some(words), tested.style.rarity()),
                None => (None, None),
            };
            let count = words.unwrap_or(1);
            let significance = match count {
                1 => term.significance,
                _ => said.unwrap_or(RARE),
            };
            query.weight += term.weight * count as f64;
            query.significance += significance * count as f64;
            if words.is_some() {
                let before = at.checked_sub(1).and_then(|before| terms.get(before));
                let word =
                    Asked { weight: term.weight, significance, connectedness: CONNECTEDNESS };
                let mut words = vec![word; count];
                // What is said of a phrase is about its first word.
                if let Some(first) = words.first_mut() {
                    first.connectedness = term.connectedness(before);
                }
                query.terms.push(words);
            }
        }
        let said = |property: &str| {
            let text = cx.query.query.text(&format!("fieldMatch({name}).{property}"))?;
            text.trim().parse::<f64>().ok()
        };
        query.weight = said("totalTermWeight").unwrap_or(query.weight);
        query.significance = said("totalTermSignificance").unwrap_or(query.significance);
        query
    }

    fn with_places(
        &self,
        cx: &DocumentContext<'_>,
        index: usize,
        output: Output,
        settings: &Settings,
    ) -> Result<Computed, String> {
        let Some(mut asked) = FieldTerms::new(cx, index, &query_terms(cx)) else {
            return Ok(cx.numbers(|_| 0.0));
        };
        let words: Vec<Asked> = self.terms.iter().flatten().cloned().collect();
        let mut places = vec![Vec::new(); words.len()];
        cx.try_numbers(|lid| {
            if !asked.go(lid) {
                return Ok(0.0);
            }
            let mut into = places.iter_mut();
            for (at, term) in self.terms.iter().enumerate() {
                let found = asked.places(at);
                for (offset, into) in (0..).zip(into.by_ref().take(term.len())) {
                    into.clear();
                    into.extend(found.iter().map(|place| place.position + offset));
                }
            }
            if places.iter().all(Vec::is_empty) {
                return Ok(0.0);
            }
            let text = Text {
                terms: &words,
                places: &places,
                length: asked.length(),
                weight: self.weight,
                significance: self.significance,
                settings,
            };
            Ok(output(&text.measures(), &text))
        })
    }

    /// What is known where nothing but whether a document has a term is.
    fn without_places(
        &self,
        cx: &DocumentContext<'_>,
        index: usize,
        output: &str,
        settings: &Settings,
    ) -> Result<Computed, String> {
        let Some(mut asked) = FieldTerms::new(cx, index, &query_terms(cx)) else {
            return Ok(cx.numbers(|_| 0.0));
        };
        let count = self.terms.iter().map(Vec::len).sum::<usize>() as f64;
        cx.try_numbers(|lid| {
            if !asked.go(lid) {
                return Ok(0.0);
            }
            let (mut matches, mut weight) = (0.0, 0.0);
            for (at, words) in self.terms.iter().enumerate() {
                if !asked.places(at).is_empty() {
                    matches += words.len() as f64;
                    weight += words.iter().map(|word| word.weight).sum::<f64>();
                }
            }
            Ok(match output {
                "matches" | "degradedMatches" => matches,
                "queryCompleteness" => matches / count,
                "completeness" => matches / count * (1.0 - settings.field_completeness),
                "weight" if self.weight > 0.0 => weight / self.weight,
                _ => 0.0,
            })
        })
    }
}
