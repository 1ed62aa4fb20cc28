//! `stead rank` as a user meets it. What is expected is computed here, not by stead.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn rank(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead")).arg("rank").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ranking")
}

/// The answers to the queries of the example.
fn example(profile: &str, more: &[&str]) -> Vec<Value> {
    let folder = examples();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (app, queries, docs) = (path("app"), path("queries.jsonl"), path("documents.jsonl"));
    let mut args =
        vec![&*app, "--profile", profile, "--query", &queries, "--docs", &docs, "--json"];
    args.extend(more);
    let output = rank(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The ids and scores of an answer.
fn scores(answer: &Value) -> Vec<(String, f64)> {
    let score = |hit: &Value| {
        let id = hit["id"].as_str().unwrap().rsplit(':').next().unwrap().to_owned();
        (id, hit["relevance"].as_f64().unwrap_or(f64::NEG_INFINITY))
    };
    answer["hits"].as_array().unwrap().iter().map(score).collect()
}

fn assert_scores(found: &[(String, f64)], expected: &[(&str, f64)], label: &str) {
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, expected.iter().map(|(name, _)| *name).collect::<Vec<_>>(), "{label}");
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        let is_same =
            found == expected || (found - expected).abs() <= 1e-9 * expected.abs().max(1.0);
        assert!(is_same, "{label} {name}: {found} instead of {expected}");
    }
}

#[test]
fn a_first_phase_ranks_by_a_dot_product() {
    let answers = example("taste", &[]);
    // user . taste, from examples/ranking/documents.jsonl
    let joni =
        [("hejira", 0.5 + 2.0), ("mingus", 2.0), ("blue", 1.0), ("clouds", 0.75), ("shine", 0.0)];
    let charles =
        [("mingus", 3.0), ("hejira", 1.0), ("clouds", 0.75), ("blue", 0.0), ("shine", 0.0)];
    assert_scores(&scores(&answers[0]), &joni, "joni");
    assert_scores(&scores(&answers[1]), &charles, "charles");
    assert_eq!(answers[0]["query"], "joni");
    assert_eq!(answers[0]["totalCount"], 5);
    let best = &answers[0]["hits"][0];
    assert_eq!(best["matchfeatures"], json!({"affinity": 2.5, "attribute(plays)": 50.0}));
    assert_eq!(answers[0]["hits"][4]["matchfeatures"]["attribute(plays)"], "NaN");
    assert_eq!(scores(&example("taste", &["--hits", "2"])[1]).len(), 2);
}

#[test]
fn three_phases_rank_the_best_of_the_one_before() {
    let days = 24.0 * 3600.0;
    let now = 1_704_320_000.0;
    let answers = example("phases", &["--now", "1704320000"]);
    let fresh = |released: f64| (1.0 - (now - released) / (90.0 * days)).max(0.0);
    // First phase: affinity + plays / 1000. Second phase, of the best three: + the best part + freshness / 2.
    let (hejira, mingus, blue, clouds) = (2.5 + 0.05, 2.0 + 0.02, 1.0 + 0.1, 0.75 + 0.01);
    let second_hejira = hejira + 4.0 + 0.5 * fresh(1_703_888_000.0);
    let second_mingus = mingus + 1.5 + 0.5 * fresh(1_692_224_000.0);
    let second_blue = blue + 2.0 + 0.5 * fresh(1_700_000_000.0);
    // Global phase, of the best two: the greater is 1 and the less 0; by tags (5 and 10) they change places.
    let (global_hejira, global_mingus) = (1.0 + 1.0 / 3.0, 0.0 + 1.0 / 2.0);
    // The others go from the range of the second phase to that of the global phase, which counts as 1.
    let scale = 1.0 / (second_hejira - second_mingus);
    let below = |score: f64| (score - second_mingus) * scale + global_mingus;
    let expected = [
        ("hejira", global_hejira),
        ("mingus", global_mingus),
        ("blue", below(second_blue)),
        ("clouds", below(clouds)),
        ("shine", f64::NEG_INFINITY),
    ];
    assert_scores(&scores(&answers[0]), &expected, "joni");
    let hits = &answers[0]["hits"];
    for (at, first, second, global) in [
        (0, hejira, Some(second_hejira), Some(global_hejira)),
        (2, blue, Some(second_blue), None),
        (3, clouds, None, None),
    ] {
        let near = |key: &str, expected: Option<f64>| match expected {
            Some(expected) => {
                assert!((hits[at][key].as_f64().unwrap() - expected).abs() < 1e-9, "{key} {at}")
            }
            None => assert!(hits[at].get(key).is_none(), "{key} {at}"),
        };
        near("firstPhase", Some(first));
        near("secondPhase", second);
        near("globalPhase", global);
    }
    assert_eq!(hits[0]["matchfeatures"]["best_part"], 4.0);
    assert_eq!(hits[0]["matchfeatures"]["tags"], 5.0);
    assert_eq!(
        hits[0]["summaryfeatures"]["tensorFromWeightedSet(attribute(tags),tag)"],
        json!({"type": "tensor(tag{})", "cells": {"folk": 1.0, "jazz": 2.0}})
    );
    assert_eq!(hits[4]["relevance"], "-Infinity");
}

#[test]
fn people_see_a_table() {
    let folder = examples();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (app, queries, docs) = (path("app"), path("queries.jsonl"), path("documents.jsonl"));
    let output =
        rank(&[&app, "--profile", "taste", "--query", &queries, "--docs", &docs, "--hits", "2"]);
    assert_eq!(
        text(&output.stdout).lines().take(6).collect::<Vec<_>>(),
        [
            "query joni: 2 of 5 hits among 5 documents by taste",
            "   #  relevance  document",
            "   1        2.5  id:music:album::hejira",
            "      affinity = 2.5",
            "      attribute(plays) = 50",
            "   2          2  id:music:album::mingus",
        ]
    );
    assert_eq!(
        text(&output.stderr),
        "warning: query charles: rank-profile taste takes no query(freshness_weight); it takes user\n"
    );
}

#[test]
fn explaining_shows_what_is_computed_once_for_a_query() {
    let answers = example("phases", &["--now", "1704320000", "--explain"]);
    let explained = &answers[0]["explained"];
    let stages = explained["stages"].as_array().unwrap();
    let found: Vec<(&str, u64)> = stages
        .iter()
        .map(|s| (s["name"].as_str().unwrap(), s["documents"].as_u64().unwrap()))
        .collect();
    // All documents, the three best, the two best, and features of all hits that are shown.
    let expected = [
        ("shared", 5),
        ("first-phase", 5),
        // Of the three that the second phase takes, and of the five that are shown.
        ("shared", 3 + 5),
        ("second-phase", 3),
        ("global-phase", 2),
        ("match-features", 5),
        ("match-features", 5),
        ("match-features", 5),
        ("match-features", 5),
        ("summary-features", 5),
    ];
    assert_eq!(found, expected);
    let program = |name: &str| {
        let stage = stages.iter().find(|s| s["name"] == name).unwrap();
        stage["program"].as_array().unwrap()
    };
    assert!(program("first-phase").iter().any(|s| s["text"] == "0.001" && s["rate"] == "constant"));
    let steps = program("shared");
    let step =
        |text: &str| steps.iter().find(|s| s["text"].as_str().unwrap().contains(text)).unwrap();
    assert_eq!(step("query(user)")["rate"], "query");
    assert_eq!(step("attribute(taste)")["rate"], "document");
    assert!(step("query(user)")["nanoseconds"].is_number());
    assert_eq!(step("dot product")["kernel"], "dot product");
    // Freshness is computed for the second phase, and for the hits that it did not take.
    let values = explained["values"].as_array().unwrap();
    let freshness = values.iter().find(|v| v["name"] == "freshness(released)").unwrap();
    assert_eq!(freshness["documents"], 3 + 5);
}

#[test]
fn attributes_without_values_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let docs = folder.path().join("docs.jsonl");
    fs::write(&docs, "{\"fields\": {\"plays\": 1}}").unwrap();
    let (app, queries) = (examples().join("app"), examples().join("queries.jsonl"));
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (app, queries, docs) = (path(&app), path(&queries), path(&docs));
    let output = rank(&[&app, "--profile", "taste", "--query", &queries, "--docs", &docs]);
    let note = "note: no document has a value of attribute(taste)";
    assert_eq!(text(&output.stderr).lines().next(), Some(note));
}

#[test]
fn match_features_are_written_to_train_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let input = |name: &str| examples().join(name).to_str().unwrap().to_owned();
    let run = |output: &str| {
        let (app, queries, docs) = (input("app"), input("queries.jsonl"), input("documents.jsonl"));
        rank(&[
            &app,
            "--profile",
            "taste",
            "--query",
            &queries,
            "--docs",
            &docs,
            "--features",
            output,
        ])
    };
    let lines = path("train.jsonl");
    assert_eq!(text(&run(&lines).stdout), format!("{lines}: rows 10, queries 2, features 2\n"));
    let pairs: Vec<Value> = fs::read_to_string(&lines)
        .unwrap()
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(pairs.len(), 10);
    assert_eq!(
        pairs[0],
        json!({"query": "joni", "document": "id:music:album::hejira", "relevance": 2.5,
               "features": {"affinity": 2.5, "attribute(plays)": 50.0}})
    );
    let arrays = path("train.npz");
    assert_eq!(run(&arrays).status.code(), Some(0));
    let read = stead_tensor::npz::read(fs::File::open(&arrays).unwrap(), 1 << 20).unwrap();
    let array = |name: &str| &read.iter().find(|(n, _)| n == name).unwrap().1;
    assert_eq!(array("query").view().as_slice::<i64>().unwrap(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    assert_eq!(array("document").view().as_slice::<i64>().unwrap()[..5], [1, 2, 0, 3, 4]);
    assert_eq!(
        array("affinity").view().as_slice::<f64>().unwrap()[..5],
        [2.5, 2.0, 1.0, 0.75, 0.0]
    );

    let other = run(&path("train.csv"));
    assert_eq!(other.status.code(), Some(64));
    assert!(text(&other.stderr).ends_with("expected a file with the end .jsonl or .npz\n"));
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let app = examples().join("app").to_str().unwrap().to_owned();
    let docs = examples().join("documents.jsonl").to_str().unwrap().to_owned();
    let query = write("q.json", "{\"input.query(user)\": [1, 2, 3, 4]}");
    let short = write("short.json", "{\"input.query(user)\": [1]}");
    let wrong = write("wrong.json", "{\"input\": }");
    let bad = write("bad.jsonl", "{\"fields\": {}}\n{\"fields\": {\"plays\": \"many\"}}\n");
    for (args, expected) in [
        (
            vec![&*app, "--profile", "none", "--query", &query, "--docs", &docs],
            "error: schema album has no rank-profile none; it has taste, phases, default, unranked\n".to_owned(),
        ),
        (
            vec![&app, "--profile", "taste", "--query", &short, "--docs", &docs],
            "error: query 1: input query(user): tensor<float>(x[4]) needs 4 cells in a block, got 1\n".to_owned(),
        ),
        (
            vec![&app, "--profile", "taste", "--query", &wrong, "--docs", &docs],
            format!("error: {wrong}: expected value at line 1 column 11\n"),
        ),
        (
            vec![&app, "--profile", "taste", "--query", &query, "--docs", &bad],
            format!("error: {bad}:2: #2: field plays: expected an int, found \"many\"\n"),
        ),
        (
            vec![&app, "--schema", "song", "--query", &query, "--docs", &docs],
            "error: the package has no schema song; it has album\n".to_owned(),
        ),
    ] {
        let output = rank(&args);
        assert_ne!(output.status.code(), Some(0), "{expected}");
        assert_eq!(text(&output.stderr), expected);
    }
}

#[test]
fn scripts_of_fields_run_and_the_last_document_of_an_id_counts() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let schema = "schema shop {
      document shop {
        field title type string { indexing: summary }
        field year type int { indexing: attribute }
        field vector type tensor<float>(x[16]) { indexing: attribute }
      }
      field key type string { indexing: input title | lowercase | attribute }
      field age type int { indexing: 2026 - input year | attribute }
      field bits type tensor<int8>(x[2]) { indexing: input vector | pack_bits | attribute }
      field meaning type tensor<float>(x[2]) { indexing: input title | embed e | attribute }
      rank-profile p {
        first-phase { expression: attribute(age) + if (attribute(key) == \"blue\", 100, 0) }
        match-features { attribute(bits) sum(attribute(meaning)) }
      }
    }";
    let services = "<services version='1.0'>
      <container id='c' version='1.0'>
        <component id='e' type='hugging-face-embedder'>
          <transformer-model path='models/m.onnx'/><tokenizer-model path='models/t.json'/>
        </component>
      </container>
      <content id='s' version='1.0'><redundancy>1</redundancy><documents><document type='shop' mode='index'/></documents></content>
    </services>";
    write("app/schemas/shop.sd", schema);
    write("app/services.xml", services);
    write("app/models/m.onnx", "");
    write("app/models/t.json", "{}");
    let ones = vec![1; 16];
    let document = |id: u32, title: &str, year: i32| {
        json!({"put": format!("id:s:shop::{id}"), "fields": {"title": title, "year": year, "vector": ones}}).to_string()
    };
    let docs = [document(1, "Red", 2000), document(2, "BLUE", 2020), document(1, "Red", 2010)];
    let docs = write("docs.jsonl", &docs.join("\n"));
    let query = write("q.json", "{}");
    let app = folder.path().join("app").to_str().unwrap().to_owned();
    let args = [&*app, "--profile", "p", "--query", &query, "--docs", &docs, "--json"];
    let output = rank(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let answer: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_scores(&scores(&answer), &[("2", 106.0), ("1", 16.0)], "scripts");
    let features = &answer["hits"][0]["matchfeatures"];
    assert_eq!(features["attribute(bits)"]["values"], json!([-1, -1]));
    let notes = text(&output.stderr);
    let notes: Vec<&str> = notes.lines().collect();
    let twice =
        format!("note: 1 document stands more than once in {docs}, on line 3; the last one counts");
    let missing = "note: no document has a value of attribute(meaning); embed e does not run here, give what it makes";
    assert_eq!(notes, [&*twice, missing]);
    let wrong = write("wrong.jsonl", "{\"fields\": {\"title\": \"x\", \"year\": \"y\"}}");
    let output = rank(&[&app, "--profile", "p", "--query", &query, "--docs", &wrong]);
    assert_eq!(output.status.code(), Some(1));
}
