//! `stead query` as a user meets it.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::process::Output;

use serde_json::{Value, json};

use crate::server::app::App;
use crate::server::{Server, stead};

/// A server with three documents.
fn start(data: &std::path::Path) -> Server {
    let server = Server::start(data);
    let profile = "rank-profile taste {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: sum(query(user) * attribute(taste)) }
  }";
    App::music("", profile).deploy(&server);
    for (id, title, year) in [(1, "Blue", 1971), (2, "Hejira", 1976), (3, "Kind of Blue", 1959)] {
        let fields = json!({"title": title, "year": year, "taste": [id, 1]});
        let (path, body) = (format!("/document/v1/m/music/docid/{id}"), json!({"fields": fields}));
        assert_eq!(server.request("POST", &path, &body.to_string()).0, 200);
    }
    server
}

fn query(server: &Server, args: &[&str]) -> Output {
    stead(&[&["query", "--target", &server.query], args].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn hits_are_a_table_or_json_or_a_file() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    let yql = "select title, year from music where year < 1975 order by year desc";
    let found = query(&server, &[yql]);
    let table = text(&found.stdout);
    let mut lines = table.lines();
    assert!(lines.next().unwrap().starts_with("2 of 2 hits among 3 documents in "), "{table}");
    let rows: Vec<&str> = lines.collect();
    assert_eq!(
        rows,
        [
            "   #  relevance  id             title         year",
            "   1          0  id:m:music::1  Blue          1971",
            "   2          0  id:m:music::3  Kind of Blue  1959",
        ]
    );

    // A parameter has an equals sign, a file has the rest.
    let file = data.path().join("query.json");
    std::fs::write(&file, json!({"yql": "select * from music where true", "hits": 9}).to_string())
        .unwrap();
    let output = data.path().join("hits.json");
    let args = ["--file", file.to_str().unwrap(), "hits=1", "ranking=taste"];
    let args = [&args[..], &["input.query(user)=[1, 0]", "--json", "--output"]].concat();
    let found = query(&server, &[&args[..], &[output.to_str().unwrap()]].concat());
    assert_eq!((found.status.code(), text(&found.stdout).as_str()), (Some(0), ""), "{found:?}");
    let json: Value = serde_json::from_str(&std::fs::read_to_string(output).unwrap()).unwrap();
    let hits = json["root"]["children"].as_array().unwrap();
    assert_eq!((hits.len(), &hits[0]["id"]), (1, &json!("id:m:music::3")));
    assert_eq!((&hits[0]["relevance"], json.get("timing")), (&json!(3.0), None));
}

#[test]
fn explaining_tells_what_was_matched_and_ranked() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    let yql = "select * from music where title contains 'Blue' and year > 1960";
    let args = [yql, "ranking=taste", "input.query(user)=[1, 2]", "--explain"];
    let told = text(&query(&server, &args).stdout);
    let at = |what: &str| told.find(what).unwrap_or_else(|| panic!("{what} in {told}"));
    // The loop over numbers goes first, whichever was written first.
    let places = [
        at("matching music:"),
        at("  and: 1 of 3 rows"),
        at("    year in <1960;inf]: 2 of 3 rows"),
        at("    title = \"blue\": 1 of 2 rows"),
        at("ranking by taste:"),
        at("first-phase: "),
        at("ns/document"),
    ];
    assert!(places.is_sorted(), "{told}");
}

#[test]
fn what_fails_is_told() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    for (args, code, expected) in [
        (
            &["select * from music where nothing = 1"][..],
            1,
            "error: Invalid query parameter (code 4): Could not create query from YQL: Field 'nothing' does not exist.\n",
        ),
        (&["music"][..], 64, "error: expected YQL or name=value, found music\n"),
        (
            &["--file", "/nowhere.json"][..],
            1,
            "error: /nowhere.json: No such file or directory (os error 2)\n",
        ),
    ] {
        let found = query(&server, args);
        assert_eq!((found.status.code(), text(&found.stderr).as_str()), (Some(code), expected));
    }
    let nobody = stead(&["query", "select * from a where true", "--target", "http://127.0.0.1:1"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(text(&nobody.stderr).starts_with("error: no answer from http://127.0.0.1:1"));
}
