//! Packages that are archives.

use std::io::{Read, Seek};

use super::tar::{entries, skip};
use super::{MAX_FILES, PackageError};

/// Takes a file of an archive: its path as it is written there, and its bytes.
pub(super) type Sink<'s> = dyn FnMut(&str, &mut dyn Read) -> Result<(), PackageError> + 's;

pub(super) fn broken(error: impl std::fmt::Display) -> PackageError {
    PackageError::Archive(error.to_string())
}

fn too_large(limit: u64) -> PackageError {
    PackageError::Limit { what: "the files of the archive have bytes:".to_owned(), limit }
}

/// How many bytes an archive may still have, whatever it says of their number.
struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    fn new(limit: u64) -> Budget {
        Budget { limit, left: limit }
    }

    /// Hands a file over; one byte more than is left shows that there are too many.
    fn spend(
        &mut self,
        name: &str,
        bytes: impl Read,
        sink: &mut Sink<'_>,
    ) -> Result<(), PackageError> {
        let most = self.left.saturating_add(1);
        let mut bytes = bytes.take(most);
        let taken = sink(name, &mut bytes);
        let used = most - bytes.limit();
        self.left = self.left.checked_sub(used).ok_or_else(|| too_large(self.limit))?;
        taken
    }
}

/// Hands over the files of an archive by what it begins with; those that are hidden are no part of a package.
///
/// # Errors
/// When it is neither zip nor gzip, damaged, or has more bytes than `limit`; and those of `sink`.
pub(super) fn each_file(
    mut archive: impl Read + Seek,
    limit: u64,
    sink: &mut Sink<'_>,
) -> Result<(), PackageError> {
    let mut magic = [0; 2];
    let is_long_enough = archive.read_exact(&mut magic).is_ok();
    archive.rewind().map_err(broken)?;
    match &magic {
        b"PK" if is_long_enough => zip(archive, limit, sink),
        [0x1f, 0x8b] if is_long_enough => tar_gz(archive, limit, sink),
        _ => Err(PackageError::Format),
    }
}

fn zip(archive: impl Read + Seek, limit: u64, sink: &mut Sink<'_>) -> Result<(), PackageError> {
    let mut archive = zip::ZipArchive::new(archive).map_err(broken)?;
    if archive.len() > 2 * MAX_FILES {
        let what = "the archive has entries:".to_owned();
        return Err(PackageError::Limit { what, limit: 2 * MAX_FILES as u64 });
    }
    // What the archive says of itself is refused before anything is unpacked; what it does not say is counted.
    let sizes = (0..archive.len()).map(|at| archive.by_index_raw(at).map(|entry| entry.size()));
    let sizes: Vec<u64> = sizes.collect::<Result<_, _>>().map_err(broken)?;
    if sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)) > limit {
        return Err(too_large(limit));
    }
    let mut budget = Budget::new(limit);
    for at in 0..archive.len() {
        let entry = archive.by_index(at).map_err(broken)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().to_owned();
        if entry.is_symlink() {
            return Err(PackageError::Archive(format!("{name} is a symbolic link")));
        }
        if !is_hidden(&name) {
            budget.spend(&name, entry, sink)?;
        }
    }
    Ok(())
}

fn tar_gz(archive: impl Read, limit: u64, sink: &mut Sink<'_>) -> Result<(), PackageError> {
    // Headers without files count too, or they would be read for hours.
    let headers = 3 * 512 * MAX_FILES as u64;
    let all = limit.saturating_add(headers).saturating_add(1);
    let mut tar = flate2::read::MultiGzDecoder::new(archive).take(all);
    let mut budget = Budget::new(limit);
    let read = entries(&mut tar, &mut |name, bytes| match is_hidden(name) {
        true => budget.spend(name, bytes, &mut |_, bytes| skip(bytes)),
        false => budget.spend(name, bytes, sink),
    });
    if tar.limit() == 0 { Err(too_large(limit)) } else { read }
}

/// Whether a file or one of its folders is hidden.
fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') && part != "." && part != "..")
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use zip::write::SimpleFileOptions;

    use super::super::PackageError;
    use super::super::PackageFiles;

    fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
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

    fn within(bytes: &[u8], limit: u64) -> Result<PackageFiles, PackageError> {
        let memory = PackageFiles::in_memory(Cursor::new(bytes), limit);
        // What is unpacked to a folder is what is read to memory, or the same error.
        let root = tempfile::tempdir().unwrap();
        let (archive, folder) = (root.path().join("a"), root.path().join("b"));
        std::fs::write(&archive, bytes).unwrap();
        let unpacked = PackageFiles::unpack(&archive, &folder, limit);
        assert_eq!(memory.as_ref().err(), unpacked.as_ref().err());
        if let Ok(files) = &memory {
            let disk = PackageFiles::open(&folder).unwrap();
            assert!(disk.paths().eq(files.paths()));
            disk.paths().for_each(|p| assert_eq!(disk.read(p, limit), files.read(p, limit)));
        }
        memory
    }

    fn gz(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// A tar with one file of zeros.
    fn tar(name: &str, size: usize) -> Vec<u8> {
        let mut tar = vec![0; 512];
        tar[..name.len()].copy_from_slice(name.as_bytes());
        tar[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
        tar.resize(512 + size.next_multiple_of(512) + 1024, 0);
        tar
    }

    #[test]
    fn bombs_are_refused() {
        let (zeros, limit) = (vec![0; 100_000], 99_999);
        let message = "the files of the archive have bytes: more than 99999";
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
            let error = within(bytes, limit).unwrap_err().to_string();
            assert_eq!(error, message, "{label}");
        }
        // Depending on the library either the checksum or the size does not fit.
        assert!(within(&lie, limit).is_err());
        assert!(within(&honest, 100_000).is_ok());

        let packed = gz(&tar("a", 100_000));
        assert_eq!(within(&packed, limit).unwrap_err().to_string(), message);
        assert!(within(&packed, 100_000).is_ok());
        let hidden = gz(&tar(".hidden", 100_000));
        assert_eq!(within(&hidden, limit).unwrap_err().to_string(), message);
    }
}
