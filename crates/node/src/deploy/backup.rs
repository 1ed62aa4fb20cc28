//! Backups of what a node keeps: the active application and all documents, while they are served.
//!
//! A backup is the folder `backups/NAME` of the node's folder, with `applications` and `documents` as the node's folder has them: a
//! node that starts with a copy of it has the application and the documents of the moment of the backup.

use std::fs;
use std::path::{Path, PathBuf};

use stead_log::{DiskIo, write_manifest};
use stead_store::{SnapshotStats, Verified, verify};

use super::upload::failed;
use super::{Deployments, no_active, no_folder};
use crate::{Code, Error};

/// A backup that was written and read back.
#[derive(Debug, Clone)]
pub struct Backup {
    /// Where it is.
    pub folder: PathBuf,
    /// What was read back.
    pub documents: Verified,
}

/// The longest name.
const MAX_NAME: usize = 100;

impl Deployments {
    /// Writes a snapshot of all documents, from which they are read at the next start.
    ///
    /// # Errors
    /// [`Code::FailedPrecondition`] without an active application, and what the disk refuses.
    pub fn snapshot(&self) -> Result<SnapshotStats, Error> {
        self.documents()?.snapshot()
    }

    /// Writes a backup. Queries and feeding go on meanwhile; deployments wait.
    ///
    /// # Errors
    /// [`Code::InvalidArgument`] for names that are no plain names, [`Code::AlreadyExists`] for those that are taken;
    /// [`Code::FailedPrecondition`] without an active application; what the disk refuses.
    pub fn backup(&self, name: &str) -> Result<Backup, Error> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        if name.is_empty()
            || name.len() > MAX_NAME
            || name.starts_with('.')
            || !name.bytes().all(plain)
        {
            let text = format!(
                "{name:?} is no name for a backup: expected letters, digits, '.', '_' and '-'"
            );
            return Err(Error::new(Code::InvalidArgument, text));
        }
        let documents = self.documents()?;
        let sessions = self.sessions()?;
        let id = sessions.active.ok_or_else(no_active)?;
        let folder = documents.backups().ok_or_else(no_folder)?.join(name);
        if folder.exists() {
            let text = format!("there is a backup {name} already");
            return Err(Error::new(Code::AlreadyExists, text));
        }
        let written = (|| {
            documents.backup(&folder.join("documents"))?;
            let to = folder.join("applications");
            let session = Path::new("sessions").join(id.to_string());
            copy_folder(&sessions.folder.path().join(&session), &to.join(&session))
                .map_err(|e| failed("copy the application", &e))?;
            // The last of all: without it, no node takes the backup for whole.
            let io = DiskIo::new(&to).map_err(|e| failed("write the backup", &e))?;
            write_manifest(&io, "active", &id.0.to_le_bytes())
                .map_err(|e| Error::new(Code::Internal, format!("cannot write the backup: {e}")))?;
            let io =
                DiskIo::new(folder.join("documents")).map_err(|e| failed("read the backup", &e))?;
            let found = verify(&io, &mut |_| {})
                .map_err(|e| Error::new(Code::Internal, format!("cannot read the backup: {e}")))?;
            let problem = found.problems().next().cloned();
            match problem {
                None => Ok(found),
                Some(problem) => {
                    Err(Error::new(Code::Internal, format!("the backup is damaged: {problem}")))
                }
            }
        })();
        match written {
            Ok(documents) => Ok(Backup { folder, documents }),
            Err(error) => {
                // What is no backup should not look like one.
                let _ = fs::remove_dir_all(&folder);
                Err(error)
            }
        }
    }
}

/// Copies a folder with all below it, durably.
///
/// # Errors
/// What the file system answers.
pub fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut open = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = open.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if entry.file_type()?.is_dir() {
                open.push((from, to));
            } else {
                fs::copy(from, &to)?;
                fs::File::open(&to)?.sync_all()?;
            }
        }
        fs::File::open(&to)?.sync_all()?;
    }
    Ok(())
}
