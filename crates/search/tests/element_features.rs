//! Features of elements, of labels and of several terms together, against values that follow from their definitions by hand.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field title type string { indexing: index }
    field body type string { indexing: index }
    field parts type array<string> { indexing: index }
    field marks type weightedset<string> { indexing: index }
    field tags type weightedset<string> { indexing: attribute }
    field stars type int { indexing: attribute }
    field place type position { indexing: attribute }
    field places type array<position> { indexing: attribute }
  }
  rank-profile elements {
    first-phase { expression: 0 }
    rank-properties {
      elementSimilarity(parts).output.sum: \"sum(f)\"
      elementSimilarity(parts).output.mean: \"avg(w*q)\"
      elementCompleteness(marks).fieldCompletenessImportance: 0.25
      elementwise(bm25(parts),part,float).averageElementLength: 2
      elementwise(bm25(parts),part,float).b: 0.5
      foreach.maxTerms: 4
      closeness(places).maxDistance: 40000000
      closeness(places).halfResponse: 1000000
    }
    match-features {
      elementSimilarity(parts) elementSimilarity(parts).sum elementSimilarity(parts).mean elementSimilarity(marks)
      elementCompleteness(parts) elementCompleteness(parts).completeness elementCompleteness(parts).fieldCompleteness
      elementCompleteness(parts).queryCompleteness elementCompleteness(parts).elementWeight
      elementCompleteness(marks).completeness elementCompleteness(marks).elementWeight elementCompleteness(title)
      distance(place) distance(place).km distance(place).latitude distance(place).longitude distance(place).index
      closeness(place) closeness(place).logscale distance(places) distance(places).index distance(places).km closeness(places).logscale
      distanceToPath(place).distance distanceToPath(place).traveled distanceToPath(place).product
      nativeDotProduct(tags) nativeDotProduct(marks) nativeDotProduct
      fieldTermMatch(marks,0).weight fieldTermMatch(marks,2).weight fieldTermMatch(marks,0).occurrences
      bm25(body) bm25(field: body, label: a) bm25(field: body, label: b) bm25_for_labels(body)
      elementwise(bm25(parts),part,float) elementwise(bm25(parts),x)
      queryTermDocumentFrequency(body) queryTermDocumentFrequency(parts)
      foreach(terms,N,term(N).weight,true,sum) foreach(terms,N,fieldTermMatch(body,N).occurrences,\">0\",count)
      foreach(fields,N,matchCount(N),\">0\",average) foreach(fields,N,rankingExpression(\"matchCount(N)*matchCount(N)\"),true,max)
    }
  }
}";

fn pages() -> [Json; 3] {
    [
        json!({
            "place": {"lat": 10.0, "lng": 20.0},
            "places": [{"lat": 50.0, "lng": 0.0}, {"lat": 11.0, "lng": 20.0}, {"lat": -80.0, "lng": 0.0}],
            "title": "first", "body": "red green red blue",
            "parts": ["red car", "a green car here", "", "car"],
            "marks": {"red car": 4, "blue": -3, "green car now": 5}, "tags": {"x": 10, "y": 20, "z": 30},
        }),
        json!({"title": "second", "body": "green", "parts": ["green"]}),
        json!({"title": "third"}),
    ]
}

fn features(filter: &str) -> Json {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    let yql = format!("select * from page where {filter}");
    let body = json!({
        "yql": yql,
        "ranking": "elements",
        // From the south to the north, two degrees to the west of the place of the first.
        "rankproperty.distanceToPath(place).path": "(18000000,9000000,18000000,13000000)",
        "presentation.format.tensors": "short-value",
    });
    let (status, result) = asked.search(&[pages.view()], &body);
    assert_eq!(status, 200, "{filter}: {result}");
    result["root"]["children"][0]["fields"]["matchfeatures"].clone()
}

/// The kilometres of a degree of a great circle.
const DEGREE: f64 = 6371.0088 * std::f64::consts::PI / 180.0;

fn near(distance: f64) -> f64 {
    1.0 - ((distance - 1.0) / 8.0_f64).powi(2)
}

/// BM25 of a word that so many of the three documents have, `times` in a text or element of a length.
fn bm25(having: f64, times: f64, length: f64, average: f64, b: f64) -> f64 {
    let idf = (1.0 + (3.0 - having + 0.5) / (having + 0.5)).ln();
    idf * times * 2.2 / (times + 1.2 * (1.0 - b + b * length / average))
}

#[test]
fn numbers_are_those_of_their_definitions() {
    let cases: &[(&str, &[(&str, f64)])] = &[
        (
            "title contains 'first' and parts contains 'red' and parts contains ({weight: 300}'car')",
            &[
                // `red car` is both words, of which red weighs a quarter; the others have a car alone.
                ("elementSimilarity(parts)", 1.0),
                ("elementSimilarity(parts).sum", 1.0 + 0.25 + 1.0),
                ("elementSimilarity(parts).mean", (1.0 + 0.75 + 0.75) / 3.0),
                ("elementCompleteness(parts)", 1.0),
                ("elementCompleteness(parts).queryCompleteness", 1.0),
                ("elementCompleteness(parts).elementWeight", 1.0),
                ("elementCompleteness(title)", 1.0),
                ("elementCompleteness(marks).completeness", 0.0),
                ("foreach(terms,N,term(N).weight,true,sum)", 500.0),
                ("foreach(fields,N,matchCount(N),\">0\",average)", 1.5),
                (
                    "foreach(fields,N,rankingExpression(\"matchCount(N)*matchCount(N)\"),true,max)",
                    4.0,
                ),
            ],
        ),
        (
            // One of two words: the best element is the one that is nothing else.
            "title contains 'first' and parts contains 'car' and rank(true, parts contains 'nowhere')",
            &[
                ("elementCompleteness(parts).fieldCompleteness", 1.0),
                ("elementCompleteness(parts).completeness", 0.75),
                ("elementSimilarity(parts)", 0.35 + 0.15 + 0.3 * 0.5 + 0.2),
                ("elementSimilarity(parts).sum", 0.5 + 0.25 + 1.0),
            ],
        ),
        (
            "marks contains 'car' and marks contains 'green' and marks contains ({weight: 200}'blue')",
            &[
                // green and car stand in the wrong order; what weighs less than nothing is never the best.
                ("elementSimilarity(marks)", 5.0 * (0.35 + 0.3 * 0.5 + 0.2 * 2.0 / 3.0)),
                ("elementCompleteness(marks).completeness", 0.25 * 2.0 / 3.0 + 0.75 * 0.5),
                ("elementCompleteness(marks).elementWeight", 5.0),
                // The JSON has its keys in order: blue, then what has green and car.
                ("nativeDotProduct(marks)", 500.0 + 500.0 - 600.0),
                ("fieldTermMatch(marks,0).occurrences", 2.0),
                ("fieldTermMatch(marks,0).weight", 9.0),
                ("fieldTermMatch(marks,2).weight", -3.0),
            ],
        ),
        (
            "(tags contains ({weight: 2}'x') or tags contains ({weight: 4}'y')) and title contains ({weight: 7}'first')",
            &[
                ("nativeDotProduct(tags)", 100.0),
                ("nativeDotProduct(marks)", 0.0),
                ("nativeDotProduct", 107.0),
                ("elementSimilarity(parts)", 0.0),
                ("foreach(terms,N,fieldTermMatch(body,N).occurrences,\">0\",count)", 0.0),
            ],
        ),
        (
            "body contains ({label: 'a'}'red') and body contains ({label: 'b'}'green') and body contains 'blue'",
            &[
                ("bm25(field: body,label: a)", bm25(1.0, 2.0, 4.0, 2.5, 0.75)),
                ("bm25(field: body,label: b)", bm25(2.0, 1.0, 4.0, 2.5, 0.75)),
                (
                    "bm25(body)",
                    bm25(1.0, 2.0, 4.0, 2.5, 0.75)
                        + bm25(2.0, 1.0, 4.0, 2.5, 0.75)
                        + bm25(1.0, 1.0, 4.0, 2.5, 0.75),
                ),
                ("foreach(terms,N,fieldTermMatch(body,N).occurrences,\">0\",count)", 3.0),
            ],
        ),
        (
            // A degree to the north; nothing else is asked of the other field.
            "title contains 'first' and geoLocation(place, 11.0, 20.0, '200 km')",
            &[
                ("distance(place)", 1_000_000.0),
                ("distance(place).km", DEGREE),
                ("distance(place).latitude", 10.0),
                ("distance(place).longitude", 20.0),
                ("distance(place).index", 0.0),
                ("closeness(place)", 1.0 - 1_000_000.0 / 9_013_305.0),
                ("closeness(place).logscale", {
                    let (most, s) = (9_013_305.0_f64, 45_066.525_f64);
                    ((most + s).ln() - (1_000_000.0 + s).ln()) / ((most + s).ln() - s.ln())
                }),
                ("distance(places).index", 1.0),
                ("distance(places).km", 0.0),
                ("closeness(places).logscale", 1.0),
            ],
        ),
        (
            "title contains 'first' and rank(true, geoLocation(places, 12.0, 20.0, '1 km'))",
            &[
                ("distance(place).km", 2.0 * DEGREE),
                ("distance(places)", 1_000_000.0),
                ("closeness(places).logscale", 0.5),
                ("distanceToPath(place).distance", 2_000_000.0),
                ("distanceToPath(place).traveled", 0.25),
                ("distanceToPath(place).product", 8e12),
            ],
        ),
        (
            // Who has no place is nowhere, whatever is asked.
            "title contains 'second' and rank(true, geoLocation(place, 12.0, 20.0, '1 km'))",
            &[
                ("distance(place)", 6_400_000_000.0),
                ("distance(places).index", -1.0),
                ("closeness(places).logscale", 0.0),
            ],
        ),
        (
            "title contains 'first'",
            &[
                ("distance(place)", 6_400_000_000.0),
                ("distance(place).km", 40_000.0),
                ("distance(place).latitude", 90.0),
                ("distance(place).longitude", -180.0),
                ("distance(place).index", -1.0),
                ("closeness(place)", 0.0),
            ],
        ),
    ];
    assert_eq!(near(1.0), 1.0);
    for (filter, expected) in cases {
        let features = features(filter);
        for (feature, expected) in *expected {
            let found =
                features[feature].as_f64().unwrap_or_else(|| panic!("{feature}: {features}"));
            let bound = 1e-9 * expected.abs().max(1.0);
            assert!((found - expected).abs() <= bound, "{filter}: {feature} {found} {expected}");
        }
    }
}

#[test]
fn tensors_have_a_cell_for_each_label_element_or_term() {
    let features = features(
        "body contains ({label: 'a'}'red') and title contains 'first' and body contains ({label: 'b'}'green')
         and rank(true, body contains ({label: 'c'}'nowhere'), parts contains 'green', parts contains 'car')",
    );
    let words = |label: &str| match label {
        "a" => bm25(1.0, 2.0, 4.0, 2.5, 0.75),
        _ => bm25(2.0, 1.0, 4.0, 2.5, 0.75),
    };
    // Elements have (2 + 4 + 1 + 1) / 4 words on average; green is in 2 documents, car in 1.
    let element = |length: f64, b: f64| bm25(1.0, 1.0, length, 2.0, b);
    let both = |length: f64, b: f64| element(length, b) + bm25(2.0, 1.0, length, 2.0, b);
    for (feature, expected) in [
        ("bm25_for_labels(body)", vec![("a", words("a")), ("b", words("b"))]),
        ("queryTermDocumentFrequency(body)", vec![("0", 1.0), ("2", 2.0), ("3", 0.0)]),
        ("queryTermDocumentFrequency(parts)", vec![("4", 2.0), ("5", 1.0)]),
        (
            "elementwise(bm25(parts),part,float)",
            vec![("0", element(2.0, 0.5)), ("1", both(4.0, 0.5)), ("3", element(1.0, 0.5))],
        ),
        (
            "elementwise(bm25(parts),x)",
            vec![("0", element(2.0, 0.75)), ("1", both(4.0, 0.75)), ("3", element(1.0, 0.75))],
        ),
    ] {
        let cells = features[feature].as_object().unwrap_or_else(|| panic!("{features}"));
        assert_eq!(cells.len(), expected.len(), "{feature}: {cells:?}");
        for (label, expected) in expected {
            let found = cells[label].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-6, "{feature} {label}: {found} {expected}");
        }
    }
}
