//! Requests to results, as clients send and read them.
#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use stead_store::{Collection, FieldValue};

use crate::asked::music::{Music, albums};

fn titles(result: &Json) -> Vec<&str> {
    let children = result["root"]["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    children.iter().map(|hit| hit["fields"]["title"].as_str().unwrap_or("-")).collect()
}

#[test]
fn hits_have_scores_fields_and_features() {
    let (music, albums) = (Music::new(), albums());
    let (status, result) = music.search(
        music.documents(&albums).view(),
        &json!({"yql": "select * from music where tags contains 'FOLK' or ({targetHits: 1}nearestNeighbor(taste, user))",
                "ranking": "taste", "input": {"query(user)": [1, 0.5]}}),
    );
    assert_eq!(status, 200, "{result}");
    let root = &result["root"];
    assert_eq!(root["fields"]["totalCount"], 2);
    assert_eq!(
        root["coverage"],
        json!({"coverage": 100, "documents": 4, "full": true, "nodes": 1, "results": 1, "resultsFull": 1})
    );
    // 0.75 + 1976 and 1 + 1971; distances sqrt(0.25) and 0.5.
    let close = 1.0 / 1.5;
    let hit = |id: u32, relevance: f64, fields: Json| json!({"id": format!("id:m:music::{id}"), "relevance": relevance, "source": "c", "fields": fields});
    assert_eq!(
        root["children"],
        json!([
            hit(
                1,
                1976.75,
                json!({
                    "sddocname": "music", "documentid": "id:m:music::1", "title": "Hejira", "year": 1976,
                    "tags": {"folk": 1, "jazz": 2},
                    "matchfeatures": {"attribute(year)": 1976.0, "closeness(field,taste)": close},
                    "summaryfeatures": {"firstPhase": 0.75}
                })
            ),
            hit(
                0,
                1972.0,
                json!({
                    "sddocname": "music", "documentid": "id:m:music::0", "title": "Blue", "year": 1971, "price": 9.5,
                    "tags": {"folk": 3}, "notes": {"a": [0.1, 2.0]},
                    "matchfeatures": {"attribute(year)": 1971.0, "closeness(field,taste)": close},
                    "summaryfeatures": {"firstPhase": 1.0}
                })
            ),
        ])
    );
}

#[test]
fn hits_are_ordered_cut_and_summarised() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    for (body, expected) in [
        (
            json!({"yql": "select * from music where true order by year"}),
            vec!["-", "kind", "Blue", "Hejira"],
        ),
        (
            json!({"yql": "select * from music where true order by year desc limit 2"}),
            vec!["Hejira", "Blue"],
        ),
        (
            json!({"yql": "select * from music where true order by title"}),
            vec!["-", "Blue", "Hejira", "kind"],
        ),
        (
            json!({"yql": "select * from music where true order by {function: 'raw'}title desc"}),
            vec!["kind", "Hejira", "Blue", "-"],
        ),
        (
            json!({"yql": "select * from music where true limit 3 offset 2", "sorting": "-year"}),
            vec!["kind"],
        ),
        (
            json!({"yql": "select * from music where true", "sorting": "-price", "hits": 1, "offset": 1}),
            vec!["kind"],
        ),
        (
            json!({"yql": "select * from music where year < 1976", "ranking": "early"}),
            vec!["kind", "Blue"],
        ),
        (
            json!({"yql": "select * from music where year > 0 order by \"[rank]\"", "ranking": "early"}),
            vec!["Hejira", "Blue", "kind"],
        ),
        (
            json!({"yql": "select * from music where year in (@years)", "years": "1971, 1959", "sorting": "year"}),
            vec!["kind", "Blue"],
        ),
        // The last has no year; the first two have tags.
        (
            json!({"yql": "select * from music where true", "sorting": "+missing(year,last)"}),
            vec!["kind", "Blue", "Hejira", "-"],
        ),
        (
            json!({"yql": "select * from music where true", "sorting": "-missing(year,first)"}),
            vec!["-", "Hejira", "Blue", "kind"],
        ),
        (
            json!({"yql": "select * from music where true", "sorting": "+missing(year,as,1960)"}),
            vec!["kind", "-", "Blue", "Hejira"],
        ),
        (
            json!({"yql": "select * from music where true", "sorting": "missing(uca(title,en),as,\"J a\")"}),
            vec!["Blue", "Hejira", "-", "kind"],
        ),
        // The greatest of their tags are folk and jazz; who has none comes last, whatever the direction.
        (
            json!({"yql": "select * from music where true order by tags desc, year"}),
            vec!["Hejira", "Blue", "-", "kind"],
        ),
        (
            json!({"yql": "select * from music where true order by tags, year desc"}),
            vec!["Hejira", "Blue", "kind", "-"],
        ),
        (
            json!({"yql": "select * from music where true order by \"[docid]\" desc"}),
            vec!["-", "kind", "Hejira", "Blue"],
        ),
        (
            json!({"yql": "select * from music where true order by \"[source]\", price desc"}),
            vec!["Blue", "kind", "Hejira", "-"],
        ),
        (json!({"yql": "select * from sources * where false"}), vec![]),
        (json!({"yql": "select * from music where true limit 0"}), vec![]),
    ] {
        let (status, result) = music.search(documents.view(), &body);
        assert_eq!((status, titles(&result)), (200, expected), "{body}: {result}");
        assert_eq!(result["root"].get("children").is_none(), titles(&result).is_empty(), "{body}");
    }
    let body = json!({"yql": "select title from music where year = 1959", "format.tensors": "hex"});
    let (_, result) = music.search(documents.view(), &body);
    assert_eq!(result["root"]["children"][0]["fields"], json!({"title": "kind"}));
    let body = json!({"yql": "select * from music where year = 1959", "summary": "short"});
    let (_, result) = music.search(documents.view(), &body);
    let hit = &result["root"]["children"][0];
    assert_eq!(hit["fields"], json!({"sddocname": "music", "title": "kind"}));
    let id = hit["id"].as_str().unwrap();
    assert!(id.starts_with("index:c/0/") && id.len() == 10 + 24, "{id}");
}

#[test]
fn a_trace_tells_what_has_no_effect() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    let yql = "select * from music where ({stam: false}year > 1970)";
    let body = json!({"yql": yql, "noCache": true, "traceLevel": 1, "ranking": "early"});
    let (_, result) = music.search(documents.view(), &body);
    let children = result["trace"]["children"].as_array().unwrap();
    let messages: Vec<&str> = children.iter().map(|c| c["message"].as_str().unwrap()).collect();
    assert_eq!(
        messages[..2],
        [
            "noCache has no effect: there is no cache",
            "annotation stam is not known and has no effect"
        ]
    );
    assert!(
        messages[2].starts_with("matched and ranked 2 of 4 documents by profile early in "),
        "{}",
        messages[2]
    );
    let (_, result) = music.search(documents.view(), &json!({"yql": yql, "noCache": true}));
    assert!(result.get("trace").is_none());
}

#[test]
fn a_stored_document_may_be_the_user() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    let ask = |user: &str| {
        let body = json!({"yql": "select * from music where year > 0", "ranking": "taste", "ranking.rerankCount": 0,
                          "input.query(user)": user});
        music.search(documents.view(), &body).1
    };
    let given = ask("[0.5, 0.5]");
    assert_eq!(ask("document(id:m:music::1).taste"), given);
    assert_eq!(given["root"]["children"][0]["relevance"], 0.5);
    for (user, expected) in [
        (
            "document(id:m:music::9).taste",
            "input query(user): there is no document id:m:music::9 with a value of taste",
        ),
        (
            "document(id:m:music::1)",
            "input query(user): expected document(id).field, found document(id:m:music::1)",
        ),
    ] {
        assert_eq!(ask(user)["root"]["errors"][0]["message"], expected);
    }
}

#[test]
fn features_know_what_was_matched() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    let body = json!({
        "yql": "select * from music where ({label: 'genre'}dotProduct(tags, {'folk': 2, 'jazz': 5})) or year = 1959 or ({targetHits: 1, label: 'near'}nearestNeighbor(taste, user))",
        "ranking": "matched", "input.query(user)": [1, 0],
    });
    let (_, result) = music.search(documents.view(), &body);
    let children = result["root"]["children"].as_array().unwrap();
    let found: Vec<(&str, &Json)> = children
        .iter()
        .map(|hit| (hit["fields"]["title"].as_str().unwrap(), &hit["fields"]["matchfeatures"]))
        .collect();
    let features = |tags: f64, year: f64, near: f64| {
        json!({"matches(tags)": f64::from(u8::from(tags > 0.0)), "matches(year)": year, "rawScore(tags)": tags,
               "rawScore(taste)": near, "itemRawScore(genre)": tags})
    };
    assert_eq!(
        found,
        [
            ("Hejira", &features(12.0, 0.0, 0.0)),
            ("Blue", &features(6.0, 0.0, 1.0)),
            ("kind", &features(0.0, 1.0, 0.0)),
        ]
    );
}

#[test]
fn parts_with_a_label_have_a_score() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    for (filter, expected) in [
        (
            "rank(year > 0, labeled(year > 1960 and !(tags contains 'jazz'), 'genre', 2.5))",
            [("Blue", 2.5), ("Hejira", 0.0), ("kind", 0.0)],
        ),
        // They match as what is in them does, and several scores are added.
        (
            "labeled(year > 0, genre, @score) and rank(true, labeled({targetHits: 1}weakAnd(year = 1959), 'genre', -1))",
            [("Blue", 4.0), ("Hejira", 4.0), ("kind", 3.0)],
        ),
        ("labeled(year > 0, 'other', 4)", [("Blue", 0.0), ("Hejira", 0.0), ("kind", 0.0)]),
    ] {
        let body = json!({"yql": format!("select * from music where {filter}"), "score": "4", "ranking": "matched",
            "input.query(user)": [1, 0]});
        let (status, result) = music.search(documents.view(), &body);
        assert_eq!(status, 200, "{filter}: {result}");
        let children = result["root"]["children"].as_array().unwrap();
        let mut found: Vec<(&str, f64)> = children
            .iter()
            .map(|hit| {
                let score = hit["fields"]["matchfeatures"]["itemRawScore(genre)"].as_f64();
                (hit["fields"]["title"].as_str().unwrap(), score.unwrap())
            })
            .collect();
        found.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(found, expected, "{filter}");
    }
}

#[test]
fn what_fails_is_an_error_of_the_result() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    for (body, status, code, expected) in [
        (
            json!({"yql": "select"}),
            400,
            4,
            "Could not create query from YQL: 1:7: expected * or the name of a field, found the end",
        ),
        (
            json!({"yql": "select * from music where z = 1"}),
            400,
            4,
            "Could not create query from YQL: Field 'z' does not exist.",
        ),
        (
            json!({"yql": "select * from other where true"}),
            400,
            4,
            "Could not resolve source ref 'other'. Valid source refs are c, music.",
        ),
        (
            json!({"yql": "select * from music where true", "ranking": "none"}),
            400,
            4,
            "schema music has no rank-profile none; it has default, early, matched, taste, unranked",
        ),
        (
            json!({"yql": "select * from music where true | all(group(nothing))"}),
            400,
            4,
            "Grouping request references attribute 'nothing' which is not available in cluster 'c'.",
        ),
        (
            json!({"yql": "select * from music where ({targetHits: 1}nearestNeighbor(taste, user))"}),
            400,
            4,
            "nearestNeighbor(taste,user) takes query(user), which the query does not give",
        ),
        (
            json!({"yql": "select * from music where ({targetHits: 1}nearestNeighbor(taste, user))", "input.query(user)": [1]}),
            400,
            4,
            "input query(user): tensor<float>(x[2]) needs 2 cells in a block, got 1",
        ),
        (
            json!({"yql": "select * from music where true limit 1 offset 2"}),
            400,
            4,
            "Could not create query from YQL: limit 1 is less than offset 2",
        ),
        (
            json!({"yql": "select * from music where true limit 500"}),
            400,
            4,
            "Requested 500 hits returned, but max hits allowed is 400.",
        ),
        (
            json!({"yql": "select * from music where true", "summary": "long"}),
            400,
            3,
            "schema music has no document-summary long; it has default, short",
        ),
        (
            json!({"yql": "select * from music where true", "timeout": "0", "ranking.softtimeout.enable": false}),
            504,
            12,
            "Timed out after 0 ms",
        ),
    ] {
        let (found, result) = music.search(documents.view(), &body);
        let error = &result["root"]["errors"][0];
        assert_eq!((found, &error["code"]), (status, &json!(code)), "{body}: {result}");
        assert_eq!(error["message"], expected, "{body}");
    }
    // With a soft timeout there is an answer, which says that it is not whole.
    let (status, result) = music.search(
        documents.view(),
        &json!({"yql": "select * from music where true", "timeout": "0"}),
    );
    assert_eq!(status, 200);
    assert_eq!(result["root"]["coverage"]["degraded"]["timeout"], true);
    assert_eq!(result["root"]["coverage"]["coverage"], 0);
}

#[test]
fn documents_of_many_blocks_are_found_and_removed_ones_are_not() {
    let music = Music::new();
    let kind = music.asked.kind("music");
    let mut collection = Collection::new(kind.clone());
    let (year, _) = kind.field("year").unwrap();
    let number = |n: usize| FieldValue::Integer(n as i64 % 97);
    for n in 0..10_000 {
        collection.put(&format!("id:m:music::{n}"), &[(year, number(n))]).unwrap();
    }
    for n in (0..10_000).filter(|n| n % 3 == 0) {
        assert!(collection.remove(&format!("id:m:music::{n}")));
    }
    collection.publish();
    let view = collection.view();
    assert!(view.blocks().count() > 1);
    let expected =
        |test: &dyn Fn(usize) -> bool| (0..10_000).filter(|n| n % 3 > 0 && test(n % 97)).count();
    // The scores of few matches are gathered, those of many are read in place.
    for (filter, count, best) in [
        ("year = 13", expected(&|year| year == 13), 13),
        ("year >= 5", expected(&|year| year >= 5), 5),
        ("!(year = 0)", expected(&|year| year != 0), 1),
        ("true", expected(&|_| true), 0),
    ] {
        let yql = format!("select * from music where {filter}");
        let by_score = json!({"yql": yql, "ranking": "early", "hits": 60});
        let by_year = json!({"yql": format!("{yql} order by year"), "hits": 60});
        let [first, second] = [by_score, by_year].map(|body| {
            let (_, mut result) = music.search(&view, &body);
            assert_eq!(result["root"]["fields"]["totalCount"], count, "{body}");
            let hits = result["root"]["children"].as_array_mut().unwrap();
            hits.iter_mut().map(|hit| hit["id"].take()).collect::<Vec<_>>()
        });
        assert_eq!(first, second, "{filter}");
        let id = |id: &Json| id.as_str().unwrap().rsplit(':').next().unwrap().parse::<usize>();
        assert!(
            first.iter().all(|hit| id(hit).is_ok_and(|n| n % 3 > 0 && n % 97 == best)),
            "{filter}"
        );
    }
}

#[test]
fn queries_may_be_json() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    let ask = |body: Json| music.search(documents.view(), &body);
    let (status, result) = ask(json!({"select": {
        "where": {"or": [{"contains": ["title", "BLUE"]}, {"range": ["year", {">": 1971}]}]},
        "fields": ["title"],
        "grouping": [{"all": {"label": "years", "group": "year", "order": "max(year)", "each": {"output": "count()"}}}]
    }, "sorting": "-year"}));
    assert_eq!(status, 200, "{result}");
    let children = result["root"]["children"].as_array().unwrap();
    let list = &children[0]["children"][0];
    assert_eq!(list["id"], "grouplist:years", "{list}");
    let groups: Vec<&str> =
        list["children"].as_array().unwrap().iter().filter_map(|g| g["value"].as_str()).collect();
    assert_eq!(groups, ["1971", "1976"]);
    let fields: Vec<&Json> = children[1..].iter().map(|hit| &hit["fields"]).collect();
    assert_eq!(fields, [&json!({"title": "Hejira"}), &json!({"title": "Blue"})]);

    let (_, result) = ask(json!({"select.where": "{'equals': ['year', 1959]}"}));
    assert_eq!(titles(&result), ["kind"]);
    // What YQL says is what is asked; groupings of both are made.
    let (_, result) = ask(
        json!({"yql": "select * from music where year = 1959 | all(group(title) each(output(count())))",
        "select": {"where": {"title": "blue"}, "grouping": [{"all": {"group": "year", "each": {"output": "count()"}}}]},
        "trace.level": 1}),
    );
    let children = result["root"]["children"].as_array().unwrap();
    let labels: Vec<&Json> = children[..2].iter().map(|g| &g["children"][0]["label"]).collect();
    assert_eq!(labels, ["year", "title"], "{result}");
    assert_eq!(children[2]["fields"]["title"], "kind");
    assert!(result["trace"].to_string().contains("select.where has no effect"), "{result}");
    let (_, result) = ask(json!({"select": {"where": {"title": "blue"}}, "query": "year:1959"}));
    assert_eq!(titles(&result), ["Blue"]);
}

#[test]
fn json_that_is_no_query_is_refused() {
    let (music, albums) = (Music::new(), albums());
    let documents = music.documents(&albums);
    for (body, code, expected) in [
        (
            json!({"select": {"where": {"and": [{"contains": ["title"]}]}}}),
            3,
            "Illegal JSON query: select.where: and[0].contains: expected 2 children, found 1",
        ),
        (
            json!({"select": {"where": true, "grouping": [{"all": {"max": null}}]}}),
            4,
            "Could not set 'select.grouping': [0].all.max: expected a value, found null",
        ),
        (
            json!({"select": {"where": true, "grouping": [{"all": {"group": "a b"}}]}}),
            4,
            "Could not set 'select.grouping': 1:13: expected ), found b in all(group(a b))",
        ),
    ] {
        let (_, result) = music.search(documents.view(), &body);
        let error = &result["root"]["errors"][0];
        assert_eq!(error["code"], code, "{result}");
        assert_eq!(error["message"], expected, "{result}");
    }
}
