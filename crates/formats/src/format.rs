//! The formats by the names of their files.

use crate::error::{FormatError, io};
use crate::{openvino, tensorflow};
use std::path::{Path, PathBuf};
use stead_onnx::{Limits, Model};

/// A format of model files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// ONNX.
    Onnx,
    /// OpenVINO IR.
    OpenVino,
    /// TensorFlow: a SavedModel, or a frozen GraphDef.
    TensorFlow,
    /// A network of Kaldi, which is refused with what to do.
    Kaldi,
}

/// What tells the format of a file.
pub struct FileKind {
    /// The end of the file's name, without the dot.
    pub extension: &'static str,
    /// The format.
    pub format: Format,
    /// What the file of a version is called by custom.
    pub usual: &'static str,
}

/// The formats that are looked for, the one that is taken where several files lie side by side first.
pub const FORMATS: &[FileKind] = &[
    FileKind { extension: "onnx", format: Format::Onnx, usual: "model.onnx" },
    FileKind { extension: "xml", format: Format::OpenVino, usual: "model.xml" },
    FileKind { extension: "pb", format: Format::TensorFlow, usual: tensorflow::SAVED_MODEL },
    FileKind { extension: "nnet", format: Format::Kaldi, usual: "model.nnet" },
    FileKind { extension: "mdl", format: Format::Kaldi, usual: "final.mdl" },
];

/// What to do with a network of Kaldi.
const KALDI: FormatError = FormatError::Format {
    format: "Kaldi's nnet format",
    remedy: "convert it with OpenVINO 2023 (`mo --framework kaldi --input_model FILE`) and serve the .xml and .bin, or rebuild \
             the network in PyTorch and export it to ONNX",
};

impl Format {
    /// The format that the name of a file tells.
    pub fn of(path: &Path) -> Option<Format> {
        let extension = path.extension()?;
        let known = FORMATS.iter().find(|kind| extension.eq_ignore_ascii_case(kind.extension));
        known.map(|kind| kind.format)
    }
}

/// The files that make a model: its own, and those with its constants beside it. Of the folder of a SavedModel those that are read
/// of it.
pub fn files(path: &Path) -> Vec<PathBuf> {
    let inside = path.join(tensorflow::SAVED_MODEL);
    let path = if inside.is_file() { inside.as_path() } else { path };
    let mut files = vec![path.to_owned()];
    match Format::of(path) {
        Some(Format::OpenVino) => files.push(path.with_extension("bin")),
        Some(Format::TensorFlow) => {
            let folder = path.with_file_name("variables");
            let inside = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut inside: Vec<PathBuf> = inside.map(|file| file.path()).collect();
            inside.sort();
            files.extend(inside);
        }
        _ => {}
    }
    files.retain(|file| file.is_file() || file == path);
    files
}

/// Reads a model of any format. A file whose name tells none is taken for ONNX, unless it begins as a network of Kaldi.
///
/// # Errors
/// [`FormatError`], naming what is not read and what to do.
pub fn read(path: &Path, limits: &Limits) -> Result<Model, FormatError> {
    match Format::of(path) {
        Some(Format::OpenVino) => openvino::read(path, limits),
        Some(Format::TensorFlow) => tensorflow::read(path, limits),
        Some(Format::Kaldi) => Err(KALDI),
        None if path.join(tensorflow::SAVED_MODEL).is_file() => tensorflow::read(path, limits),
        Some(Format::Onnx) => Ok(Model::read(path, limits)?),
        None if is_kaldi(path)? => Err(KALDI),
        None => Ok(Model::read(path, limits)?),
    }
}

/// The bytes of the ONNX model that a file of another format becomes, for runtimes that read ONNX only; `None` for ONNX itself, which
/// they find in the file.
///
/// # Errors
/// As [`read`].
pub fn as_onnx(path: &Path, limits: &Limits) -> Result<Option<Vec<u8>>, FormatError> {
    match Format::of(path) {
        Some(Format::Onnx) => Ok(None),
        None if path.is_file() => Ok(None),
        _ => Ok(Some(read(path, limits)?.to_bytes())),
    }
}

/// Beginnings of Kaldi's networks, binary (after a zero byte and `B`) and as text.
const KALDI_STARTS: [&[u8]; 6] = [
    b"\0B<Nnet",
    b"\0B<TransitionModel",
    b"\0BNnet",
    b"<Nnet",
    b"<TransitionModel",
    b"\0B<AffineTransform",
];

fn is_kaldi(path: &Path) -> Result<bool, FormatError> {
    use std::io::Read;
    if !path.is_file() {
        return Ok(false);
    }
    let file = std::fs::File::open(path).map_err(io("the model file"))?;
    let mut start = Vec::new();
    file.take(32).read_to_end(&mut start).map_err(io("the model file"))?;
    Ok(KALDI_STARTS.iter().any(|magic| start.starts_with(magic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_names() {
        let cases = [
            ("model.onnx", Some(Format::Onnx)),
            ("1/Model.XML", Some(Format::OpenVino)),
            ("1/saved_model.pb", Some(Format::TensorFlow)),
            ("a.nnet", Some(Format::Kaldi)),
            ("final.mdl", Some(Format::Kaldi)),
            ("a.bin", None),
            ("onnx", None),
        ];
        for (name, format) in cases {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn the_files_of_a_model_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in [
            "ir/model.xml",
            "ir/model.bin",
            "tf/saved_model.pb",
            "tf/variables/variables.index",
            "tf/variables/variables.data-00000-of-00001",
            "tf/assets/vocabulary.txt",
            "one.onnx",
        ] {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, b"").unwrap();
        }
        let variables = ["variables.data-00000-of-00001", "variables.index"];
        let variables = variables.map(|name| format!("tf/variables/{name}"));
        let saved = ["tf/saved_model.pb", &variables[0], &variables[1]];
        let cases: [(&str, &[&str]); 5] = [
            ("ir/model.xml", &["ir/model.xml", "ir/model.bin"]),
            ("tf/saved_model.pb", &saved),
            ("tf", &saved),
            ("one.onnx", &["one.onnx"]),
            ("none.onnx", &["none.onnx"]),
        ];
        for (name, expected) in cases {
            let expected: Vec<PathBuf> = expected.iter().map(|name| root.join(name)).collect();
            assert_eq!(files(&root.join(name)), expected, "{name}");
        }
    }

    #[test]
    fn networks_of_kaldi_are_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("rm.nnet", &b"anything"[..]),
            ("renamed", b"\0B<Nnet> <AffineTransform>"),
            ("renamed.txt", b"<TransitionModel> "),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let text = read(&path, &Limits::default()).unwrap_err().to_string();
            assert!(text.contains("mo --framework kaldi"), "{name}: {text}");
        }
    }
}
