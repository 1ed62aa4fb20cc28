//! Document processors in Python as a user meets them: what is fed over HTTP goes through them before it is stored.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

use serde_json::{Value, json};

use crate::server::{Server, package, stead};

const SHOP: &str = r#"
import os
import stead

class Titles(stead.DocumentProcessor):
    """Does what the title of a document says."""
    def process(self, operations):
        done = []
        for operation in operations:
            if isinstance(operation, stead.DocumentUpdate):
                operation.increment("year", 1)
            if isinstance(operation, stead.DocumentPut):
                title = operation.document.get("title", "")
                if title == "drop":
                    continue
                self.put(operation.document, title, done)
                if title == "remove":
                    operation = stead.DocumentRemove(operation.id)
            done.append(operation)
        return done

    def put(self, document, title, done):
        if title == "input":
            raise stead.InvalidInput("there is no such title")
        if title == "busy":
            raise stead.Overloaded("later")
        if title == "bug":
            raise ValueError("a secret")
        if title == "forever":
            while True:
                pass
        if title == "crash":
            os.kill(os.getpid(), 9)
        if title == "none":
            done.append(None)
        if title == "wrong":
            document.fields._values["year"] = "x"
        if title == "type":
            done.append(stead.DocumentPut(stead.Document("id:ns:other::1")))
        if title == "more":
            more = stead.Document(str(document.id) + "-more", {"title": "added", "taste": [5, 6]})
            done.append(stead.DocumentPut(more))
        if title == "all":
            assert document["taste"] == stead.Tensor("tensor<float>(x[2])", [0.25, 0.1])
            assert document["ratio"] == 0.10000000149011612, document["ratio"]
            assert document["prices"] == {"a": 1.5} and document["weights"] == {"b": 2}
            assert document["place"] == stead.Position(1.5, -2.0) and document["tags"] == ["x"]
            assert document["bytes"] == b"\x00\x01"
            document["tags"].append("y")
            document["weights"]["c"] = -1
            document["prices"]["d"] = 2
            document["bytes"] = b"\x02"
            document["place"] = stead.Position(3.0, 4.0)
            document["labels"] = {("k",): 2}
            del document["year"]
        if "title" in document:
            document["title"] = title.upper()

class Marks(stead.DocumentProcessor):
    """Writes behind the title that it was here."""
    def __init__(self, settings: stead.Settings):
        self.mark = settings["mark"]

    async def process(self, operations):
        for operation in operations:
            if isinstance(operation, stead.DocumentPut):
                operation.document["title"] = operation.document.get("title", "") + self.mark
            if isinstance(operation, stead.DocumentUpdate):
                operation.assign("title", self.mark)
        return [one for one in operations if not isinstance(one, stead.DocumentRemove)]

class Crowd(stead.DocumentProcessor):
    """Takes operations only where there are several."""
    def process(self, operations):
        if len(operations) < 2:
            raise stead.InvalidInput("alone")
        for operation in operations:
            operation.document["year"] = len(operations)
        return operations
"#;

const SCHEMA: &str = "schema music {
  document music {
    field title type string { indexing: summary | attribute }
    field year type int { indexing: summary | attribute }
    field taste type tensor<float>(x[2]) { indexing: summary | attribute }
    field labels type tensor<float>(k{}) { indexing: summary | attribute }
    field ratio type float { indexing: summary | attribute }
    field tags type array<string> { indexing: summary | attribute }
    field weights type weightedset<string> { indexing: summary | attribute }
    field prices type map<string, double> { indexing: summary }
    field place type position { indexing: summary | attribute }
    field bytes type raw { indexing: summary }
  }
  field copied type string { indexing: input title | lowercase | summary | attribute }
}";

/// A package with these chains, some of which content names.
fn app(python: &str, chains: &str, content: &str) -> tempfile::TempDir {
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'><python {python}</python><document-api/>
  <document-processing>{chains}</document-processing></container>
  <content id='stored' version='1.0'><redundancy>1</redundancy><documents>{content}<document type='music' mode='index'/></documents></content></services>"
    );
    package(&[("services.xml", &services), ("schemas/music.sd", SCHEMA), ("python/shop.py", SHOP)])
}

const TITLES: &str =
    "<chain id='default'><documentprocessor id='titles' python='shop:Titles'/></chain>";

fn mark(id: &str, mark: &str) -> String {
    format!(
        "<documentprocessor id='{id}' python='shop:Marks'><config name='shop'><mark>{mark}</mark></config></documentprocessor>"
    )
}

/// Whether this machine has a Python; says so if it has none.
fn has_python() -> bool {
    let found = stead(&["python", "doctor", "--json"]).status.success();
    if !found {
        eprintln!("skipped: no Python on this machine");
    }
    found
}

const DOCUMENTS: &str = "/document/v1/ns/music/docid/";

fn put(server: &Server, id: &str, fields: Value) -> (u16, Value) {
    let body = json!({ "fields": fields }).to_string();
    server.request("POST", &format!("{DOCUMENTS}{id}"), &body)
}

/// The fields of a document; nothing if it is not there.
fn get(server: &Server, id: &str) -> Value {
    let (status, mut told) =
        server.request("GET", &format!("{DOCUMENTS}{id}?fieldSet=[document]"), "");
    assert!(status == 200 || status == 404, "{id}: {told}");
    told["fields"].take()
}

/// The two kinds of interpreters, as services.xml asks for them.
const BOTH: [&str; 2] =
    ["timeout='20'>", "timeout='20'><package name='shop' isolation='process'/>"];

#[test]
fn what_is_fed_goes_through_them() {
    if !has_python() {
        return;
    }
    for python in BOTH {
        let app = app(python, TITLES, "");
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);

        let fields = json!({"title": "blue", "year": 7});
        assert_eq!(put(&server, "a", fields).0, 200, "{python}");
        assert_eq!(get(&server, "a"), json!({"title": "BLUE", "year": 7}));
        // Scripts of fields see what processors made.
        let path = format!("{DOCUMENTS}a?fieldSet=music:copied");
        assert_eq!(server.request("GET", &path, "").1["fields"], json!({"copied": "blue"}));

        let fields = json!({"title": "all", "year": 7, "taste": [0.25, 0.1], "ratio": 0.1, "tags": ["x"], "weights": {"b": 2},
            "prices": {"a": 1.5}, "place": {"lat": 1.5, "lng": -2}, "bytes": "AAE="});
        let (status, told) = put(&server, "all", fields);
        assert_eq!(status, 200, "{python}: {told}");
        let expected = json!({"title": "ALL", "taste": {"type": "tensor<float>(x[2])", "values": [0.25, 0.1]}, "ratio": 0.1,
            "tags": ["x", "y"], "weights": {"b": 2, "c": -1}, "prices": {"a": 1.5, "d": 2.0},
            "labels": {"type": "tensor<float>(k{})", "cells": {"k": 2.0}}, "place": {"lat": 3.0, "lng": 4.0}, "bytes": "Ag=="});
        assert_eq!(get(&server, "all"), expected, "{python}");

        let update = json!({"fields": {"title": {"assign": "new"}}}).to_string();
        assert_eq!(server.request("PUT", &format!("{DOCUMENTS}a"), &update).0, 200);
        assert_eq!(get(&server, "a"), json!({"title": "new", "year": 8}));
        // What a condition or `create` says stays.
        let (status, told) =
            server.request("PUT", &format!("{DOCUMENTS}a?condition=music.year%3D%3D1"), &update);
        assert_eq!(status, 412, "{told}");
        let path = format!("{DOCUMENTS}created?create=true");
        assert_eq!(server.request("PUT", &path, &update).0, 200);
        assert_eq!(get(&server, "created"), json!({"title": "new"}));

        // Dropped, made another operation, and with another one beside it.
        assert_eq!(put(&server, "a", json!({"title": "drop"})).0, 200);
        assert_eq!(get(&server, "a")["title"], "new");
        assert_eq!(put(&server, "created", json!({"title": "remove"})).0, 200);
        assert_eq!(get(&server, "created"), Value::Null);
        assert_eq!(put(&server, "b", json!({"title": "more"})).0, 200);
        assert_eq!(get(&server, "b"), json!({"title": "MORE"}));
        let added = json!({"title": "added", "taste": {"type": "tensor<float>(x[2])", "values": [5.0, 6.0]}});
        assert_eq!(get(&server, "b-more"), added);
        assert_eq!(server.request("DELETE", &format!("{DOCUMENTS}b"), "").0, 200);
        assert_eq!(get(&server, "b"), Value::Null);
    }
}

#[test]
fn nothing_is_stored_where_they_fail() {
    if !has_python() {
        return;
    }
    for python in BOTH {
        let app = app(&python.replace("20", "1.5"), TITLES, "");
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        let titles = "documentprocessor titles@default:";
        for (title, status, message) in [
            ("input", 400, "there is no such title"),
            ("busy", 429, "later"),
            ("bug", 500, "its code raised ValueError"),
            ("none", 500, "titles@default.process gave a list with nothing"),
            (
                "wrong",
                500,
                "gave document id:ns:music::wrong: field year: expected a value of type int, found \"x\"",
            ),
            (
                "type",
                500,
                "document id:ns:other::1 is of the type \"other\", which is not stored here; there are music",
            ),
            ("forever", 504, "the deadline passed before it answered"),
        ] {
            let (found, told) = put(&server, title, json!({ "title": title }));
            let told = told["message"].as_str().unwrap_or_default().to_owned();
            assert_eq!(found, status, "{python} {title}: {told}");
            assert!(told.starts_with(titles) && told.contains(message), "{title}: {told}");
            assert_eq!(get(&server, title), Value::Null, "{title}");
        }
        if python.contains("process") {
            let (status, told) = put(&server, "crash", json!({"title": "crash"}));
            assert_eq!(
                (status, told["message"].as_str()),
                (500, Some(format!("{titles} its interpreter died").as_str()))
            );
        }
        // A process that died is replaced, which may take longer than an operation has.
        let again = || put(&server, "good", json!({"title": "good"})).0;
        assert_eq!(std::iter::repeat_with(again).find(|status| *status != 504), Some(200));
        assert_eq!(get(&server, "good"), json!({"title": "GOOD"}));
    }
}

#[test]
fn operations_go_through_the_default_chain_and_that_of_their_cluster() {
    if !has_python() {
        return;
    }
    let chains = format!(
        "{}<chain id='default'><documentprocessor idref='beside'/>{}</chain><chain id='own' inherits='indexing'>{}</chain>",
        mark("beside", "1"),
        mark("two", "2"),
        mark("three", "3")
    );
    let content = "<document-processing cluster='c' chain='own'/>";
    let app = app(BOTH[0], &chains, content);
    let server = Server::of_package(app.path());
    let title = |id: &str| get(&server, id)["title"].clone();
    assert_eq!(put(&server, "a", json!({"title": ""})).0, 200);
    assert_eq!(title("a"), "123");
    for (route, expected) in [("default", "123"), ("indexing", "3"), ("stored", "3")] {
        let path = format!("b?route={route}");
        assert_eq!(put(&server, &path, json!({"title": ""})).0, 200);
        assert_eq!(title("b"), expected, "{route}");
    }
    let (status, told) = put(&server, "b?route=elsewhere", json!({"title": ""}));
    assert_eq!(status, 400, "{told}");
    // The chain of the cluster sees what is done with a selection, and drops what removes.
    let update = json!({"fields": {"year": {"assign": 5}}}).to_string();
    let selected = "selection=true&cluster=stored";
    let path = format!("/document/v1/ns/music/docid?{selected}");
    assert_eq!(server.request("PUT", &path, &update).0, 200);
    assert_eq!(get(&server, "a"), json!({"title": "3", "year": 5}));
    assert_eq!(server.request("DELETE", &path, "").0, 200);
    assert_eq!(get(&server, "a"), json!({"title": "3", "year": 5}));
    let page = server.text("/metrics");
    // Of these, two went through the default chain.
    for (id, calls) in [("beside", 2), ("two@default", 2)] {
        let line = format!(
            "stead_component_calls_succeeded{{component=\"{id}\",kind=\"documentprocessor\"}} {calls}"
        );
        assert!(page.lines().any(|l| l == line), "{line}: {page}");
    }
}

/// Clients that wait together are served together, each with what became of its own operation.
#[test]
fn many_operations_go_in_one_call() {
    if !has_python() {
        return;
    }
    let chain = "<chain id='default'><documentprocessor id='crowd' python='shop:Crowd'/></chain>";
    for python in BOTH {
        let app = app(python, chain, "");
        let server = Server::of_package_with(app.path(), &["--python_interpreters", "1"]);
        let (found, done) = (std::sync::atomic::AtomicUsize::new(0), 4);
        std::thread::scope(|scope| {
            for client in 0..4 {
                let (server, found) = (&server, &found);
                scope.spawn(move || {
                    let id = format!("c{client}");
                    let mut is_mine = false;
                    // Whoever has been in a crowd helps the others to one.
                    for _ in 0..10_000 {
                        let (status, told) = put(server, &id, json!({"title": id}));
                        match status {
                            200 if !is_mine => {
                                is_mine = true;
                                found.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            }
                            200 => {}
                            _ => assert_eq!(
                                (status, told["message"].as_str().unwrap().ends_with("alone")),
                                (400, true)
                            ),
                        }
                        if found.load(std::sync::atomic::Ordering::SeqCst) == done {
                            break;
                        }
                    }
                    assert!(is_mine, "{id} was never in a crowd");
                    let stored = get(server, &id);
                    assert_eq!(stored["title"], id);
                    assert!(stored["year"].as_i64() > Some(1), "{stored}");
                });
            }
        });
    }
}

/// One that is refused is not the fault of those that wait with it.
#[test]
fn each_of_many_clients_gets_its_own_answer() {
    if !has_python() {
        return;
    }
    let app = app(BOTH[0], TITLES, "");
    let server = Server::of_package_with(app.path(), &["--python_interpreters", "2"]);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let server = &server;
            scope.spawn(move || {
                for number in 0..15 {
                    let (id, kind) = (format!("c{client}n{number}"), (client + number) % 5);
                    let title = ["plain", "input", "bug", "more", "drop"][kind];
                    let (status, told) = put(server, &id, json!({"title": title, "year": number}));
                    assert_eq!(status, [200, 400, 500, 200, 200][kind], "{id} {title}: {told}");
                    let expected = match title {
                        "plain" | "more" => json!({"title": title.to_uppercase(), "year": number}),
                        _ => Value::Null,
                    };
                    assert_eq!(get(server, &id), expected, "{id} {title}");
                    if title == "more" {
                        assert_eq!(get(server, &format!("{id}-more"))["title"], "added");
                    }
                }
            });
        }
    });
}

/// What was answered is there after a kill, what processors added too; `stead feed` goes through them as well.
#[test]
fn what_came_out_is_durable_before_the_answer() {
    if !has_python() {
        return;
    }
    let (data, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Server::start(data.path());
    server.deploy(app(BOTH[0], TITLES, "").path());
    let feed = files.path().join("feed.jsonl");
    let lines: String = (0..200)
        .map(|at| {
            format!(
                "{}\n",
                json!({"put": format!("id:ns:music::{at}"), "fields": {"title": "more"}})
            )
        })
        .collect();
    std::fs::write(&feed, lines).unwrap();
    let fed = stead(&["feed", feed.to_str().unwrap(), "--target", &server.query]);
    assert!(fed.status.success(), "{fed:?}");
    let server = server.again(data.path());
    for at in 0..200 {
        assert_eq!(get(&server, &at.to_string()), json!({"title": "MORE"}));
        assert_eq!(get(&server, &format!("{at}-more"))["title"], "added");
    }
}
