//! `stead encode` as a user meets it.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use stead_tensor::{Tensor, npz};

fn encode(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stead")).arg("encode").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(file: &str) -> String {
    root().join("examples/ranker-training").join(file).to_str().unwrap().to_owned()
}

fn arrays(path: &Path) -> Vec<(String, Tensor)> {
    npz::read(fs::File::open(path).unwrap(), 1 << 30).unwrap()
}

fn integers(arrays: &[(String, Tensor)], name: &str) -> (Vec<usize>, Vec<i64>) {
    let (_, tensor) = arrays.iter().find(|(n, _)| n == name).unwrap();
    (tensor.shape().dims().to_vec(), tensor.as_slice::<i64>().unwrap().to_vec())
}

/// A copy of the example with changes to its schema.
fn package(changes: &[(&str, &str)]) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for path in ["services.xml", "schemas/passage.sd", "models/tokenizer.json"] {
        let mut text = fs::read_to_string(example("app") + "/" + path).unwrap();
        for (from, with) in changes {
            text = text.replace(from, with);
        }
        let file = to.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    to
}

#[test]
fn rows_equal_those_of_the_python_function() {
    let data = root().join("crates/embed/tests/data");
    let rows: Value = serde_json::from_slice(&fs::read(data.join("rows.json")).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("train.npz");
    let pairs = data.join("pairs.jsonl");
    let (out, pairs) = (output.to_str().unwrap(), pairs.to_str().unwrap());
    let done = encode(&[&example("app"), "--profile", "ranker", pairs, "--output", out]);
    assert_eq!(text(&done.stderr), "");
    let encoding = folder.path().join("train.encoding.json").display().to_string();
    let written: Value = serde_json::from_str(&fs::read_to_string(&encoding).unwrap()).unwrap();
    let texts = written["texts"].as_array().unwrap();
    assert_eq!(written["length"], 128);
    assert_eq!(
        texts.iter().map(|t| t["of"].as_str().unwrap()).collect::<Vec<_>>(),
        ["query", "document"]
    );
    assert_eq!(texts.iter().map(|t| t["size"].as_u64().unwrap()).collect::<Vec<_>>(), [30, 95]);
    assert_eq!(
        text(&done.stdout),
        format!(
            "{out}: rows 15, queries 11, tokens of a row 128\n\
             {encoding}: how the rows are made, for the metadata of the model\n\
             tokenInputIds(128,query(q),attribute(tokens)): cut queries 2, documents 3, rows 0\n"
        )
    );
    let arrays = arrays(&output);
    let names: Vec<&str> = arrays.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["input_ids", "token_type_ids", "attention_mask", "labels"]);
    for name in names {
        let expected: Vec<&Value> = rows[name]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().map_or(vec![row], |row| row.iter().collect()))
            .collect();
        let expected: Vec<i64> = expected.iter().map(|v| v.as_i64().unwrap()).collect();
        let (dims, found) = integers(&arrays, name);
        let wanted: &[usize] = if name == "labels" { &[15] } else { &[15, 128] };
        assert_eq!(dims, wanted, "{name}");
        for (row, (found, expected)) in found.chunks(128).zip(expected.chunks(128)).enumerate() {
            assert_eq!(found, expected, "{name}, row {row}");
        }
    }
}

#[test]
fn the_example_is_split_by_query() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("train.npz");
    let (app, pairs, out) = (example("app"), example("pairs.jsonl"), output.to_str().unwrap());
    let run = |seed: &str| {
        let fixed = [&app, "--profile", "ranker", &pairs, "--output", out, "--json"];
        let done = encode(&[&fixed[..], &["--validation", "0.3", "--seed", seed]].concat());
        assert_eq!(text(&done.stderr), "");
        let value: Value = serde_json::from_slice(&done.stdout).unwrap();
        let sides = ["train.npz", "train.validation.npz"].map(|file| {
            let arrays = arrays(&folder.path().join(file));
            integers(&arrays, "input_ids").1.chunks(128).map(<[i64]>::to_vec).collect::<Vec<_>>()
        });
        (value, sides)
    };
    let (value, [train, validation]) = run("0");
    assert_eq!(value["files"][0]["rows"], 4);
    assert_eq!(value["files"][1]["rows"], 2);
    assert_eq!(value["files"][1]["queries"], 1);
    assert_eq!((train.len(), validation.len()), (4, 2));
    // Both rows of the query, which ends with the first SEP.
    let query =
        |row: &Vec<i64>| row.iter().take_while(|id| **id != 102).copied().collect::<Vec<_>>();
    assert_eq!(query(&validation[0]), query(&validation[1]));
    assert!(train.iter().all(|row| query(row) != query(&validation[0])));
    // The same seed gives the same rows, some other gives others.
    assert_eq!(run("0").1, [train.clone(), validation.clone()]);
    assert!((1..20).any(|seed| run(&seed.to_string()).1[1] != validation));
}

#[test]
fn documents_of_several_fields_follow_the_indexing_of_each() {
    let package = package(&[
        ("field text type", "field title type string { indexing: index }\n    field text type"),
        (
            "input text | embed",
            "(input title || \"no title\") . \" \" . input text | lowercase | embed",
        ),
        ("tokenInputIds(128, ", "customTokenInputIds(7, 9, 16, "),
        ("tokenTypeIds(128, ", "tokenTypeIds(16, "),
        ("tokenAttentionMask(128, ", "tokenAttentionMask(16, "),
    ]);
    let pairs = package.path().join("pairs.jsonl");
    fs::write(
        &pairs,
        "{\"query\": \"rank\", \"document\": {\"title\": \"Fast\", \"text\": \"Search\"}, \"label\": 0.5}\n\n\
         {\"query\": \"rank\", \"document\": {\"text\": \"Search\"}, \"label\": 1, \"id\": 3}\n\
         {\"query\": \"rank\", \"document\": {\"title\": \"Fast\", \"text\": null}, \"label\": 1}\n",
    )
    .unwrap();
    let out = package.path().join("out.npz");
    let path = |path: &Path| path.to_str().unwrap().to_owned();
    let args = [path(package.path()), path(&pairs), path(&out)];
    let done = encode(&[&args[0], "--profile", "ranker", &args[1], "-o", &args[2]]);
    assert_eq!(text(&done.stderr), "");
    let arrays = arrays(&out);
    let (dims, ids) = integers(&arrays, "input_ids");
    assert_eq!(dims, [3, 16]);
    let row = |at: usize| ids.chunks(16).nth(at).unwrap().iter().take_while(|id| **id != 0);
    let tokens = |ids: &[i64]| -> Vec<String> {
        let words = fs::read_to_string(root().join("crates/embed/tests/data/vocab.txt")).unwrap();
        ids.iter().map(|id| words.lines().nth(*id as usize).unwrap().to_owned()).collect()
    };
    let (first, second, third): (Vec<i64>, Vec<i64>, Vec<i64>) =
        (row(0).copied().collect(), row(1).copied().collect(), row(2).copied().collect());
    assert_eq!((first[0], first[2], *first.last().unwrap()), (7, 9, 9));
    assert_eq!(tokens(&first[3..5]), ["fast", "search"]);
    assert_eq!(tokens(&second[3..second.len() - 1]).join(" "), "no t ##i ##t ##l ##e search");
    // A text in a row with one that is missing is missing.
    assert_eq!(third[2..], [9, 9]);
    let (_, labels) = &arrays[3];
    assert_eq!(labels.as_slice::<f32>().unwrap(), [0.5, 1.0, 1.0]);
}

#[test]
fn what_cannot_be_encoded_is_told() {
    let pair = "{\"query\": \"a\", \"document\": \"b\", \"label\": 1}";
    let tokens = "tokens type tensor<float>(d0[95])";
    let model = "      <model path=\"models/tokenizer.json\"/>";
    for (changes, line, expected) in [
        (vec![], "x", "pairs.jsonl:1: expected value at line 1 column 1"),
        (vec![], "[1]", "pairs.jsonl:1: expected a text as query, found nothing"),
        (
            vec![],
            "{\"query\": \"a\", \"document\": 3, \"label\": 1}",
            "pairs.jsonl:1: expected a text or an object as document, found a number",
        ),
        (
            vec![],
            "{\"query\": \"a\", \"document\": {\"body\": \"b\"}, \"label\": 1}",
            "pairs.jsonl:1: the document has a field body; expected text",
        ),
        (
            vec![],
            "{\"query\": \"a\", \"document\": \"b\"}",
            "pairs.jsonl:1: expected a number as label, found nothing",
        ),
        (vec![], "\n", "pairs.jsonl has no pairs"),
        (
            vec![("tokenInputIds(128, query(q), attribute(tokens))", "tensor(x[2])(x)")],
            pair,
            "rank-profile ranker has no tokenInputIds or customTokenInputIds",
        ),
        (
            vec![("tokenTypeIds(128", "tokenTypeIds(64")],
            pair,
            "rank-profile ranker has tokenInputIds(128,query(q),attribute(tokens)) and tokenTypeIds(64,query(q),attribute(tokens)), which differ in length or texts",
        ),
        (
            vec![(tokens, "tokens type tensor<float>(d1[95])")],
            pair,
            "tokenInputIds joins token ids, tensors with one indexed dimension d0; attribute(tokens) is a tensor<float>(d1[95])",
        ),
        (
            vec![(tokens, "tokens type tensor<int8>(d0[95])")],
            pair,
            "attribute(tokens) is a tensor<int8>(d0[95]), whose cells cannot hold the token ids of component tokenizer, up to 282",
        ),
        (
            vec![("| embed tokenizer |", ". hostname | embed tokenizer |")],
            pair,
            "the indexing of field tokens has the step hostname, which does not run here",
        ),
        (
            vec![("models/tokenizer.json", "schemas/passage.sd")],
            pair,
            "schemas/passage.sd: not a tokenizer.json of Hugging Face: expected value at line 1 column 1",
        ),
        (
            vec![(model, "      <model url='https://a/b'/>")],
            pair,
            "services.xml:7:7: model of component tokenizer is at https://a/b, which is not fetched; put the file into models/ and write path=\"models/...\"",
        ),
        (
            vec![
                ("hugging-face-tokenizer", "hugging-face-embedder"),
                ("<model path", "<tokenizer-model path"),
            ],
            pair,
            "component tokenizer makes vectors of texts; token ids are made by a hugging-face-tokenizer",
        ),
        (
            vec![("query(q) tensor", "query(r) tensor")],
            pair,
            "tokenInputIds joins token ids, tensors with one indexed dimension d0; query(q) is a double",
        ),
        (vec![("inputs {", "input {")], pair, "the package cannot be used"),
    ] {
        let package = package(&changes);
        let pairs = package.path().join("pairs.jsonl");
        fs::write(&pairs, line).unwrap();
        let out = package.path().join("out.npz");
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let args = [path(package.path()), path(&pairs), path(&out)];
        let done = encode(&[&args[0], "--profile", "ranker", &args[1], "--output", &args[2]]);
        let error = text(&done.stderr).replace(&(path(package.path()) + "/"), "");
        assert_eq!(done.status.code(), Some(1), "{expected}: {error}");
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(!out.exists(), "{expected}");
    }
    let (app, pairs) = (example("app"), example("pairs.jsonl"));
    let wrong = encode(&[&app, "--profile", "x", &pairs, "--output", "/nowhere/x"]);
    assert_eq!(wrong.status.code(), Some(64));
    let expected =
        "error: --profile x: no such rank-profile; there are default, ranker, unranked\n";
    assert_eq!(text(&wrong.stderr), expected);
}

/// The model of a profile is trained on what is encoded: it need not be there yet.
#[test]
fn a_missing_model_is_no_matter() {
    let package = package(&[
        (
            "fieldset default",
            "onnx-model m {\n    file: models/ranker.onnx\n    input input_ids: tokenInputIds(128, query(q), attribute(tokens))\n  }\n  fieldset default",
        ),
        (
            "tokenInputIds(128, query(q), attribute(tokens))\n    }\n    function",
            "1\n    }\n    function",
        ),
        ("bm25(text)", "sum(onnx(m).logits)"),
    ]);
    let out = package.path().join("out.npz");
    let (folder, out) = (package.path().to_str().unwrap(), out.to_str().unwrap());
    let pairs = example("pairs.jsonl");
    let done = encode(&[folder, "--profile", "ranker", &pairs, "--output", out]);
    assert_eq!(text(&done.stderr), "");
    assert_eq!(done.status.code(), Some(0));
}

/// `stead rank` computes the rank features from the tensors of document and query: they are the rows of `stead encode`.
#[test]
fn features_at_serving_time_are_the_rows() {
    let package = package(&[(
        "first-phase {\n      expression: bm25(text)",
        "match-features: input_ids token_type_ids attention_mask\n    first-phase {\n      expression: 1",
    )]);
    let path = |file: &str| package.path().join(file).to_str().unwrap().to_owned();
    let pairs = fs::read_to_string(root().join("crates/embed/tests/data/pairs.jsonl")).unwrap();
    let pairs: Vec<Value> = pairs.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let file = fs::read(example("app/models/tokenizer.json")).unwrap();
    let tokenizer = stead_embed::Tokenizer::from_json(&file, Default::default()).unwrap();
    let tokens = |text: &Value, size: usize| {
        let mut ids = tokenizer.encode(text.as_str().unwrap()).unwrap();
        ids.resize(size, 0);
        ids
    };
    let (mut queries, mut documents, mut lines) = (String::new(), String::new(), String::new());
    for (at, pair) in pairs.iter().enumerate() {
        let query =
            serde_json::json!({"id": at.to_string(), "input.query(q)": tokens(&pair["query"], 30)});
        // Half of the documents are tokenized by the script of the field.
        let fields = match at % 2 {
            0 => serde_json::json!({"tokens": tokens(&pair["document"], 95)}),
            _ => serde_json::json!({"text": pair["document"]}),
        };
        let document = serde_json::json!({"put": format!("id:n:passage::{at}"), "fields": fields});
        queries += &format!("{query}\n");
        documents += &format!("{document}\n");
        lines += &format!("{pair}\n");
    }
    fs::write(path("queries.jsonl"), queries).unwrap();
    fs::write(path("docs.jsonl"), documents).unwrap();
    fs::write(path("pairs.jsonl"), lines).unwrap();
    let (app, out) = (path(""), path("train.npz"));
    let done = encode(&[&app, "--profile", "ranker", &path("pairs.jsonl"), "--output", &out]);
    assert_eq!(text(&done.stderr), "");
    let arrays = arrays(Path::new(&out));
    let ranked = Command::new(env!("CARGO_BIN_EXE_stead"))
        .args(["rank", &app, "--profile", "ranker", "--query", &path("queries.jsonl")])
        .args(["--docs", &path("docs.jsonl"), "--hits", "100", "--json"])
        .output()
        .unwrap();
    let results: Vec<Value> =
        text(&ranked.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(results.len(), pairs.len(), "{}", text(&ranked.stderr));
    for (at, result) in results.iter().enumerate() {
        let id = format!("id:n:passage::{at}");
        let hits = result["hits"].as_array().unwrap();
        let hit = hits.iter().find(|hit| hit["id"] == id.as_str()).unwrap();
        for name in ["input_ids", "token_type_ids", "attention_mask"] {
            let served = &hit["matchfeatures"][name]["values"][0];
            let served: Vec<i64> =
                served.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as i64).collect();
            let trained = &integers(&arrays, name).1[at * 128..][..128];
            assert_eq!(served, trained, "{name} of pair {at}");
        }
    }
}
