//! The files of a collection: where they lie, and how they are read.

use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::packed::unpacked;

/// What the documents of a package may be called, the likeliest first: as in our examples, as people shorten it, as BEIR has it.
const DOCUMENTS: [&str; 3] = ["documents.jsonl", "docs.jsonl", "corpus.jsonl"];

/// A collection in the layout of BEIR: the files of queries, judgements and documents below a folder, packed ones where there are no
/// others.
pub(super) fn beir(folder: &Path) -> [PathBuf; 3] {
    ["queries.jsonl", "qrels/test.tsv", "corpus.jsonl"].map(|name| {
        let packed = folder.join(format!("{name}.gz"));
        let plain = folder.join(name);
        if !plain.exists() && packed.exists() { packed } else { plain }
    })
}

/// The documents that lie in the folder of a package, or beside it.
pub(super) fn documents_of(package: &Path) -> Result<PathBuf, Failure> {
    let beside = match package.file_name().and(package.parent()) {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => package.join(".."),
    };
    let folders = [package, &beside];
    let mut all = folders.iter().flat_map(|folder| DOCUMENTS.map(|name| folder.join(name)));
    all.find(|path| path.is_file()).ok_or_else(|| {
        Failure::usage(format!(
            "expected the documents in {} or {}, as {}; --docs names another file, --target a server that has them",
            package.display(),
            beside.display(),
            DOCUMENTS.join(", ")
        ))
    })
}

/// A file, unpacked by its ending.
pub(super) fn open(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    let opened = File::open(path).and_then(|file| unpacked(path, file));
    opened.map_err(|e| Failure::failed(format!("{}: {e}", path.display())))
}

/// The first byte that is not blank, which tells what stands in a file; it stays in the reader.
pub(super) fn first(path: &Path, reader: &mut dyn BufRead) -> Result<Option<u8>, Failure> {
    loop {
        let fail = |e| Failure::failed(format!("{}: {e}", path.display()));
        let buffer = reader.fill_buf().map_err(fail)?;
        let found = buffer.iter().copied().find(|byte| !byte.is_ascii_whitespace());
        if buffer.is_empty() || found.is_some() {
            return Ok(found);
        }
        let blank = buffer.len();
        reader.consume(blank);
    }
}

/// Calls something with each line that is not empty, and its number from 1.
pub(super) fn lines(
    path: &Path,
    reader: impl BufRead,
    mut each: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), Failure> {
    for (number, line) in reader.lines().enumerate() {
        let fail = |e: String| Failure::failed(format!("{}:{}: {e}", path.display(), number + 1));
        let line = line.map_err(|e| fail(e.to_string()))?;
        if !line.trim().is_empty() {
            each(number + 1, line.trim_end_matches('\r')).map_err(fail)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufReader, Read};
    use std::path::Path;

    use super::{documents_of, first};

    #[test]
    fn documents_lie_in_a_package_or_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        fs::create_dir(&app).unwrap();
        let told = documents_of(&app).unwrap_err().to_string();
        for part in ["documents.jsonl, docs.jsonl, corpus.jsonl", "--docs", "--target"] {
            assert!(told.contains(part), "{told}");
        }
        // Each that is added is looked for before those that were there.
        for name in ["corpus.jsonl", "docs.jsonl", "app/corpus.jsonl", "app/documents.jsonl"] {
            fs::write(folder.path().join(name), "").unwrap();
            assert_eq!(documents_of(&app).unwrap(), folder.path().join(name));
        }
    }

    #[test]
    fn the_first_byte_tells_what_a_file_has_and_stays() {
        for (text, expected, left) in
            [("", None, ""), (" \n\t\r\n  ", None, ""), ("\n\n  [1]", Some(b'['), "[1]")]
        {
            let mut reader = BufReader::with_capacity(1, text.as_bytes());
            assert_eq!(first(Path::new("a"), &mut reader).unwrap(), expected, "{text:?}");
            let mut rest = String::new();
            reader.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, left, "{text:?}");
        }
    }
}
