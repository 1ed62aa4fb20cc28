//! `stead serve APP` as a user meets it: one package, documents in memory, and no folder.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::{Value, json};

use crate::server::app::App;
use crate::server::{Server, stead};

fn app() -> tempfile::TempDir {
    let profile = "rank-profile taste {
    inputs { query(user) tensor<float>(x[2]) }
    first-phase { expression: sum(query(user) * attribute(taste)) }
    second-phase { rerank-count: 2 expression: firstPhase + attribute(year) }
  }";
    App::music("field notes type string { indexing: summary }", profile).folder()
}

fn document(number: u32) -> Value {
    json!({"title": format!("title {number}"), "year": 1900 + number, "taste": [number, 1],
        "notes": format!("notes of {number}")})
}

/// The ids and scores of what a query finds.
fn found(server: &Server, yql: &str, more: Value) -> Vec<(String, f64)> {
    let mut query = json!({"yql": yql, "hits": 100});
    query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let (status, answer) = server.request("POST", "/search/", &query.to_string());
    assert_eq!(status, 200, "{answer}");
    let hit = |hit: &Value| {
        let id = hit["id"].as_str().unwrap().rsplit(':').next().unwrap();
        (id.to_owned(), hit["relevance"].as_f64().unwrap())
    };
    answer["root"]["children"].as_array().into_iter().flatten().map(hit).collect()
}

fn visited(server: &Server) -> Vec<String> {
    let output = stead(&["visit", "--target", &server.query]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn documents_are_fed_ranked_changed_and_visited_in_memory() {
    let app = app();
    let server = Server::of_package(app.path());
    assert_eq!(server.request("GET", "/ApplicationStatus", "").0, 200);

    // One by one, and from a file.
    for number in 0..5 {
        let path = format!("/document/v1/ns/music/docid/{number}");
        let body = json!({"fields": document(number)}).to_string();
        assert_eq!(server.request("POST", &path, &body).0, 200, "{number}");
    }
    let line = |number: u32| {
        json!({"put": format!("id:ns:music::{number}"), "fields": document(number)}).to_string()
    };
    let file = app.path().join("docs.jsonl");
    std::fs::write(&file, (5..50).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let fed = stead(&["feed", file.to_str().unwrap(), "--target", &server.query, "--json"]);
    assert!(fed.status.success(), "{fed:?}");
    let told: Value = serde_json::from_slice(&fed.stdout).unwrap();
    assert_eq!(told["feeder.ok.count"], 45);

    // All are ranked by the first phase, the best two by the second.
    let taste = json!({"ranking": "taste", "input.query(user)": [1, 0]});
    let hits = found(&server, "select * from music where year >= 1940", taste.clone());
    let best: Vec<(&str, f64)> = hits.iter().map(|(id, score)| (id.as_str(), *score)).collect();
    assert_eq!(best[..3], [("49", 49.0 + 1949.0), ("48", 48.0 + 1948.0), ("47", 47.0)]);
    assert_eq!(best.len(), 10);

    // What is changed and removed is so in the next search.
    let one = "/document/v1/ns/music/docid/49";
    let update = json!({"fields": {"taste": {"assign": [-1, 1]}, "year": {"increment": 10}}});
    assert_eq!(server.request("PUT", one, &update.to_string()).0, 200);
    let hits = found(&server, "select * from music where year >= 1940", taste.clone());
    assert_eq!((hits[0].0.as_str(), hits[9].0.as_str(), hits[9].1), ("48", "49", -1.0));
    let condition = "/document/v1/ns/music/docid/48?condition=music.year%3C1900";
    assert_eq!(server.request("DELETE", condition, "").0, 412);
    assert_eq!(server.request("DELETE", "/document/v1/ns/music/docid/48", "").0, 200);
    assert_eq!(found(&server, "select * from music where year >= 1940", taste)[0].0, "47");
    let (status, answer) = server.request("GET", one, "");
    let expected = json!({"title": "title 49", "year": 1959, "notes": "notes of 49",
        "taste": {"type": "tensor<float>(x[2])", "values": [-1.0, 1.0]}});
    assert_eq!((status, &answer["fields"]), (200, &expected));
    let got = stead(&["get", "id:ns:music::48", "--target", &server.query]);
    assert_eq!(got.status.code(), Some(1), "{got:?}");

    let selection = "/document/v1/ns/music/docid?selection=music.year%3C1910&cluster=c";
    assert_eq!(server.request("DELETE", selection, "").0, 200);
    let all = visited(&server);
    assert_eq!(all.len(), 50 - 1 - 10);
    assert!(all[0].contains("\"id:ns:music::10\"") && all[0].contains("notes of 10"), "{}", all[0]);

    // It is all gone with the process: what is visited brings it back.
    std::fs::write(&file, all.join("\n")).unwrap();
    drop(server);
    let server = Server::of_package(app.path());
    assert_eq!(visited(&server), [""; 0]);
    assert!(stead(&["feed", file.to_str().unwrap(), "--target", &server.query]).status.success());
    assert_eq!(visited(&server), all);
}

#[test]
fn what_needs_a_folder_is_refused_with_what_to_do() {
    let app = app();
    let server = Server::of_package(app.path());
    let path = app.path().to_str().unwrap();
    for args in [&["store", "snapshot"][..], &["store", "backup", "one"], &["deploy", path]] {
        let refused = stead(&[args, &["--target", &server.query]].concat());
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{args:?}: {told}");
        let expected = "error: this server serves one package, whose documents are in memory: there are no deployments, \
                        snapshots and backups. `stead serve --data DIR` has them, on a port of their own\n";
        assert_eq!(told, expected, "{args:?}");
        // The port that is asked without `--target` is not there.
        let nobody = stead(&[args, &["--target", "http://127.0.0.1:1"]].concat());
        let told = String::from_utf8(nobody.stderr).unwrap();
        assert!(told.starts_with("error: no answer from http://127.0.0.1:1"), "{told}");
        let hint = "; only a server with a folder (`stead serve --data DIR`) has a deploy port\n";
        assert!(told.ends_with(hint), "{told}");
    }
    // Nothing of that has changed the server, and where there is a folder it is told where to ask.
    assert_eq!(server.request("GET", "/ApplicationStatus", "").0, 200);
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let (status, answer) = server.request("POST", "/stead/v1/snapshot", "");
    let expected =
        "deployments, snapshots and backups are asked for on the deploy port (--deploy_port)";
    assert_eq!((status, &answer["message"]), (404, &json!(expected)));
}
