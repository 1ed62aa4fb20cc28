//! `stead test` as a user meets it.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::path::Path;

use serde_json::{Value, json};

use crate::server::stead;

const SERVICES: &str = r#"<services version="1.0"><container id="default" version="1.0"><search/><document-api/></container>
  <content id="c" version="1.0"><documents><document type="music" mode="index"/></documents></content></services>"#;

const SCHEMA: &str = "schema music {
  document music { field title type string { indexing: summary | attribute } }
}";

/// A package with two tests: one that feeds and searches, one that expects a title.
fn package(folder: &Path, title: &str) {
    let tests = folder.join("tests/system-test");
    std::fs::create_dir_all(folder.join("schemas")).unwrap();
    std::fs::create_dir_all(&tests).unwrap();
    std::fs::write(folder.join("services.xml"), SERVICES).unwrap();
    std::fs::write(folder.join("schemas/music.sd"), SCHEMA).unwrap();
    let write = |name: &str, json: Value| {
        std::fs::write(tests.join(name), json.to_string()).unwrap();
    };
    let document = "/document/v1/m/music/docid/1";
    write("blue.json", json!({"fields": {"title": "Blue"}}));
    let yql = json!({"yql": "select * from music where true"});
    std::fs::create_dir_all(tests.join("more")).unwrap();
    std::fs::rename(tests.join("blue.json"), tests.join("more/blue.json")).unwrap();
    write(
        "feed.json",
        json!({"name": "feeding", "defaults": {"parameters": yql}, "steps": [
            {"name": "put", "request": {"method": "POST", "uri": document, "body": "more/blue.json", "parameters": {"timeout": "10s"}}},
            {"name": "get", "request": {"uri": document}, "response": {"body": {"fields": {"title": "Blue"}}}},
            {"request": {"parameters": {"hits": 1, "timeout": "5s"}}, "response": {"body": {"root": {"fields": {"totalCount": 1}}}}},
            {"request": {"uri": "/search/?hits=1000"}, "response": {"code": 400}},
        ]}),
    );
    write(
        "search.json",
        json!({"steps": [{"name": "the title", "request": {"parameters": yql},
            "response": {"code": 200, "body": {"root": {"children": [{"fields": {"title": title}}]}}}}]}),
    );
}

#[test]
fn the_example_of_searches_passes_its_tests() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/search/app");
    let passed = stead(&["test", example.to_str().unwrap()]);
    assert!(passed.status.success(), "{passed:?}");
    let told = String::from_utf8_lossy(&passed.stdout);
    assert!(told.contains("1 of 1 tests passed"), "{told}");
}

#[test]
fn the_tests_of_a_package_run_against_a_server_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    package(folder.path(), "Blue");
    let path = folder.path().to_str().unwrap();
    let passed = stead(&["test", path]);
    let told = String::from_utf8_lossy(&passed.stdout).into_owned();
    let expected = "ok      feeding, 4 steps\nok      search.json, 1 steps\n2 of 2 tests passed\n";
    assert_eq!((passed.status.code(), told.as_str()), (Some(0), expected), "{passed:?}");

    package(folder.path(), "Hejira");
    let failed = stead(&["test", path, "--json"]);
    let told = String::from_utf8_lossy(&failed.stdout).into_owned();
    let lines: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((failed.status.code(), &lines[2]), (Some(1), &json!({"tests": 2, "failed": 1})));
    assert_eq!((&lines[0]["passed"], &lines[1]["step"]), (&json!(true), &json!("the title")));
    let why = lines[1]["failure"].as_str().unwrap();
    assert!(
        why.starts_with(
            "response.root.children[0].fields.title: expected \"Hejira\", got \"Blue\""
        ),
        "{why}"
    );
}

#[test]
fn what_cannot_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let none = stead(&["test", path]);
    let told = String::from_utf8_lossy(&none.stderr).into_owned();
    assert_eq!(none.status.code(), Some(1));
    assert!(told.contains("No such file") || told.contains("tests/system-test"), "{told}");
    package(folder.path(), "Blue");
    std::fs::write(folder.path().join("services.xml"), "<services").unwrap();
    let broken = stead(&["test", path]);
    let told = String::from_utf8_lossy(&broken.stderr).into_owned();
    assert_eq!(broken.status.code(), Some(1));
    assert!(told.contains("services.xml:1:"), "{told}");
}
