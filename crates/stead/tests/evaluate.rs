//! `stead evaluate` as a user meets it. What is expected is computed here, not by stead.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

fn evaluate(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead")).arg("evaluate").args(args).output().unwrap()
}

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/relevance").join(name);
    folder.to_str().unwrap().to_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn two_profiles_of_the_example_are_compared() {
    let (app, beir) = (example("app"), example("passages"));
    let args = [&*app, "--beir", &beir, "--profile", "titles", "--profile", "bm25"];
    let output = evaluate(&[&args[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let notes = text(&output.stderr);
    assert!(notes.contains("1 of 4 queries have no relevant document"), "{notes}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let profiles = report["profiles"].as_array().unwrap();
    assert_eq!(profiles.len(), 2);
    let scores = |profile: usize, query: usize| &profiles[profile]["queries"][query]["scores"];
    assert_eq!(profiles[1]["profile"], "bm25");
    // Of the third query only one document is relevant: it has both words in its title and stands first.
    for profile in [0, 1] {
        assert_eq!(
            scores(profile, 2),
            &json!({"nDCG@10": 1.0, "MRR@10": 1.0, "recall": 1.0, "MAP": 1.0})
        );
    }
    // Rain is first by its title; that of salt, which says "where", stands before that of rivers.
    let best = 2.0 + 1.0 / 3.0_f64.log2();
    let rain = scores(1, 1)["nDCG@10"].as_f64().unwrap();
    assert!((rain - (2.0 + 1.0 / 4.0_f64.log2()) / best).abs() < 1e-12, "{rain}");
    for measure in ["nDCG@10", "MRR@10", "recall", "MAP"] {
        let average = |profile: usize| {
            let all = (0..3).map(|query| scores(profile, query)[measure].as_f64().unwrap());
            let average = all.sum::<f64>() / 3.0;
            let told = profiles[profile]["scores"][measure].as_f64().unwrap();
            assert!((average - told).abs() < 1e-12, "{measure}");
            average
        };
        let difference = &report["differences"][measure];
        let mean = average(1) - average(0);
        assert!((difference["mean"].as_f64().unwrap() - mean).abs() < 1e-12, "{measure}");
        assert!((0.0..=1.0).contains(&difference["p"].as_f64().unwrap()));
    }
    let output = evaluate(&[&args[..], &["--per-query"]].concat());
    let shown = text(&output.stdout);
    assert!(shown.contains("nDCG@10") && shown.contains("bm25 less titles"), "{shown}");
}

/// Rankings whose order is known: documents are asked by their numbers.
#[test]
fn measures_are_those_of_their_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    write(
        "app/services.xml",
        "<services version=\"1.0\"><container id=\"d\" version=\"1.0\"><search/></container><content id=\"c\" version=\"1.0\"><redundancy>1</redundancy><documents><document type=\"page\" mode=\"index\"/></documents></content></services>",
    );
    write(
        "app/schemas/page.sd",
        "schema page { document page { field n type int { indexing: attribute } }\n rank-profile up { first-phase { expression: attribute(n) } } }",
    );
    let docs: String = (1..=4)
        .map(|n| json!({"put": format!("id:a:page::d{n}"), "fields": {"n": n}}).to_string() + "\n")
        .collect();
    let docs = write("docs.jsonl", &docs);
    let queries = write("queries.tsv", "q1\tany\nq2\tany\n");
    let qrels = write("qrels.txt", "q1 0 d4 1\nq1 0 d2 3\nq2 0 d1 1\nq2 0 d9 1\n");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let (app, docs, queries, qrels) =
        (path(&folder.path().join("app")), path(&docs), path(&queries), path(&qrels));
    let args = [
        &*app,
        "--docs",
        &docs,
        "--queries",
        &queries,
        "--qrels",
        &qrels,
        "--profile",
        "up",
        "--yql",
        "select * from page where true",
        "--json",
    ];
    let output = evaluate(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    // The ranking is d4 d3 d2 d1.
    let log = |rank: f64| (rank + 1.0).log2();
    let first = (1.0 + 3.0 / log(3.0)) / (3.0 + 1.0 / log(2.0));
    let second = (1.0 / log(4.0)) / (1.0 + 1.0 / log(2.0));
    let queries = &report["profiles"][0]["queries"];
    for (query, expected) in
        [(0, [first, 1.0, 1.0, f64::midpoint(1.0, 2.0 / 3.0)]), (1, [second, 0.25, 0.5, 0.125])]
    {
        for (measure, expected) in ["nDCG@10", "MRR@10", "recall", "MAP"].iter().zip(expected) {
            let found = queries[query]["scores"][measure].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-12, "{query} {measure}: {found} {expected}");
        }
    }
    assert!(report.get("differences").is_none());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (app, beir) = (example("app"), example("passages"));
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let cases: [(Vec<String>, &str, i32); 5] = [
        (
            vec!["--qrels".into(), file("a", "1 2\n")],
            "a:1: expected a query, a document and a grade",
            1,
        ),
        (
            vec!["--qrels".into(), file("b", "1\td\t1\n1\td\tx\n")],
            "b:2: expected a grade, found x",
            1,
        ),
        (vec!["--queries".into(), file("c", "{\"_id\": 1}\n")], "c:1: expected \"text\"", 1),
        (
            vec!["--qrels".into(), file("d", "9\td\t1\n")],
            "of 4 queries none has a relevant document",
            1,
        ),
        (vec!["--profile".into(), "none".into()], "query 1: ", 1),
    ];
    for (more, expected, code) in cases {
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let output = evaluate(&[&[&*app, "--beir", &beir][..], &more].concat());
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{told}");
        assert!(told.contains(expected), "{told}");
    }
    assert_eq!(evaluate(&[&app]).status.code(), Some(64));
}
