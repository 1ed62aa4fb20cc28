//! `textSimilarity(field)` (Vespa, `searchlib/src/vespa/searchlib/features/text_similarity_feature.cpp`): how near, in what order and how
//! completely a text of one element has the words of a query.

use super::terms::{FieldTerms, query_terms};
use super::{Call, DocumentContext, Feature, default};
use crate::columns::Computed;

/// Words farther apart have nothing to do with each other.
const FAR: f64 = 8.0;

/// The parts of the score: proximity, order, how much of the query and how much of the text is matched.
const WEIGHTS: [f64; 4] = [0.35, 0.15, 0.30, 0.20];

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let usual = default::build(call)?;
    let name = call.argument(0);
    let Some(index) = call.documents.texts().iter().position(|of| of.name == name) else {
        return Ok(usual);
    };
    if call.documents.texts()[index].is_many {
        return Err("is of texts of one element; elementSimilarity is of several".to_owned());
    }
    let wanted = match call.name.output {
        "proximity" => Some(0),
        "order" => Some(1),
        "queryCoverage" => Some(2),
        "fieldCoverage" => Some(3),
        _ => None,
    };
    let feature = Feature::documents(move |cx| scores(cx, index, wanted));
    Ok(feature.noted(usual))
}

fn scores(
    cx: &DocumentContext<'_>,
    index: usize,
    wanted: Option<usize>,
) -> Result<Computed, String> {
    let terms: Vec<_> = query_terms(cx).into_iter().filter(|term| term.weight != 0.0).collect();
    let Some(mut asked) = FieldTerms::new(cx, index, &terms) else {
        return Ok(cx.numbers(|_| 0.0));
    };
    let weights: Vec<f64> = asked.terms.iter().map(|term| terms[*term].weight).collect();
    let mut places = vec![Vec::new(); weights.len()];
    cx.try_numbers(|lid| {
        if !asked.go(lid) {
            return Ok(0.0);
        }
        for (at, places) in places.iter_mut().enumerate() {
            places.clear();
            places.extend(asked.places(at).iter().map(|place| place.position));
        }
        let Some(parts) = similarity(&places, &weights, asked.length()) else { return Ok(0.0) };
        Ok(match wanted {
            Some(part) => parts[part],
            None => parts.iter().zip(WEIGHTS).map(|(part, weight)| part * weight).sum(),
        })
    })
}

/// How near words are that are so far apart.
fn nearness(distance: u32) -> f64 {
    let part = (f64::from(distance) - 1.0) / FAR;
    if f64::from(distance) > FAR { 0.0 } else { 1.0 - part * part }
}

/// Proximity, order, and the parts of the query and of a text of `length` words that are matched, of terms by where they stand; nothing
/// if none does. Each term is matched once, behind those before it.
pub(super) fn similarity(places: &[Vec<u32>], weights: &[f64], length: u32) -> Option<[f64; 4]> {
    let mut at: Vec<std::slice::Iter<'_, u32>> = places.iter().map(|list| list.iter()).collect();
    let next = |at: &[std::slice::Iter<'_, u32>]| {
        let open = at.iter().enumerate();
        open.filter_map(|(term, list)| Some((*list.as_slice().first()?, term))).min()
    };
    let (first, term) = next(&at)?;
    at[term] = [].iter();
    let (mut position, mut last, mut weight) = (first, term, weights[term]);
    let (mut matched, mut near, mut in_order) = (1_u32, 0.0, 0.0);
    while let Some((place, term)) = next(&at) {
        if place <= position {
            at[term].next();
            continue;
        }
        near += nearness(place - position);
        in_order += f64::from(u8::from(term > last));
        (position, last) = (place, term);
        matched += 1;
        weight += weights[term];
        at[term] = [].iter();
    }
    let matches = matched.min(length);
    let (proximity, order) = match matches {
        0 | 1 => (nearness(length), f64::from(u8::from(weights.len() == 1))),
        _ => {
            let pairs = f64::from(matches - 1);
            (near / pairs, in_order / pairs)
        }
    };
    let total: f64 = weights.iter().sum();
    Some([proximity, order, weight / total, f64::from(matches) / f64::from(length.max(1))])
}

#[cfg(test)]
mod tests {
    use super::similarity;

    /// The values follow from the definition by hand.
    #[test]
    fn texts_are_as_similar_as_their_words_are_near_and_in_order() {
        let near = |distance: f64| 1.0 - ((distance - 1.0) / 8.0).powi(2);
        for (label, places, weights, length, expected) in [
            ("nothing", vec![vec![]], vec![100.0], 3, None),
            ("all of it", vec![vec![0], vec![1]], vec![100.0; 2], 2, Some([1.0, 1.0, 1.0, 1.0])),
            ("one word", vec![vec![1]], vec![100.0], 3, Some([near(3.0), 1.0, 1.0, 1.0 / 3.0])),
            (
                "one of two",
                vec![vec![0], vec![]],
                vec![100.0, 300.0],
                20,
                Some([0.0, 0.0, 0.25, 0.05]),
            ),
            (
                "turned around",
                vec![vec![3], vec![0]],
                vec![100.0; 2],
                4,
                Some([near(3.0), 0.0, 1.0, 0.5]),
            ),
            (
                "the next that is behind",
                vec![vec![0, 5], vec![0, 2], vec![1]],
                vec![100.0; 3],
                6,
                // 0 of the first, 1 of the third, 2 of the second.
                Some([1.0, 0.5, 1.0, 0.5]),
            ),
        ] {
            let found = similarity(&places, &weights, length);
            assert_eq!(found.is_some(), expected.is_some(), "{label}");
            for (found, expected) in found.into_iter().flatten().zip(expected.into_iter().flatten())
            {
                assert!((found - expected).abs() < 1e-12, "{label}: {found} {expected}");
            }
        }
    }
}
