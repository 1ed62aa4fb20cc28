//! `equiv` and `alternatives` in ranking: one term, by Vespa's definitions (`equiv_blueprint.cpp`, `termmatchdatamerger.cpp`).
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_store::Documents;

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field title type string {
      indexing: index
      index: enable-bm25
    }
    field body type string {
      indexing: index
      index: enable-bm25
    }
    field tag type string { indexing: attribute }
  }
  fieldset both { fields: title, body }
  rank-profile p {
    match-features {
      bm25(body) bm25(title) bm25(body,a) queryTermCount matches(body,0) matchCount(body) term(0).significance term(0).weight
      fieldTermMatch(body,0).firstPosition
      fieldTermMatch(body,0).occurrences fieldTermMatch(body,0).exactness
      fieldTermMatch(title,0).occurrences fieldMatch(body).matches fieldMatch(body).queryCompleteness
      nativeFieldMatch(body) termDistance(body,0,1).forward termDistance(body,0,1).reverse
      textSimilarity(body).queryCoverage textSimilarity(body).fieldCoverage
      queryTermDocumentFrequency(body)
    }
  }
}";

/// Four texts of 4 words on average: `dogs` is in 3 of them, `cats` and `sea` are in 2, all others in 1.
const BODIES: [&str; 4] =
    ["fish dogs cats dogs", "cats big dogs run", "sea birds", "dogs sea sea dogs dogs sky"];

/// What `bm25` makes of a term that so many of the four texts have, so often in a text of so many words.
fn bm25(with: f64, count: f64, length: f64) -> f64 {
    let idf = (1.0 + (4.0 - with + 0.5) / (with + 0.5)).ln();
    idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / 4.0))
}

fn significance(part: f64) -> f64 {
    0.5 + 0.5 * part.ln() / 1e-6_f64.ln()
}

/// `nativeFieldMatch` of a term so often in a text of up to six words, first at a position (Vespa, `reference/ranking/nativerank.html`).
fn native(position: u32, count: u32) -> f64 {
    let first = |at: u32| 8000.0 * (-f64::from(at) / 12.5).exp();
    let often = |at: u32| 1500.0 * (1.0 + f64::from(at) / 19.0).ln() + 4000.0;
    (first(position * 255 / 5) + often(count * 255 / 6)) / (first(0) + often(255))
}

fn pages(asked: &Asked) -> Documents {
    let titles = ["dogs", "the sea", "cats", "dogs and cats"];
    let page = |(body, title)| json!({"title": title, "body": body, "tag": "x"});
    asked.documents("page", &BODIES.iter().zip(titles).map(page).collect::<Vec<_>>())
}

/// The features of the documents that a filter finds, by their numbers.
fn found(asked: &Asked, pages: &Documents, filter: &str) -> Vec<(usize, Json)> {
    let body = json!({"yql": format!("select * from page where {filter}"), "ranking": "p"});
    asked.features(pages.view(), &body)
}

fn assert_features(features: &Json, label: &str, expected: &[(&str, f64)]) {
    for (name, expected) in expected {
        let found = features[*name].as_f64().unwrap_or_else(|| panic!("{label}: no {name}"));
        assert!((found - expected).abs() < 1e-6, "{label}: {name} is {found}, not {expected}");
    }
}

#[test]
fn any_of_some_words_is_one_term() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = pages(&asked);
    // With it: how many documents have it as ranking takes it; of each document that does its length, the places, and how exact they are.
    type Found = (usize, f64, &'static [u32], f64);
    let cases: &[(&str, f64, &[Found])] = &[
        // As many as have the most frequent of the words, not as have any.
        (
            "equiv('cats', 'sea')",
            2.0,
            &[
                (0, 4.0, &[2], 1.0),
                (1, 4.0, &[0], 1.0),
                (2, 2.0, &[0], 1.0),
                (3, 6.0, &[1, 2], 1.0),
            ],
        ),
        ("equiv('birds', 'fish')", 1.0, &[(0, 4.0, &[0], 1.0), (2, 2.0, &[1], 1.0)]),
        // A phrase has as many as its rarest word, wherever it stands.
        ("equiv('birds', phrase('dogs', 'sea'))", 2.0, &[(2, 2.0, &[1], 1.0), (3, 6.0, &[0], 1.0)]),
        ("equiv('birds', 'big dogs')", 1.0, &[(1, 4.0, &[1], 1.0), (2, 2.0, &[1], 1.0)]),
        // The same word, and a phrase that begins with the other one.
        ("equiv('birds', 'bird')", 1.0, &[(2, 2.0, &[1], 1.0)]),
        ("equiv('sea', 'sea birds')", 2.0, &[(2, 2.0, &[0], 1.0), (3, 6.0, &[1, 2], 1.0)]),
        // What no document has, or has no words, takes nothing away.
        ("equiv('birds', 'nowhere')", 1.0, &[(2, 2.0, &[1], 1.0)]),
        ("equiv('birds', '!')", 1.0, &[(2, 2.0, &[1], 1.0)]),
        (
            "alternatives({'dogs': 1.0, 'cat': 0.7})",
            3.0,
            &[
                (0, 4.0, &[1, 2, 3], 2.7 / 3.0),
                (1, 4.0, &[0, 2], 1.7 / 2.0),
                (3, 6.0, &[0, 3, 4], 1.0),
            ],
        ),
        ("alternatives({'fish': 0.25})", 1.0, &[(0, 4.0, &[0], 0.25)]),
        // Of what stands at a place the most exact counts; exactness is a part of the weight of all.
        (
            "equiv({weight: 50}'sea', phrase('sea', 'birds'))",
            2.0,
            &[(2, 2.0, &[0], 1.0), (3, 6.0, &[1, 2], 0.5)],
        ),
        (
            "({weight: 200}equiv({weight: 50}'fish', 'birds'))",
            1.0,
            &[(0, 4.0, &[0], 0.25), (2, 2.0, &[1], 1.0)],
        ),
        // Where words are near each other, `equiv` is a term of its own.
        (
            "near(equiv('fish', {weight: 50}'sea'), 'dogs')",
            2.0,
            &[(0, 4.0, &[0], 1.0), (3, 6.0, &[1, 2], 0.5)],
        ),
        ("onear(alternatives({'fish': 0.5, 'sea': 1}), 'cats')", 2.0, &[(0, 4.0, &[0], 0.5)]),
    ];
    for (word, with, expected) in cases {
        let hits = found(&asked, &pages, &format!("body contains {word}"));
        let numbers: Vec<usize> = hits.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, expected.iter().map(|found| found.0).collect::<Vec<_>>(), "{word}");
        for ((number, features), (_, length, places, exactness)) in hits.iter().zip(*expected) {
            let label = format!("{word} of {number}");
            let count = places.len() as f64;
            assert_features(
                features,
                &label,
                &[
                    ("fieldTermMatch(body,0).occurrences", count),
                    ("fieldTermMatch(body,0).firstPosition", places[0].into()),
                    ("fieldTermMatch(body,0).exactness", *exactness),
                    ("term(0).significance", significance(with / 4.0)),
                    ("matches(body,0)", 1.0),
                ],
            );
            if word.contains("near(") {
                continue;
            }
            assert_features(
                features,
                &label,
                &[
                    ("bm25(body)", bm25(*with, count, *length)),
                    ("queryTermCount", 1.0),
                    ("matchCount(body)", 1.0),
                    ("fieldMatch(body).matches", 1.0),
                    ("fieldMatch(body).queryCompleteness", 1.0),
                    ("nativeFieldMatch(body)", native(places[0], places.len() as u32)),
                    ("textSimilarity(body).queryCoverage", 1.0),
                    ("textSimilarity(body).fieldCoverage", 1.0 / length),
                ],
            );
            let cells = &features["queryTermDocumentFrequency(body)"]["cells"];
            assert_eq!(cells, &json!({"0": *with}), "{label}");
        }
    }
}

#[test]
fn a_phrase_is_as_rare_as_the_rarest_of_its_words() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = pages(&asked);
    let hits = found(&asked, &pages, "body contains phrase('dogs', 'sea')");
    assert_eq!(hits.len(), 1);
    assert_features(
        &hits[0].1,
        "3",
        &[("bm25(body)", bm25(2.0, 1.0, 6.0)), ("term(0).significance", significance(0.5))],
    );
}

#[test]
fn it_has_the_annotations_of_all_and_a_place_among_others() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = pages(&asked);
    let hits = found(
        &asked,
        &pages,
        "body contains ({label: 'a', weight: 30, significance: 0.9}equiv('fish', 'cats')) and body contains 'dogs'",
    );
    assert_eq!(hits.len(), 2);
    // `significance` is what `bm25` takes for idf.
    let labeled = 0.9 * 2.0 * 2.2 / (2.0 + 1.2);
    assert_features(
        &hits[0].1,
        "0",
        &[
            ("bm25(body,a)", labeled),
            ("bm25(body)", labeled + bm25(3.0, 2.0, 4.0)),
            ("queryTermCount", 2.0),
            ("term(0).weight", 30.0),
            ("term(0).significance", 0.9),
            // fish and cats at 0 and 2, dogs at 1 and 3.
            ("termDistance(body,0,1).forward", 1.0),
            ("termDistance(body,0,1).reverse", 1.0),
        ],
    );
    // What is said of the whole holds for its words too.
    assert_features(&hits[0].1, "0", &[("fieldTermMatch(body,0).exactness", 1.0)]);
}

#[test]
fn it_is_a_term_of_each_field_of_a_set() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = pages(&asked);
    let hits = found(&asked, &pages, "both contains equiv('cats', 'sea')");
    assert_eq!(hits.len(), 4);
    assert_features(
        &hits[3].1,
        "3",
        &[
            ("queryTermCount", 1.0),
            ("fieldTermMatch(body,0).occurrences", 2.0),
            ("fieldTermMatch(title,0).occurrences", 1.0),
            // Two titles and two bodies have the more frequent word.
            ("bm25(body)", bm25(4.0, 2.0, 6.0)),
        ],
    );
}

#[test]
fn of_several_fields_it_is_as_frequent_as_the_most_frequent_word_in_all_of_them() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = pages(&asked);
    for (word, with) in [
        // In a title, and in a body.
        ("equiv('the', 'fish')", 1.0),
        ("equiv('fish', 'the sky')", 1.0),
        // In no more documents than there are.
        ("equiv('fish', 'dogs')", 4.0),
        ("equiv('fish', '!')", 1.0),
        ("'fish'", 1.0),
    ] {
        let hits = found(&asked, &pages, &format!("both contains {word}"));
        assert_eq!(hits[0].0, 0, "{word}");
        let places = hits[0].1["fieldTermMatch(body,0).occurrences"].as_f64().unwrap();
        let expected = [("bm25(body)", bm25(with, places, 4.0))];
        assert_features(&hits[0].1, word, &expected);
        assert_features(&hits[0].1, word, &[("term(0).significance", significance(with / 4.0))]);
    }
}

#[test]
fn attributes_and_other_fields_have_it_too() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = pages(&asked);
    let hits = found(
        &asked,
        &pages,
        "tag contains equiv('x', 'y') and tag contains alternatives({'y': 1, 'X': 1})",
    );
    assert_eq!(hits.len(), 4);
    assert_features(&hits[0].1, "0", &[("queryTermCount", 2.0)]);
    assert!(found(&asked, &pages, "tag contains equiv('y', 'z')").is_empty());
}
