//! The versions of a model on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use stead_app::VersionPolicy;
use stead_formats::{FORMATS, FileKind, Format, tensorflow::SAVED_MODEL};

/// Files and their times and sizes: what changes when somebody writes to them.
pub(super) type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// A version on disk.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    /// The model file, or why there is none.
    pub(super) file: Result<PathBuf, String>,
    /// The folder of the version, where `mapping_config.json` may lie.
    pub(super) folder: Option<PathBuf>,
    pub(super) stamp: Stamp,
}

/// Files of a version folder that are looked at for changes; more than any model has.
const MAX_FILES: usize = 4096;

/// The format of a model file by its name. An `.xml` file is one if its constants lie beside it: others are configuration.
fn format_of(path: &Path) -> Option<Format> {
    let format = Format::of(path).filter(|_| path.is_file())?;
    let is_other = format == Format::OpenVino && !path.with_extension("bin").is_file();
    (!is_other).then_some(format)
}

/// Whether a file is a model by its name.
pub(super) fn is_model(path: &Path) -> bool {
    match format_of(path) {
        Some(Format::Onnx | Format::OpenVino) => true,
        // Any other .pb file may be data.
        Some(Format::TensorFlow) => path.file_name().is_some_and(|name| name == SAVED_MODEL),
        _ => false,
    }
}

fn version_of(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    // `u64::from_str` takes a plus sign; leading zeros would make two folders one version.
    let plain = name.bytes().all(|b| b.is_ascii_digit()) && !name.starts_with('0');
    name.parse().ok().filter(|v| plain && *v <= i64::MAX.unsigned_abs())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut list: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    list.sort();
    list
}

/// Whether a folder has a version folder.
pub(super) fn has_versions(folder: &Path) -> bool {
    entries(folder).iter().any(|p| version_of(p).is_some() && p.is_dir())
}

/// Whether a model file lies in the folder itself.
pub(super) fn has_models(folder: &Path) -> bool {
    entries(folder).iter().any(|p| is_model(p))
}

/// The versions below `base`: a model file, or a folder with version folders, or a folder with one model file.
///
/// # Errors
/// In words, without paths, when `base` cannot be read.
pub(super) fn versions(base: &Path) -> Result<BTreeMap<u64, Found>, String> {
    if base.is_file() {
        let found = Found {
            file: Ok(base.to_owned()),
            folder: None,
            stamp: stamp(stead_formats::files(base).into_iter()),
        };
        return Ok(BTreeMap::from([(1, found)]));
    }
    if !base.is_dir() {
        return Err("its base_path does not exist or cannot be read".to_owned());
    }
    let list = entries(base);
    let mut versions = BTreeMap::new();
    for folder in list.iter().filter(|p| p.is_dir()) {
        match version_of(folder) {
            Some(version) => {
                versions.insert(version, version_folder(folder));
            }
            None => tracing::debug!(folder = ?folder.file_name(), "no version folder: skipped"),
        }
    }
    if versions.is_empty() && has_models(base) {
        versions.insert(1, version_folder(base));
    }
    Ok(versions)
}

fn version_folder(folder: &Path) -> Found {
    let list = entries(folder);
    // Files of formats that are refused too: loading says what to do with them.
    let file = FORMATS.iter().find_map(|kind| of_kind(&list, kind));
    let missing = "the version folder has no .onnx file, no .xml with .bin and no saved_model.pb";
    let file = file.unwrap_or_else(|| Err(missing.to_owned()));
    // A SavedModel has its constants in a folder of their own.
    let beside = entries(&folder.join("variables"));
    let stamp = stamp(list.into_iter().chain(beside));
    Found { file, folder: Some(folder.to_owned()), stamp }
}

/// The model file of this kind among the files of a version, if there is one.
fn of_kind(list: &[PathBuf], kind: &FileKind) -> Option<Result<PathBuf, String>> {
    let ends = |p: &&PathBuf| p.extension().is_some_and(|e| e.eq_ignore_ascii_case(kind.extension));
    let files: Vec<&PathBuf> =
        list.iter().filter(ends).filter(|p| format_of(p).is_some()).collect();
    let usual = files.iter().find(|p| p.file_name().is_some_and(|n| n == kind.usual));
    match (usual, files.as_slice()) {
        (Some(file), _) | (None, [file]) => Some(Ok((*file).clone())),
        (None, []) => None,
        (None, _) => {
            let FileKind { extension, usual, .. } = kind;
            Some(Err(format!("the version folder has several .{extension} files, none is {usual}")))
        }
    }
}

/// The stamp of the files among `paths`.
pub(super) fn stamp(paths: impl Iterator<Item = PathBuf>) -> Stamp {
    paths
        .take(MAX_FILES)
        .filter_map(|p| {
            let meta = std::fs::metadata(&p).ok().filter(std::fs::Metadata::is_file)?;
            Some((p, meta.modified().ok(), meta.len()))
        })
        .collect()
}

/// Which of `versions` the policy serves.
pub(super) fn chosen(policy: Option<&VersionPolicy>, versions: &BTreeMap<u64, Found>) -> Vec<u64> {
    match policy {
        None => versions.keys().rev().take(1).copied().collect(),
        Some(VersionPolicy::Latest(n)) => {
            versions.keys().rev().take(*n as usize).copied().collect()
        }
        Some(VersionPolicy::Specific(list)) => {
            list.iter().filter(|v| versions.contains_key(v)).copied().collect()
        }
        Some(VersionPolicy::All) => versions.keys().copied().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"x").unwrap();
        }
        dir
    }

    #[test]
    fn layouts() {
        // Files below the base, and the versions found with the file name or `None` for an error.
        type Case<'a> = (&'a str, &'a [&'a str], Option<Vec<(u64, Option<&'a str>)>>);
        let cases: [Case<'_>; 12] = [
            (
                "usual",
                &["1/model.onnx", "3/any.onnx"],
                Some(vec![(1, Some("model.onnx")), (3, Some("any.onnx"))]),
            ),
            ("no version folders", &["m.onnx"], Some(vec![(1, Some("m.onnx"))])),
            ("several models", &["2/a.onnx", "2/b.onnx"], Some(vec![(2, None)])),
            (
                "several, one usual",
                &["2/a.onnx", "2/model.onnx"],
                Some(vec![(2, Some("model.onnx"))]),
            ),
            (
                "of OpenVINO",
                &["1/model.xml", "1/model.bin", "2/net.xml", "2/net.bin", "2/mapping.xml"],
                Some(vec![(1, Some("model.xml")), (2, Some("net.xml"))]),
            ),
            (
                "both",
                &["1/model.xml", "1/model.bin", "1/model.onnx"],
                Some(vec![(1, Some("model.onnx"))]),
            ),
            (
                "of TensorFlow",
                &["1/saved_model.pb", "1/variables/variables.index", "2/frozen.pb"],
                Some(vec![(1, Some("saved_model.pb")), (2, Some("frozen.pb"))]),
            ),
            (
                "data beside a model",
                &["1/any.onnx", "1/input_0.pb", "1/output_0.pb"],
                Some(vec![(1, Some("any.onnx"))]),
            ),
            ("of Kaldi, to be refused", &["1/a.nnet"], Some(vec![(1, Some("a.nnet"))])),
            ("empty version", &["1/readme.txt"], Some(vec![(1, None)])),
            (
                "not versions",
                &["0/model.onnx", "01/model.onnx", "v1/model.onnx", "-1/m.onnx"],
                Some(vec![]),
            ),
            ("empty", &["readme.txt"], Some(vec![])),
        ];
        for (label, files, expected) in cases {
            let dir = tree(files);
            let got = versions(dir.path()).ok().map(|found| {
                let name = |p: &PathBuf| p.file_name().unwrap().to_string_lossy().into_owned();
                found.iter().map(|(v, f)| (*v, f.file.as_ref().ok().map(name))).collect::<Vec<_>>()
            });
            let expected = expected
                .map(|list| list.into_iter().map(|(v, f)| (v, f.map(str::to_owned))).collect());
            assert_eq!(got, expected, "{label}");
        }
    }

    #[test]
    fn a_single_file_is_version_1() {
        let dir = tree(&["net.onnx"]);
        let file = dir.path().join("net.onnx");
        assert_eq!(versions(&file).unwrap()[&1].file, Ok(file));
    }

    #[test]
    fn policies() {
        let dir = tree(&["1/m.onnx", "2/m.onnx", "5/m.onnx"]);
        let found = versions(dir.path()).unwrap();
        let cases = [
            (None, vec![5]),
            (Some(VersionPolicy::Latest(2)), vec![5, 2]),
            (Some(VersionPolicy::Specific(vec![1, 4])), vec![1]),
            (Some(VersionPolicy::All), vec![1, 2, 5]),
        ];
        for (policy, expected) in cases {
            assert_eq!(chosen(policy.as_ref(), &found), expected, "{policy:?}");
        }
    }
}
