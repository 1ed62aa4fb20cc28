//! Files that are read again while the server runs: when they change, and when it is told to.

use crate::tls::Tls;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Files that are read together.
pub trait Reload: Send + Sync {
    /// What they are, for the log.
    fn what(&self) -> &'static str;

    /// Which they are.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads them, and puts what they say in the place of what they said. Fails without any change.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn reload(&self) -> Result<(), String>;
}

impl Reload for Tls {
    fn what(&self) -> &'static str {
        "certificates"
    }

    fn files(&self) -> Vec<PathBuf> {
        Tls::files(self)
    }

    fn reload(&self) -> Result<(), String> {
        Tls::reload(self).map_err(|e| e.to_string())
    }
}

/// All that is read again, with how its files looked when they were read.
#[derive(Default)]
pub struct Reloads(Mutex<Vec<(Arc<dyn Reload>, Vec<Stamp>)>>);

impl std::fmt::Debug for Reloads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reloads")
    }
}

/// How a file looks from outside; `None` if it is not there. A file that is put in the place of another one has a
/// number of its own.
type Stamp = Option<(u64, i64, i64, u64)>;

fn stamp(path: &Path) -> Stamp {
    let m = std::fs::metadata(path).ok()?;
    Some((m.ino(), m.mtime(), m.mtime_nsec(), m.len()))
}

fn stamps(of: &dyn Reload) -> Vec<Stamp> {
    of.files().iter().map(|file| stamp(file)).collect()
}

impl Reloads {
    /// Those that were just read.
    pub fn new(all: Vec<Arc<dyn Reload>>) -> Reloads {
        Reloads(Mutex::new(all.into_iter().map(|one| (one.clone(), stamps(&*one))).collect()))
    }

    /// Reads again what has changed, or all of it, and logs what came of it. False if something could not be read.
    pub fn run(&self, all: bool) -> bool {
        let mut is_good = true;
        for (one, seen) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
            // Before the files are read: what changes meanwhile is read once more.
            let now = stamps(&**one);
            if !all && now == *seen {
                continue;
            }
            *seen = now;
            match one.reload() {
                Ok(()) => tracing::info!("{} read again", one.what()),
                Err(error) => {
                    is_good = false;
                    tracing::error!(
                        "{} not read again, those from before stay: {error}",
                        one.what()
                    );
                }
            }
        }
        is_good
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}
