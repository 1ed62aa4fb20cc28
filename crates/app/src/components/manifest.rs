//! What the manifest of a package of `stead_package` says to the server (`docs/python-packages.md`, Format).

use std::io::Read;

use serde_json::Value;

use crate::package::PackageFiles;

/// The largest manifest that is read.
const MAX_MANIFEST: u64 = 64 << 20;

/// What an archive in an application package wants of the interpreters that load it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveWishes {
    /// The virtual environment that it names.
    pub environment: Option<String>,
    /// Whether it brings distributions along.
    pub has_bundles: bool,
}

impl ArchiveWishes {
    /// Reads the manifest of an archive.
    ///
    /// # Errors
    /// What is wrong with the archive, in a sentence that begins with its path.
    pub fn read(files: &PackageFiles, path: &str) -> Result<ArchiveWishes, String> {
        let broken =
            |error: &dyn std::fmt::Display| format!("{path} is no Python package: {error}");
        let file = files.reader(path).map_err(|error| error.to_string())?;
        let mut archive = zip::ZipArchive::new(file).map_err(|e| broken(&e))?;
        let entry = match archive.by_name(".data/manifest.json") {
            Ok(entry) => entry,
            // Archives of torch.package wish for nothing.
            Err(zip::result::ZipError::FileNotFound) => return Ok(ArchiveWishes::default()),
            Err(error) => return Err(broken(&error)),
        };
        let mut text = Vec::new();
        entry.take(MAX_MANIFEST).read_to_end(&mut text).map_err(|e| broken(&e))?;
        let manifest: Value = serde_json::from_slice(&text).map_err(|e| broken(&e))?;
        let environment = match manifest.get("environment") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name.clone()),
            Some(_) => return Err(broken(&"environment of its manifest is no text")),
        };
        let bundles = manifest.get("bundles").and_then(Value::as_array);
        let has_bundles = bundles.is_some_and(|bundles| !bundles.is_empty());
        Ok(ArchiveWishes { environment, has_bundles })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn manifests_say_what_their_packages_want() {
        let packed = |manifest: Option<&str>| {
            let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
            let options: zip::write::SimpleFileOptions = Default::default();
            zip.start_file("a/b.py", options).unwrap();
            if let Some(text) = manifest {
                zip.start_file(".data/manifest.json", options).unwrap();
                zip.write_all(text.as_bytes()).unwrap();
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.pkg");
            std::fs::write(&path, zip.finish().unwrap().into_inner()).unwrap();
            let files = PackageFiles::open(folder.path()).unwrap();
            let found = ArchiveWishes::read(&files, "a.pkg");
            found.map(|wishes| (wishes.environment.unwrap_or_default(), wishes.has_bundles))
        };
        let wanted = |environment: &str, bundles| Ok((environment.to_owned(), bundles));
        for (manifest, expected) in [
            (None, wanted("", false)),
            (Some("{}"), wanted("", false)),
            (Some(r#"{"environment":null,"bundles":[]}"#), wanted("", false)),
            (Some(r#"{"environment":"torch","bundles":[{"name":"a"}]}"#), wanted("torch", true)),
            (
                Some(r#"{"environment":1}"#),
                Err("a.pkg is no Python package: environment of its manifest is no text".into()),
            ),
            (
                Some("{"),
                Err("a.pkg is no Python package: EOF while parsing an object at line 1 column 1"
                    .into()),
            ),
        ] {
            assert_eq!(packed(manifest), expected, "{manifest:?}");
        }
        let text = PackageFiles::from_texts([("a.pkg", "no zip")]).unwrap();
        let error = ArchiveWishes::read(&text, "a.pkg").unwrap_err();
        assert!(error.starts_with("a.pkg is no Python package: "), "{error}");
        let error = ArchiveWishes::read(&text, "b.pkg").unwrap_err();
        assert_eq!(error, "b.pkg: no such file");
    }
}
