//! Real models against reference outputs of ONNX Runtime: silero-vad, all-MiniLM-L6-v2 and a small twin of a
//! satellite embedding model.
//!
//! `cargo xtask test` fetches the models and sets `STEAD_TEST_DATA`; without the variable there is nothing to
//! compare and the tests say so.

#![allow(clippy::unwrap_used, clippy::print_stderr)] // a panic in a test is its report

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use stead_engine::{LoadOptions, Model, Precision, Session, SessionOptions};
use stead_tensor::{Tensor, npz};

/// All arrays of an npz file by name.
struct Arrays(HashMap<String, Tensor>);

impl Arrays {
    fn read(path: &Path) -> Arrays {
        let file = File::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Arrays(npz::read(file, u64::MAX).unwrap().into_iter().collect())
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn get(&self, name: &str) -> &Tensor {
        self.0.get(name).unwrap_or_else(|| panic!("no array {name}"))
    }

    fn f32(&self, name: &str) -> &[f32] {
        self.get(name).as_slice().unwrap()
    }
}

fn data() -> Option<PathBuf> {
    let found = std::env::var_os("STEAD_TEST_DATA").map(PathBuf::from);
    if found.is_none() {
        eprintln!("skipped: STEAD_TEST_DATA is not set (cargo xtask test sets it)");
    }
    found
}

fn session(path: &Path) -> Session {
    let model = Model::load(path, &LoadOptions::default());
    let model = model.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Session::new(model, &SessionOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn max_difference(actual: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(actual.len(), expected.len());
    let differences = actual.iter().zip(expected).map(|(a, e)| (a - e).abs());
    // A NaN compares as smaller than anything; it must not pass.
    assert!(actual.iter().all(|v| v.is_finite()));
    differences.fold(0.0, f32::max)
}

const SIGNALS: &[(&str, i64)] = &[
    ("speech16k", 16000),
    ("speech16k_b", 16000),
    ("tones16k", 16000),
    ("noise16k", 16000),
    ("silence16k", 16000),
    ("speech8k", 8000),
];

/// Runs a silero model frame by frame and returns the probabilities and the last state.
fn stream(session: &Session, frames: &Tensor, rate: i64) -> (Vec<f32>, Vec<f32>) {
    let width = frames.shape()[1];
    let takes_rate = session.model().inputs().iter().any(|i| i.name == "sr");
    let rate = Tensor::scalar(rate).unwrap();
    let mut state = Tensor::from_slice(&[0f32; 256], &[2, 1, 128]).unwrap();
    let mut probabilities = Vec::new();
    for frame in frames.as_slice::<f32>().unwrap().chunks_exact(width) {
        let frame = Tensor::from_slice(frame, &[1, width]).unwrap();
        let mut feed = vec![("input", frame.view()), ("state", state.view())];
        if takes_rate {
            feed.push(("sr", rate.view()));
        }
        let mut outputs = session.run(&feed, &["output", "stateN"]).unwrap();
        state = outputs.remove(1);
        probabilities.extend_from_slice(outputs[0].as_slice::<f32>().unwrap());
    }
    (probabilities, state.as_slice::<f32>().unwrap().to_vec())
}

#[test]
fn silero_agrees_on_every_frame_of_every_signal() {
    let Some(data) = data() else { return };
    let models = data.join("models/silero-vad/silero_vad/data");
    let reference =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/silero/silero_ref.npz");
    let reference = Arrays::read(&reference);
    let files = [
        "silero_vad",
        "silero_vad_16k_op15",
        "silero_vad_half",
        "silero_vad_op18_ifless",
        "silero_vad_openvino_16k",
    ];
    let mut wrong = Vec::new();
    for name in files {
        let session = session(&models.join(format!("{name}.onnx")));
        for &(signal, rate) in SIGNALS {
            let key = format!("{name}/{signal}/prob");
            if !reference.has(&key) {
                continue; // a model for 16 kHz only
            }
            let expected = reference.f32(&key);
            let (actual, _) = stream(&session, reference.get(&format!("frames/{signal}")), rate);
            let error = max_difference(&actual, expected);
            let same_side =
                actual.iter().zip(expected).filter(|(a, e)| (**a >= 0.5) == (**e >= 0.5)).count();
            let half = name == "silero_vad_half";
            let most = same_side * 100 >= expected.len() * 99;
            if error > if half { 1e-2 } else { 1e-5 } || (half && !most) {
                wrong.push(format!(
                    "{key}: error {error:e}, same side {same_side} of {}",
                    expected.len()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_sequence_variant_of_silero_agrees_at_every_block_size() {
    let Some(data) = data() else { return };
    let path = data.join("models/silero-vad/silero_vad/data/silero_vad_16k_sequence.onnx");
    let reference =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/silero/silero_ref.npz");
    let (session, reference) = (session(&path), Arrays::read(&reference));
    for (signal, _) in SIGNALS.iter().filter(|(_, rate)| *rate == 16000) {
        let frames = reference.get(&format!("frames/{signal}"));
        let width = frames.shape()[1];
        for block in [1, 16, 512] {
            let mut h = Tensor::from_slice(&[0f32; 128], &[1, 1, 128]).unwrap();
            let mut c = h.clone();
            let mut actual = Vec::new();
            for part in frames.as_slice::<f32>().unwrap().chunks(block * width) {
                let input = Tensor::from_slice(part, &[part.len() / width, width]).unwrap();
                let feed = [("input", input.view()), ("h", h.view()), ("c", c.view())];
                let mut outputs = session.run(&feed, &["speech_probs", "hn", "cn"]).unwrap();
                c = outputs.remove(2);
                h = outputs.remove(1);
                actual.extend_from_slice(outputs[0].as_slice::<f32>().unwrap());
            }
            let key = format!("silero_vad_16k_sequence/{signal}/blk{block}/prob");
            let error = max_difference(&actual, reference.f32(&key));
            assert!(error <= 1e-5, "{key}: error {error}");
        }
    }
}

/// What ONNX Runtime computed with the model in `folder`.
fn reference(folder: &Path) -> Option<Arrays> {
    let path = folder.join("reference.npz");
    if path.exists() {
        return Some(Arrays::read(&path));
    }
    // `cargo xtask test` counts a test that says so as skipped.
    eprintln!("skipped: ONNX Runtime has no wheel for this Python (3.11 or newer needed)");
    None
}

/// Mean over the real tokens, then unit length: what sentence-transformers returns.
fn pooled(hidden: &Tensor, mask: &Tensor) -> Vec<f32> {
    let (rows, width) = (hidden.shape()[0], hidden.shape()[2]);
    let tokens = hidden.shape()[1];
    let (hidden, mask) = (hidden.as_slice::<f32>().unwrap(), mask.as_slice::<i64>().unwrap());
    let mut out = Vec::new();
    for row in 0..rows {
        let mut mean = vec![0f64; width];
        for token in (0..tokens).filter(|t| mask[row * tokens + t] == 1) {
            let at = (row * tokens + token) * width;
            mean.iter_mut().zip(&hidden[at..at + width]).for_each(|(m, v)| *m += f64::from(*v));
        }
        let length = mean.iter().map(|v| v * v).sum::<f64>().sqrt();
        out.extend(mean.iter().map(|v| (v / length) as f32));
    }
    out
}

#[test]
fn minilm_embeds_a_page_as_onnx_runtime_does() {
    let Some(data) = data() else { return };
    let folder = data.join("models/minilm");
    let Some(reference) = reference(&folder) else { return };
    for file in ["model.onnx", "model_fused.onnx"] {
        let session = session(&folder.join(file));
        let mut cases = 0;
        while reference.has(&format!("{cases}/embedding")) {
            let tensor = |name: &str| reference.get(&format!("{cases}/{name}"));
            let names = ["input_ids", "attention_mask", "token_type_ids"];
            let feed = names.map(|name| (name, tensor(name).view()));
            let outputs = session.run(&feed, &["last_hidden_state"]).unwrap();
            let actual = pooled(&outputs[0], tensor("attention_mask"));
            let error = max_difference(&actual, reference.f32(&format!("{cases}/embedding")));
            assert!(error <= 1e-4, "{file}, case {cases}: error {error}");
            cases += 1;
        }
        assert!(cases >= 10, "only {cases} cases");
    }
}

#[test]
fn minilm_in_bf16_embeds_nearly_the_same() {
    let Some(data) = data() else { return };
    let folder = data.join("models/minilm");
    let Some(reference) = reference(&folder) else { return };
    let model = Model::load(&folder.join("model.onnx"), &LoadOptions::default()).unwrap();
    let options = SessionOptions { precision: Precision::Bf16, ..SessionOptions::default() };
    let session = Session::new(model, &options).unwrap();
    let mut cases = 0;
    while reference.has(&format!("{cases}/embedding")) {
        let tensor = |name: &str| reference.get(&format!("{cases}/{name}"));
        let names = ["input_ids", "attention_mask", "token_type_ids"];
        let feed = names.map(|name| (name, tensor(name).view()));
        let outputs = session.run(&feed, &["last_hidden_state"]).unwrap();
        let actual = pooled(&outputs[0], tensor("attention_mask"));
        let expected = reference.f32(&format!("{cases}/embedding"));
        let error = max_difference(&actual, expected);
        let dot = |x: &[f32], y: &[f32]| -> f64 {
            x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        let lengths = dot(&actual, &actual) * dot(expected, expected);
        let cosine = dot(&actual, expected) / lengths.sqrt();
        assert!(error > 1e-5, "case {cases}: nothing was rounded");
        assert!(cosine >= 0.999, "case {cases}: cosine {cosine}, error {error}");
        cases += 1;
    }
    assert!(cases >= 10, "only {cases} cases");
}

#[test]
fn the_satellite_model_agrees_at_every_batch_size() {
    let Some(data) = data() else { return };
    let folder = data.join("models/satellite");
    let Some(reference) = reference(&folder) else { return };
    let session = session(&folder.join("model.onnx"));
    let mut cases = 0;
    while reference.has(&format!("{cases}/output")) {
        let names = ["s2_input", "s1_input"];
        let feed = names.map(|name| (name, reference.get(&format!("{cases}/{name}")).view()));
        let outputs = session.run(&feed, &["output"]).unwrap();
        let actual = outputs[0].as_slice().unwrap();
        let error = max_difference(actual, reference.f32(&format!("{cases}/output")));
        assert!(error <= 1e-5, "case {cases}: error {error}");
        cases += 1;
    }
    assert!(cases >= 3, "only {cases} cases");
}
