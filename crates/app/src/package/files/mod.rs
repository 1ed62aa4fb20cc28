//! The files of an application package: from a folder, a zip or a tar.gz, within limits.

mod archive;
mod folder;
mod ignore;
mod tar;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most files of a package; published ones have some hundred.
pub const MAX_FILES: usize = 20_000;

/// The most bytes that the files of an archive may have together: they are held in memory until the package is read.
pub const MAX_ARCHIVE: u64 = 1 << 30;

/// The longest path in bytes, and the most folders within each other.
pub const MAX_PATH: usize = 1024;

/// The largest text that is read as a whole.
pub const MAX_TEXT_FILE: u64 = 16 << 20;

/// The files of a package by their paths from its root, with `/` between folders.
#[derive(Clone, Default)]
pub struct PackageFiles {
    files: BTreeMap<String, Contents>,
}

#[derive(Clone)]
enum Contents {
    Disk { path: PathBuf, size: u64 },
    Memory(Arc<[u8]>),
}

/// Bytes that are read piece by piece, from anywhere.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Why the files of a package cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackageError {
    /// Nothing there, or nothing that may be read.
    #[error("{path}: {text}")]
    Unreadable {
        /// The file, or what was given as the package.
        path: String,
        /// What the system says.
        text: String,
    },
    /// A path that leads out of the package or is none.
    #[error("the path {0:?} is not within the package")]
    Path(String),
    /// Neither zip nor gzip.
    #[error("expected a zip or a tar.gz, found a file that is neither")]
    Format,
    /// An archive that is damaged or has something in it that packages do not have.
    #[error("the archive cannot be read: {0}")]
    Archive(String),
    /// A limit is passed.
    #[error("{what} more than {limit}")]
    Limit {
        /// What has more.
        what: String,
        /// The most that is read.
        limit: u64,
    },
    /// A file that is not text.
    #[error("{0} is not UTF-8")]
    NotText(String),
}

impl PackageFiles {
    /// The files of a folder or archive. A folder `application` in it is the root if it has a `services.xml` and the
    /// package has none.
    ///
    /// # Errors
    /// When it cannot be read, has paths that lead out of it, or passes a limit.
    pub fn open(path: &Path) -> Result<PackageFiles, PackageError> {
        let metadata = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
        if metadata.is_dir() {
            return Ok(folder::read(path)?.at_root());
        }
        if metadata.len() > MAX_ARCHIVE {
            return Err(PackageError::Limit {
                what: "the archive has".to_owned(),
                limit: MAX_ARCHIVE,
            });
        }
        let file = File::open(path).map_err(|e| unreadable(path, &e))?;
        PackageFiles::in_memory(BufReader::new(file), MAX_ARCHIVE)
    }

    /// The files of a zip or tar.gz.
    ///
    /// # Errors
    /// When it is neither or damaged, has paths that lead out of it, or passes a limit.
    pub fn from_archive(bytes: &[u8]) -> Result<PackageFiles, PackageError> {
        PackageFiles::in_memory(Cursor::new(bytes), MAX_ARCHIVE)
    }

    /// The files of one folder in another, by their paths from the outer one; none if it is not there.
    ///
    /// # Errors
    /// As [`PackageFiles::open`].
    pub fn of_folder(outer: &Path, name: &str) -> Result<PackageFiles, PackageError> {
        let folder = outer.join(name);
        if !folder.is_dir() {
            return Ok(PackageFiles::default());
        }
        let below = |(path, file): (String, Contents)| (format!("{name}/{path}"), file);
        let files = folder::read(&folder)?.files.into_iter().map(below).collect();
        Ok(PackageFiles { files })
    }

    fn in_memory(archive: impl Read + Seek, limit: u64) -> Result<PackageFiles, PackageError> {
        let mut files = PackageFiles::default();
        archive::each_file(archive, limit, &mut |name, bytes| {
            let mut all = Vec::new();
            bytes.read_to_end(&mut all).map_err(archive::broken)?;
            files.insert(name, Contents::Memory(all.into()))
        })?;
        Ok(files.at_root())
    }

    /// Unpacks a zip or tar.gz of at most `limit` bytes into a folder, which should be empty. Nothing of it is held in memory.
    ///
    /// # Errors
    /// As [`PackageFiles::from_archive`], and when a file cannot be written; some of the files are there then.
    pub fn unpack(archive: &Path, folder: &Path, limit: u64) -> Result<(), PackageError> {
        let file = File::open(archive).map_err(|e| unreadable(archive, &e))?;
        let mut count = 0;
        archive::each_file(BufReader::new(file), limit, &mut |name, bytes| {
            let name = normal(name).ok_or_else(|| PackageError::Path(name.to_owned()))?;
            count += 1;
            check_count(count)?;
            folder::write_file(folder, &name, bytes)
        })
    }

    /// A package of texts.
    ///
    /// # Errors
    /// When a path leads out of the package.
    pub fn from_texts<'t>(
        texts: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<PackageFiles, PackageError> {
        let mut files = PackageFiles::default();
        for (path, text) in texts {
            files.insert(path, Contents::Memory(text.as_bytes().into()))?;
        }
        Ok(files)
    }

    fn insert(&mut self, path: &str, contents: Contents) -> Result<(), PackageError> {
        let path = normal(path).ok_or_else(|| PackageError::Path(path.to_owned()))?;
        self.files.insert(path, contents);
        check_count(self.files.len())
    }

    /// The same files from where `services.xml` is.
    fn at_root(self) -> PackageFiles {
        const ROOT: &str = "application/";
        if self.has("services.xml") || !self.has("application/services.xml") {
            return self;
        }
        let below = |(path, file): (String, Contents)| {
            path.strip_prefix(ROOT).map(|path| (path.to_owned(), file))
        };
        PackageFiles { files: self.files.into_iter().filter_map(below).collect() }
    }

    /// The paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The paths of the files in a folder, those in folders within it too.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{}/", folder.trim_end_matches('/'));
        self.paths().filter(move |path| path.starts_with(&prefix))
    }

    /// Whether there is a file of this path.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The bytes that a file has.
    #[must_use]
    pub fn size(&self, path: &str) -> Option<u64> {
        self.files.get(path).map(|contents| match contents {
            Contents::Disk { size, .. } => *size,
            Contents::Memory(bytes) => bytes.len() as u64,
        })
    }

    /// Where a file lies on disk; nothing for a file of an archive that was not unpacked.
    #[must_use]
    pub fn on_disk(&self, path: &str) -> Option<&Path> {
        match self.files.get(path)? {
            Contents::Disk { path, .. } => Some(path),
            Contents::Memory(_) => None,
        }
    }

    fn find(&self, path: &str) -> Result<&Contents, PackageError> {
        let text = "no such file".to_owned();
        let missing = || PackageError::Unreadable { path: path.to_owned(), text };
        self.files.get(path).ok_or_else(missing)
    }

    /// The bytes of a file piece by piece, of which no more are in memory than were there before.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    pub fn reader(&self, path: &str) -> Result<Box<dyn ReadSeek + '_>, PackageError> {
        match self.find(path)? {
            Contents::Memory(bytes) => Ok(Box::new(Cursor::new(&**bytes))),
            Contents::Disk { path: disk, .. } => {
                let file = File::open(disk).map_err(|e| PackageError::Unreadable {
                    path: path.to_owned(),
                    text: e.to_string(),
                })?;
                Ok(Box::new(BufReader::new(file)))
            }
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// When there is none, or it has more bytes than `limit`.
    pub fn read(&self, path: &str, limit: u64) -> Result<Vec<u8>, PackageError> {
        let too_large = || PackageError::Limit { what: format!("{path} has bytes:"), limit };
        match self.find(path)? {
            Contents::Memory(bytes) if bytes.len() as u64 > limit => Err(too_large()),
            Contents::Memory(bytes) => Ok(bytes.to_vec()),
            Contents::Disk { path: disk, .. } => {
                folder::read_file(disk, path, limit)?.ok_or_else(too_large)
            }
        }
    }

    /// The bytes of a file by its path from the folder of another, as models name their external data.
    ///
    /// # Errors
    /// As [`PackageFiles::read`].
    pub fn read_beside(
        &self,
        path: &str,
        location: &str,
        limit: u64,
    ) -> Result<Vec<u8>, PackageError> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let path = normal(&format!("{}/{location}", if folder.is_empty() { "." } else { folder }));
        self.read(&path.ok_or_else(|| PackageError::Path(location.to_owned()))?, limit)
    }

    /// The text of a file.
    ///
    /// # Errors
    /// When there is none, it has more bytes than [`MAX_TEXT_FILE`], or is not UTF-8.
    pub fn text(&self, path: &str) -> Result<String, PackageError> {
        let bytes = self.read(path, MAX_TEXT_FILE)?;
        String::from_utf8(bytes).map_err(|_| PackageError::NotText(path.to_owned()))
    }
}

impl fmt::Debug for PackageFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files.keys()).finish()
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> PackageError {
    PackageError::Unreadable { path: path.display().to_string(), text: error.to_string() }
}

fn check_count(files: usize) -> Result<(), PackageError> {
    if files > MAX_FILES {
        let what = "the package has files:".to_owned();
        return Err(PackageError::Limit { what, limit: MAX_FILES as u64 });
    }
    Ok(())
}

/// A path with single slashes and without `.`; nothing if it leads out of the package, is absolute or too long.
fn normal(path: &str) -> Option<String> {
    if path.len() > MAX_PATH || path.starts_with('/') || path.contains(['\\', '\0']) {
        return None;
    }
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let is_plain = parts.iter().all(|part| *part != "..") && !parts.is_empty();
    is_plain.then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_within_the_package() {
        for (path, expected) in [
            ("schemas/a.sd", Some("schemas/a.sd")),
            ("./schemas//a.sd", Some("schemas/a.sd")),
            ("..a", Some("..a")),
            ("../a", None),
            ("a/../../b", None),
            ("a/..", None),
            ("/etc/passwd", None),
            ("a\\b", None),
            ("", None),
            ("./", None),
        ] {
            assert_eq!(normal(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_named_application_is_the_root() {
        let files = PackageFiles::from_texts([
            ("application/services.xml", "x"),
            ("application/schemas/a.sd", ""),
            ("pom.xml", ""),
        ]);
        let root = files.unwrap().at_root();
        assert_eq!(root.paths().collect::<Vec<_>>(), ["schemas/a.sd", "services.xml"]);
        assert_eq!(root.text("services.xml"), Ok("x".to_owned()));
        assert_eq!(
            root.read("services.xml", 0).unwrap_err().to_string(),
            "services.xml has bytes: more than 0"
        );
    }
}
