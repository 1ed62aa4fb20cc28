//! The models of the examples, carried in the binary.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::failure::Failure;

/// The models of `examples/quickstart/models`; together under 10 kB.
const QUICKSTART: &[(&str, &[u8])] = &[
    ("bearing", include_bytes!("../../../../examples/quickstart/models/bearing/1/model.onnx")),
    ("ranker", include_bytes!("../../../../examples/quickstart/models/ranker/1/model.onnx")),
    ("sentiment", include_bytes!("../../../../examples/quickstart/models/sentiment/1/model.onnx")),
];

/// The stateful model of `examples/voice-activity`, 1.3 MB, and how that example serves it.
const VAD: &[u8] =
    include_bytes!("../../../../examples/voice-activity/models/vad/1/silero_vad_openvino_16k.onnx");
const VAD_CONFIG: &str = include_str!("../../../../examples/voice-activity/config.json");

/// A folder that is removed at the end.
pub struct Unpacked(PathBuf);

impl Unpacked {
    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The configuration.
    pub fn config(&self) -> PathBuf {
        self.0.join("config.json")
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // a leftover of some megabytes in the temporary folder hurts nobody
    }
}

/// Writes the models as `models/<model>/1/model.onnx`, and a configuration that serves them.
pub fn unpack() -> Result<Unpacked, Failure> {
    let folder = Unpacked(std::env::temp_dir().join(format!("stead-demo-{}", std::process::id())));
    let mut config: Value = serde_json::from_str(VAD_CONFIG).map_err(Failure::failed)?;
    for (name, bytes) in QUICKSTART {
        write(&folder.0, name, bytes)?;
        let model = json!({"config": {"name": name, "base_path": format!("models/{name}")}});
        if let Some(list) = config["model_config_list"].as_array_mut() {
            list.push(model);
        }
    }
    write(&folder.0, "vad", VAD)?;
    std::fs::write(folder.config(), config.to_string()).map_err(Failure::failed)?;
    Ok(folder)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Failure> {
    let version = folder.join("models").join(name).join("1");
    std::fs::create_dir_all(&version).map_err(Failure::failed)?;
    std::fs::write(version.join("model.onnx"), bytes).map_err(Failure::failed)
}
