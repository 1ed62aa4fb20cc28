//! `stead feed`, `stead get` and `stead visit` as a user meets them.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::server::app::App;
use crate::server::{Server, stead};

/// A server with an application.
fn start(data: &Path) -> Server {
    let server = Server::start(data);
    App::music("", "").deploy(&server);
    server
}

fn put(at: usize) -> Value {
    json!({"put": format!("id:ns:music::{at}"),
        "fields": {"title": format!("title {at}"), "year": 1900 + at, "taste": [at, 1]}})
}

fn lines(values: impl IntoIterator<Item = Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// The documents that a visit prints, by their ids.
fn visited(server: &Server, more: &[&str]) -> Vec<Value> {
    let output = stead(&[&["visit", "--target", &server.query], more].concat());
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    found.sort_by_key(|document| document["put"].as_str().unwrap().to_owned());
    found
}

#[test]
fn files_of_every_form_are_fed_and_visited_again() {
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(data.path());
    let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let array = Value::from((0..100).map(put).collect::<Vec<_>>());
    std::fs::write(path("a.json"), array.to_string()).unwrap();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(lines((100..200).map(put)).as_bytes()).unwrap();
    std::fs::write(path("b.jsonl.gz"), gz.finish().unwrap()).unwrap();
    let zst = zstd::encode_all(lines((200..300).map(put)).as_bytes(), 1).unwrap();
    std::fs::write(path("c.jsonl.zst"), zst).unwrap();
    // Operations with the same document stay in their order.
    let changes =
        (0..200).map(|at| json!({"update": "id:ns:music::0", "fields": {"year": {"assign": at}}}));
    std::fs::write(path("d.jsonl"), lines(changes)).unwrap();
    let (a, b, c, d) = (path("a.json"), path("b.jsonl.gz"), path("c.jsonl.zst"), path("d.jsonl"));
    let fed = stead(&["feed", &a, &b, &c, &d, "--target", &server.query, "--json"]);
    assert_eq!(fed.status.code(), Some(0), "{fed:?}");
    let told = json_of(&fed);
    assert_eq!(told["feeder.operation.count"], 500);
    assert_eq!(told["feeder.ok.count"], 500);
    assert_eq!(told["http.response.code.counts"], json!({"200": 500}));
    let quantile = |name: &str| told[format!("http.response.latency.millis.{name}")].as_f64();
    assert!(quantile("p50") > Some(0.0) && quantile("p50") <= quantile("p99"), "{told}");

    let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
        .args(["feed", "-", "--target", &server.query])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let more = [
        json!({"remove": "id:ns:music::1"}),
        json!({"update": "id:ns:music::new", "create": true, "fields": {"year": {"assign": 7}}}),
        json!({"put": "id:ns:music::2", "condition": "music.year == 1902", "fields": {"year": 5}}),
    ];
    child.stdin.take().unwrap().write_all(lines(more).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.starts_with("3 operations done in "), "{told}");

    let all = visited(&server, &["--slices", "3"]);
    assert_eq!(all.len(), 300);
    let year = |id: &str| {
        let found = all.iter().find(|document| document["put"] == format!("id:ns:music::{id}"));
        found.map(|document| document["fields"]["year"].clone())
    };
    assert_eq!(
        ["0", "1", "2", "new"].map(year),
        [Some(json!(199)), None, Some(json!(5)), Some(json!(7))]
    );
    let some = visited(&server, &["--selection", "music.year < 10", "--field-set", "[id]"]);
    assert_eq!(some, [json!({"put": "id:ns:music::2"}), json!({"put": "id:ns:music::new"})]);

    let back = path("back.jsonl.zst");
    let written = stead(&["visit", "--target", &server.query, "--output", &back]);
    assert_eq!(String::from_utf8(written.stderr).unwrap(), "300 documents\n");
    let other = tempfile::tempdir().unwrap();
    let copy = start(other.path());
    assert!(stead(&["feed", &back, "--target", &copy.query]).status.success());
    assert_eq!(visited(&copy, &[]), all, "what is visited can be fed");
}

#[test]
fn what_is_refused_is_told_with_its_place() {
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(data.path());
    let file = files.path().join("docs.jsonl").to_str().unwrap().to_owned();
    let docs = [
        put(1),
        json!({"put": "id:ns:music::2", "fields": {"year": "last"}}),
        json!({"fields": {}}),
        json!({"put": "id:ns:books::2", "fields": {}}),
        json!({"put": "id:ns:music::1", "condition": "music.year == 0", "fields": {}}),
        put(3),
    ];
    std::fs::write(&file, lines(docs)).unwrap();
    let fed = stead(&["feed", &file, "--target", &server.query, "--json"]);
    assert_eq!(fed.status.code(), Some(1));
    let told = json_of(&fed);
    assert_eq!(
        (&told["feeder.ok.count"], &told["http.response.error.count"]),
        (&json!(2), &json!(3))
    );
    let mut errors: Vec<String> =
        String::from_utf8(fed.stderr).unwrap().lines().map(str::to_owned).collect();
    errors.sort();
    let expected = [
        "2: id:ns:music::2: 400: id:ns:music::2: field year: expected an int, found \"last\"",
        "3: expected one of put, update and remove with an id",
        "4: 400: Document type books does not exist",
        "5: id:ns:music::1: 412: Condition did not match document nr 0 with id id:ns:music::1",
    ];
    assert_eq!(errors, expected.map(|line| format!("{file}:{line}")));

    let found =
        stead(&["get", "id:ns:music::3", "--target", &server.query, "--field-set", "music:year"]);
    assert_eq!(json_of(&found), json!({"id": "id:ns:music::3", "fields": {"year": 1903}}));
    let missing = stead(&["get", "id:ns:music::9", "--target", &server.query]);
    assert_eq!(missing.status.code(), Some(1));
    let told = String::from_utf8(missing.stderr).unwrap();
    assert_eq!(told, "id:ns:music::9: there is no such document\n");
    for args in [["get", "music::9"], ["feed", "missing.jsonl"]] {
        assert!(!stead(&args).status.success(), "{args:?}");
    }
}

#[test]
fn an_interrupted_feed_goes_on_where_it_was() {
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(data.path());
    let path = |name: &str| files.path().join(name).to_str().unwrap().to_owned();
    let (file, position) = (path("docs.jsonl"), path("position"));
    std::fs::write(&file, lines((0..3000).map(put))).unwrap();
    let args = ["feed", &file, "--resume", &position, "--target", &server.query, "--json"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_stead"))
        .args(args)
        .args(["--connections", "2"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let has_begun = || {
        let text = std::fs::read_to_string(&position).unwrap_or_default();
        !text.is_empty() && !text.contains("\"below\":0,")
    };
    while !has_begun() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ended = child.wait().unwrap();
    assert_eq!(ended.code(), Some(1), "it was not done yet");
    let rest = json_of(&stead(&args));
    assert!(rest["feeder.operation.count"].as_u64().unwrap() < 3000, "{rest}");
    assert_eq!(visited(&server, &[]).len(), 3000);
    assert!(!Path::new(&position).exists(), "it is at the end");
}

#[test]
fn a_server_that_comes_back_gets_what_it_missed() {
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = start(data.path());
    let file = files.path().join("docs.jsonl").to_str().unwrap().to_owned();
    std::fs::write(&file, lines((0..2000).map(put))).unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_stead"))
        .args(["feed", &file, "--target", &server.query, "--json", "--connections", "4"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let server = server.again(data.path());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(json_of(&output)["feeder.ok.count"], 2000);
    assert_eq!(visited(&server, &[]).len(), 2000);
}

#[test]
fn documents_that_are_not_selected_any_more_are_removed() {
    let data = tempfile::tempdir().unwrap();
    let server = start(data.path());
    let file = data.path().join("docs.jsonl");
    std::fs::write(&file, lines((0..20).map(put))).unwrap();
    let fed = stead(&["feed", file.to_str().unwrap(), "--target", &server.query]);
    assert!(fed.status.success(), "{fed:?}");
    let mut app = App::music("", "");
    app.services = app
        .services
        .replace(
            "<documents>",
            r#"<documents garbage-collection="true" garbage-collection-interval="1">"#,
        )
        .replace(r#"mode="index"/>"#, r#"mode="index" selection="music.year &gt;= 1915"/>"#);
    app.deploy(&server);
    // The server has its own pace: this asks until it has come to it, and at last gives up.
    let _ = (0..10_000).find(|_| visited(&server, &["--field-set", "[id]"]).len() == 5);
    let years: Vec<Value> =
        visited(&server, &[]).iter().map(|found| found["fields"]["year"].clone()).collect();
    assert_eq!(years, [1915, 1916, 1917, 1918, 1919]);
    // What is gone is gone after a crash too, and cannot be put again.
    let server = server.again(data.path());
    assert_eq!(visited(&server, &[]).len(), 5);
    let fed = stead(&["feed", file.to_str().unwrap(), "--target", &server.query]);
    assert!(fed.status.success(), "{fed:?}");
    assert_eq!(visited(&server, &[]).len(), 5);
}
