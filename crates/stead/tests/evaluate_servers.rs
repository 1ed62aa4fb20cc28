//! `stead evaluate --target`: a server is asked that has the documents.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::Path;

use serde_json::{Value, json};

use crate::server::{Server, free_port, stead};

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/relevance").join(name);
    folder.to_str().unwrap().to_owned()
}

#[test]
fn a_server_is_asked_as_the_package_would_be() {
    let (app, beir) = (example("app"), example("passages"));
    let server = Server::of_package(Path::new(&app));
    let corpus = std::fs::read_to_string(format!("{beir}/corpus.jsonl")).unwrap();
    for line in corpus.lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        // In groups, whose ids end as those that are fed without a server do.
        let id = document["_id"].as_str().unwrap();
        let path = format!("/document/v1/sea/passage/group/all/{id}");
        let fields = json!({"title": document["title"], "text": document["text"]});
        let body = json!({ "fields": fields }).to_string();
        assert_eq!(server.request("POST", &path, &body).0, 200);
    }
    let flags = ["--beir", &*beir, "--profile", "titles", "--profile", "bm25", "--json"];
    let here = stead(&[&["evaluate", &*app], &flags[..]].concat());
    let there = stead(&[&["evaluate", "--target", &*server.query], &flags[..]].concat());
    assert!(there.status.success(), "{there:?}");
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    assert_eq!(json(&there.stdout), json(&here.stdout));

    let gone = format!("http://127.0.0.1:{}", free_port());
    let cases: [(&[&str], i32, &str); 4] = [
        (&["--target", &server.query, "--profile", "none"], 1, "query 1: "),
        (&["--target", &gone], 1, "query 1: no answer from http://127.0.0.1:"),
        (&["--target", &server.query, "--field", "text=body"], 64, "--field"),
        (&[], 64, "<PACKAGE>"),
    ];
    for (flags, code, expected) in cases {
        let output = stead(&[&["evaluate", "--beir", &*beir], flags].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}
