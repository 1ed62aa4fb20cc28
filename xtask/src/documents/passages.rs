//! `examples/cross-encoder` with other models, lengths and threads, fed to stores, and its questions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::Context;
use super::clients::Work;
use super::store::Store;
use crate::{paths, process, python};

/// Passages of a store, and those of them that the network reads for a question.
const PASSAGES: &str = "200";
const CANDIDATES: usize = 10;

/// The longest question in tokens, and the tokens between and around question and passage.
const QUESTION: usize = 12;
const MARKS: usize = 3;

/// Of the networks: the size of MiniLM, and a smaller one for a first look.
const MINILM: [&str; 4] = ["384", "6", "12", "30522"];
const SMALL: [&str; 4] = ["128", "2", "4", "512"];

/// The network's file; its inputs have a fixed length, or that of the longest text of a batch.
///
/// # Errors
/// When it cannot be made.
pub fn network(context: &Context, length: Option<usize>) -> Result<PathBuf, String> {
    let sizes = if context.quick { SMALL } else { MINILM };
    let length = length.map(|n| n.to_string());
    let name = format!("encoder-{}-{}.onnx", sizes.join("-"), length.as_deref().unwrap_or("free"));
    let file = context.folder.join(name);
    if !file.exists() {
        let mut make = script(&python::environment("onnx")?, "make_model.py");
        for (option, size) in ["--hidden", "--layers", "--heads", "--vocabulary"].iter().zip(sizes)
        {
            make.args([*option, size]);
        }
        make.args(length.iter().flat_map(|n| ["--length", n.as_str()]));
        process::run(make.arg("-o").arg(&file), "make_model.py")?;
    }
    Ok(file)
}

/// The tokens of a question and a passage together.
#[derive(Clone, Copy)]
pub struct Lengths {
    pub shortest: usize,
    pub longest: usize,
    /// What the inputs of the network have room for.
    pub room: usize,
}

/// Deploys the example with a network to a new store of a name, a run of the network with so many threads if any are given, and feeds it.
///
/// # Errors
/// When the store does not take it.
pub fn store(
    context: &Context,
    name: &str,
    network: &Path,
    threads: Option<usize>,
    lengths: Lengths,
) -> Result<Store, String> {
    let app = context.folder.join(format!("{name}-app"));
    write_application(&app, network, threads, lengths.room)?;
    let words = |tokens: usize| (tokens - QUESTION - MARKS).to_string();
    let file = context.folder.join(format!("{name}.jsonl"));
    let mut make = script(Path::new("python3"), "make_passages.py");
    make.args([
        "--passages",
        PASSAGES,
        "--words",
        &words(lengths.shortest),
        &words(lengths.longest),
    ])
    .args(["--tokens", &lengths.room.to_string(), "-o", "-"]);
    let passages = process::capture(&mut make, "make_passages.py")?;
    fs::write(&file, passages).map_err(|e| format!("{}: {e}", file.display()))?;
    let store = Store::start(context, name, None)?;
    store.deploy(&app)?;
    store.feed(&file, 8)?;
    Ok(store)
}

/// The example's package with this network, and what only this measurement needs: a profile without the network, and tokens in results.
fn write_application(
    folder: &Path,
    network: &Path,
    threads: Option<usize>,
    room: usize,
) -> Result<(), String> {
    let bad = |e: std::io::Error| format!("{}: {e}", folder.display());
    let example = example().join("app");
    let _ = fs::remove_dir_all(folder); // absent the first time
    fs::create_dir_all(folder.join("schemas")).map_err(bad)?;
    fs::create_dir_all(folder.join("models")).map_err(bad)?;
    fs::copy(network, folder.join("models/cross_encoder.onnx")).map_err(bad)?;
    fs::copy(example.join("services.xml"), folder.join("services.xml")).map_err(bad)?;
    let mut schema = fs::read_to_string(example.join("schemas/passage.sd")).map_err(bad)?;
    let threads = threads.map(|n| format!("    intraop-threads: {n}\n")).unwrap_or_default();
    let nearest = "  rank-profile nearest {\n    inputs {\n      query(embedding) tensor<float>(x[32])\n    }\n    \
                   first-phase {\n      expression: closeness(field, embedding)\n    }\n  }\n";
    for (old, new) in [
        (
            "(d0[96]) {\n      indexing: attribute",
            format!("(d0[{room}]) {{\n      indexing: summary | attribute"),
        ),
        ("(128,", format!("({room},")),
        ("    output score: score\n", format!("    output score: score\n{threads}")),
        ("  rank-profile cross_encoder {", format!("{nearest}  rank-profile cross_encoder {{")),
    ] {
        if !schema.contains(old) {
            return Err(format!("the schema of the example has no {old:?}"));
        }
        schema = schema.replace(old, &new);
    }
    fs::write(folder.join("schemas/passage.sd"), schema).map_err(bad)
}

/// The questions of the example.
pub struct Questions(Vec<Value>);

impl Questions {
    /// Reads them.
    ///
    /// # Errors
    /// When they are not there.
    pub fn new() -> Result<Questions, String> {
        let file = example().join("queries.jsonl");
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let questions: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        questions.map(Questions).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// Clients for whom the store ranks.
    pub fn in_place(&self) -> Work {
        self.work(|question| question, Value::Null)
    }

    /// Clients that fetch the tokens of the nearest and rank them with ONNX Runtime, by so many threads for a question; padded to a length,
    /// or else to the longest.
    pub fn outside(&self, network: &Path, threads: usize, length: Option<usize>) -> Work {
        let asked = |mut question: Value| {
            question["yql"] = json!(
                "select tokens from passage where {targetHits: 100}nearestNeighbor(embedding, embedding)"
            );
            question["ranking"] = json!("nearest");
            question["hits"] = json!(CANDIDATES);
            question["presentation.format.tensors"] = json!("hex-value");
            if let Some(question) = question.as_object_mut() {
                question.remove("input.query(tokens)");
            }
            question
        };
        let ranker =
            json!({"cross_encoder": {"model": network, "threads": threads, "length": length}});
        self.work(asked, json!({"ranker": ranker, "single": false, "candidates": CANDIDATES, "hits": CANDIDATES}))
    }

    fn work(&self, asked: impl Fn(Value) -> Value, rank: Value) -> Work {
        // A network of another size takes longer than the 500 ms that a query has.
        let search = |question: &Value| {
            let mut question = asked(question.clone());
            question["timeout"] = json!("60");
            question.to_string()
        };
        Work {
            searches: self.0.iter().map(search).collect(),
            users: self.0.iter().map(|question| question["input.query(tokens)"].clone()).collect(),
            rank,
        }
    }
}

fn example() -> PathBuf {
    paths::root().join("examples/cross-encoder")
}

fn script(python: &Path, name: &str) -> Command {
    let mut python = Command::new(python);
    python.arg(example().join(name)).env("PYTHONDONTWRITEBYTECODE", "1");
    python
}
