//! Looking after sequences over REST.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report

use serde_json::{Value, json};

use crate::common::{Answer, Fixture};

/// One step of the model `sum`; gives the sum.
fn step(fixture: &Fixture, id: &Value, parameters: Value, value: f32) -> f64 {
    let mut all = json!({"sequence_id": id});
    all.as_object_mut().unwrap().extend(parameters.as_object().unwrap().clone());
    let body = json!({"parameters": all,
        "inputs": [{"name": "b", "datatype": "FP32", "shape": [1, 1], "data": [value]}]});
    let answer = fixture.post("/v2/models/sum/infer", body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()["outputs"][0]["data"][0].as_f64().unwrap()
}

fn start(fixture: &Fixture, id: &Value, value: f32) {
    step(fixture, id, json!({"sequence_start": true}), value);
}

fn ids(answer: &Answer) -> Vec<Value> {
    let sequences = answer.json()["sequences"].as_array().unwrap().clone();
    sequences.iter().map(|s| s["id"].clone()).collect()
}

#[test]
fn sequences_are_listed_in_pages_and_shown() {
    let fixture = Fixture::stateful(|_| {});
    for id in [json!(7), json!(u64::MAX), json!("7"), json!("a/b")] {
        start(&fixture, &id, 2.0);
    }
    step(&fixture, &json!("7"), json!({}), 3.0);
    let all = fixture.get("/v2/models/sum/sequences");
    assert_eq!(ids(&all), [json!(7), json!(u64::MAX), json!("7"), json!("a/b")]);
    assert_eq!(all.json()["next"], Value::Null);
    let mut seen = Vec::new();
    let mut next = "0%31".to_owned(); // an escape of a digit: the number 1, behind which all lie
    for _ in 0..4 {
        let page = fixture.get(&format!("/v2/models/sum/sequences?limit=1&after={next}"));
        seen.extend(ids(&page));
        let text = page.json()["next"].as_str().unwrap_or("none").to_owned();
        next = text.replace('"', "%22").replace('/', "%2F");
    }
    assert_eq!((seen, &*next), (ids(&all), "none"));

    let number = fixture.get("/v2/models/sum/versions/1/sequences/7").json();
    let text = fixture.get("/v2/models/sum/sequences/%227%22").json();
    assert_eq!((&number["id"], &number["step"]), (&json!(7), &json!(1)));
    assert_eq!((&text["id"], &text["step"]), (&json!("7"), &json!(2)));
    assert_eq!((&text["status"], &text["state_in"]), (&json!("idle"), &json!("memory")));
    assert!(text["age_ms"].as_u64() >= text["idle_ms"].as_u64());
    let state = json!([{"name": "sum", "datatype": "FP32", "shape": [1, 1], "bytes": 4}]);
    assert_eq!(text["state"], state);
    assert_eq!(fixture.get("/v2/models/sum/sequences/a%2Fb").status, 200);
}

#[test]
fn a_sequence_is_forked_exported_imported_and_ended() {
    let fixture = Fixture::stateful(|_| {});
    let base = "/v2/models/sum/sequences";
    start(&fixture, &json!(5), 1.0);
    step(&fixture, &json!(5), json!({}), 2.0);

    let forked = fixture.post(&format!("{base}/5/fork"), r#"{"to": "what-if"}"#);
    assert_eq!(forked.json(), json!({"id": "what-if", "step": 2}));
    assert_eq!(step(&fixture, &json!("what-if"), json!({}), 10.0), 13.0);
    assert_eq!(step(&fixture, &json!(5), json!({}), 1.0), 4.0, "the first one goes its own way");

    let file = fixture.get(&format!("{base}/what-if/state"));
    assert_eq!(file.header("content-type"), Some("application/octet-stream"));
    for (method, id) in [("PUT", "6"), ("POST", "%226%22")] {
        let path = format!("{base}/{id}/state");
        let made = fixture.send(method, &path, &[], &file.body);
        assert_eq!((made.status, &made.json()["step"]), (200, &json!(3)), "{}", made.text());
    }
    let next = step(&fixture, &json!("6"), json!({"sequence_step": 4}), 1.0);
    assert_eq!(next, 14.0, "the number of the last step is in the file");
    assert_eq!(step(&fixture, &json!(6), json!({}), 2.0), 15.0);

    let ended = fixture.send("DELETE", &format!("{base}/6"), &[], b"");
    assert_eq!(ended.json(), json!({"id": 6, "step": 4}));
    assert_eq!(fixture.post(&format!("{base}/%226%22/end"), "").status, 200);
    assert_eq!(ids(&fixture.get(base)), [json!(5), json!("what-if")]);
}

#[test]
fn what_cannot_be_done_is_said() {
    let fixture = Fixture::stateful(|_| {});
    start(&fixture, &json!(5), 1.0);
    let file = fixture.get("/v2/models/sum/sequences/5/state").body;
    let wide = fixture.get("/v2/models/wide/sequences/5/state");
    assert_eq!(wide.status, 404);
    let cases: [(&str, &str, &[u8], u16, &str); 15] = [
        ("GET", "/v2/models/none/sequences", b"", 404, "Model with requested name is not found"),
        ("GET", "/v2/models/sum/versions/9/sequences", b"", 404, "requested version"),
        ("GET", "/v2/models/sum/sequences?limit=0", b"", 400, "limit is a number from 1 to 1000"),
        ("GET", "/v2/models/sum/sequences?x=1", b"", 400, "unknown query parameter 'x'"),
        ("GET", "/v2/models/sum/sequences/0", b"", 400, "a number above 0 or a text"),
        ("GET", "/v2/models/sum/sequences/%225%22", b"", 404, ""),
        ("DELETE", "/v2/models/sum/sequences/9", b"", 404, ""),
        ("POST", "/v2/models/sum/sequences/9/fork", b"{\"to\": 10}", 404, ""),
        ("POST", "/v2/models/sum/sequences/5/fork", b"{\"to\": 5}", 409, ""),
        ("POST", "/v2/models/sum/sequences/5/fork", b"{}", 400, "expected {\"to\": id}"),
        ("PUT", "/v2/models/sum/sequences/5/state", &file, 409, ""),
        ("PUT", "/v2/models/sum/sequences/6/state", b"nothing", 400, "no npz archive"),
        ("PUT", "/v2/models/sum/sequences/6/state", &file[..50], 400, "no npz archive"),
        ("PATCH", "/v2/models/sum/sequences/5", b"", 405, "Unsupported method"),
        ("GET", "/v2/models/sum/sequences/5/nothing", b"", 404, "Invalid request URL"),
    ];
    for (method, path, body, status, text) in cases {
        let answer = fixture.send(method, path, &[], body);
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert!(answer.json()["error"].as_str().unwrap().contains(text), "{}", answer.text());
    }
    assert_eq!(ids(&fixture.get("/v2/models/sum/sequences")), [json!(5)], "nothing has changed");
}

#[test]
fn a_model_without_state_has_no_sequences() {
    let fixture = Fixture::start();
    let answer = fixture.get("/v2/models/two/sequences");
    assert_eq!(
        (answer.status, answer.json()),
        (400, json!({"error": "model 'two' is not stateful"}))
    );
}

#[test]
fn web_pages_and_proxies_are_kept_out_unless_the_server_is_opened() {
    let path = "/v2/models/sum/sequences";
    let page = [("Origin", "http://example.com")];
    let fixture = Fixture::stateful(|_| {});
    for headers in [page, [("X-Forwarded-For", "10.0.0.1")], [("Host", "example.com")]] {
        let answer = fixture.send("GET", path, &headers, b"");
        assert_eq!(answer.status, 403, "{headers:?}");
        assert!(answer.text().contains("--sequence_admin_enable"), "{}", answer.text());
    }
    let open = Fixture::stateful(|options| options.sequence_admin = true);
    assert_eq!(open.send("GET", path, &page, b"").status, 200);
}

#[test]
fn an_import_is_bounded_before_memory_is_taken() {
    let fixture = Fixture::stateful(|options| options.max_body_bytes = 4096);
    start(&fixture, &json!(5), 1.0);
    // The header of the array says that it has 2^40 elements.
    let mut file = fixture.get("/v2/models/sum/sequences/5/state").body;
    let (from, to) = (b"(1, 1), }         ", b"(1, 1099511627776)");
    let place = file.windows(from.len()).position(|w| w == from).unwrap();
    file[place..place + from.len()].copy_from_slice(to);
    let answer = fixture.send("PUT", "/v2/models/sum/sequences/6/state", &[], &file);
    assert!((400..500).contains(&answer.status), "{} {}", answer.status, answer.text());
    let answer = fixture.send("PUT", "/v2/models/sum/sequences/6/state", &[], &[0; 5000]);
    assert_eq!(answer.status, 413, "{}", answer.text());
}

#[test]
fn metrics_tell_what_happened_to_sequences() {
    let fixture = Fixture::stateful(|_| {});
    start(&fixture, &json!(5), 1.0);
    start(&fixture, &json!(6), 1.0);
    step(&fixture, &json!(5), json!({"sequence_step": 2}), 1.0);
    step(&fixture, &json!(5), json!({"sequence_step": 2}), 1.0);
    step(&fixture, &json!(5), json!({"sequence_end": true}), 1.0);
    let refused = json!({"parameters": {"sequence_id": 9},
        "inputs": [{"name": "b", "datatype": "FP32", "shape": [1, 1], "data": [1]}]});
    assert_eq!(fixture.post("/v2/models/sum/infer", refused.to_string()).status, 404);
    fixture.send("DELETE", "/v2/models/sum/sequences/6", &[], b"");
    let text = fixture.get("/metrics").text();
    for (name, value) in [
        ("active", 0),
        ("started", 2),
        ("ended", 1),
        ("expired", 0),
        ("removed", 1),
        ("spilled", 0),
        ("waiting", 0),
        ("steps", 4),
        ("failed", 0),
        ("refused", 1),
        ("replayed", 1),
        ("step_time_us_count", 5),
        ("queue_time_us_count", 4),
        ("batch_size_count", 4),
        ("batch_size_sum", 4),
    ] {
        let line = format!("stead_sequence_{name}{{name=\"sum\",version=\"1\"}} {value}");
        assert!(text.lines().any(|l| l == line), "{line}\nin\n{text}");
    }
    let bytes = "stead_sequence_state_bytes{name=\"sum\",version=\"1\"} ";
    assert!(text.contains(bytes), "{text}");
    let stateless = Fixture::start().get("/metrics").text();
    assert!(stateless.contains("# TYPE stead_sequence_active gauge"));
    assert!(!stateless.contains("stead_sequence_active{"), "{stateless}");
}

#[test]
fn sequences_of_a_version_that_was_replaced_are_found() {
    let fixture = Fixture::stateful(|_| {});
    start(&fixture, &json!("old"), 1.0);
    let model = fixture.folder.path().join("sum");
    std::fs::create_dir(model.join("2")).unwrap();
    std::fs::copy(model.join("1/model.onnx"), model.join("2/model.onnx")).unwrap();
    assert_eq!(fixture.post("/v1/config/reload", "").status, 201);
    start(&fixture, &json!("new"), 1.0);
    let base = "/v2/models/sum/sequences";
    assert_eq!(ids(&fixture.get(base)), [json!("new"), json!("old")]);
    assert_eq!(ids(&fixture.get("/v2/models/sum/versions/1/sequences")), [json!("old")]);
    assert_eq!(ids(&fixture.get("/v2/models/sum/versions/2/sequences")), [json!("new")]);
    let forked = fixture.post(&format!("{base}/old/fork"), r#"{"to": "copy"}"#);
    assert_eq!(forked.status, 200, "{}", forked.text());
    assert_eq!(step(&fixture, &json!("copy"), json!({}), 1.0), 2.0);
    // A state moves to the new version by hand.
    let file = fixture.get(&format!("{base}/old/state")).body;
    assert_eq!(fixture.send("PUT", &format!("{base}/moved/state"), &[], &file).status, 200);
    assert_eq!(
        ids(&fixture.get("/v2/models/sum/versions/2/sequences")),
        [json!("moved"), json!("new")]
    );
    for id in ["old", "copy"] {
        assert_eq!(fixture.send("DELETE", &format!("{base}/{id}"), &[], b"").status, 200);
    }
    assert_eq!(ids(&fixture.get(base)), [json!("moved"), json!("new")]);
}

/// The states of all nodes are one: they are shown, copied and moved together.
#[test]
fn sequences_of_a_pipeline_are_looked_after_as_those_of_a_model() {
    let fixture = Fixture::stateful(|_| {});
    let path = fixture.folder.path().join("config.json");
    let mut config: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let node = |name: &str, from: &str, item: &str| {
        json!({"name": name, "model_name": "sum", "type": "DL model",
            "inputs": [{"b": {"node_name": from, "data_item": item}}],
            "outputs": [{"data_item": "y", "alias": "s"}]})
    };
    config["pipeline_config_list"] = json!([{"name": "twice", "inputs": ["x"],
        "nodes": [node("first", "request", "x"), node("second", "first", "s")],
        "outputs": [{"out": {"node_name": "second", "data_item": "s"}}]}]);
    std::fs::write(&path, config.to_string()).unwrap();
    assert_eq!(fixture.post("/v1/config/reload", "").status, 201);
    let step = |id: &str, start: bool, value: f32| {
        let body = json!({"parameters": {"sequence_id": id, "sequence_start": start},
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 1], "data": [value]}]});
        let answer = fixture.post("/v2/models/twice/infer", body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["outputs"][0]["data"][0].as_f64().unwrap()
    };
    assert_eq!((step("a", true, 1.0), step("a", false, 1.0)), (1.0, 3.0));
    let base = "/v2/models/twice/sequences";
    let shown = fixture.get(&format!("{base}/a")).json();
    let names: Vec<&Value> =
        shown["state"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["first/sum", "second/sum"]);
    let file = fixture.get(&format!("{base}/a/state")).body;
    let made = fixture.send("PUT", &format!("{base}/b/state"), &[], &file);
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(fixture.post(&format!("{base}/a/fork"), r#"{"to": "c"}"#).status, 200);
    assert_eq!(
        (step("a", false, 1.0), step("b", false, 1.0), step("c", false, 1.0)),
        (6.0, 6.0, 6.0)
    );
    assert_eq!(ids(&fixture.get(base)), [json!("a"), json!("b"), json!("c")]);
    assert_eq!(
        ids(&fixture.get("/v2/models/sum/sequences")),
        [] as [Value; 0],
        "not those of the node"
    );
}
