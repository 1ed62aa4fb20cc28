//! Whether the files of a store are what was written.

use stead_log::{Io, LogError, LogOptions, Recovery, check_log, tag};

use super::open::lock;
use super::record::begin;
use super::snapshot::{CheckedSnapshot, check, folder_failed, unfinished_copy};
use crate::error::StoreError;

/// What was found in the folder of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The newest first.
    pub snapshots: Vec<CheckedSnapshot>,
    /// The log, if it could be read.
    pub log: Option<Recovery>,
    /// What is wrong with the log, and records that neither it nor a snapshot has.
    pub problems: Vec<StoreError>,
    /// Whether a store can be opened that has everything that was acknowledged.
    pub opens: bool,
}

impl Verified {
    /// All that is wrong. Pieces that several snapshots have are told of each.
    pub fn problems(&self) -> impl Iterator<Item = &StoreError> {
        self.snapshots.iter().flat_map(|snapshot| &snapshot.problems).chain(&self.problems)
    }
}

/// The bytes of all files that [`verify`] reads at most.
///
/// # Errors
/// What the folder answers.
pub fn stored_bytes(io: &dyn Io) -> Result<u64, StoreError> {
    let unreadable = |what: &str, error: &std::io::Error| {
        let (action, what, kind) = ("read", what.to_owned(), error.kind());
        StoreError::Log(LogError::Io { action, what, kind })
    };
    let names = io.list().map_err(|e| unreadable("the folder of the documents", &e))?;
    let is_read = |name: &&String| name.ends_with(".pack") || name.ends_with(".log");
    let length =
        |name: &String| io.open(name).and_then(|file| file.len()).map_err(|e| unreadable(name, &e));
    names.iter().filter(is_read).map(length).sum()
}

/// Reads every byte of the snapshots and of the log of a store that nobody has open, and changes nothing. `progress` is told how many
/// bytes were read since it was told last.
///
/// # Errors
/// [`LogError::Locked`], and what the folder answers. What is wrong with the files is no error of this.
pub fn verify(io: &dyn Io, progress: &mut dyn FnMut(u64)) -> Result<Verified, StoreError> {
    let _lock = lock(io)?;
    let snapshots = check(io, progress)?;
    let names = io.list().map_err(folder_failed)?;
    let mut problems = Vec::from_iter(unfinished_copy(&names));
    let is_finished = problems.is_empty();
    let options = LogOptions { tag: tag("stead-documents"), ..LogOptions::default() };
    let visit = |lsn: u64, payload: &[u8]| {
        progress(payload.len() as u64);
        begin(payload).map(drop).map_err(|error| StoreError::Record { lsn, error })
    };
    let log = check_log(io, &options, visit).map_err(|error| problems.push(error)).ok();
    // Without any segment, the log begins anew behind the snapshot.
    let reaches = |from: u64| log.is_some_and(|log| log.segments == 0 || log.first_lsn <= from + 1);
    let whole = snapshots.iter().find(|snapshot| snapshot.problems.is_empty());
    let from = whole.and_then(|snapshot| snapshot.lsn).unwrap_or(0);
    // A log that has no segment does not tell that there was nothing behind an older snapshot.
    let is_newest = snapshots.first().is_none_or(|newest| newest.problems.is_empty());
    let has_log = log.is_some_and(|log| log.segments > 0);
    let opens = is_finished && reaches(from) && (is_newest || has_log);
    if let (false, true, Some(log)) = (opens, has_log, log) {
        problems.push(StoreError::Gap { from: from + 1, to: log.first_lsn.max(2) - 1 });
    }
    Ok(Verified { snapshots, log, problems, opens })
}
