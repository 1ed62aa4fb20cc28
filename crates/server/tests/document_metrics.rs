//! Vespa's metrics of searches and documents over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stead_log::VirtualClock;
use stead_node::DocumentOptions;
use stead_onnx::ModelBuilder;
use stead_tensor::{DType, Tensor};

use crate::common::{Client, Fixture, zip};

const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0"><search/><document-api/></container>
  <content id="music" version="1.0"><documents><document type="music" mode="index"/></documents></content>
</services>"#;

const SCHEMA: &str = "schema music {
  document music { field year type int { indexing: summary | attribute } }
}";

fn start() -> Fixture {
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    deploy(&fixture, &zip(&[("services.xml", SERVICES), ("schemas/music.sd", SCHEMA)]));
    fixture
}

fn deploy(fixture: &Fixture, package: &[u8]) {
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, package);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn send(fixture: &Fixture, method: &str, path: &str, body: &str) -> u16 {
    fixture.send(method, &format!("/document/v1/n/music/docid/{path}"), &[], body.as_bytes()).status
}

/// Three documents, what fails in every way, and four searches.
fn use_it(fixture: &Fixture) {
    for (method, path, body, status) in [
        ("POST", "1", r#"{"fields": {"year": 1}}"#, 200),
        ("POST", "2", r#"{"fields": {"year": 2}}"#, 200),
        ("POST", "3", r#"{"fields": {"year": 3}}"#, 200),
        ("PUT", "3", r#"{"fields": {"year": {"assign": 4}}}"#, 200),
        ("DELETE", "4", "", 200),
        ("POST", "1", "{", 400),
        ("POST", "1?condition=music.year%3E5", r#"{"fields": {}}"#, 412),
    ] {
        assert_eq!(send(fixture, method, path, body), status, "{method} {path} {body}");
    }
    for (filter, status) in [("year > 1", 200), ("year > 9", 200), ("true", 200), ("none = 1", 400)]
    {
        let yql =
            format!("select * from music where {filter}").replace(' ', "%20").replace('>', "%3E");
        assert_eq!(fixture.get(&format!("/search/?yql={yql}")).status, status, "{filter}");
    }
}

/// The values and dimensions of the packets of a service.
fn packets(json: &Value, service: &str) -> Vec<(Value, Value)> {
    let services = json["nodes"][0]["services"].as_array().unwrap();
    let service = services.iter().find(|s| s["name"] == service).unwrap();
    assert_eq!(service["status"]["code"], "up");
    let metrics = service["metrics"].as_array().unwrap().iter();
    metrics.map(|m| (m["values"].clone(), m["dimensions"].clone())).collect()
}

#[test]
fn values_are_those_of_what_was_done() {
    let fixture = start();
    use_it(&fixture);
    let json = fixture.get("/metrics/v2/values").json();
    let container = packets(&json, "vespa.container");
    assert_eq!((container.len(), &container[0].1), (1, &json!({"serviceId": "container"})));
    let values = &container[0].0;
    for (name, expected) in [
        ("queries.count", 4),
        ("query_latency.count", 4),
        ("failed_queries.count", 1),
        ("degraded_queries.count", 0),
        ("empty_results.count", 1),
        ("hits_per_query.sum", 5),
        ("hits_per_query.max", 3),
        ("totalhits_per_query.count", 3),
        ("httpapi_num_operations.count", 6),
        ("httpapi_num_puts.count", 4),
        ("httpapi_num_updates.count", 1),
        ("httpapi_num_removes.count", 1),
        ("httpapi_succeeded.count", 4),
        ("httpapi_not_found.count", 1),
        ("httpapi_condition_not_met.count", 1),
        ("httpapi_parse_error.count", 1),
        ("httpapi_failed.count", 0),
        ("httpapi_latency.count", 6),
        ("httpapi_pending.last", 0),
        ("feed.operations.count", 6),
        ("http.status.2xx.count", 8),
        ("http.status.4xx.count", 3),
        ("http.status.5xx.count", 0),
        ("jdisc.http.latency.count", 11),
    ] {
        assert_eq!(values[name], json!(expected), "{name} in {values}");
    }
    let number = |name: &str| values[name].as_f64().unwrap();
    assert!(number("queries.rate") > 0.0 && number("query_latency.sum") > 0.0);
    assert!(number("query_latency.95percentile") <= number("query_latency.max"));
    assert!(number("jdisc.thread_pool.size.last") >= 1.0);

    let node = packets(&json, "vespa.searchnode");
    let of_type =
        json!({"serviceId": "searchnode", "documenttype": "music", "clusterId": "content/music"});
    let (values, _) = node.iter().find(|(_, dimensions)| *dimensions == of_type).unwrap();
    for part in ["total", "ready", "active"] {
        assert_eq!(values[format!("content.proton.documentdb.documents.{part}.last")], 3);
    }
    let bytes = &values["content.proton.documentdb.memory_usage.allocated_bytes.last"];
    assert!(bytes.as_u64().unwrap() > 0, "{values}");
    let (store, _) = node.iter().find(|(_, d)| *d == json!({"serviceId": "searchnode"})).unwrap();
    assert_eq!(store["stead.snapshots.written.last"], 0);
}

#[test]
fn snapshots_are_told() {
    let fixture = start();
    use_it(&fixture);
    fixture.node.deployments().unwrap().snapshot().unwrap();
    let json = fixture.get("/metrics/v2/values").json();
    let node = packets(&json, "vespa.searchnode");
    let (store, _) = node.iter().find(|(_, d)| *d == json!({"serviceId": "searchnode"})).unwrap();
    assert_eq!(store["stead.snapshots.written.last"], 1);
    let disk = store["content.proton.documentdb.disk_usage.last"].as_u64().unwrap();
    assert!(disk > 0 && store["stead.snapshots.lsn.last"].as_u64().unwrap() > 0, "{store}");
    let page = fixture.get("/metrics").text();
    for line in [
        r#"stead_documents{cluster="music",type="music"} 3"#.to_owned(),
        "stead_queries 4".to_owned(),
        "stead_queries_failed 1".to_owned(),
        "stead_query_time_us_count 4".to_owned(),
        "stead_document_operations 6".to_owned(),
        "stead_snapshots_written 1".to_owned(),
        format!("stead_snapshot_disk_bytes {disk}"),
    ] {
        assert!(page.lines().any(|l| l == line), "{line} in\n{page}");
    }
}

#[test]
fn the_state_has_metrics() {
    let fixture = start();
    use_it(&fixture);
    let json = fixture.get("/state/v1/metrics").json();
    assert_eq!(json["status"]["code"], "up");
    let time = |name: &str| json["metrics"]["snapshot"][name].as_f64().unwrap();
    assert!(time("from") < time("to"));
    let values = json["metrics"]["values"].as_array().unwrap();
    let find = |name: &str| values.iter().find(|value| value["name"] == name).unwrap();
    assert_eq!(find("queries")["values"]["count"], 4);
    assert!(find("queries")["values"]["rate"].as_f64().unwrap() > 0.0);
    let hits = &find("hits_per_query")["values"];
    assert_eq!(
        (&hits["sum"], &hits["max"], &hits["min"], &hits["last"]),
        (&json!(5), &json!(3), &json!(0), &json!(3))
    );
    let active = find("content.proton.documentdb.documents.active");
    assert_eq!(
        (&active["values"]["last"], &active["dimensions"]["documenttype"]),
        (&json!(3), &json!("music"))
    );
    let resources = fixture.get("/state/v1").json()["resources"].to_string();
    assert!(resources.contains("/state/v1/metrics"), "{resources}");
    let index = fixture.get("/metrics/v2").json();
    assert_eq!(index, json!({"resources": [{"url": "/metrics/v2/values"}]}));
    assert_eq!(fixture.post("/metrics/v2/values", "").status, 405);
}

/// The values of a metric in each of the three forms: `/metrics/v2/values`, `/state/v1/metrics` and, by another name, Prometheus'.
fn everywhere(fixture: &Fixture, name: &str, family: &str) -> [f64; 3] {
    let json = fixture.get("/metrics/v2/values").json();
    let of_values = packets(&json, "vespa.searchnode")
        .iter()
        .find_map(|(values, _)| values.get(format!("{name}.last"))?.as_f64());
    let json = fixture.get("/state/v1/metrics").json();
    let list = json["metrics"]["values"].as_array().unwrap();
    let of_state =
        list.iter().find(|metric| metric["name"] == name).unwrap()["values"]["last"].as_f64();
    let page = fixture.get("/metrics").text();
    let line = page.lines().find(|line| line.starts_with(family)).unwrap();
    [of_values.unwrap(), of_state.unwrap(), line.rsplit(' ').next().unwrap().parse().unwrap()]
}

#[test]
fn what_models_keep_is_told() {
    let weights = |dims: &[usize]| {
        let values: Vec<f32> = (0..dims.iter().product()).map(|n: usize| n as f32 / 64.0).collect();
        Tensor::from_slice(&values, dims).unwrap()
    };
    let model = ModelBuilder::new(17)
        .input("q", DType::F32, &["one", "8"])
        .input("a", DType::F32, &["n", "32"])
        .init("w", weights(&[40, 16]))
        .init("last", weights(&[16, 1]))
        .node("Concat", &["q", "a"], &["qa"])
        .attr("axis", 1)
        .node("MatMul", &["qa", "w"], &["h"])
        .node("Tanh", &["h"], &["t"])
        .node("MatMul", &["t", "last"], &["y"])
        .output("y", DType::F32)
        .bytes();
    let schema = "schema music {
  document music { field a type tensor<float>(d0[1],d1[32]) { indexing: attribute } }
  onnx-model net {
    file: files/net.onnx
    input q: query(user)
    input a: attribute(a)
    output y: y
  }
  rank-profile net {
    inputs { query(user) tensor<float>(d0[1],d1[8]) }
    first-phase { expression: sum(onnx(net).y) }
    rank-properties { stead.kept-values: 1 }
  }
}";
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    let files: [(&str, &[u8]); 3] = [
        ("services.xml", SERVICES.as_bytes()),
        ("schemas/music.sd", schema.as_bytes()),
        ("files/net.onnx", &model),
    ];
    deploy(&fixture, &zip(&files));
    for number in 0..5 {
        let body = json!({"fields": {"a": {"values": vec![number; 32]}}}).to_string();
        assert_eq!(send(&fixture, "POST", &number.to_string(), &body), 200);
    }
    let query = |user: i32| {
        let query = json!({"yql": "select * from music where true", "ranking": "net",
            "input.query(user)": [vec![user; 8]]});
        let kind = [("Content-Type", "application/json")];
        let answer = fixture.send("POST", "/search/", &kind, query.to_string().as_bytes());
        assert_eq!(answer.json()["root"]["fields"]["totalCount"], 5, "{}", answer.text());
    };
    let told = |name: &str, family: &str| {
        everywhere(&fixture, &format!("stead.kept_values.{name}"), family)
    };
    assert_eq!(told("bytes", "stead_kept_value_bytes"), [0.0; 3]);
    for (user, hits, misses) in [(1, 0.0, 5.0), (2, 5.0, 5.0), (3, 10.0, 5.0)] {
        query(user);
        assert_eq!(told("hits", "stead_kept_value_hits"), [hits; 3], "{user}");
        assert_eq!(told("misses", "stead_kept_value_misses"), [misses; 3], "{user}");
    }
    let bytes = told("bytes", "stead_kept_value_bytes");
    assert!(bytes[0] >= 5.0 * 16.0 * 4.0 && bytes == [bytes[0]; 3], "{bytes:?}");
    assert_eq!(told("limit_bytes", "stead_kept_value_limit_bytes"), [f64::from(1 << 20); 3]);
}

#[test]
fn what_expires_is_told() {
    let clock = Arc::new(VirtualClock::default());
    let options = DocumentOptions { clock: clock.clone(), ..DocumentOptions::default() };
    let fixture = Fixture::deploying_with(tempfile::tempdir().unwrap(), options);
    let services = SERVICES
        .replace("<documents>", r#"<documents garbage-collection="true">"#)
        .replace("/></documents>", r#" selection="music.year &gt; now()"/></documents>"#);
    let package = zip(&[("services.xml", services.as_str()), ("schemas/music.sd", SCHEMA)]);
    deploy(&fixture, &package);
    for (number, until) in [(1, 10), (2, 20), (3, 9000)] {
        let body = json!({"fields": {"year": until}}).to_string();
        assert_eq!(send(&fixture, "POST", &number.to_string(), &body), 200);
    }
    let told =
        |name: &str, family: &str| everywhere(&fixture, &format!("stead.expiry.{name}"), family);
    assert_eq!(told("removed", "stead_documents_expired"), [0.0; 3]);
    assert_eq!(told("last_run", "stead_expiry_last_run_timestamp_seconds"), [0.0; 3]);
    // A minute later the thread is told of it by a deployment; it has its own pace.
    clock.advance(Duration::from_secs(60));
    deploy(&fixture, &package);
    let has_run = || told("last_run", "stead_expiry_last_run_timestamp_seconds") == [60.0; 3];
    let _ = (0..10_000).find(|_| has_run());
    assert!(has_run());
    assert_eq!(told("removed", "stead_documents_expired"), [2.0; 3]);
    assert_eq!(told("last_removed", "stead_expiry_last_run_documents"), [2.0; 3]);
    let documents = fixture.get("/document/v1/n/music/docid?wantedDocumentCount=9").json();
    assert_eq!(documents["documentCount"], 1, "{documents}");
}

#[test]
fn a_server_of_models_has_no_metrics_of_vespa() {
    let fixture = Fixture::start();
    for path in ["/metrics/v2", "/metrics/v2/values", "/state/v1/metrics"] {
        assert_eq!(fixture.get(path).status, 404, "{path}");
    }
    assert!(!fixture.get("/metrics").text().contains("\nstead_queries "));
}
