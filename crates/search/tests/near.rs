//! `near` and `onear`, from the request to the result: what they find across elements, and what ranking knows of it.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field body type string {
      indexing: index
      index: enable-bm25
    }
    field parts type array<string> { indexing: index }
  }
  rank-profile plain {
    match-features {
      fieldTermMatch(body,0).occurrences fieldTermMatch(body,0).firstPosition fieldTermMatch(body,1).occurrences
      bm25(body) term(0).significance matchCount(body) queryTermCount termDistance(parts,0,1).forward nativeProximity(parts)
    }
  }
  rank-profile joined inherits plain {
    rank parts { element-gap: 2 }
  }
  rank-profile apart inherits joined {
    rank parts { element-gap: infinity }
  }
  rank-profile ranked inherits apart {
    rank-properties { nativeProximity.elementGap.parts: 0 }
  }
}";

#[test]
fn elements_are_near_each_other_as_the_profile_or_the_request_says() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents(
        "page",
        &[
            json!({"parts": ["red green", "blue"]}),
            json!({"parts": ["red", "grey green", "blue"]}),
            json!({"parts": ["blue red"]}),
        ],
    );
    let near = "parts contains ({distance: 4}onear('red', 'blue'))";
    for (filter, profile, gap, expected) in [
        (near, "plain", None, &[][..]),
        // `blue` is two words and a gap of two behind `red`.
        (near, "joined", None, &[0]),
        (near, "apart", None, &[]),
        (near, "plain", Some("2"), &[0]),
        (near, "apart", Some("2"), &[0]),
        (near, "joined", Some("3"), &[]),
        (near, "joined", Some("infinity"), &[]),
        // Over the whole of an element nothing is near.
        ("parts contains ({distance: 99}near('red', 'blue'))", "joined", None, &[0, 2]),
        ("parts contains ({distance: 9}near('red', 'grey'))", "joined", None, &[1]),
        (
            "parts contains ({distance: 9, exclusionDistance: 1}near('red', !'green'))",
            "plain",
            None,
            &[1, 2],
        ),
        (
            "parts contains ({distance: 9, exclusionDistance: 2}near('red', !'green'))",
            "plain",
            Some("0"),
            &[2],
        ),
        ("parts contains sameElement(({distance: 4}onear('red', 'blue')))", "joined", None, &[0]),
    ] {
        let yql = format!("select * from page where {filter}");
        let mut body = json!({"yql": yql, "ranking": profile});
        if let Some(gap) = gap {
            body["ranking.elementGap.parts"] = json!(gap);
        }
        let hits = asked.features(pages.view(), &body);
        let hits: Vec<usize> = hits.into_iter().map(|(number, _)| number).collect();
        assert_eq!(hits, expected, "{filter} {profile} {gap:?}");
    }
}

#[test]
fn distances_of_features_go_across_elements() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[json!({"parts": ["red green", "blue"]})]);
    let decay = |behind: f64, size: f64| {
        // expdecay(w, 3) of 256 places (Vespa, documentation, `reference/ranking/nativerank.html`).
        size * (-behind / 3.0).exp()
    };
    let whole = (decay(0.0, 500.0) + decay(0.0, 400.0)) / 2.0;
    let far = (decay(255.0, 500.0) + decay(255.0, 400.0)) / 2.0 / whole;
    let forward = |behind: f64| (decay(behind, 500.0) + decay(255.0, 400.0)) / 2.0 / whole;
    for (profile, distance, proximity) in [
        ("plain", 1_000_000.0, far),
        ("joined", 4.0, forward(3.0)),
        ("apart", 1_000_000.0, far),
        ("ranked", 1_000_000.0, forward(1.0)),
    ] {
        let filter = "parts contains 'red' and parts contains 'blue'";
        let yql = format!("select * from page where {filter}");
        let hits = asked.features(pages.view(), &json!({"yql": yql, "ranking": profile}));
        let features = &hits[0].1;
        assert_eq!(features["termDistance(parts,0,1).forward"], json!(distance), "{profile}");
        let found = features["nativeProximity(parts)"].as_f64().unwrap();
        assert!((found - proximity).abs() < 1e-9, "{profile}: {found} {proximity}");
    }
}

#[test]
fn ranking_knows_the_words_that_are_near() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents(
        "page",
        &[
            json!({"body": "big cats and dogs, big fish; cats"}),
            json!({"body": "cats and big dogs"}),
            json!({"body": "fish and cats and big"}),
        ],
    );
    let significance = |part: f64| 0.5 + 0.5 * part.ln() / 1e-6_f64.ln();
    let word = |with: f64, count: f64, length: f64| {
        let idf = (1.0 + (3.0 - with + 0.5) / (with + 0.5)).ln();
        idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / (16.0 / 3.0)))
    };
    for (filter, expected) in [
        // Of the places of a word those count that are near the other.
        ("({distance: 1}onear('big', 'cats'))", vec![(0, 1.0, 0.0, 1.0, significance(1.0), 2.0)]),
        ("onear('big', 'cats')", vec![(0, 2.0, 0.0, 2.0, significance(1.0), 2.0)]),
        ("near('cats', phrase('big', 'dogs'))", vec![(1, 1.0, 0.0, 1.0, significance(1.0), 2.0)]),
        (
            "near(equiv('fish', 'dogs'), 'cats')",
            vec![
                // As many have the most frequent of the words, wherever it stands.
                (0, 2.0, 3.0, 2.0, significance(2.0 / 3.0), 2.0),
                (2, 1.0, 0.0, 1.0, significance(2.0 / 3.0), 2.0),
            ],
        ),
        // And of a phrase its rarest word.
        ("near('big cats', !'fish')", vec![(0, 1.0, 0.0, 0.0, significance(1.0), 1.0)]),
    ] {
        let yql = format!("select * from page where body contains {filter}");
        let hits = asked.features(pages.view(), &json!({"yql": yql, "ranking": "plain"}));
        let hits: Vec<_> = hits
            .iter()
            .map(|(number, features)| {
                let of = |name: &str| features[name].as_f64().unwrap();
                (
                    *number,
                    of("fieldTermMatch(body,0).occurrences"),
                    of("fieldTermMatch(body,0).firstPosition"),
                    of("fieldTermMatch(body,1).occurrences"),
                    of("term(0).significance"),
                    of("queryTermCount"),
                )
            })
            .collect();
        assert_eq!(hits, expected, "{filter}");
    }
    // Where they are not near it knows none, and `bm25` counts what is near with the frequency of the words.
    let yql = "select * from page where true and rank(true, body contains onear('big', 'cats'))";
    let hits = asked.features(pages.view(), &json!({"yql": yql, "ranking": "plain"}));
    let of = |number: usize, name: &str| hits[number].1[name].as_f64().unwrap();
    let expected = 2.0 * word(3.0, 2.0, 7.0);
    assert!((of(0, "bm25(body)") - expected).abs() < 1e-6, "{} {expected}", of(0, "bm25(body)"));
    for number in [1, 2] {
        assert_eq!(of(number, "bm25(body)"), 0.0);
        assert_eq!(of(number, "matchCount(body)"), 0.0);
    }
    assert_eq!(of(0, "matchCount(body)"), 2.0);
}
