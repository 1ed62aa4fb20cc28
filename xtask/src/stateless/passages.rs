//! Passages with MiniLM's real weights, and the two that embed them: stead's node and ONNX Runtime.

use std::path::PathBuf;
use std::process::Command;

use super::Context;
use super::dialogue::Dialogue;
use crate::{bench, models, paths, process};

/// Passages, of so many tokens.
pub const PASSAGES: usize = 10_000;
const QUICK: usize = 512;
pub const TOKENS: [usize; 2] = [20, 120];

/// A cosine between both sides' vectors must be at least this.
const COSINE: f64 = 0.9999;

/// An application with one embedder, `minilm`, and documents whose text it embeds.
const SERVICES: &str = r#"<services version="1.0">
  <container id="default" version="1.0">
    <search/>
    <document-api/>
    <component id="minilm" type="hugging-face-embedder">
      <transformer-model path="models/minilm.onnx"/>
      <tokenizer-model path="models/tokenizer.json"/>
      <max-tokens>256</max-tokens>
      <normalize>true</normalize>
    </component>
  </container>
  <content id="passages" version="1.0"><documents><document type="passage" mode="index"/></documents></content>
</services>
"#;

const SCHEMA: &str = "schema passage {
  document passage {
    field text type string { indexing: summary }
    field part type int {
      indexing: attribute
      attribute: fast-search
    }
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[384]) }
    first-phase { expression: sum(query(q) * attribute(embedding)) }
  }
  field embedding type tensor<float>(x[384]) { indexing: input text | embed minilm | attribute }
}
";

/// How many passages there are.
pub fn count(context: &Context) -> usize {
    if context.quick { QUICK } else { PASSAGES }
}

/// The package.
///
/// # Errors
/// When the models cannot be fetched.
pub fn package(context: &Context) -> Result<PathBuf, String> {
    let (model, embedders) = (models::minilm()?, models::embedders()?);
    context.write("minilm/services.xml", SERVICES)?;
    context.write("minilm/schemas/passage.sd", SCHEMA)?;
    context.copy(&model.join("model.onnx"), "minilm/models/minilm.onnx")?;
    context.copy(&embedders.join("app/models/tokenizer.json"), "minilm/models/tokenizer.json")?;
    Ok(context.folder.join("minilm"))
}

/// stead's node with the passages on some cores, and how many tokens they have; `texts.json` and `ids.json` are written.
///
/// # Errors
/// When it cannot be built or started.
pub fn stead(context: &Context, cores: &str) -> Result<(Dialogue, usize), String> {
    let mut build = process::cargo();
    build.args(["build", "--release", "--package", "stead-node", "--example", "embedding_speed"]);
    process::run(&mut build, "cargo build")?;
    let program = paths::target().join("release/examples/embedding_speed");
    let mut command = on(cores, &program);
    command.arg(package(context)?).arg("minilm");
    let mut dialogue = Dialogue::start(command, "embedding_speed")?;
    let page = paths::root().join("tests/data/text/page.txt");
    let [shortest, longest] = TOKENS;
    let line = format!("make {} {shortest} {longest} {}", count(context), page.display());
    let tokens = dialogue.ask(&line)?;
    let tokens = tokens.as_u64().ok_or("embedding_speed tells no tokens")?;
    Ok((dialogue, tokens as usize))
}

/// ONNX Runtime with the ids of the same passages on the same cores, each run with so many threads.
///
/// # Errors
/// When it cannot be started.
pub fn onnx_runtime(context: &Context, cores: &str, threads: usize) -> Result<Dialogue, String> {
    let program = bench::peers_command(&context.peers)?;
    let mut command = on(cores, program.get_program().as_ref());
    for (name, value) in program.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    let model = context.folder.join("minilm/models/minilm.onnx");
    command.arg("embed").arg(model).arg(context.folder.join("ids.json")).arg(threads.to_string());
    Dialogue::start(command, "peers embed")
}

/// Fails unless both give the same vectors.
///
/// # Errors
/// With the cosine of the first two that differ.
pub fn agree(one: &mut Dialogue, other: &mut Dialogue) -> Result<(), String> {
    for at in [0, 1, 100] {
        let ask = format!("vector {at}");
        let cells = |answer: serde_json::Value| -> Vec<f64> {
            answer.as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
        };
        let (one, other) = (cells(one.ask(&ask)?), cells(other.ask(&ask)?));
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let cosine = dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt();
        if cosine.is_nan() || cosine < COSINE || one.len() != other.len() {
            return Err(format!("the vectors of passage {at} differ: their cosine is {cosine}"));
        }
    }
    Ok(())
}

/// A program on some cores: a list of `taskset`.
pub fn on(cores: &str, program: &std::path::Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", cores]).arg(program);
    command
}

/// The texts that [`stead`] has written.
///
/// # Errors
/// When it has not.
pub fn texts(context: &Context) -> Result<Vec<String>, String> {
    let file = context.folder.join("texts.json");
    let bad = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let texts = std::fs::read_to_string(&file).map_err(|e| bad(&e))?;
    serde_json::from_str(&texts).map_err(|e| bad(&e))
}
