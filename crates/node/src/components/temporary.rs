//! A folder in the temporary directory that goes with the process. What a process that was killed has left there, the next one removes:
//! each folder has a file that is locked as long as somebody uses it, and the kernel lets go of locks whatever a process died of.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::TempDir;

/// What the names of these folders begin with.
const PREFIX: &str = "stead-python-";

/// The file in each that is locked.
const LOCK: &str = "lock";

/// The folder, until this is dropped.
pub(super) struct Temporary {
    folder: TempDir,
    /// Let go of when the folder has gone.
    _lock: File,
}

impl Temporary {
    /// A new folder in another one, in which those that nobody uses any more are removed.
    ///
    /// # Errors
    /// What the disk refuses.
    pub(super) fn new(root: &Path) -> io::Result<Temporary> {
        sweep(root);
        loop {
            let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
            let path = folder.path().join(LOCK);
            let lock = File::create_new(&path)?;
            // Another process may have looked at it before it was locked here, and have taken it for an old one.
            if lock.try_lock().is_ok() && path.exists() {
                return Ok(Temporary { folder, _lock: lock });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes folders that nobody uses. Those without a lock are somebody else's, or about to be made.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_ours || !is_folder {
            continue;
        }
        // What another user's process has left cannot be removed, and is in nobody's way.
        let path = entry.path();
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => _ = fs::remove_dir_all(&path),
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_used_stays() {
        let root = tempfile::tempdir().unwrap();
        let used = Temporary::new(root.path()).unwrap();
        let left = |name: &str, files: &[&str]| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            files.iter().for_each(|file| fs::write(folder.join(file), "").unwrap());
        };
        left("stead-python-killed", &[LOCK, "module.py"]);
        left("stead-python-not-locked-yet", &["module.py"]);
        left("stead-other", &[LOCK]);
        fs::write(root.path().join("stead-python-file"), "").unwrap();
        let second = Temporary::new(root.path()).unwrap();
        let there = |name: &str| root.path().join(name).exists();
        assert!(!there("stead-python-killed"));
        for name in ["stead-python-not-locked-yet", "stead-other", "stead-python-file"] {
            assert!(there(name), "{name}");
        }
        assert!(used.path().join(LOCK).exists() && second.path() != used.path());
        let folder = used.path().to_owned();
        drop(used);
        assert!(!folder.exists() && second.path().exists());
    }
}
