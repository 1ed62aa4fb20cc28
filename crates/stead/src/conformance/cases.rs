//! Finding test cases.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// How deep folders are searched: `node/test_abs` and a collection of such trees, not a whole disk.
const MAX_DEPTH: usize = 4;

/// One case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The name of its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
}

impl Case {
    /// The folders with inputs and outputs, in order.
    pub fn data_sets(&self) -> std::io::Result<Vec<PathBuf>> {
        let mut sets: Vec<PathBuf> = sorted(&self.folder)?;
        sets.retain(|path| {
            path.is_dir()
                && path
                    .file_name()
                    .is_some_and(|n| n.to_string_lossy().starts_with("test_data_set_"))
        });
        Ok(sets)
    }
}

/// All cases in or below `folders`, sorted by path.
///
/// # Errors
/// A folder that cannot be read, and a folder without any case.
pub fn find(folders: &[PathBuf]) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for folder in folders {
        let before = cases.len();
        search(folder, MAX_DEPTH, &mut cases)
            .map_err(|e| Failure::failed(format!("{}: {e}", folder.display())))?;
        if cases.len() == before {
            let text = format!("{}: no folder with a model.onnx in it", folder.display());
            return Err(Failure::failed(text));
        }
    }
    Ok(cases)
}

fn search(folder: &Path, depth: usize, cases: &mut Vec<Case>) -> std::io::Result<()> {
    if folder.join("model.onnx").is_file() {
        let named = folder.canonicalize()?;
        let name = named.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cases.push(Case { name, folder: folder.to_owned() });
        return Ok(());
    }
    let entries = sorted(folder)?;
    if depth > 0 {
        entries.iter().filter(|e| e.is_dir()).try_for_each(|e| search(e, depth - 1, cases))?;
    }
    Ok(())
}

fn sorted(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|e| e.map(|e| e.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}
