//! The Pythons of this machine.

use std::path::{Path, PathBuf};

use crate::{Installation, ProbeError};

/// Names of programs in the order in which they are wished for.
const NAMES: [&str; 7] =
    ["python3", "python", "python3.13", "python3.12", "python3.11", "python3.10", "python3.14"];

/// Every Python of the active virtual environment and of `PATH`, each once, in that order. Each is run.
pub fn find_all() -> Vec<Installation> {
    let mut found: Vec<Installation> = Vec::new();
    for candidate in candidates() {
        // What is not a Python is none: the list is of those that are.
        let Ok(installation) = Installation::of(&candidate) else { continue };
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let same = |other: &Installation| {
            other.prefix == installation.prefix
                && real(&other.executable) == real(&installation.executable)
        };
        if !found.iter().any(same) {
            found.push(installation);
        }
    }
    found
}

/// The Python to use: the one that is named, or else the first that can run inside the process, or else the first.
///
/// # Errors
/// [`ProbeError`] of the one that is named, or that there is none.
pub fn find_default(named: Option<&Path>) -> Result<Installation, ProbeError> {
    if let Some(named) = named {
        return Installation::of(named);
    }
    let found = find_all();
    let best = found.iter().find(|python| python.library.is_ok()).or(found.first());
    best.cloned().ok_or_else(|| ProbeError::Missing("python3".into()))
}

fn candidates() -> Vec<PathBuf> {
    let environment = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let named = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    environment.into_iter().chain(named.filter(|file| file.is_file())).collect()
}
