//! Data of tensors that lies in files beside the model.

use super::{Source, tables::Tables, weights::each_tensor};
use crate::{
    OnnxError,
    error::{self, quote},
    proto,
};
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use stead_tensor::{AlignedBuf, TensorError};

/// Finds the bytes of a file by its location, a relative path without `..` from the folder of the model.
pub type FindFile<'f> = dyn Fn(&str) -> Result<Vec<u8>, String> + 'f;

/// Where the files of a model are.
#[derive(Clone, Copy)]
pub(crate) enum Root<'a> {
    /// In a folder, which external data may not leave.
    Folder(&'a Path),
    /// Where they are found.
    Files(&'a FindFile<'a>),
}

/// The files of external data.
pub(crate) struct Files<'a> {
    root: Root<'a>,
    /// Open files by location: models keep hundreds of tensors in one file.
    open: HashMap<String, Open>,
    /// Bytes that may still be read. Ranges may overlap, so the lengths of the files bound nothing.
    bytes_left: u64,
}

/// A file that tensors are read from.
enum Open {
    /// On disk, with its length.
    Disk(File, u64),
    /// As it was found.
    Memory(Vec<u8>),
}

/// Files kept open at once; the process has other uses for its descriptors.
const MAX_OPEN: usize = 16;

impl<'a> Files<'a> {
    /// The files at a root, of which at most `max_bytes` are read.
    pub(super) fn new(root: Root<'a>, max_bytes: u64) -> Files<'a> {
        Files { root, open: HashMap::new(), bytes_left: max_bytes }
    }
}

impl Open {
    fn len(&self) -> u64 {
        match self {
            Open::Disk(_, len) => *len,
            Open::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The `len` bytes of a tensor from an offset. The file has as many.
    fn read(
        &mut self,
        (offset, len): (u64, usize),
        tensor: &str,
        tables: &Tables,
    ) -> Result<std::io::Result<AlignedBuf>, TensorError> {
        match self {
            Open::Disk(file, _) => {
                if let Err(e) = file.seek(SeekFrom::Start(offset)) {
                    return Ok(Err(e));
                }
                match tables.aside(tensor, len, |room| room.read(len, &*file)) {
                    Some(read) => Ok(read),
                    None => AlignedBuf::filled(len, |room| room.read_file(file)),
                }
            }
            Open::Memory(bytes) => {
                let from = usize::try_from(offset).ok().and_then(|at| bytes.get(at..));
                let Some(bytes) = from.and_then(|rest| rest.get(..len)) else {
                    return Ok(Err(std::io::ErrorKind::UnexpectedEof.into()));
                };
                match tables.aside(tensor, len, |room| room.read(len, bytes)) {
                    Some(read) => Ok(read),
                    None => AlignedBuf::copy_of(bytes).map(Ok),
                }
            }
        }
    }
}

/// Where a tensor's data lies.
#[derive(Default)]
struct Place<'a> {
    location: &'a str,
    offset: u64,
    length: Option<u64>,
}

/// Reads the `expected` bytes of a tensor, which messages call `tensor`.
pub(super) fn read(
    proto: &proto::TensorProto,
    tensor: &str,
    expected: usize,
    source: &mut Source<'_>,
) -> Result<AlignedBuf, OnnxError> {
    let bad = |reason: String| OnnxError::ExternalData { tensor: tensor.to_owned(), reason };
    let place = place(&proto.external_data).map_err(bad)?;
    let files = source
        .files
        .as_mut()
        .ok_or_else(|| bad("is not allowed, for the model has no folder".to_owned()))?;
    let shown = quote(place.location);
    if place.length.is_some_and(|length| length != expected as u64) {
        let length = place.length.unwrap_or_default();
        return Err(bad(format!("of {length} bytes in {shown}, {expected} expected")));
    }
    files.bytes_left = files.bytes_left.checked_sub(expected as u64).ok_or_else(|| {
        let (limit, actual) = (files.bytes_left, expected as u64);
        OnnxError::Limit { what: format!("external data of tensor {tensor}"), limit, actual }
    })?;
    let file = open(files, place.location).map_err(bad)?;
    let end = place.offset.checked_add(expected as u64);
    if end.is_none_or(|end| end > file.len()) {
        let (offset, len) = (place.offset, file.len());
        return Err(bad(format!(
            "ends beyond {shown}: {expected} bytes at offset {offset} of {len}"
        )));
    }
    let read = file.read((place.offset, expected), proto.name(), &source.tables);
    let read = read.map_err(error::memory(&format!("tensor {tensor}")))?;
    read.map_err(|e| bad(format!("in {shown} cannot be read: {}", e.kind())))
}

/// The locations of the files that the tensors of a model lie in, in order, each once.
///
/// # Errors
/// Those that leave the folder of the model.
pub(super) fn locations(model: &mut proto::ModelProto) -> Result<Vec<String>, OnnxError> {
    let (mut found, mut wrong) = (BTreeSet::new(), None);
    each_tensor(model, &mut |tensor| {
        if tensor.data_location() != proto::tensor_proto::DataLocation::External {
            return;
        }
        let place = place(&tensor.external_data);
        let inside = place.and_then(|at| stays_inside(at.location).map(|()| at.location));
        match inside {
            Ok(location) => _ = found.insert(location.to_owned()),
            Err(reason) => {
                let tensor = quote(tensor.name());
                wrong.get_or_insert(OnnxError::ExternalData { tensor, reason });
            }
        }
    });
    wrong.map_or_else(|| Ok(found.into_iter().collect()), Err)
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
fn open<'f>(files: &'f mut Files<'_>, location: &str) -> Result<&'f mut Open, String> {
    let shown = quote(location);
    if !files.open.contains_key(location) {
        let (found, most) = match files.root {
            Root::Folder(path) => (on_disk(path, location)?, MAX_OPEN),
            Root::Files(find) => {
                stays_inside(location)?;
                let bytes =
                    find(location).map_err(|text| format!("in {shown} cannot be read: {text}"))?;
                // Whole files: one at a time.
                (Open::Memory(bytes), 1)
            }
        };
        if files.open.len() >= most {
            files.open.clear();
        }
        files.open.insert(location.to_owned(), found);
    }
    files.open.get_mut(location).ok_or_else(|| format!("{shown} is not open"))
}

fn on_disk(folder: &Path, location: &str) -> Result<Open, String> {
    let shown = quote(location);
    let path = resolve(folder, location)?;
    let failed = |e: std::io::Error| format!("{shown} cannot be read: {}", e.kind());
    // Asked before opening: a pipe would block the opener for ever.
    if !std::fs::metadata(&path).map_err(failed)?.is_file() {
        return Err(format!("{shown} is not a file"));
    }
    let file = File::open(&path).map_err(failed)?;
    let len = file.metadata().map_err(failed)?.len();
    Ok(Open::Disk(file, len))
}

/// Whether a location can only be in the folder, links aside.
fn stays_inside(location: &str) -> Result<(), String> {
    let inside = Path::new(location)
        .components()
        .all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    // A backslash separates on the machines that many models come from.
    if !inside || location.contains(['\\', '\0', ':']) {
        return Err(format!("{} leaves the model's folder", quote(location)));
    }
    Ok(())
}

fn resolve(folder: &Path, location: &str) -> Result<PathBuf, String> {
    let shown = quote(location);
    stays_inside(location)?;
    let failed = |e: std::io::Error| format!("{shown} cannot be read: {}", e.kind());
    let root = folder.canonicalize().map_err(failed)?;
    let path = root.join(location).canonicalize().map_err(failed)?;
    if !path.starts_with(&root) {
        return Err(format!("{shown} leaves the model's folder"));
    }
    Ok(path)
}
