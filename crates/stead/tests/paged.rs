//! A schema with `paged` as a user meets it: deployed, fed, in a snapshot, searched, changed, and opened again.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod server;

use std::fmt::Write as _;
use std::io::{Read, Write};

use serde_json::{Value, json};
use server::{Server, stead};

const SERVICES: &str = r#"<services version="1.0">
  <container id="d" version="1.0"><search/><document-api/></container>
  <content id="c" version="1.0"><documents><document type="item" mode="index"/></documents></content>
</services>"#;

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

fn request(server: &Server, method: &str, path: &str, body: &str) -> Value {
    let address = server.query.strip_prefix("http://").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let (kind, length) = ("Content-Type: application/json", body.len());
    write!(stream, "{method} {path} HTTP/1.0\r\n{kind}\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

fn path(n: u32) -> String {
    format!("/document/v1/n/item/docid/{n}")
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
    let values = request(server, "GET", "/metrics/v2/values", "");
    find(&values, &format!("{name}.last")).unwrap_or_else(|| panic!("{name}: {values}"))
}

const MEMORY: &str = "content.proton.documentdb.memory_usage.allocated_bytes";

/// The documents with the greatest products, and these.
fn best(server: &Server) -> Vec<(u64, f64)> {
    let ones = vec![1; 512];
    let body = json!({
        "yql": "select n from item where true", "ranking": "near", "input.query(q)": ones, "hits": 3
    });
    let found = request(server, "POST", "/search/", &body.to_string());
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
    let server = Server::start(&data);
    server.deploy(&[("services.xml", SERVICES), ("schemas/item.sd", SCHEMA)]);
    for n in 0..COUNT {
        let body = json!({"fields": {"n": n, "v": vector(n)}}).to_string();
        let answer = request(&server, "POST", &path(n), &body);
        assert_eq!(answer["message"], Value::Null, "{answer}");
    }
    let top = [(269, 269.0), (268, 268.0), (267, 267.0)];
    assert_eq!(best(&server), top);
    let before = metric(&server, MEMORY);
    assert_eq!(metric(&server, "stead.paged.reads"), 0.0);
    let snapshot = stead(&["store", "snapshot", "--target", &server.deploy]);
    assert!(snapshot.status.success(), "{snapshot:?}");
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
    assert_eq!(request(&server, "PUT", &path(7), &update)["message"], Value::Null);
    assert_eq!(best(&server), [(7, 500.0), (269, 269.0), (268, 268.0)]);
    let mut expected = String::new();
    let get = |server: &Server, n: u32| request(server, "GET", &path(n), "")["fields"]["v"].clone();
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
    let app = tempfile::tempdir().unwrap();
    std::fs::create_dir(app.path().join("schemas")).unwrap();
    std::fs::write(app.path().join("services.xml"), SERVICES).unwrap();
    let plain = SCHEMA.replace("attribute: paged", "");
    std::fs::write(app.path().join("schemas/item.sd"), plain).unwrap();
    let refused = stead(&["deploy", app.path().to_str().unwrap(), "--target", &server.deploy]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("paged-setting-removal") && told.contains("attribute 'v'"), "{told}");
    assert_eq!(best(&server)[0], (7, 500.0));
}
