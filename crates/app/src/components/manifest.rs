//! What the manifest of a package of `stead_package` says to the server (`docs/python-packages.md`, Format).

use std::io::{Cursor, Read};

use serde_json::Value;

use crate::package::PackageFiles;

/// The largest manifest that is read.
const MAX_MANIFEST: u64 = 64 << 20;

/// The largest archive.
const MAX_ARCHIVE: u64 = 16 << 30;

/// The virtual environment that an archive in an application package wants.
///
/// # Errors
/// What is wrong with the archive, in a sentence that begins with its path.
pub fn wanted_environment(files: &PackageFiles, path: &str) -> Result<Option<String>, String> {
    let bytes = files.read(path, MAX_ARCHIVE).map_err(|error| error.to_string())?;
    let broken = |error: &dyn std::fmt::Display| format!("{path} is no Python package: {error}");
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| broken(&e))?;
    let entry = match archive.by_name(".data/manifest.json") {
        Ok(entry) => entry,
        // Archives of torch.package name no environment.
        Err(zip::result::ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(broken(&error)),
    };
    let mut text = Vec::new();
    entry.take(MAX_MANIFEST).read_to_end(&mut text).map_err(|e| broken(&e))?;
    let manifest: Value = serde_json::from_slice(&text).map_err(|e| broken(&e))?;
    match manifest.get("environment") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.clone())),
        Some(_) => Err(broken(&"environment of its manifest is no text")),
    }
}
