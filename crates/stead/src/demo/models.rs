//! The quickstart models, carried in the binary.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The models of `examples/quickstart/models`; together under 10 kB.
const MODELS: &[(&str, &[u8])] = &[
    ("bearing", include_bytes!("../../../../examples/quickstart/models/bearing/1/model.onnx")),
    ("ranker", include_bytes!("../../../../examples/quickstart/models/ranker/1/model.onnx")),
    ("sentiment", include_bytes!("../../../../examples/quickstart/models/sentiment/1/model.onnx")),
];

/// A folder that is removed at the end.
pub struct Unpacked(PathBuf);

impl Unpacked {
    /// The model repository.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // a leftover of 10 kB in the temporary folder hurts nobody
    }
}

/// Writes the models as a model repository: `<model>/1/model.onnx`.
pub fn unpack() -> Result<Unpacked, Failure> {
    let folder = Unpacked(std::env::temp_dir().join(format!("stead-demo-{}", std::process::id())));
    for (name, bytes) in MODELS {
        let version = folder.0.join(name).join("1");
        std::fs::create_dir_all(&version).map_err(Failure::failed)?;
        std::fs::write(version.join("model.onnx"), bytes).map_err(Failure::failed)?;
    }
    Ok(folder)
}
