//! A schema with `paged` as a user meets it: deployed, fed, in a snapshot, searched, changed, and opened again.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::server::app::App;
use crate::server::{Server, stead};

const SCHEMA: &str = "schema item {
  document item {
    field n type int { indexing: attribute | summary }
    field v type tensor<float>(x[512]) {
      indexing: attribute | summary
      attribute: paged
    }
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[512]) }
    first-phase { expression: sum(query(q) * attribute(v)) }
  }
}";

/// Documents of one whole block, and some of another.
const COUNT: u32 = 270;

fn path(n: u32) -> String {
    format!("/document/v1/n/item/docid/{n}")
}

/// A server with the application and its documents.
fn start(data: &Path) -> Server {
    let server = Server::start(data);
    App::new("item", SCHEMA).deploy(&server);
    for n in 0..COUNT {
        let body = json!({"fields": {"n": n, "v": vector(n)}}).to_string();
        let answer = server.request("POST", &path(n), &body);
        assert_eq!(answer.0, 200, "{answer:?}");
    }
    server
}

fn snapshot(server: &Server) {
    let snapshot = stead(&["store", "snapshot", "--target", &server.deploy]);
    assert!(snapshot.status.success(), "{snapshot:?}");
}

/// A vector whose product with a query of ones is `512 * n`.
fn vector(n: u32) -> Value {
    json!({"values": vec![n; 512]})
}

/// The first value of a metric.
fn metric(server: &Server, name: &str) -> f64 {
    fn find(json: &Value, name: &str) -> Option<f64> {
        match json {
            Value::Object(map) => match map.get(name) {
                Some(found) => found.as_f64(),
                None => map.values().find_map(|value| find(value, name)),
            },
            Value::Array(list) => list.iter().find_map(|value| find(value, name)),
            _ => None,
        }
    }
    let (_, values) = server.request("GET", "/metrics/v2/values", "");
    find(&values, &format!("{name}.last")).unwrap_or_else(|| panic!("{name}: {values}"))
}

const MEMORY: &str = "content.proton.documentdb.memory_usage.allocated_bytes";

/// The documents with the greatest products, and these.
fn best(server: &Server) -> Vec<(u64, f64)> {
    let ones = vec![1; 512];
    let body = json!({
        "yql": "select n from item where true", "ranking": "near", "input.query(q)": ones, "hits": 3
    });
    let (_, found) = server.request("POST", "/search/", &body.to_string());
    let hits = found["root"]["children"].as_array().unwrap_or_else(|| panic!("{found}"));
    let hit = |hit: &Value| {
        (hit["fields"]["n"].as_u64().unwrap(), hit["relevance"].as_f64().unwrap() / 512.0)
    };
    hits.iter().map(hit).collect()
}

#[test]
fn paged_attributes_are_served_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = start(&data);
    let top = [(269, 269.0), (268, 268.0), (267, 267.0)];
    assert_eq!(best(&server), top);
    let before = metric(&server, MEMORY);
    assert_eq!(metric(&server, "stead.paged.reads"), 0.0);
    snapshot(&server);
    // The vectors of the block that is full.
    let after = metric(&server, MEMORY);
    assert!(before - after > 256.0 * 2048.0, "{before} {after}");
    assert_eq!(best(&server), top);
    assert!(metric(&server, "stead.paged.reads") >= 1.0);
    assert!(metric(&server, "stead.paged.bytes") >= 256.0 * 2048.0);

    let server = server.again(&data);
    let opened = metric(&server, MEMORY);
    assert!(opened < after - 14.0 * 2048.0, "the last block is on disk too: {opened} {after}");
    assert_eq!(metric(&server, "stead.paged.reads"), 0.0);
    assert_eq!(best(&server), top);
    let update = json!({"fields": {"v": {"assign": vector(500)}}}).to_string();
    assert_eq!(server.request("PUT", &path(7), &update).0, 200);
    assert_eq!(best(&server), [(7, 500.0), (269, 269.0), (268, 268.0)]);
    let mut expected = String::new();
    let get =
        |server: &Server, n: u32| server.request("GET", &path(n), "").1["fields"]["v"].clone();
    let cells = |json: &Value| json["values"].as_array().map(Vec::len);
    assert_eq!(cells(&get(&server, 7)), Some(512));
    for n in [7, 8, 269] {
        write!(expected, "{}", get(&server, n)).unwrap();
    }
    let server = server.again(&data);
    assert_eq!(best(&server), [(7, 500.0), (269, 269.0), (268, 268.0)]);
    let found: String = [7, 8, 269].map(|n| get(&server, n).to_string()).concat();
    assert_eq!(found, expected);

    // Without the setting there must be memory for all, which is not done by accident.
    let app = App::new("item", SCHEMA.replace("attribute: paged", "")).folder();
    let refused = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("paged-setting-removal") && told.contains("attribute 'v'"), "{told}");
    assert_eq!(best(&server)[0], (7, 500.0));
}

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let list = if path.is_dir() { &mut open } else { &mut found };
            list.push(path);
        }
    }
    found
}

/// Changes a bit of the vector of a document where it lies on disk, or changes it back.
fn flip(data: &Path, n: u32) {
    let wanted: Vec<u8> = (n as f32).to_le_bytes().repeat(500);
    let mut places = 0;
    for file in files(data).iter().filter(|file| file.extension().is_some_and(|e| e == "pack")) {
        let mut bytes = std::fs::read(file).unwrap();
        if let Some(at) = bytes.windows(wanted.len()).position(|part| part == wanted) {
            // Among those before, which may be changed already.
            bytes[at - 4] ^= 1;
            std::fs::write(file, bytes).unwrap();
            places += 1;
        }
    }
    assert!(places > 0, "the vector of {n} is in no pack below {}", data.display());
}

/// What is damaged is told by type and field; what does not need it goes on, and so do writes.
#[test]
fn a_damaged_vector_is_told_by_its_field_and_keeps_nobody_from_writing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = start(&data);
    snapshot(&server);
    server.kill();
    flip(&data, 100);
    let server = server.again(&data);
    let is_told = |server: &Server, n: u32, more: &str| {
        let path = path(n) + more;
        let (status, answer) = server.request("GET", &path, "");
        let mut members: Vec<&str> =
            answer.as_object().unwrap().keys().map(String::as_str).collect();
        members.sort_unstable();
        assert_eq!((status, members), (500, vec!["id", "message", "pathId"]), "{answer}");
        assert_eq!(answer["id"], format!("id:n:item::{n}"));
        let message = answer["message"].as_str().unwrap();
        let begin = "document type item: field v: ";
        assert!(
            message.starts_with(begin) && message.ends_with("the checksum differs"),
            "{message}"
        );
        assert!(!message.contains('/') && !message.contains("data"), "{message}");
    };
    let get = |server: &Server, n: u32, more: &str| {
        let (status, answer) = server.request("GET", &(path(n) + more), "");
        (status, answer["fields"].clone())
    };
    let tensor =
        |n: u32| json!({"type": "tensor<float>(x[512])", "values": vec![f64::from(n); 512]});
    is_told(&server, 100, "");
    is_told(&server, 7, "?fieldSet=item:n,v");
    assert_eq!(get(&server, 7, "?fieldSet=item:n"), (200, json!({"n": 7})));
    assert_eq!(get(&server, 7, "?fieldSet=[id]"), (200, Value::Null));
    assert_eq!(get(&server, 260, ""), (200, json!({"n": 260, "v": tensor(260)})), "another block");
    // Visits tell of it, unless they want other fields.
    let visit = |server: &Server, set: &str| {
        let visit = format!("/document/v1/n/item/docid?wantedDocumentCount=1024&fieldSet={set}");
        let (status, answer) = server.request("GET", &visit, "");
        (status, answer["documentCount"].as_u64())
    };
    assert_eq!(visit(&server, "item:v"), (500, None));
    assert_eq!(visit(&server, "item:n"), (200, Some(u64::from(COUNT))));
    // Whoever needs to know what it was is told, too.
    let modify = json!({"fields": {"v": {"modify": {"operation": "add",
        "cells": [{"address": {"x": "3"}, "value": 1}]}}}});
    let (status, answer) = server.request("PUT", &path(8), &modify.to_string());
    assert_eq!(status, 500, "{answer}");
    assert!(answer["message"].as_str().unwrap().contains("item: field v: "), "{answer}");
    // A put, a removal, another vector and another number need nothing of what is damaged.
    let put = json!({"fields": {"n": 1000, "v": vector(3)}}).to_string();
    assert_eq!(server.request("POST", &path(1), &put).0, 200);
    assert_eq!(server.request("DELETE", &path(2), "").0, 200);
    let assign = json!({"fields": {"v": {"assign": vector(4)}}}).to_string();
    assert_eq!(server.request("PUT", &path(3), &assign).0, 200);
    let increment = json!({"fields": {"n": {"increment": 1}}}).to_string();
    assert_eq!(server.request("PUT", &path(4), &increment).0, 200);
    let check = |server: &Server| {
        assert_eq!(get(server, 1, ""), (200, json!({"n": 1000, "v": tensor(3)})));
        assert_eq!(get(server, 2, ""), (404, Value::Null));
        assert_eq!(get(server, 3, ""), (200, json!({"n": 3, "v": tensor(4)})));
        assert_eq!(get(server, 4, "?fieldSet=item:n"), (200, json!({"n": 5})));
        is_told(server, 4, "");
        is_told(server, 100, "");
    };
    check(&server);
    snapshot(&server);
    check(&server);
    let server = server.again(&data);
    check(&server);
    // With the right byte everything is there again.
    server.kill();
    flip(&data, 100);
    let server = server.again(&data);
    assert_eq!(get(&server, 100, ""), (200, json!({"n": 100, "v": tensor(100)})));
    assert_eq!(get(&server, 3, ""), (200, json!({"n": 3, "v": tensor(4)})));
    assert_eq!(visit(&server, "item:v"), (200, Some(u64::from(COUNT) - 1)));
}
