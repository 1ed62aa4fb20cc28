//! Packages that are archives.

use std::io::{Cursor, Read};

use super::tar::entries;
use super::{Contents, MAX_ARCHIVE, MAX_FILES, PackageError, PackageFiles};

fn broken(error: impl std::fmt::Display) -> PackageError {
    PackageError::Archive(error.to_string())
}

fn too_large() -> PackageError {
    PackageError::Limit {
        what: "the files of the archive have bytes:".to_owned(),
        limit: MAX_ARCHIVE,
    }
}

/// What an entry really has, whatever it says of its size, within what is left.
fn contents(reader: impl Read, left: &mut u64) -> Result<Vec<u8>, PackageError> {
    let mut bytes = Vec::new();
    reader.take(*left + 1).read_to_end(&mut bytes).map_err(broken)?;
    *left = left.checked_sub(bytes.len() as u64).ok_or_else(too_large)?;
    Ok(bytes)
}

pub(super) fn zip(bytes: &[u8]) -> Result<PackageFiles, PackageError> {
    zip_within(bytes, MAX_ARCHIVE)
}

fn zip_within(bytes: &[u8], limit: u64) -> Result<PackageFiles, PackageError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(broken)?;
    if archive.len() > 2 * MAX_FILES {
        let what = "the archive has entries:".to_owned();
        return Err(PackageError::Limit { what, limit: 2 * MAX_FILES as u64 });
    }
    // What the archive says of itself is refused before anything is unpacked; what it does not say is counted.
    let sizes = (0..archive.len()).map(|at| archive.by_index_raw(at).map(|entry| entry.size()));
    let sizes: Vec<u64> = sizes.collect::<Result<_, _>>().map_err(broken)?;
    if sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)) > limit {
        return Err(too_large());
    }
    let (mut files, mut left) = (PackageFiles::default(), limit);
    for at in 0..archive.len() {
        let entry = archive.by_index(at).map_err(broken)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().to_owned();
        if entry.is_symlink() {
            return Err(PackageError::Archive(format!("{name} is a symbolic link")));
        }
        let bytes = contents(entry, &mut left)?;
        add(&mut files, &name, bytes)?;
    }
    Ok(files)
}

pub(super) fn tar_gz(bytes: &[u8]) -> Result<PackageFiles, PackageError> {
    tar_gz_within(bytes, MAX_ARCHIVE)
}

fn tar_gz_within(bytes: &[u8], limit: u64) -> Result<PackageFiles, PackageError> {
    let tar = contents(flate2::read::MultiGzDecoder::new(bytes), &mut limit.clone())?;
    let mut files = PackageFiles::default();
    for (name, bytes) in entries(&tar)? {
        add(&mut files, &name, bytes.to_vec())?;
    }
    Ok(files)
}

/// Adds a file; hidden ones are no part of a package.
fn add(files: &mut PackageFiles, name: &str, bytes: Vec<u8>) -> Result<(), PackageError> {
    let is_hidden = |part: &str| part.starts_with('.') && part != "." && part != "..";
    if name.split('/').any(is_hidden) {
        return Ok(());
    }
    files.insert(name, Contents::Memory(bytes.into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::super::PackageFiles;
    use super::{tar_gz_within, zip_within};

    fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn zips_are_read_and_hostile_ones_refused() {
        let files = zip_of(&[("application/services.xml", b"<services/>"), (".git/x", b"")]);
        let files = PackageFiles::from_archive(&files).unwrap();
        assert_eq!(files.paths().collect::<Vec<_>>(), ["services.xml"]);
        let half = &zip_of(&[("a", b"text")])[..20];
        for (label, bytes, message) in [
            ("out of it", zip_of(&[("../a", b"")]), "the path \"../a\" is not within the package"),
            ("absolute", zip_of(&[("/a", b"")]), "the path \"/a\" is not within the package"),
            (
                "no archive",
                b"text".to_vec(),
                "expected a zip or a tar.gz, found a file that is neither",
            ),
            ("half", half.to_vec(), "the archive cannot be read: "),
        ] {
            let error = PackageFiles::from_archive(&bytes).unwrap_err().to_string();
            assert!(error.starts_with(message), "{label}: {error}");
        }
    }

    #[test]
    fn bombs_are_refused() {
        let (zeros, limit) = (vec![0; 100_000], 99_999);
        let message = "the files of the archive have bytes: more than 1073741824";
        let honest = zip_of(&[("a", &zeros)]);
        assert!(honest.len() < 1000, "{} bytes", honest.len());
        // The same, with 100,000 written as 1 wherever it stands.
        let mut lie = honest.clone();
        let size = 100_000_u32.to_le_bytes();
        while let Some(at) = lie.windows(4).position(|window| window == size) {
            lie[at..at + 4].copy_from_slice(&1_u32.to_le_bytes());
        }
        assert_ne!(lie, honest);
        let many = zip_of(&[("a", &zeros[..60_000]), ("b", &zeros[..60_000])]);
        for (label, bytes) in [("one", &honest), ("together", &many)] {
            let error = zip_within(bytes, limit).unwrap_err().to_string();
            assert_eq!(error, message, "{label}");
        }
        // Depending on the library either the checksum or the size does not fit.
        assert!(zip_within(&lie, limit).is_err());
        assert!(zip_within(&honest, 100_000).is_ok());

        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&zeros).unwrap();
        let error = tar_gz_within(&encoder.finish().unwrap(), limit).unwrap_err().to_string();
        assert_eq!(error, message);
    }

    #[test]
    fn an_archive_that_grows_beyond_memory_is_refused() {
        let mut left = 1000;
        let error = super::contents(std::io::repeat(0), &mut left).unwrap_err().to_string();
        assert_eq!(error, "the files of the archive have bytes: more than 1073741824");
    }
}
