//! A copy of a snapshot in another folder: what it takes to open a store there.

use std::io;

use stead_log::{Io, IoFile, LogError};

use super::table;
use super::write::{Kept, folder_failed};
use crate::error::StoreError;
use crate::packs;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Bytes after which they are made durable, as where [packs](crate::packs) are written.
const SYNC_BYTES: usize = 8 << 20;

/// Copies the files of a snapshot to a folder that has none. The table comes last: a copy that breaks off is no snapshot.
///
/// # Errors
/// What the disk answers.
pub(super) fn copy(from: &dyn Io, kept: &Kept, to: &dyn Io) -> Result<(), StoreError> {
    let of_store = |name: &String| {
        table::number_of(name).is_some()
            || packs::number_of(name).is_some()
            || name.ends_with(".log")
    };
    if to.list().map_err(folder_failed)?.iter().any(of_store) {
        let (action, what) = ("write a backup to", "a folder that has documents".to_owned());
        return Err(LogError::Io { action, what, kind: io::ErrorKind::AlreadyExists }.into());
    }
    let table = table::file_name(kept.number);
    for name in kept.packs.iter().map(|number| packs::file_name(*number)) {
        file(from, to, &name, &name).map_err(|error| failed("copy", &name, &error))?;
    }
    to.sync_dir().map_err(folder_failed)?;
    let unfinished = format!("{table}.new");
    let renamed = file(from, to, &table, &unfinished).and_then(|()| to.rename(&unfinished, &table));
    renamed.map_err(|error| failed("copy", &table, &error))?;
    to.sync_dir().map_err(folder_failed)
}

fn file(from: &dyn Io, to: &dyn Io, name: &str, new: &str) -> io::Result<()> {
    let (from, mut to): (_, Box<dyn IoFile>) = (from.open(name)?, to.create(new)?);
    let (mut buffer, mut at, mut synced) = (vec![0; COPY_BYTES], 0, 0);
    loop {
        let read = from.read_at(at as u64, &mut buffer)?;
        if read == 0 {
            return to.sync_data();
        }
        to.append(buffer.get(..read).unwrap_or_default())?;
        at += read;
        if at - synced >= SYNC_BYTES {
            to.sync_data()?;
            synced = at;
        }
    }
}

fn failed(action: &'static str, name: &str, error: &io::Error) -> StoreError {
    LogError::Io { action, what: name.to_owned(), kind: error.kind() }.into()
}
