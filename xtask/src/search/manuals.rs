//! Texts that people wrote: the manual pages of Debian's packages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process;

/// The packages: pages in English and in German.
const PACKAGES: [&str; 3] = ["manpages", "manpages-dev", "manpages-de"];

/// How many files `zcat` is given at once.
const AT_ONCE: usize = 500;

/// A file with all pages one behind the other, in roff. They are fetched the first time.
///
/// # Errors
/// Machines without `apt-get` and `dpkg-deb`, and downloads that fail.
pub fn fetched(folder: &Path) -> Result<PathBuf, String> {
    let (file, unpacked) = (folder.join("pages.roff"), folder.join("pages"));
    if file.exists() {
        return Ok(file);
    }
    println!("fetching {}", PACKAGES.join(", "));
    let _ = fs::remove_dir_all(&unpacked); // absent the first time
    fs::create_dir_all(&unpacked).map_err(|e| format!("{}: {e}", unpacked.display()))?;
    let mut download = Command::new("apt-get");
    download.current_dir(&unpacked).args(["download", "--quiet"]).args(PACKAGES);
    process::run(&mut download, "apt-get download")?;
    for package in files(&unpacked, "deb")? {
        let mut unpack = Command::new("dpkg-deb");
        process::run(unpack.arg("--extract").arg(&package).arg(&unpacked), "dpkg-deb")?;
    }
    let pages = files(&unpacked.join("usr/share/man"), "gz")?;
    let bad = |e: std::io::Error| format!("{}: {e}", file.display());
    let partial = folder.join("pages.part");
    let mut into = fs::File::create(&partial).map_err(bad)?;
    for pages in pages.chunks(AT_ONCE) {
        let output = Command::new("zcat").args(pages).output().map_err(|e| format!("zcat: {e}"))?;
        if !output.status.success() {
            return Err(format!("zcat: {}", String::from_utf8_lossy(&output.stderr)));
        }
        into.write_all(&output.stdout).map_err(bad)?;
    }
    let _ = fs::remove_dir_all(&unpacked); // only disk space
    // Written last: pages that were cut short are fetched anew.
    fs::rename(&partial, &file).map_err(bad)?;
    Ok(file)
}

/// The files of a folder and those below it whose names end so, in order. Links to pages are left out.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let bad = |e: std::io::Error| format!("{}: {e}", folder.display());
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(bad)? {
            let entry = entry.map_err(bad)?;
            let (kind, path) = (entry.file_type().map_err(bad)?, entry.path());
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::files;

    #[test]
    fn files_are_found_in_all_folders() -> std::io::Result<()> {
        let folder = std::env::temp_dir().join(format!("stead-pages-{}", std::process::id()));
        fs::create_dir_all(folder.join("man/de"))?;
        for name in ["b.gz", "man/a.gz", "man/de/a.gz", "man/a.txt"] {
            fs::write(folder.join(name), "")?;
        }
        let expected = ["b.gz", "man/a.gz", "man/de/a.gz"].map(|name| folder.join(name));
        assert_eq!(files(&folder, "gz"), Ok(expected.to_vec()));
        fs::remove_dir_all(&folder)?;
        assert!(files(&folder, "gz").is_err());
        Ok(())
    }
}
