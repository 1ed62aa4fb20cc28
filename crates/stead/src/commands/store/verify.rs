//! `stead store verify`.

use std::io::IsTerminal;
use std::path::Path;

use indicatif::ProgressBar;
use serde_json::{Value, json};
use stead_log::DiskIo;
use stead_store::{StoreError, Verified, stored_bytes, verify};

use super::documents;
use crate::failure::Failure;

/// Reads what is in a folder.
///
/// # Errors
/// When there is no such folder, a server has it, or it cannot be read.
pub(super) fn read(folder: &Path) -> Result<Verified, Failure> {
    let documents = documents(folder);
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", folder.display()));
    if !documents.is_dir() {
        return Err(fail(&"there is no such folder"));
    }
    let io = DiskIo::new(&documents).map_err(|e| fail(&e))?;
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(stored_bytes(&io).map_err(|e| fail(&e))?),
        false => ProgressBar::hidden(),
    };
    let found = verify(&io, &mut |bytes| bar.inc(bytes)).map_err(|e| fail(&e));
    bar.finish_and_clear();
    found
}

pub(super) fn run(folder: &Path, as_json: bool) -> Result<bool, Failure> {
    let found = read(folder)?;
    let problems = found.problems().count();
    if as_json {
        println!("{:#}", json_of(&found));
        return Ok(problems == 0);
    }
    for snapshot in &found.snapshots {
        let count: usize = snapshot.documents.iter().map(|(_, count)| count).sum();
        let state = if snapshot.problems.is_empty() { "whole" } else { "damaged" };
        let position = snapshot.lsn.map_or_else(|| "?".to_owned(), |lsn| lsn.to_string());
        println!("snapshot {}: {count} documents, position {position}, {state}", snapshot.number);
    }
    if let Some(log) = &found.log {
        println!(
            "log: {} segments, records {} to {}",
            log.segments,
            log.first_lsn,
            log.next_lsn - 1
        );
        if log.cut_bytes > 0 {
            println!(
                "log: {} bytes of an interrupted write follow, which are cut at the next start",
                log.cut_bytes
            );
        }
    }
    let mut told: Vec<String> = found.problems().map(ToString::to_string).collect();
    // What two snapshots share is damaged for both.
    told.sort();
    told.dedup();
    told.iter().for_each(|problem| eprintln!("damaged: {problem}"));
    eprintln!(
        "{}",
        match (told.is_empty(), found.opens) {
            (true, _) => "everything is as it was written",
            (false, true) =>
                "the documents can be opened all the same: an older snapshot and the log have them",
            (false, false) => "the documents cannot be opened",
        }
    );
    Ok(told.is_empty())
}

fn json_of(found: &Verified) -> Value {
    let problem = |error: &StoreError| match error {
        StoreError::Damaged { file, offset, reason } => {
            json!({"file": file, "offset": offset, "message": reason})
        }
        other => json!({"message": other.to_string()}),
    };
    let snapshots = found.snapshots.iter().map(|snapshot| {
        let documents: serde_json::Map<String, Value> =
            snapshot.documents.iter().map(|(kind, n)| (kind.clone(), (*n).into())).collect();
        json!({
            "number": snapshot.number,
            "position": snapshot.lsn,
            "documents": documents,
            "problems": snapshot.problems.iter().map(problem).collect::<Vec<_>>(),
        })
    });
    let log = found.log.as_ref().map(|log| {
        json!({
            "segments": log.segments,
            "first": log.first_lsn,
            "next": log.next_lsn,
            "torn_bytes": log.cut_bytes,
        })
    });
    json!({
        "opens": found.opens,
        "snapshots": snapshots.collect::<Vec<_>>(),
        "log": log,
        "problems": found.problems.iter().map(problem).collect::<Vec<_>>(),
    })
}
