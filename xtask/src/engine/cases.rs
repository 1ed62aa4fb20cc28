//! The models of the table of engines, their inputs and what is wanted of stead.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::fill;
use crate::models;

/// Where a file comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source {
    /// A graph of `bench/graphs` with seeded weights.
    Graph(&'static str),
    /// all-MiniLM-L6-v2.
    MiniLm,
    /// The same with weights of 8 bits, quantised by ONNX Runtime's tool.
    MiniLmInt8,
    /// A graph of images of `bench/graphs` with seeded weights, whose weights and values ONNX Runtime's tool has quantised to 8 bits (QDQ).
    Quantized(&'static str),
    /// A graph of recurrent layers of `bench/graphs` with seeded weights, rounded to 8 bits behind DequantizeLinear.
    ByteLayers(&'static str),
    /// The perceptron.
    Mlp,
    /// A model of silero-vad.
    Silero(&'static str),
}

/// A row of a table.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// What it is called; words of it select it on the command line.
    pub title: &'static str,
    pub source: Source,
    /// `NAME:TYPE:SHAPE:LOW:HIGH`, as `stead bench` takes inputs; the last two are 0 and 1 if they are left out.
    pub inputs: &'static [&'static str],
    /// ONNX Runtime's time over stead's.
    pub goal: f64,
    /// What ONNX Runtime runs in the place of the file.
    pub runtime: Option<Source>,
    /// The precision that stead is asked for; ONNX Runtime has f32.
    pub precision: &'static str,
}

const fn case(
    title: &'static str,
    source: Source,
    inputs: &'static [&'static str],
    goal: f64,
) -> Case {
    Case { title, source, inputs, goal, runtime: None, precision: "f32" }
}

const TEXT: [&str; 3] = [
    "input_ids:i64:1x128:1000:20000",
    "attention_mask:i64:1x128:1:2",
    "token_type_ids:i64:1x128:0:1",
];
const TEXTS: [&str; 3] = [
    "input_ids:i64:8x128:1000:20000",
    "attention_mask:i64:8x128:1:2",
    "token_type_ids:i64:8x128:0:1",
];
const SATELLITE: [&str; 2] = ["s2_input:f32:1x40x11:-1:1", "s1_input:f32:1x40x3:-1:1"];
const STEPS: [&str; 1] = ["input:f32:1x256x256:-1:1"];
const IMAGE: [&str; 1] = ["image:f32:1x3x224x224:-1:1"];

/// Two halves that read nothing of each other.
const TWO_TOWERS: Case = case(
    "two towers, batch 16",
    Source::Graph("two_tower"),
    &["query:f32:16x512:-1:1", "item:f32:16x512:-1:1"],
    1.0,
);

/// One thread each.
pub const CASES: &[Case] = &[
    case("satellite", Source::Graph("satellite"), &SATELLITE, 1.8),
    Case {
        runtime: Some(Source::Graph("satellite_gru")),
        ..case("satellite beside GRU nodes", Source::Graph("satellite"), &SATELLITE, 1.2)
    },
    case("MLP 256-512-128-1, batch 1", Source::Mlp, &["input:f32:1x256:-1:1"], 1.0),
    case("MLP 256-512-128-1, batch 200", Source::Mlp, &["input:f32:200x256:-1:1"], 1.0),
    case("MiniLM 1x128", Source::MiniLm, &TEXT, 1.3),
    case("MiniLM 8x128", Source::MiniLm, &TEXTS, 1.3),
    case("MiniLM int8 1x128", Source::MiniLmInt8, &TEXT, 1.5),
    case("XtremeDistil 1x128, TorchScript", Source::Graph("xtremedistil_torchscript"), &TEXT, 1.3),
    case("XtremeDistil 1x128, dynamo", Source::Graph("xtremedistil_dynamo"), &TEXT, 1.3),
    case("BERT-base 1x128", Source::Graph("bert_base"), &TEXT, 1.2),
    case("ResNet-50", Source::Graph("resnet50"), &IMAGE, 1.0),
    case("MobileNetV3-L", Source::Graph("mobilenet_v3_large"), &IMAGE, 1.0),
    case("EfficientNet-B0", Source::Graph("efficientnet_b0"), &IMAGE, 1.0),
    case("DenseNet-121", Source::Graph("densenet121"), &IMAGE, 1.0),
    case("ShuffleNetV2", Source::Graph("shufflenet_v2"), &IMAGE, 1.0),
    case("ResNet-50 int8, QDQ", Source::Quantized("resnet50"), &IMAGE, 1.0),
    case("MobileNetV3-L int8, QDQ", Source::Quantized("mobilenet_v3_large"), &IMAGE, 1.0),
    case("LSTM 2x512, 100 steps", Source::Graph("lstm"), &["input:f32:100x1x512:-1:1"], 1.0),
    case("LSTM 2x512, one step", Source::Graph("lstm"), &["input:f32:1x1x512:-1:1"], 1.0),
    case("GRU 256 both ways, 50 steps", Source::Graph("bigru"), &["input:f32:50x1x256:-1:1"], 1.0),
    case("Mamba layer, 256 steps, Loop", Source::Graph("mamba_loop"), &STEPS, 1.0),
    case("Mamba layer, 256 steps, Scan", Source::Graph("mamba_scan"), &STEPS, 1.0),
    case(
        "DLRM, batch 64",
        Source::Graph("dlrm"),
        &["dense:f32:64x13", "categories:i64:64x26:0:10000"],
        1.0,
    ),
    TWO_TOWERS,
    case(
        "silero step",
        Source::Silero("silero_vad.onnx"),
        &["input:f32:1x576:-0.5:0.5", "state:f32:2x1x128:0:0", "sr:i64::16000:16001"],
        1.0,
    ),
    case(
        "silero step, 16 kHz, no If",
        Source::Silero("silero_vad_openvino_16k.onnx"),
        &["input:f32:1x576:-0.5:0.5", "state:f32:2x1x128:0:0"],
        1.0,
    ),
];

/// All cores for one run.
pub const ON_ALL_CORES: &[Case] = &[
    case("satellite", Source::Graph("satellite"), &SATELLITE, 1.0),
    case("BERT-base 1x128", Source::Graph("bert_base"), &TEXT, 1.0),
    case("ResNet-50", Source::Graph("resnet50"), &IMAGE, 1.0),
    TWO_TOWERS,
];

/// Weights in bf16. Goals are those for a core with AMX, which multiplies bf16 at eight times the rate of f32 and more; twice is
/// what AVX512-BF16 has.
pub const HALVED: &[Case] = &[
    halved("satellite", Source::Graph("satellite"), &SATELLITE, 2.5),
    halved("BERT-base 1x128", Source::Graph("bert_base"), &TEXT, 4.0),
    halved("MiniLM 1x128", Source::MiniLm, &TEXT, 1.0),
    halved("LSTM 2x512, 100 steps", Source::Graph("lstm"), &["input:f32:100x1x512:-1:1"], 1.8),
    halved(
        "GRU 256 both ways, 50 steps",
        Source::Graph("bigru"),
        &["input:f32:50x1x256:-1:1"],
        1.0,
    ),
    halved("MLP 256-512-128-1, batch 1", Source::Mlp, &["input:f32:1x256:-1:1"], 1.0),
];

const fn halved(
    title: &'static str,
    source: Source,
    inputs: &'static [&'static str],
    goal: f64,
) -> Case {
    Case { precision: "bf16", ..case(title, source, inputs, goal) }
}

/// Weights of 8 bits behind DequantizeLinear, and the same graph with weights of f32.
pub const IN_BYTES: &[(Case, Source)] = &[
    in_bytes("LSTM 2x512, 100 steps", "lstm", &["input:f32:100x1x512:-1:1"]),
    in_bytes("LSTM 2x512, one step", "lstm", &["input:f32:1x1x512:-1:1"]),
    in_bytes("GRU 256 both ways, 50 steps", "bigru", &["input:f32:50x1x256:-1:1"]),
];

const fn in_bytes(
    title: &'static str,
    graph: &'static str,
    inputs: &'static [&'static str],
) -> (Case, Source) {
    (case(title, Source::ByteLayers(graph), inputs, 1.0), Source::Graph(graph))
}

/// Graphs that compute next to nothing.
pub const OVERHEAD: &[Case] = &[
    case("empty", Source::Graph("empty"), &["input:f32:1x4:-1:1"], 1.0),
    case("100 nodes", Source::Graph("chain100"), &["input:f32:1x4:-1:1"], 1.0),
];

impl Source {
    /// The part of the largest output by which right answers may differ: a sum that rounds the other way moves a number
    /// of 8 bits by a whole step.
    fn agree(self) -> f64 {
        if matches!(self, Source::MiniLmInt8 | Source::Quantized(_)) { 0.05 } else { 1e-3 }
    }

    /// The file, made if it is not there.
    pub fn file(self) -> Result<PathBuf, String> {
        match self {
            Source::Graph(name) => fill::graph(name),
            Source::MiniLm => Ok(models::minilm()?.join("model.onnx")),
            Source::MiniLmInt8 => Ok(models::minilm_int8()?.join("model.onnx")),
            Source::Quantized(name) => {
                Ok(models::quantized(name, &fill::graph(name)?)?.join("model.onnx"))
            }
            Source::ByteLayers(name) => {
                Ok(models::byte_layers(name, &fill::graph(name)?)?.join("model.onnx"))
            }
            Source::Mlp => Ok(models::mlp()?.join("model.onnx")),
            Source::Silero(file) => Ok(models::silero()?.join(file)),
        }
    }
}

impl Case {
    /// The part of the largest output by which right answers may differ.
    fn agree(&self) -> f64 {
        if self.precision == "bf16" { 0.05 } else { self.source.agree() }
    }

    /// As the program that measures reads it.
    pub fn spec(&self, all_cores: bool, pairs: usize) -> Result<Value, String> {
        let inputs = self.inputs.iter().map(|text| input(text)).collect::<Result<Vec<_>, _>>()?;
        let runtime = self.runtime.map(Source::file).transpose()?;
        Ok(json!({
            "model": self.source.file()?, "runtime_model": runtime, "inputs": inputs, "all_cores": all_cores,
            "pairs": pairs, "agree": self.agree(), "precision": self.precision,
        }))
    }
}

/// An input as the program reads it.
fn input(text: &str) -> Result<Value, String> {
    let wrong = || format!("input {text}: not NAME:TYPE:SHAPE[:LOW:HIGH]");
    let parts: Vec<&str> = text.split(':').collect();
    let (name, dtype, shape, low, high) = match parts[..] {
        [name, dtype, shape] => (name, dtype, shape, "0", "1"),
        [name, dtype, shape, low, high] => (name, dtype, shape, low, high),
        _ => return Err(wrong()),
    };
    let dims = shape.split('x').filter(|dim| !dim.is_empty());
    let dims: Vec<usize> =
        dims.map(|d| d.parse().map_err(|_| wrong())).collect::<Result<_, _>>()?;
    let number = |text: &str| text.parse::<f64>().map_err(|_| wrong());
    Ok(
        json!({"name": name, "dtype": dtype, "shape": dims, "low": number(low)?, "high": number(high)?}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_all_cases_can_be_read() -> Result<(), String> {
        for case in CASES.iter().chain(ON_ALL_CORES).chain(OVERHEAD) {
            assert!(!case.inputs.is_empty(), "{}", case.title);
            for text in case.inputs {
                let read = input(text)?;
                assert!(read["low"].as_f64() <= read["high"].as_f64(), "{text}");
            }
        }
        let rate = input("sr:i64::16000:16001")?;
        assert_eq!(rate["shape"], json!([]));
        assert!(
            input("x:f32").is_err() && input("x:f32:1xa").is_err() && input("x:f32:1:a:2").is_err()
        );
        Ok(())
    }

    #[test]
    fn titles_tell_cases_apart() {
        let mut titles: Vec<_> = CASES.iter().map(|case| case.title).collect();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), CASES.len());
    }
}
