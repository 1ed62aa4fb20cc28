//! Replays what Triton answered over HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used)] // a panic is the report
#![allow(clippy::print_stdout)] // the counts are reported

use serde_json::Value;

use crate::common::{Answer, Fixture, from_hex};

/// The JSON part of the binary requests, which the record cuts off in the middle of a name.
fn binary_json(recorded: &[u8]) -> Vec<u8> {
    [recorded, b"_data_size\": 4}}]}"].concat()
}

fn request_body(case: &Value) -> Vec<u8> {
    let Some(text) = case["req"].as_str() else { return vec![] };
    let Some(hex) = text.strip_prefix("hex:") else { return text.as_bytes().to_vec() };
    let bytes = from_hex(hex);
    let tag = case["tag"].as_str().unwrap();
    let data: &[u8] = match tag {
        "binary short" => &[0, 0],
        "binary long" => &[0, 0, 0x60, 0x40, 1, 2, 3, 4],
        "binary in/out" => &[0, 0, 0x60, 0x40],
        // The header is wrong whatever follows.
        "header len > body" | "header len neg" | "header len text" => return binary_json(&bytes),
        _ => return bytes,
    };
    let json = binary_json(&bytes);
    assert_eq!(json.len(), 216, "{tag}");
    [&json, data].concat()
}

/// The JSON part of an answer and the bytes behind it.
fn split(headers: impl Fn(&str) -> Option<String>, body: &[u8]) -> (Option<Value>, Vec<u8>) {
    let at = headers("inference-header-content-length").map_or(body.len(), |v| v.parse().unwrap());
    (serde_json::from_slice(&body[..at]).ok(), body[at..].to_vec())
}

/// The recorded body: text with one character for each byte, or hex of a gzip stream.
fn recorded(case: &Value) -> (Option<Value>, Vec<u8>) {
    let text = case["body"].as_str().unwrap();
    if let Some(hex) = text.strip_prefix("hex:") {
        use std::io::Read;
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&*from_hex(hex)).read_to_end(&mut plain).unwrap();
        return (serde_json::from_slice(&plain).ok(), vec![]);
    }
    let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
    split(|name| case["headers"][name].as_str().map(str::to_owned), &bytes)
}

/// Whether two values have the same keys and types. Tensor data must be equal, texts and counters not.
fn same(path: &str, want: &Value, got: &Value, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            let (a_keys, b_keys): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
            if a_keys != b_keys {
                out.push(format!("{path}: keys {a_keys:?}, got {b_keys:?}"));
            }
            for (key, value) in a {
                if let Some(other) = b.get(key) {
                    same(&format!("{path}.{key}"), value, other, out);
                }
            }
        }
        (Value::Array(a), Value::Array(b))
            if path.ends_with(".data") || path.ends_with(".shape") =>
        {
            if a != b {
                out.push(format!("{path}: {a:?}, got {b:?}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            // Elements of a list are alike; an empty list has none to compare.
            if let (Some(a), Some(b)) = (a.first(), b.first()) {
                same(&format!("{path}[]"), a, b, out);
            }
        }
        (Value::String(_), Value::String(_))
        | (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::Null, Value::Null) => {}
        _ => out.push(format!("{path}: {want}, got {got}")),
    }
}

fn differences(case: &Value, answer: &Answer, allowed: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let status = allowed["status"].as_u64().or(case["status"].as_u64()).unwrap();
    if u64::from(answer.status) != status {
        out.push(format!("status {status}, got {} {}", answer.status, answer.text()));
    }
    if allowed["status"].is_u64() {
        return out;
    }
    let (mut want, want_binary) = recorded(case);
    let mut plain = answer.clone();
    if answer.header("content-encoding") == Some("gzip") {
        use std::io::Read;
        plain.body.clear();
        flate2::read::GzDecoder::new(&*answer.body).read_to_end(&mut plain.body).unwrap();
    }
    let (mut got, got_binary) = split(|name| plain.header(name).map(str::to_owned), &plain.body);
    for key in allowed["without"].as_array().into_iter().flatten() {
        want.as_mut().unwrap().as_object_mut().unwrap().remove(key.as_str().unwrap());
    }
    for key in allowed["with"].as_array().into_iter().flatten() {
        got.as_mut().unwrap().as_object_mut().unwrap().remove(key.as_str().unwrap());
    }
    match (&want, &got) {
        (Some(want), Some(got)) => same("", want, got, &mut out),
        (None, None) => {}
        _ => out.push(format!("body {want:?}, got {got:?}")),
    }
    if want_binary != got_binary {
        out.push(format!("binary {want_binary:?}, got {got_binary:?}"));
    }
    out
}

#[test]
fn answers_agree_with_triton() {
    let cases: Vec<Value> =
        serde_json::from_str(include_str!("data/triton/http_2.51.0.json")).unwrap();
    let allowed: Value = serde_json::from_str(include_str!("data/triton/allowed.json")).unwrap();
    let fixture = Fixture::stateful(|_| {});
    let (mut agree, mut deviate, mut failures) = (0, 0, Vec::new());
    for case in &cases {
        let tag = case["tag"].as_str().unwrap();
        if tag.starts_with("idle: cont") {
            // In place of the seconds that the record waited: the sequence is idle for two scans.
            fixture.node.scan_sequences();
            fixture.node.scan_sequences();
        }
        let headers: Vec<(String, String)> = case["req_headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(n, v)| (n.clone(), v.as_str().unwrap().to_owned()))
            .collect();
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        let answer = fixture.send(
            case["method"].as_str().unwrap(),
            case["path"].as_str().unwrap(),
            &headers,
            &request_body(case),
        );
        let exception = &allowed["http"][tag];
        let steps = exception.is_null() && answer.text().contains("\"sequence_step\"");
        let exception = if steps { &allowed["step"] } else { exception };
        let found = differences(case, &answer, exception);
        if !found.is_empty() {
            failures.push(format!("{tag}: {}", found.join("; ")));
        } else if exception.is_null() || steps {
            agree += 1;
        } else {
            deviate += 1;
        }
    }
    println!("{agree} agree, {deviate} deviate as allowed");
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), cases.len(), failures.join("\n"));
}
