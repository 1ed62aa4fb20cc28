//! Loading one version.

use super::scan::Found;
use crate::instance::{Blueprint, Instance, Machine};
use crate::recorder::Recorder;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use stead_app::{ModelSettings, NameMapping};

/// Configuration files beside a model are small; more is not read.
const MAX_SIDE_FILE: u64 = 16 << 20;

/// A version that is to be loaded.
pub(super) struct Load {
    pub(super) model: String,
    pub(super) version: u64,
    pub(super) found: Found,
    pub(super) settings: ModelSettings,
    pub(super) recorder: Arc<Recorder>,
}

/// A small file's bytes, or `None` when there is none.
pub(super) fn read_small(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_SIDE_FILE => Err("the file is too large".to_owned()),
        Ok(_) => std::fs::read(path).map(Some).map_err(|e| e.kind().to_string()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        // The base may be a file: `model.onnx/stead.toml` cannot exist.
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => Ok(None),
        Err(e) => Err(e.kind().to_string()),
    }
}

/// Loads a version and the names it gives its tensors.
///
/// # Errors
/// In words for clients.
pub(super) fn load_one(load: &Load, machine: &Machine) -> Result<Instance, String> {
    let started = Instant::now();
    let file = load.found.file.clone()?;
    let names = match &load.found.folder {
        None => NameMapping::default(),
        Some(folder) => match read_small(&folder.join("mapping_config.json")) {
            Ok(None) => NameMapping::default(),
            Ok(Some(bytes)) => {
                NameMapping::parse(&bytes).map_err(|e| format!("mapping_config.json: {e}"))?
            }
            Err(text) => return Err(format!("mapping_config.json: {text}")),
        },
    };
    let blueprint = Blueprint {
        model: &load.model,
        version: load.version,
        file: &file,
        ready: None,
        settings: &load.settings,
        names: &names,
    };
    let instance = Instance::load(&blueprint, machine, Arc::clone(&load.recorder));
    let took = started.elapsed();
    tracing::debug!(model = load.model, version = load.version, ?took, "load");
    instance
}
