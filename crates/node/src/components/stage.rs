//! Python packages that are sources in an application package, as folders that interpreters open.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stead_app::package::PackageFiles;
use tempfile::TempDir;

use super::store::{Store, Stored};

/// A folder with packages, which goes with this.
pub(super) struct Stage {
    folder: TempDir,
    _kept: Arc<Stored>,
}

impl Stage {
    /// Without packages, in a store.
    pub(super) fn new(store: &Store) -> io::Result<Stage> {
        let (folder, kept) = store.stage()?;
        Ok(Stage { folder, _kept: kept })
    }

    /// Writes the package of the sources at these paths, with the files beside them, and tells where it is.
    ///
    /// # Errors
    /// What the disk refuses, and files that cannot be read.
    pub(super) fn add(
        &self,
        name: &str,
        paths: &[String],
        files: &PackageFiles,
    ) -> Result<PathBuf, String> {
        let root = self.folder.path().join(name);
        let mut texts = Vec::new();
        for path in paths {
            texts.push(files.text(path).map_err(|error| error.to_string())?);
        }
        let all: Vec<&str> = files.below(&format!("python/{name}")).collect();
        let single = paths.iter().map(String::as_str).filter(|path| !all.contains(path));
        for path in all.iter().copied().chain(single) {
            let below = path.strip_prefix("python/").unwrap_or(path);
            let mut bytes = files.reader(path).map_err(|error| error.to_string())?;
            write(&root.join(below), &mut bytes)?;
        }
        let manifest = manifest(&imports(&texts));
        write(&root.join(".data/manifest.json"), &mut manifest.as_bytes())?;
        Ok(root)
    }
}

fn write(to: &Path, bytes: &mut dyn Read) -> Result<(), String> {
    // The texts of the system name no path.
    let failed = |error: io::Error| format!("cannot write a Python package: {error}");
    to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    let mut file = File::create(to).map_err(failed)?;
    io::copy(bytes, &mut file).map(drop).map_err(failed)
}

/// The first parts of the names of all modules that sources may import. More than they do is no harm: what is in the
/// package itself is found there first, and what is nowhere is missing when it is imported.
fn imports(sources: &[String]) -> BTreeSet<String> {
    let mut found = BTreeSet::from(["stead".to_owned()]);
    for statement in sources.iter().flat_map(|text| text.split(['\n', ';', ':'])) {
        let statement = statement.trim();
        let names = match (statement.strip_prefix("import "), statement.strip_prefix("from ")) {
            (Some(names), _) => names,
            (None, Some(rest)) => rest.split(" import").next().unwrap_or_default(),
            (None, None) => continue,
        };
        for name in names.split(',') {
            let first =
                name.trim().split(['.', ' ', '\t', '\\', '#', '(']).next().unwrap_or_default();
            let is_name =
                !first.is_empty() && first.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_name {
                found.insert(first.to_owned());
            }
        }
    }
    found
}

/// The manifest of a package of sources (`docs/python-packages.md`, Format): modules that it does not have come from the
/// interpreter.
fn manifest(externs: &BTreeSet<String>) -> String {
    let mut list = String::new();
    for name in externs {
        let comma = if list.is_empty() { "" } else { "," };
        // Writing to a string cannot fail; names have no characters that JSON escapes.
        let _ = write!(list, r#"{comma}{{"module":"{name}","distribution":null,"version":null}}"#);
    }
    format!(
        r#"{{"format":"stead-package","version":1,"writer":"stead","python":"","externs":[{list}],"mocks":[],"entry_points":[],"tensors":[],"examples":[],"bundles":[],"files":{{}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_wherever_they_stand() {
        for (source, expected) in [
            ("", "stead"),
            ("import os", "os stead"),
            ("import os.path, sys as s", "os stead sys"),
            ("from json import loads", "json stead"),
            ("from numpy.linalg import norm as n", "numpy stead"),
            ("from . import a\nfrom .b import c", "stead"),
            ("def f():\n    import re\n", "re stead"),
            ("if x: import re; import ast", "ast re stead"),
            ("try:\n\timport a_1\nexcept ImportError:\n\tfrom b import c", "a_1 b stead"),
            ("from a import (\n  b,\n  c)", "a stead"),
            ("important = 1\nfrom_ = 2", "stead"),
            ("import \u{e9}", "stead"),
        ] {
            let found = imports(&[source.to_owned()]);
            assert_eq!(found.into_iter().collect::<Vec<_>>().join(" "), expected, "{source}");
        }
    }

    #[test]
    fn packages_are_laid_out_as_they_are_imported() {
        let files = [
            ("python/one.py", "import os"),
            ("python/many/__init__.py", ""),
            ("python/many/deep/x.py", ""),
            ("python/many/words.txt", "a"),
        ];
        let files = PackageFiles::from_texts(files).unwrap();
        let store = Store::default();
        let stage = Stage::new(&store).unwrap();
        let one = stage.add("one", &["python/one.py".to_owned()], &files).unwrap();
        let paths = ["python/many/__init__.py", "python/many/deep/x.py"].map(str::to_owned);
        let many = stage.add("many", &paths, &files).unwrap();
        assert!(one.join("one.py").is_file() && one.join(".data/manifest.json").is_file());
        for path in ["many/__init__.py", "many/deep/x.py", "many/words.txt", ".data/manifest.json"]
        {
            assert!(many.join(path).is_file(), "{path}");
        }
        let folder = stage.folder.path().to_owned();
        drop(stage);
        assert!(!folder.exists());
    }
}
