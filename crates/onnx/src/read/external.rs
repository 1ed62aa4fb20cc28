//! Data of tensors that lies in files beside the model.

use super::{Source, tensor::allocate};
use crate::{OnnxError, error::quote, proto};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use stead_tensor::AlignedBuf;

/// The folder of a model, which external data may not leave.
pub(crate) struct Folder {
    path: PathBuf,
    /// Open files by location, with their lengths: models keep hundreds of tensors in one file.
    files: HashMap<String, (File, u64)>,
    /// Bytes that may still be read. Ranges may overlap, so the lengths of the files bound nothing.
    bytes_left: u64,
}

/// Files kept open at once; the process has other uses for its descriptors.
const MAX_OPEN: usize = 16;

impl Folder {
    /// The folder at `path`, of which at most `max_bytes` are read.
    pub(super) fn new(path: &Path, max_bytes: u64) -> Folder {
        Folder { path: path.to_owned(), files: HashMap::new(), bytes_left: max_bytes }
    }
}

/// Where a tensor's data lies.
#[derive(Default)]
struct Place<'a> {
    location: &'a str,
    offset: u64,
    length: Option<u64>,
}

/// Reads the `expected` bytes of a tensor.
pub(super) fn read(
    entries: &[proto::StringStringEntryProto],
    tensor: &str,
    expected: usize,
    source: &mut Source<'_>,
) -> Result<AlignedBuf, OnnxError> {
    let bad = |reason: String| OnnxError::ExternalData { tensor: tensor.to_owned(), reason };
    let place = place(entries).map_err(bad)?;
    let folder = source
        .folder
        .as_mut()
        .ok_or_else(|| bad("is not allowed, for the model has no folder".to_owned()))?;
    let shown = quote(place.location);
    if place.length.is_some_and(|length| length != expected as u64) {
        let length = place.length.unwrap_or_default();
        return Err(bad(format!("of {length} bytes in {shown}, {expected} expected")));
    }
    folder.bytes_left = folder.bytes_left.checked_sub(expected as u64).ok_or_else(|| {
        let (limit, actual) = (folder.bytes_left, expected as u64);
        OnnxError::Limit { what: format!("external data of tensor {tensor}"), limit, actual }
    })?;
    let (file, file_len) = open(folder, place.location).map_err(bad)?;
    let end = place.offset.checked_add(expected as u64);
    if end.is_none_or(|end| end > *file_len) {
        let (offset, len) = (place.offset, *file_len);
        return Err(bad(format!(
            "ends beyond {shown}: {expected} bytes at offset {offset} of {len}"
        )));
    }
    let mut buffer = allocate(tensor, expected)?;
    file.seek(SeekFrom::Start(place.offset))
        .and_then(|_| file.read_exact(&mut buffer))
        .map_err(|e| bad(format!("in {shown} cannot be read: {}", e.kind())))?;
    Ok(buffer)
}

/// The entries in typed form. `checksum` is not checked; keys that the format does not know are ignored, as
/// it allows writers to add some.
fn place(entries: &[proto::StringStringEntryProto]) -> Result<Place<'_>, String> {
    let mut place = Place::default();
    for entry in entries {
        let value = entry.value();
        let number = || value.parse::<u64>().map_err(|_| format!("{} is no number", quote(value)));
        match entry.key() {
            "location" => place.location = value,
            "offset" => place.offset = number()?,
            "length" => place.length = Some(number()?),
            _ => {}
        }
    }
    if place.location.is_empty() { Err("has no location".to_owned()) } else { Ok(place) }
}

/// The open file at `location`, which must lie inside of the folder after all symbolic links are resolved.
fn open<'a>(folder: &'a mut Folder, location: &str) -> Result<&'a mut (File, u64), String> {
    let shown = quote(location);
    if !folder.files.contains_key(location) {
        let path = resolve(&folder.path, location)?;
        let failed = |e: std::io::Error| format!("{shown} cannot be read: {}", e.kind());
        // Asked before opening: a pipe would block the opener for ever.
        if !std::fs::metadata(&path).map_err(failed)?.is_file() {
            return Err(format!("{shown} is not a file"));
        }
        let file = File::open(&path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if folder.files.len() >= MAX_OPEN {
            folder.files.clear();
        }
        folder.files.insert(location.to_owned(), (file, len));
    }
    folder.files.get_mut(location).ok_or_else(|| format!("{shown} is not open"))
}

fn resolve(folder: &Path, location: &str) -> Result<PathBuf, String> {
    let shown = quote(location);
    let relative = Path::new(location);
    let inside =
        relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    // A backslash separates on the machines that many models come from.
    if !inside || location.contains(['\\', '\0', ':']) {
        return Err(format!("{shown} leaves the model's folder"));
    }
    let failed = |e: std::io::Error| format!("{shown} cannot be read: {}", e.kind());
    let root = folder.canonicalize().map_err(failed)?;
    let path = root.join(relative).canonicalize().map_err(failed)?;
    if !path.starts_with(&root) {
        return Err(format!("{shown} leaves the model's folder"));
    }
    Ok(path)
}
