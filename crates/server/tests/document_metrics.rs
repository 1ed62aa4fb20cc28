//! Vespa's metrics of searches and documents over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

mod common;

use common::{Client, Fixture, zip};
use serde_json::{Value, json};

const SERVICES: &str = r#"<services version="1.0">
  <container id="front" version="1.0"><search/><document-api/></container>
  <content id="music" version="1.0"><documents><document type="music" mode="index"/></documents></content>
</services>"#;

const SCHEMA: &str = "schema music {
  document music { field year type int { indexing: summary | attribute } }
}";

fn start() -> Fixture {
    let fixture = Fixture::deploying(tempfile::tempdir().unwrap());
    let path = "/application/v2/tenant/default/prepareandactivate";
    let kind = [("Content-Type", "application/zip")];
    let package = zip(&[("services.xml", SERVICES), ("schemas/music.sd", SCHEMA)]);
    let answer = Client::connect(fixture.deploy.unwrap()).send("POST", path, &kind, &package);
    assert_eq!(answer.status, 200, "{}", answer.text());
    fixture
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

#[test]
fn a_server_of_models_has_no_metrics_of_vespa() {
    let fixture = Fixture::start();
    for path in ["/metrics/v2", "/metrics/v2/values", "/state/v1/metrics"] {
        assert_eq!(fixture.get(path).status, 404, "{path}");
    }
    assert!(!fixture.get("/metrics").text().contains("\nstead_queries "));
}
