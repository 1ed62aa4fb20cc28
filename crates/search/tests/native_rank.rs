//! `nativeRank`, the score where a profile says none, against its definition (Vespa, documentation, `reference/ranking/nativerank.html`).
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field title type string { indexing: index | summary }
    field body type string { indexing: index | summary }
    field tags type weightedset<string> { indexing: attribute }
    field year type int { indexing: attribute }
  }
  fieldset default { fields: title, body }
  rank-profile parts {
    match-features {
      nativeFieldMatch nativeFieldMatch(title) nativeFieldMatch(body)
      nativeProximity nativeProximity(body) nativeAttributeMatch nativeAttributeMatch(tags)
      nativeRank nativeRank(title) nativeRank(body,tags)
    }
  }
  rank-profile own inherits parts {
    rank body: filter
    weight title: 300
    rank-type tags: tags
    rank-properties {
      nativeFieldMatch.firstOccurrenceTable.title: \"linear(-1,255)\"
      nativeFieldMatch.firstOccurrenceImportance: 1
      nativeRank.attributeMatchWeight: 0
    }
  }
}";

fn pages() -> Vec<Json> {
    vec![
        json!({"title": "The sea", "body": "Blue waves, blue sky; the sea", "tags": {"a": 3, "b": -2}, "year": 1971}),
        json!({"title": "Sky dogs", "body": "dogs running by the sea, dogs running home", "tags": {"a": 300}}),
        json!({"title": "Nothing"}),
    ]
}

fn first_table(at: u32) -> f64 {
    8000.0 * (-f64::from(at) / 12.5).exp()
}

fn count_table(at: u32) -> f64 {
    1500.0 * (1.0 + f64::from(at) / 19.0).ln() + 4000.0
}

/// A word `count` times in a text of up to six words, first at a position.
fn of_short(position: u32, count: u32) -> f64 {
    let whole = first_table(0) + count_table(255);
    (first_table(position * 255 / 5) + count_table(count * 255 / 6)) / whole
}

/// The same in a text of eight words.
fn of_eight(position: u32, count: u32) -> f64 {
    let whole = first_table(0) + count_table(255);
    (first_table(position * 255 / 7) + count_table(count * 255 / 8)) / whole
}

fn significance(part: f64) -> f64 {
    0.5 + 0.5 * part.ln() / 1e-6_f64.ln()
}

/// Words so far apart, in their order and in the other.
fn near(forward: Option<i32>, reverse: Option<i32>) -> f64 {
    let decay = |distance: Option<i32>| (-f64::from(distance.map_or(255, |d| d - 1)) / 3.0).exp();
    (500.0 * decay(forward) + 400.0 * decay(reverse)) / 900.0
}

#[test]
fn scores_are_those_of_the_definition() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    let (title, body) = (of_short(1, 1), of_short(5, 1));
    let both = significance(2.0 / 3.0);
    let one = significance(1.0 / 3.0);
    for (filter, document, feature, expected) in [
        ("title contains 'sea'", 0, "nativeFieldMatch", title),
        ("title contains 'sea'", 0, "nativeFieldMatch(body)", 0.0),
        ("title contains 'sea'", 0, "nativeRank(title)", (title * 100.0) / 225.0),
        ("title contains 'sea'", 0, "nativeRank(body,tags)", 0.0),
        // A word that is asked of two fields counts by its field of the most documents.
        ("default contains 'sea'", 0, "nativeFieldMatch", f64::midpoint(title, body)),
        ("default contains 'sea'", 1, "nativeFieldMatch", of_eight(4, 1) / 2.0),
        (
            "body contains 'sea' or body contains 'blue'",
            0,
            "nativeFieldMatch",
            (both * body + one * of_short(0, 2)) / (both + one),
        ),
        (
            "body contains ({weight: 300}'sea') or body contains 'blue'",
            0,
            "nativeFieldMatch(body)",
            (both * 3.0 * body + one * of_short(0, 2)) / (both * 3.0 + one),
        ),
        (
            "body contains ({significance: 0.25}'sea') or body contains 'blue'",
            0,
            "nativeFieldMatch(body)",
            (0.25 * body + one * of_short(0, 2)) / (0.25 + one),
        ),
        (
            "body contains 'sea' and body contains ({ranked: false}'blue')",
            0,
            "nativeFieldMatch",
            body,
        ),
        (
            "body contains 'dogs' and body contains 'running'",
            1,
            "nativeProximity",
            near(Some(1), Some(4)),
        ),
        (
            "body contains 'running' and body contains 'dogs'",
            1,
            "nativeProximity(body)",
            near(Some(4), Some(1)),
        ),
        (
            "body contains 'home' and body contains 'dogs'",
            1,
            "nativeProximity",
            near(None, Some(2)),
        ),
        // A phrase ends behind its first word.
        (
            "body contains phrase('by', 'the') and body contains 'dogs'",
            1,
            "nativeProximity",
            near(Some(2), Some(2)),
        ),
        // What has more to do with each other counts for more; dogs and home have what the least of the two steps between them has.
        (
            "body contains ({id: 1}'dogs') and body contains ({connectivity: {id: 1, weight: 1.0}}'running') and body contains 'home'",
            1,
            "nativeProximity",
            (near(Some(1), Some(4)) + 0.1 * near(Some(1), None) + 0.05 * near(Some(2), None))
                / 1.15,
        ),
        ("body contains 'sea'", 1, "nativeProximity", 0.0),
        ("tags contains 'a'", 0, "nativeAttributeMatch", 3.0 / 255.0),
        ("tags contains 'a'", 1, "nativeAttributeMatch", 1.0),
        ("tags contains 'b'", 0, "nativeAttributeMatch(tags)", -2.0 / 255.0),
        (
            "tags contains 'a' and year = 1971",
            0,
            "nativeAttributeMatch",
            (3.0 / 255.0 + 1.0 / 255.0) / 2.0,
        ),
        ("tags contains 'a' and year = 1971", 0, "nativeAttributeMatch(tags)", 3.0 / 255.0),
        (
            "tags contains 'a' and title contains 'sea'",
            0,
            "nativeRank",
            (100.0 * title + 100.0 * 3.0 / 255.0) / 225.0,
        ),
    ] {
        let yql = format!("select * from page where {filter}");
        let (status, result) =
            asked.search(&[pages.view()], &json!({"yql": yql, "ranking": "parts"}));
        assert_eq!(status, 200, "{filter}: {result}");
        let id = format!("id:m:page::{document}");
        let mut hits = result["root"]["children"].as_array().unwrap().iter();
        let hit = hits.find(|hit| hit["id"] == id.as_str()).unwrap();
        let found = hit["fields"]["matchfeatures"][feature].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{filter}: {feature} {found} {expected}");
        // It is the score of a profile that says none.
        let native = hit["fields"]["matchfeatures"]["nativeRank"].as_f64().unwrap();
        let (_, plain) = asked.search(&[pages.view()], &json!({"yql": yql}));
        let mut plain = plain["root"]["children"].as_array().unwrap().iter();
        let plain = plain.find(|hit| hit["id"] == id.as_str()).unwrap();
        assert_eq!(plain["relevance"].as_f64().unwrap(), native, "{filter}");
    }
}

#[test]
fn profiles_say_how_fields_are_ranked() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &pages());
    // The first table only, whose first value is its greatest.
    let title = (255.0 - 51.0) / 255.0;
    for (filter, feature, expected) in [
        ("title contains 'sea'", "nativeFieldMatch", title),
        ("default contains 'sea'", "nativeFieldMatch", title),
        ("default contains 'sea'", "nativeFieldMatch(body)", 0.0),
        ("body contains 'the' and body contains 'sea'", "nativeProximity", 0.0),
        (
            "tags contains 'a'",
            "nativeAttributeMatch",
            (38.0 * (1.0 + 3.0 / 1.0_f64).ln() + 50.0) / (38.0 * 256.0_f64.ln() + 50.0),
        ),
        ("tags contains 'a' and title contains 'sea'", "nativeRank", title * 100.0 / 125.0),
    ] {
        let yql = format!("select * from page where {filter}");
        let (_, result) = asked.search(&[pages.view()], &json!({"yql": yql, "ranking": "own"}));
        let mut hits = result["root"]["children"].as_array().unwrap().iter();
        let hit = hits.find(|hit| hit["id"] == "id:m:page::0").unwrap();
        let found = hit["fields"]["matchfeatures"][feature].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-9, "{filter}: {feature} {found} {expected}");
    }
}
