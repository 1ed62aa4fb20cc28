//! Sessions on disk.
//!
//! | path | |
//! |---|---|
//! | `lock` | held by the process |
//! | `active` | manifest: the number of the active session, `u64`; 0 for none |
//! | `uploads/` | packages that are arriving; emptied at the start |
//! | `sessions/N/session` | manifest of a session; without it the session was not finished |
//! | `sessions/N/content/` | the files of its package, some of which other sessions and the store of Python packages have too |

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use stead_app::package::{PackageError, PackageFiles};
use stead_log::{DirLock, DiskIo, Io, read_manifest, write_manifest};

use super::session::{Content, Session, SessionId};
use super::upload::{Upload, failed};
use crate::{Code, Error};

/// The bytes that an unpacked package may have: large models are some gigabytes.
const MAX_UNPACKED: u64 = 16 << 30;

/// The largest file that is handed out or taken as a whole.
const MAX_CONTENT: u64 = 1 << 30;

/// The most bytes of a manifest of ours.
const MAX_MANIFEST: usize = 64;

const ACTIVE: &str = "active";
const SESSION: &str = "session";

pub(super) struct Folder {
    root: PathBuf,
    io: DiskIo,
    uploads: AtomicU64,
    _lock: Box<dyn DirLock>,
}

impl Folder {
    pub(super) fn open(root: &Path) -> Result<Folder, Error> {
        let io = DiskIo::new(root).map_err(|e| failed("make the folder of deployments", &e))?;
        let lock = io.lock().map_err(|_| {
            Error::new(Code::FailedPrecondition, "another process holds the folder of deployments")
        })?;
        let folder = Folder { root: root.to_owned(), io, uploads: AtomicU64::new(0), _lock: lock };
        let _ = fs::remove_dir_all(folder.root.join("uploads"));
        for name in ["uploads", "sessions"] {
            fs::create_dir_all(folder.root.join(name))
                .map_err(|e| failed("make the folder of deployments", &e))?;
        }
        Ok(folder)
    }

    /// Where sessions are.
    pub(super) fn path(&self) -> &Path {
        &self.root
    }

    fn session(&self, id: SessionId) -> PathBuf {
        self.root.join("sessions").join(id.to_string())
    }

    fn package(&self, id: SessionId) -> PathBuf {
        self.session(id).join("content")
    }

    /// The sessions in the order of their numbers. What was not finished is removed.
    pub(super) fn sessions(&self) -> Result<Vec<Session>, Error> {
        let unreadable = |e: io::Error| failed("read the sessions", &e);
        let mut list = Vec::new();
        for entry in fs::read_dir(self.root.join("sessions")).map_err(unreadable)? {
            let name = entry.map_err(unreadable)?.file_name();
            let Some(id) = name.to_str().and_then(|n| n.parse().ok()).map(SessionId) else {
                continue;
            };
            let bytes = self.session_io(id).and_then(|io| manifest(&io, SESSION));
            match bytes.ok().flatten().and_then(|bytes| Session::decode(id, &bytes)) {
                Some(session) => list.push(session),
                None => self.remove(id),
            }
        }
        list.sort_by_key(|session| session.id);
        Ok(list)
    }

    fn session_io(&self, id: SessionId) -> Result<DiskIo, Error> {
        DiskIo::new(self.session(id)).map_err(|e| failed("open a session", &e))
    }

    pub(super) fn write(&self, session: &Session) -> Result<(), Error> {
        let io = self.session_io(session.id)?;
        write_manifest(&io, SESSION, &session.encode())
            .map_err(|e| Error::new(Code::Internal, format!("cannot write a session: {e}")))
    }

    /// Removes a session; what cannot be removed is in nobody's way.
    pub(super) fn remove(&self, id: SessionId) {
        // The manifest first, so that what is left of the files is no session.
        let _ = fs::remove_file(self.session(id).join(SESSION));
        let _ = fs::remove_dir_all(self.session(id));
    }

    pub(super) fn active(&self) -> Result<Option<SessionId>, Error> {
        let Some(bytes) = manifest(&self.io, ACTIVE)? else { return Ok(None) };
        let damaged =
            || Error::new(Code::Internal, "the file that names the active session is damaged");
        let number = <[u8; 8]>::try_from(bytes.as_slice()).map_err(|_| damaged())?;
        let number = u64::from_le_bytes(number);
        Ok((number != 0).then_some(SessionId(number)))
    }

    pub(super) fn set_active(&self, id: Option<SessionId>) -> Result<(), Error> {
        let number = id.map_or(0, |id| id.0);
        write_manifest(&self.io, ACTIVE, &number.to_le_bytes())
            .map_err(|e| Error::new(Code::Internal, format!("cannot activate a session: {e}")))
    }

    pub(super) fn upload(&self) -> Result<Upload, Error> {
        let number = self.uploads.fetch_add(1, Ordering::Relaxed);
        let path = self.root.join("uploads").join(number.to_string());
        Upload::new(path).map_err(|e| failed("keep the application package", &e))
    }

    pub(super) fn unpack(&self, upload: Upload, id: SessionId) -> Result<(), Error> {
        let folder = self.package(id);
        fs::create_dir_all(&folder).map_err(|e| failed("make a session", &e))?;
        PackageFiles::unpack(upload.path(), &folder, MAX_UNPACKED).map_err(refused)
    }

    pub(super) fn copy(&self, from: SessionId, to: SessionId) -> Result<(), Error> {
        let files = PackageFiles::open(&self.package(from)).map_err(refused)?;
        for path in files.paths() {
            let to = self.within(to, path)?;
            let from = files.on_disk(path).unwrap_or(Path::new(path));
            link(from, &to).map_err(|e| failed("copy a session", &e))?;
        }
        Ok(())
    }

    /// The files of a session's package.
    pub(super) fn files(&self, id: SessionId) -> Result<PackageFiles, Error> {
        PackageFiles::open(&self.package(id)).map_err(refused)
    }

    /// A path below the package of a session.
    fn within(&self, id: SessionId, path: &str) -> Result<PathBuf, Error> {
        let is_plain = Path::new(path).components().all(|c| matches!(c, Component::Normal(_)));
        if !is_plain || path.contains(['\\', '\0']) {
            let text = format!("the path {path:?} is not within the package");
            return Err(Error::new(Code::InvalidArgument, text));
        }
        Ok(self.package(id).join(path))
    }

    pub(super) fn content(
        &self,
        id: SessionId,
        path: &str,
        recursive: bool,
    ) -> Result<Content, Error> {
        let path = path.trim_end_matches('/');
        let disk = self.within(id, path)?;
        let missing =
            || Error::new(Code::NotFound, format!("Session {id} does not contain a file '{path}'"));
        let metadata = fs::symlink_metadata(&disk).map_err(|_| missing())?;
        if metadata.is_file() {
            if metadata.len() > MAX_CONTENT {
                let text = format!("'{path}' has more than {MAX_CONTENT} bytes");
                return Err(Error::new(Code::PayloadTooLarge, text));
            }
            return fs::read(&disk).map(Content::File).map_err(|_| missing());
        }
        let (mut found, mut open) = (Vec::new(), vec![(disk, path.to_owned())]);
        while let Some((folder, prefix)) = open.pop() {
            for entry in fs::read_dir(folder).map_err(|_| missing())?.flatten() {
                let Ok(name) = entry.file_name().into_string() else { continue };
                let below = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    found.push(format!("{below}/"));
                    if recursive {
                        open.push((entry.path(), below));
                    }
                } else {
                    found.push(below);
                }
            }
        }
        found.sort();
        Ok(Content::Folder(found))
    }

    pub(super) fn write_content(
        &self,
        id: SessionId,
        path: &str,
        bytes: Option<&[u8]>,
    ) -> Result<(), Error> {
        let disk = self.within(id, path.trim_end_matches('/'))?;
        let folder = if bytes.is_some() { disk.parent() } else { Some(disk.as_path()) };
        let unwritable = |e: io::Error| failed("write a file of the package", &e);
        folder.map_or(Ok(()), fs::create_dir_all).map_err(unwritable)?;
        // The file may be that of other sessions too, which keep what they have.
        let gone = |result: io::Result<()>| match result {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            result => result,
        };
        let write = |bytes| gone(fs::remove_file(&disk)).and_then(|()| fs::write(&disk, bytes));
        bytes.map_or(Ok(()), write).map_err(unwritable)
    }

    pub(super) fn delete_content(&self, id: SessionId, path: &str) -> Result<(), Error> {
        let path = path.trim_end_matches('/');
        let disk = self.within(id, path)?;
        let missing =
            || Error::new(Code::NotFound, format!("Session {id} does not contain a file '{path}'"));
        let metadata = fs::symlink_metadata(&disk).map_err(|_| missing())?;
        let full = |_| {
            Error::new(Code::InvalidArgument, format!("File '{path}' is not an empty directory"))
        };
        match metadata.is_dir() {
            true => fs::remove_dir(&disk).map_err(full),
            false => fs::remove_file(&disk).map_err(|_| missing()),
        }
    }
}

/// Makes a file that is another one. Files of sessions are replaced and never changed, so both may be the same on the disk.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
}

fn manifest(io: &DiskIo, name: &str) -> Result<Option<Vec<u8>>, Error> {
    read_manifest(io, name, MAX_MANIFEST)
        .map_err(|e| Error::new(Code::Internal, format!("cannot read the deployments: {e}")))
}

/// A package that cannot be read, without where it lies.
fn refused(error: PackageError) -> Error {
    match error {
        PackageError::Unreadable { text, .. } => {
            Error::new(Code::Internal, format!("cannot read the application package: {text}"))
        }
        other => Error::new(Code::InvalidPackage, other.to_string()),
    }
}
