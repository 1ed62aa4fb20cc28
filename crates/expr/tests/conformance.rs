//! Vespa's own cases: results of expressions over tensors, of scalar expressions, and every encoding of tensors.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use stead_expr::conformance::{Tally, check};

fn tally(name: &str) -> Tally {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/vespa").join(name);
    let bytes = fs::read(&path).unwrap();
    let bytes = if name.ends_with(".zst") { zstd::decode_all(&bytes[..]).unwrap() } else { bytes };
    let mut tally = Tally::default();
    for line in String::from_utf8(bytes).unwrap().lines() {
        tally.add(check(&serde_json::from_str(line).unwrap()));
    }
    tally
}

#[test]
fn vespas_cases_agree() {
    for (name, cases) in [
        ("conformance_some_2539.jsonl.zst", 2539),
        ("scalar_eval_spec.jsonl", 1646),
        // Encodings of 42 tensors.
        ("binary_format_test_spec.jsonl", 164),
    ] {
        let tally = tally(name);
        let failures = tally.failures;
        assert!(
            failures.is_empty(),
            "{name}: {} fail:\n{}",
            failures.len(),
            failures[..failures.len().min(10)].join("\n")
        );
        assert_eq!(tally.passed, cases, "{name}");
    }
}

/// The check itself can fail.
#[test]
fn a_wrong_case_is_told() {
    for (case, message) in [
        (
            json!({"expression": "a+1", "params": ["a"], "cases": [{"in": [1], "out": 3}]}),
            "a+1 with a = 1 is 2, not 3",
        ),
        (
            json!({"expression": "a+", "params": ["a"], "cases": [{"in": [1], "out": 3}]}),
            "a+: 1:3: expected a value, found the end",
        ),
        (
            json!({"expression": "a", "inputs": {"a": "0x0100014045000000000000"}, "result": {"expect": "0x0100010000000000000000"}}),
            "a with a = 42 is 42, not 0",
        ),
        (
            json!({"tensor": {"type": "double", "cells": [{"address": {}, "value": 1}]}, "binary": ["0x0100014045000000000000"]}),
            "\"0x0100014045000000000000\" is 42, not 1",
        ),
    ] {
        assert_eq!(check(&case), Tally { passed: 0, failures: vec![message.to_owned()] }, "{case}");
    }
}
