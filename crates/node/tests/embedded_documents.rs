//! Documents through the Rust API, in memory and below a folder.
#![allow(clippy::unwrap_used)] // a panic is the report

#[allow(dead_code)] // it is a program
#[path = "../examples/documents.rs"]
mod example;

use stead_app::package::PackageFiles;
use stead_node::{Code, Embedded};
use stead_store::{FieldValue, Outcome, Selection};

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: attribute | summary }
  }
}";

fn package(schema: &str) -> PackageFiles {
    PackageFiles::from_texts([("services.xml", example::SERVICES), ("schemas/music.sd", schema)])
        .unwrap()
}

fn put(at: usize) -> String {
    format!(r#"{{"put": "id:ns:music::{at}", "fields": {{"title": "t{at}", "year": {at}}}}}"#)
}

fn use_it(node: &Embedded) {
    for at in 0..20 {
        assert_eq!(node.feed_json(&put(at)), Ok(Outcome::Applied));
        let year = at.to_string();
        let yql = format!("select * from music where year = {year}");
        let (result, _) = node.search_wait(&[("yql", &yql)]).unwrap();
        assert_eq!(result.hits.len(), 1, "what was acknowledged is in the next search");
    }
    let update = r#"{"update": "id:ns:music::1", "fields": {"year": {"increment": 100}}}"#;
    assert_eq!(node.feed_json(update), Ok(Outcome::Applied));
    assert_eq!(node.feed_json(r#"{"remove": "id:ns:music::2"}"#), Ok(Outcome::Applied));
    assert_eq!(node.feed_json(r#"{"remove": "id:ns:music::2"}"#), Ok(Outcome::Absent));
    let found = node.document("id:ns:music::1").unwrap().unwrap();
    assert_eq!(found.field("year"), Some(&FieldValue::Integer(101)));
    assert_eq!(node.document("id:ns:music::2"), Ok(None));
    let selection = Selection::parse("music.year > 17").unwrap();
    let mut ids = Vec::new();
    node.visit("music", Some(&selection), |document| {
        ids.push(document.id);
        true
    })
    .unwrap();
    assert_eq!(ids, ["id:ns:music::1", "id:ns:music::18", "id:ns:music::19"]);
    for (json, code, text) in [
        ("{}", Code::InvalidJson, "expected one of put, update and remove with an id"),
        (
            r#"{"put": "1"}"#,
            Code::InvalidArgument,
            "expected an id id:namespace:type::name, found \"1\"",
        ),
        (r#"{"put": "id:a:b::1"}"#, Code::InvalidArgument, "document type b does not exist"),
        (
            r#"{"put": "id:a:music::1", "fields": {"year": "x"}}"#,
            Code::InvalidJson,
            "id:a:music::1: field year: expected an int, found \"x\"",
        ),
    ] {
        let error = node.feed_json(json).unwrap_err();
        assert_eq!((error.code, error.to_string().as_str()), (code, text), "{json}");
    }
}

#[test]
fn an_application_in_memory_takes_documents() {
    let node = Embedded::in_memory(&package(SCHEMA)).unwrap();
    use_it(&node);
    assert_eq!(node.deploy(&package(SCHEMA)).unwrap_err().code, Code::FailedPrecondition);
}

#[test]
fn documents_below_a_folder_are_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let node = Embedded::open(folder.path()).unwrap();
    assert_eq!(node.feed_json(&put(1)).unwrap_err().code, Code::Unavailable);
    let broken = node.deploy(&package("schema music {")).unwrap_err();
    assert_eq!(broken.code, Code::InvalidPackage);
    node.deploy(&package(SCHEMA)).unwrap();
    use_it(&node);
    drop(node);
    let node = Embedded::open(folder.path()).unwrap();
    let found = node.document("id:ns:music::1").unwrap().unwrap();
    assert_eq!(found.field("year"), Some(&FieldValue::Integer(101)));
}

#[test]
fn the_example_ranks_what_it_fed() {
    let node = Embedded::in_memory(&example::package().unwrap()).unwrap();
    let result = example::run(&node).unwrap();
    let places = ["Hejira", "Ladies"].map(|title| result.find(title).unwrap());
    assert!(places[0] < places[1], "{result}");
}
