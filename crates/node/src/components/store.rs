//! What interpreters open, kept once for each content: archives of Python packages, and the distributions that they bundle.
//!
//! | path | |
//! |---|---|
//! | `packages/<digest>.pkg` | an archive, which nobody changes: interpreters map it |
//! | `bundles/<digest>/` | the files of a distribution |
//! | `stages/<any>/` | the packages that are sources in one application package |
//!
//! Deployments whose packages have the same content share them. What no application has any more goes when another one is
//! deployed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use stead_app::package::PackageFiles;
use tempfile::TempDir;
use xxhash_rust::xxh3::Xxh3;

use super::temporary::Temporary;

/// What is read of a file at a time.
const PIECE: usize = 1 << 18;

const PACKAGES: &str = "packages";
const BUNDLES: &str = "bundles";
const STAGES: &str = "stages";

/// The contents.
pub(crate) struct Store {
    place: Place,
    /// Those that somebody has, by their paths.
    held: Mutex<HashMap<PathBuf, Weak<Stored>>>,
}

enum Place {
    /// A folder of the server, beside which lie files that nobody else changes.
    Own { folder: PathBuf, beside: PathBuf },
    /// A folder that goes with the process, made when it is first needed.
    Temporary(OnceLock<Temporary>),
}

/// A content that stays as long as somebody has this.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    path: PathBuf,
}

impl Stored {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Default for Store {
    fn default() -> Store {
        Store { place: Place::Temporary(OnceLock::new()), held: Mutex::default() }
    }
}

impl Store {
    /// A store in a folder of the server. Files below `beside` are the server's own and on the same disk: they are linked,
    /// not copied.
    pub(crate) fn own(folder: &Path, beside: &Path) -> Store {
        // Code of packages may go to another folder.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let beside = beside.to_owned();
        Store { place: Place::Own { folder, beside }, held: Mutex::default() }
    }

    fn folder(&self, below: &str) -> io::Result<PathBuf> {
        let root = match &self.place {
            Place::Own { folder, .. } => folder,
            Place::Temporary(made) => match made.get() {
                Some(made) => made.path(),
                None => {
                    let new = Temporary::new(&std::env::temp_dir())?;
                    made.get_or_init(|| new).path()
                }
            },
        };
        let folder = root.join(below);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The folder in which distributions are unpacked, each in a folder of its own.
    ///
    /// # Errors
    /// What the disk refuses.
    pub(super) fn bundles(&self) -> Result<PathBuf, String> {
        self.folder(BUNDLES).map_err(|e| failed(&e))
    }

    /// A new folder with what keeps it. It goes with its handle, or, if the process is killed, when the store is swept next.
    ///
    /// # Errors
    /// What the disk refuses.
    pub(super) fn stage(&self) -> io::Result<(TempDir, Arc<Stored>)> {
        let stages = self.folder(STAGES)?;
        // Under the lock, for nobody may sweep before it is held.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir_in(stages)?;
        let stored = Arc::new(Stored { path: folder.path().to_owned() });
        held.insert(stored.path.clone(), Arc::downgrade(&stored));
        Ok((folder, stored))
    }

    /// Keeps what lies at a path of the store.
    pub(super) fn hold(&self, path: PathBuf) -> Arc<Stored> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = held.get(&path).and_then(Weak::upgrade) {
            return stored;
        }
        let stored = Arc::new(Stored { path: path.clone() });
        held.insert(path, Arc::downgrade(&stored));
        stored
    }

    /// An archive of an application package. One that the server unpacked itself is linked: the deployment's and this are one
    /// file on the disk, and further deployments of the same content have it too. No more than a piece of it is in memory.
    ///
    /// # Errors
    /// What the disk refuses, and files that cannot be read.
    pub(super) fn archive(&self, files: &PackageFiles, path: &str) -> Result<Arc<Stored>, String> {
        let source = files.on_disk(path);
        let own = match &self.place {
            Place::Own { beside, .. } => source.filter(|source| source.starts_with(beside)),
            Place::Temporary(_) => None,
        };
        let added = match own {
            Some(source) => self.add_own(source),
            None => {
                let reader = files.reader(path).map_err(|error| error.to_string())?;
                self.add_foreign(source, reader)
            }
        };
        Ok(self.hold(added.map_err(|e| failed(&e))?))
    }

    /// Adds a file that nobody changes.
    fn add_own(&self, source: &Path) -> io::Result<PathBuf> {
        let folder = self.folder(PACKAGES)?;
        let target = folder.join(name(&mut File::open(source)?)?);
        if is_same(source, &target)? {
            // The deployment lets go of its own copy; what cannot be linked stays as it is.
            let _ = replace(&target, source);
        } else if replace(source, &target).is_err() {
            copied(source, &folder)?.persist(&target)?;
        }
        Ok(target)
    }

    /// Adds bytes that others may change later: what was copied counts.
    fn add_foreign(&self, source: Option<&Path>, mut bytes: impl Read) -> io::Result<PathBuf> {
        let folder = self.folder(PACKAGES)?;
        let copy = match source {
            Some(source) => copied(source, &folder)?,
            None => {
                let mut copy = tempfile::NamedTempFile::new_in(&folder)?;
                io::copy(&mut bytes, &mut copy)?;
                copy
            }
        };
        let target = folder.join(name(&mut copy.reopen()?)?);
        if !is_same(copy.path(), &target)? {
            copy.persist(&target)?;
        }
        Ok(target)
    }

    /// Removes what nobody has.
    pub(crate) fn sweep(&self) {
        let Place::Own { folder, .. } = &self.place else { return };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, stored| stored.strong_count() > 0);
        for below in [PACKAGES, BUNDLES, STAGES] {
            // There may be none yet, and what cannot be removed is in nobody's way.
            let Ok(entries) = fs::read_dir(folder.join(below)) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                if !held.contains_key(&path) {
                    let _ = if path.is_dir() {
                        fs::remove_dir_all(path)
                    } else {
                        fs::remove_file(path)
                    };
                }
            }
        }
    }
}

/// A copy of a file under a name of its own, without its bytes where the file system can share them.
fn copied(source: &Path, folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut copy = tempfile::NamedTempFile::new_in(folder)?;
    io::copy(&mut File::open(source)?, copy.as_file_mut())?;
    copy.as_file().sync_data()?;
    Ok(copy)
}

/// Puts a link to `from` where `to` is or was; who has `to` open keeps what it was.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    let mut link = OsString::from(to);
    link.push(".link");
    let _ = fs::remove_file(&link);
    fs::hard_link(from, &link)?;
    fs::rename(&link, to).inspect_err(|_| drop(fs::remove_file(&link)))?;
    // Renaming one name of a file to another of the same file does nothing.
    let _ = fs::remove_file(&link);
    Ok(())
}

/// What an archive is called: 128 bits of a hash of its content. Nothing rests on the hash alone: contents are compared.
fn name(file: &mut File) -> io::Result<String> {
    let (mut hash, mut piece) = (Xxh3::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(format!("{:032x}.pkg", hash.digest128())),
            length => hash.update(piece.get(..length).unwrap_or_default()),
        }
    }
}

/// Whether there is a second file with the bytes of a first.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = match (File::open(one)?, File::open(other)) {
        (one, Ok(other)) => (one, other),
        (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        (_, Err(error)) => return Err(error),
    };
    let sizes = (one.metadata()?, other.metadata()?);
    if sizes.0.len() != sizes.1.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let length = one.read(&mut left)?;
        let (Some(left), Some(right)) = (left.get(..length), right.get_mut(..length)) else {
            return Ok(false);
        };
        if length == 0 {
            return Ok(true);
        }
        match other.read_exact(right) {
            Ok(()) if left == right => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// The texts of the system name no path.
fn failed(error: &io::Error) -> String {
    format!("cannot keep a Python package: {error}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// A folder of deployments with these packages.
    fn deployments(root: &Path, packages: &[(&str, &[u8])]) -> Vec<PackageFiles> {
        let write = |(name, bytes): &(&str, &[u8])| {
            let folder = root.join("applications").join(name);
            fs::create_dir_all(folder.join("python")).unwrap();
            fs::write(folder.join("python/a.pkg"), bytes).unwrap();
            PackageFiles::open(&folder).unwrap()
        };
        packages.iter().map(write).collect()
    }

    #[test]
    fn deployments_of_one_content_share_one_file() {
        let root = tempfile::tempdir().unwrap();
        let weights = vec![7u8; 3 * PIECE + 1];
        let mut other = weights.clone();
        other[2 * PIECE] = 8;
        let packages: [(&str, &[u8]); 3] = [("1", &weights), ("2", &weights), ("3", &other)];
        let files = deployments(root.path(), &packages);
        let store = Store::own(&root.path().join("python"), &root.path().join("applications"));
        let stored: Vec<_> =
            files.iter().map(|files| store.archive(files, "python/a.pkg").unwrap()).collect();
        assert_eq!(stored[0], stored[1]);
        assert_ne!(stored[0], stored[2]);
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        for (i, of) in [0, 0, 2].into_iter().enumerate() {
            let own = files[i].on_disk("python/a.pkg").unwrap();
            assert_eq!(inode(own), inode(stored[of].path()), "deployment {i}");
            assert_eq!(fs::read(own).unwrap(), packages[i].1, "deployment {i}");
        }
        // The same again changes nothing, and leaves nothing behind.
        assert_eq!(store.archive(&files[1], "python/a.pkg").unwrap(), stored[0]);
        assert_eq!(names(&root.path().join("python/packages")).len(), 2);
        assert_eq!(names(&root.path().join("applications/1/python")), ["a.pkg"]);
    }

    #[test]
    fn files_of_others_are_copied() {
        let root = tempfile::tempdir().unwrap();
        let files = deployments(root.path(), &[("1", b"one")]);
        let texts = PackageFiles::from_texts([("python/a.pkg", "one")]).unwrap();
        let own = Store::own(&root.path().join("python"), &root.path().join("elsewhere"));
        for store in [Store::default(), own] {
            let stored = store.archive(&files[0], "python/a.pkg").unwrap();
            let disk = files[0].on_disk("python/a.pkg").unwrap();
            assert_ne!(
                fs::metadata(disk).unwrap().ino(),
                fs::metadata(stored.path()).unwrap().ino()
            );
            assert_eq!(store.archive(&texts, "python/a.pkg").unwrap(), stored);
            fs::write(disk, b"two").unwrap();
            assert_eq!(fs::read(stored.path()).unwrap(), b"one");
            fs::write(disk, b"one").unwrap();
            assert_eq!(names(stored.path().parent().unwrap()).len(), 1);
        }
        let missing = Store::default().archive(&texts, "python/b.pkg").unwrap_err();
        assert_eq!(missing, "python/b.pkg: no such file");
    }

    #[test]
    fn what_is_damaged_is_replaced_and_what_nobody_has_goes() {
        let root = tempfile::tempdir().unwrap();
        let files = deployments(root.path(), &[("1", b"one"), ("2", b"two")]);
        let store = Store::own(&root.path().join("python"), &root.path().join("nowhere"));
        let one = store.archive(&files[0], "python/a.pkg").unwrap();
        let two = store.archive(&files[1], "python/a.pkg").unwrap();
        fs::write(one.path(), b"???").unwrap();
        assert_eq!(store.archive(&files[0], "python/a.pkg").unwrap(), one);
        assert_eq!(fs::read(one.path()).unwrap(), b"one");
        let bundle = |name: &str| {
            let folder = store.bundles().unwrap().join(name);
            fs::create_dir_all(folder.join("lib")).unwrap();
            store.hold(folder)
        };
        let (kept, gone) = (bundle("kept"), bundle("gone"));
        let (staged, _staged) = store.stage().unwrap();
        // What a process left that was killed.
        let left = root.path().join("python/stages/left");
        fs::create_dir_all(left.join("shop")).unwrap();
        drop((two, gone));
        store.sweep();
        assert!(staged.path().is_dir() && !left.exists());
        assert!(one.path().exists() && kept.path().exists());
        assert_eq!(names(&root.path().join("python/packages")).len(), 1);
        assert_eq!(names(&root.path().join("python/bundles")), ["kept"]);
        assert_eq!(*store.hold(kept.path().to_owned()), *kept);
    }
}
