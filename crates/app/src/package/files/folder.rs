//! Packages that are folders.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::ignore::Ignored;
use super::{Contents, MAX_PATH, PackageError, PackageFiles, unreadable};

/// The files of a folder. Symbolic links are not followed: a package is what is in its folder.
pub(super) fn read(root: &Path) -> Result<PackageFiles, PackageError> {
    let ignored = match fs::read_to_string(root.join(".vespaignore")) {
        Ok(text) => Ignored::parse(&text),
        Err(_) => Ignored::default(),
    };
    let mut files = PackageFiles::default();
    let mut open: Vec<(PathBuf, String)> = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        if prefix.len() > MAX_PATH {
            return Err(PackageError::Path(prefix));
        }
        let entries = fs::read_dir(&folder).map_err(|e| unreadable(&folder, &e))?;
        for entry in entries {
            let entry = entry.map_err(|e| unreadable(&folder, &e))?;
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                return Err(PackageError::Path(path.display().to_string()));
            };
            let below = format!("{prefix}{name}");
            let metadata = entry.metadata().map_err(|e| unreadable(&path, &e))?;
            if name.starts_with('.') || ignored.has(&below, metadata.is_dir()) {
                continue;
            }
            if metadata.is_dir() {
                open.push((path, format!("{below}/")));
            } else if metadata.is_file() {
                files.insert(&below, Contents::Disk { path, size: metadata.len() })?;
            }
        }
    }
    Ok(files)
}

/// The bytes of a file, or nothing if there are more than `limit`.
pub(super) fn read_file(
    disk: &Path,
    path: &str,
    limit: u64,
) -> Result<Option<Vec<u8>>, PackageError> {
    let unreadable =
        |e: std::io::Error| PackageError::Unreadable { path: path.to_owned(), text: e.to_string() };
    let file = fs::File::open(disk).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}

/// Writes a file below a folder, whose path has no `..` and stands below nothing that is a file.
pub(super) fn write_file(
    root: &Path,
    path: &str,
    bytes: &mut dyn Read,
) -> Result<(), PackageError> {
    let unwritable =
        |e: std::io::Error| PackageError::Unreadable { path: path.to_owned(), text: e.to_string() };
    let disk = root.join(path);
    if let Some(folder) = disk.parent() {
        fs::create_dir_all(folder).map_err(unwritable)?;
    }
    // A path that stands twice has the bytes that come last, as in memory.
    let mut file = fs::File::create(&disk).map_err(unwritable)?;
    std::io::copy(bytes, &mut file).map_err(|e| PackageError::Archive(format!("{path}: {e}")))?;
    file.sync_data().map_err(unwritable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_hidden_or_a_link_is_no_part_of_a_package() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("services.xml", "<services/>");
        write("schemas/a.sd", "");
        write("schemas/a.sd.bak", "");
        write(".git/config", "");
        write("ext/data.jsonl", "");
        write(".vespaignore", "# comment\n*.bak\next/\n");
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", root.path().join("link")).unwrap();
        let files = PackageFiles::open(root.path()).unwrap();
        assert_eq!(files.paths().collect::<Vec<_>>(), ["schemas/a.sd", "services.xml"]);
        assert_eq!(files.size("services.xml"), Some(11));
        assert_eq!(files.text("services.xml").as_deref(), Ok("<services/>"));
        assert_eq!(files.below("schemas").collect::<Vec<_>>(), ["schemas/a.sd"]);
    }
}
