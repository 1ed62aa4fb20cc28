//! Features of the words of a query, against values that follow from their definitions by hand.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use stead_store::{Collection, FieldValue};

use crate::asked::Asked;

const SCHEMA: &str = "schema page {
  document page {
    field title type string { indexing: index | summary }
    field body type string { indexing: index | summary }
    field tags type weightedset<string> { indexing: attribute }
    field names type array<string> { indexing: attribute }
    field year type int { indexing: attribute }
    field marks type string {
      indexing: index
      rank: filter
    }
  }
  rank-profile words {
    first-phase { expression: 0 }
    rank-properties {
      attributeMatch(tags).maxWeight: 10
      fieldMatch(title).proximityLimit: 1
      fieldMatch(title).proximityTable: 0.25
      fieldMatch(title).proximityTable: 1
      fieldMatch(title).proximityTable: 0.5
    }
    match-features {
      queryTermCount matchCount(title) matchCount(body) matchCount(tags)
      matches(body) matches(body,0) matches(body,1) matches(body,2) matches(title,0) matches(title,2) matches(tags,0) matches(tags,1) matches(body,9)
      term(0).significance term(0).weight term(1).weight term(0).connectedness term(1).connectedness term(2).connectedness term(9).weight
      fieldLength(body) fieldLength(title) averageFieldLength(body)
      fieldTermMatch(body,0).firstPosition fieldTermMatch(body,0).occurrences fieldTermMatch(body,1).firstPosition
      termDistance(body,0,1).forward termDistance(body,0,1).forwardTermPosition
      termDistance(body,0,1).reverse termDistance(body,0,1).reverseTermPosition
      textSimilarity(body) textSimilarity(body).proximity textSimilarity(body).order
      textSimilarity(body).queryCoverage textSimilarity(body).fieldCoverage
      attributeMatch(tags) attributeMatch(tags).queryCompleteness attributeMatch(tags).fieldCompleteness
      attributeMatch(tags).normalizedWeight attributeMatch(tags).normalizedWeightedWeight attributeMatch(tags).weight
      attributeMatch(tags).significance attributeMatch(tags).importance attributeMatch(tags).matches
      attributeMatch(tags).totalWeight attributeMatch(tags).averageWeight attributeMatch(tags).maxWeight
      attributeMatch(names).fieldCompleteness attributeMatch(names)
      fieldMatch(body) fieldMatch(body).matches fieldMatch(body).weight fieldMatch(body).queryCompleteness
      fieldMatch(body).fieldCompleteness fieldMatch(body).absoluteProximity fieldMatch(body).head fieldMatch(body).tail
      fieldMatch(body).segments fieldMatch(body).significance fieldMatch(body).importance fieldMatch(body).occurrence
      fieldMatch(body).longestSequence fieldMatch(title).matches fieldMatch(title).unweightedProximity
      fieldMatch(title).segments fieldMatch(marks) fieldMatch(marks).matches
      fieldMatch(marks).degradedMatches fieldMatch(marks).weight fieldMatch(marks).completeness
    }
  }
}";

const NOWHERE: f64 = 1_000_000.0;

#[test]
fn features_are_those_of_their_definitions() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents(
        "page",
        &[
            json!({
                "title": "Dogs", "body": "dogs running by the sea, dogs running home",
                "tags": {"a": 3, "b": 5, "c": 2}, "names": ["x", "y", "z", "x"], "year": 1971,
                "marks": "old good",
            }),
            json!({"title": "Other", "body": "sea and sky"}),
            json!({"title": "Third"}),
        ],
    );
    // The body has 8 words; bodies have 5.5 on average.
    let significance = |part: f64| 0.5 + 0.5 * part.ln() / 1e-6_f64.ln();
    let near = |distance: f64| 1.0 - ((distance - 1.0) / 8.0_f64).powi(2);
    let cases: &[(&str, &[(&str, f64)])] = &[
        (
            "body contains ({id: 4}'sea') and body contains ({connectivity: {id: 4, weight: 0.75}}'running') and \
             body contains ({connectivity: {id: 4, weight: 0.5}}'home')",
            &[
                ("term(0).connectedness", 0.1),
                ("term(1).connectedness", 0.75),
                // What it is connected to is not the one before it.
                ("term(2).connectedness", 0.1),
            ],
        ),
        (
            "body contains 'sea' and body contains ({weight: 50}'running') and title contains 'dogs'",
            &[
                ("queryTermCount", 3.0),
                ("matchCount(body)", 2.0),
                ("matchCount(title)", 1.0),
                ("matchCount(tags)", 0.0),
                ("matches(body)", 1.0),
                ("matches(body,0)", 1.0),
                ("matches(body,1)", 1.0),
                ("matches(body,2)", 0.0),
                ("matches(title,0)", 0.0),
                ("matches(title,2)", 1.0),
                ("matches(body,9)", 0.0),
                ("term(0).significance", significance(2.0 / 3.0)),
                ("term(0).weight", 100.0),
                ("term(1).weight", 50.0),
                ("term(0).connectedness", 0.1),
                ("term(9).weight", 0.0),
                ("fieldLength(body)", 8.0),
                ("fieldLength(title)", 1.0),
                ("averageFieldLength(body)", 5.5),
                ("fieldTermMatch(body,0).firstPosition", 4.0),
                ("fieldTermMatch(body,0).occurrences", 1.0),
                ("fieldTermMatch(body,1).firstPosition", 1.0),
                // sea is at 4, running at 1 and 6.
                ("termDistance(body,0,1).forward", 2.0),
                ("termDistance(body,0,1).forwardTermPosition", 4.0),
                ("termDistance(body,0,1).reverse", 3.0),
                ("termDistance(body,0,1).reverseTermPosition", 1.0),
                // running at 1, then sea at 4.
                ("textSimilarity(body).proximity", near(3.0)),
                ("textSimilarity(body).order", 0.0),
                ("textSimilarity(body).queryCoverage", 1.0),
                ("textSimilarity(body).fieldCoverage", 0.25),
                ("textSimilarity(body)", 0.35 * near(3.0) + 0.3 + 0.05),
            ],
        ),
        (
            "body contains 'home' or title contains 'nothing'",
            &[
                ("queryTermCount", 2.0),
                ("matchCount(body)", 1.0),
                ("matches(body,0)", 1.0),
                ("matches(body,1)", 0.0),
                ("fieldLength(title)", NOWHERE),
                ("fieldTermMatch(body,1).firstPosition", NOWHERE),
                ("termDistance(body,0,1).forward", NOWHERE),
                ("textSimilarity(body).order", 1.0),
                ("textSimilarity(body).proximity", near(8.0)),
            ],
        ),
        (
            "tags contains 'a' and tags contains ({weight: 300}'b') and names contains 'x' and body contains 'sea'",
            &[
                ("queryTermCount", 4.0),
                ("matchCount(tags)", 2.0),
                ("matches(tags,0)", 1.0),
                ("matches(tags,1)", 1.0),
                ("matches(body,2)", 0.0),
                ("attributeMatch(tags).matches", 2.0),
                ("attributeMatch(tags).totalWeight", 8.0),
                ("attributeMatch(tags).averageWeight", 4.0),
                ("attributeMatch(tags).maxWeight", 5.0),
                ("attributeMatch(tags).queryCompleteness", 2.0 / 3.0),
                ("attributeMatch(tags).fieldCompleteness", 0.8),
                ("attributeMatch(tags)", 2.0 / 3.0 * (0.95 + 0.05 * 0.8)),
                ("attributeMatch(tags).normalizedWeight", 8.0 / 30.0),
                ("attributeMatch(tags).normalizedWeightedWeight", (300.0 + 1500.0) / 5000.0),
                ("attributeMatch(tags).weight", 400.0 / 600.0),
                // Terms of attributes are as in all documents.
                ("attributeMatch(tags).significance", 1.0 / (1.5 + significance(2.0 / 3.0))),
                (
                    "attributeMatch(tags).importance",
                    f64::midpoint(400.0 / 600.0, 1.0 / (1.5 + significance(2.0 / 3.0))),
                ),
                ("attributeMatch(names).fieldCompleteness", 0.25),
                ("attributeMatch(names)", 1.0 / 3.0 * (0.95 + 0.05 * 0.25)),
            ],
        ),
        (
            // A phrase is its words here, of which nobody counts how frequent they are.
            "body contains phrase('dogs', 'running') and body contains ({weight: 50}'home') and title contains 'dogs'",
            &[
                ("fieldMatch(body).matches", 3.0),
                ("fieldMatch(body).queryCompleteness", 1.0),
                ("fieldMatch(body).fieldCompleteness", 0.375),
                ("fieldMatch(body).weight", 250.0 / 350.0),
                ("fieldMatch(body).absoluteProximity", 0.1),
                ("fieldMatch(body).segments", 1.0),
                ("fieldMatch(body).longestSequence", 3.0),
                ("fieldMatch(body).head", 5.0),
                ("fieldMatch(body).tail", 0.0),
                // The phrase is there twice, home once: of the 8 words 5.
                ("fieldMatch(body).occurrence", 0.625),
                // The title and the last word are in one of two and of three documents.
                (
                    "fieldMatch(body).significance",
                    (2.0 + significance(1.0 / 3.0)) / (2.0 + 2.0 * significance(1.0 / 3.0)),
                ),
                ("fieldMatch(title).matches", 1.0),
            ],
        ),
        (
            "marks contains 'old' and marks contains ({weight: 200}'good') and title contains 'dogs'",
            &[
                ("fieldMatch(marks)", 0.0),
                ("fieldMatch(marks).matches", 2.0),
                ("fieldMatch(marks).degradedMatches", 2.0),
                ("fieldMatch(marks).weight", 0.75),
                ("fieldMatch(marks).completeness", 0.95),
                ("fieldMatch(body).segments", 0.0),
                ("fieldMatch(body)", 0.0),
            ],
        ),
        (
            "year = 1971",
            &[
                ("attributeMatch(tags)", 0.0),
                ("attributeMatch(tags).maxWeight", 0.0),
                ("textSimilarity(body)", 0.0),
                ("fieldLength(body)", NOWHERE),
                ("queryTermCount", 1.0),
            ],
        ),
    ];
    for (filter, expected) in cases {
        let yql = format!("select * from page where {filter}");
        let (status, result) =
            asked.search(&[pages.view()], &json!({"yql": yql, "ranking": "words"}));
        assert_eq!(status, 200, "{filter}: {result}");
        let features = &result["root"]["children"][0]["fields"]["matchfeatures"];
        for (feature, expected) in *expected {
            let found = features[feature].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-7, "{filter}: {feature} {found} {expected}");
        }
    }
}

/// What a proximity table is, and that its numbers are a line each.
#[test]
fn proximity_is_by_the_table_of_the_profile() {
    let asked = Asked::new(&[("page", false, SCHEMA)]);
    let pages = asked.documents("page", &[json!({"title": "red x green blue"})]);
    // With a limit of 1 each term is a segment.
    let yql = "select * from page where title contains 'green' and title contains 'blue'";
    let (_, result) = asked.search(&[pages.view()], &json!({"yql": yql, "ranking": "words"}));
    let features = &result["root"]["children"][0]["fields"]["matchfeatures"];
    assert_eq!(features["fieldMatch(title).segments"], json!(2.0), "{features}");
}

#[test]
fn a_list_has_the_features_that_vespa_adds() {
    let schema = "schema page {
      document page {
        field title type string { indexing: index | summary }
        field marks type string { indexing: index\n rank: filter }
        field notes type array<string> { indexing: index | attribute }
        field tags type weightedset<string> { indexing: attribute }
        field v type tensor<float>(x[2]) { indexing: attribute }
      }
      rank-profile usual {
        first-phase { expression: bm25(title) }
        rank-features { bm25(title) attribute(tags).count }
        rank-properties {
          fieldTermMatch.numTerms: 1
          fieldTermMatch(notes).numTerms: 2
          term.numTerms: 1
          elementSimilarity(notes).output.sum: sum(f)
        }
      }
      rank-profile own inherits usual { ignore-default-rank-features }
    }";
    let asked = Asked::new(&[("page", false, schema)]);
    let page =
        json!({"title": "big dogs", "marks": "dogs", "notes": ["dogs"], "tags": {"dogs": 3}});
    let pages = asked.documents("page", &[page]);
    let view = pages.view();
    let listed = |profile: &str| {
        let yql = "select * from page where title contains 'dogs' or tags contains 'dogs'";
        let body = json!({"yql": yql, "ranking": {"profile": profile, "listFeatures": true}});
        let (status, result) = asked.search(&[view], &body);
        assert_eq!(status, 200, "{result}");
        let hit = &result["root"]["children"][0]["fields"];
        hit["rankfeatures"].as_object().unwrap().clone()
    };
    let own = listed("own");
    assert_eq!(own.keys().collect::<Vec<_>>(), ["attribute(tags).count", "bm25(title)"]);
    let all = listed("usual");
    let count = |begin: &str| all.keys().filter(|name| name.starts_with(begin)).count();
    for (begin, expected) in [
        ("", 2 + 6 + 3 + 2 + 5 + (3 + 3 + 6) + (30 + 6) + (4 + 4) + 5 + 2 + 13),
        ("bm25(", 3),
        ("matches(", 5),
        ("fieldTermMatch(", 12),
        ("fieldMatch(title)", 30),
        ("fieldMatch(marks)", 6),
        ("fieldMatch(notes)", 0),
        ("elementCompleteness(", 8),
        ("elementSimilarity(notes)", 2),
        ("textSimilarity(", 5),
        ("attributeMatch(tags)", 13),
        ("attributeMatch(", 13),
        ("term(0)", 3),
        ("native", 4),
    ] {
        assert_eq!(count(begin), expected, "{begin}");
    }
    for (name, expected) in [
        ("queryTermCount", 2.0),
        ("matches(title)", 1.0),
        ("matches(notes)", 0.0),
        ("attributeMatch(tags).totalWeight", 3.0),
        ("fieldMatch(title).matches", 1.0),
        ("fieldTermMatch(title,0).firstPosition", 1.0),
        ("attribute(tags).count", 1.0),
    ] {
        assert_eq!(all[name], json!(expected), "{name}");
    }
    assert_eq!(all["firstPhase"], all["bm25(title)"]);
}

const RARE: &str = "schema item {
  document item {
    field year type int {
      indexing: attribute
      attribute: fast-search
    }
    field name type string {
      indexing: attribute
      attribute: fast-search
    }
    field list type array<int> {
      indexing: attribute
      attribute: fast-search
    }
    field title type string { indexing: index }
    field good type bool { indexing: attribute }
    field plain type int { indexing: attribute }
  }
  fieldset both { fields: name, title }
  rank-profile rare {
    first-phase { expression: 0 }
    match-features: term(0).significance attributeMatch(year).significance attributeMatch(year).importance
  }
}";

#[test]
fn terms_of_attributes_are_as_rare_as_indexes_tell() {
    let asked = Asked::new(&[("item", false, RARE)]);
    let kind = asked.kind("item");
    let number = |name: &str| kind.field(name).unwrap().0;
    let mut items = Collection::new(kind.clone());
    let put = |items: &mut Collection, at: i64, year: i64| {
        let text = |text: &str| FieldValue::Text(text.to_owned());
        let list = vec![FieldValue::Integer(at % 2), FieldValue::Integer(at % 2)];
        let fields = [
            (number("year"), FieldValue::Integer(year)),
            (number("name"), text(if at < 3 { "X" } else { "y" })),
            (number("list"), FieldValue::Array(list)),
            (number("title"), text(if at % 4 == 0 { "x" } else { "z" })),
            (number("good"), FieldValue::Bool(at == 1)),
            (number("plain"), FieldValue::Integer(at)),
        ];
        items.put(&format!("id:m:item::{at}"), &fields).unwrap();
    };
    (0..16).for_each(|at| put(&mut items, at, at % 4));
    let significance = |part: f64| 0.5 + 0.5 * part.ln() / 1e-6_f64.ln();
    let check = |items: &Collection, documents: f64, cases: &[(&str, f64)]| {
        let view = items.view();
        for (filter, with) in cases {
            let yql = format!("select * from item where rank(true, {filter})");
            let found = asked.features(&view, &json!({"yql": yql, "ranking": "rare"}));
            let found = found[0].1["term(0).significance"].as_f64().unwrap();
            let expected = if *with == 0.0 { 1.0 } else { significance(with / documents) };
            assert!((found - expected).abs() < 1e-7, "{filter}: {found} {expected}");
        }
    };
    items.publish();
    let cases = [
        ("year contains '3'", 4.0),
        ("year = 7", 0.0),
        ("year > 1", 8.0),
        ("year in (0, 3, 9)", 8.0),
        ("name contains 'x'", 3.0),
        ("name contains ({prefix: true}'')", 16.0),
        // Each document has the number twice.
        ("list contains '1'", 8.0),
        ("good = true", 1.0),
        ("good = false", 15.0),
        // Nobody knows before all are looked at.
        ("plain = 5", 16.0),
        // Three by the attribute, four by the index.
        ("both contains 'x'", 7.0),
    ];
    check(&items, 16.0, &cases);
    // What has changed since is looked at.
    put(&mut items, 0, 7);
    put(&mut items, 16, 3);
    assert!(items.remove("id:m:item::3"));
    items.publish();
    check(
        &items,
        16.0,
        &[("year contains '3'", 4.0), ("year = 7", 1.0), ("list contains '1'", 7.0)],
    );
    let yql = "select * from item where year = 7 and name contains 'x' and title contains 'x'";
    let found = asked.features(&items.view(), &json!({"yql": yql, "ranking": "rare"}));
    let rarity = [1.0, 3.0, 5.0].map(|with| significance(with / 16.0));
    let part = rarity[0] / rarity.iter().sum::<f64>();
    for (name, expected) in [("significance", part), ("importance", f64::midpoint(1.0 / 3.0, part))]
    {
        let found = found[0].1[format!("attributeMatch(year).{name}")].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-7, "{name}: {found} {expected}");
    }
}
