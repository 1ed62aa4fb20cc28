//! `.npz` archives: a zip file of `.npy` members, one for each named array.

use crate::npy::{self, NpyError};
use crate::{Tensor, TensorView};
use std::io::{Read, Seek, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The most members of an archive; models have some dozens of inputs.
const MAX_MEMBERS: usize = 4096;

/// The suffix of members, which is not a part of the array's name.
const SUFFIX: &str = ".npy";

/// Reads all arrays of an archive with their names, in the order of the archive. Together they may have
/// `max_bytes`, counted after decompression.
///
/// # Errors
/// [`NpyError::Archive`] for the archive, [`NpyError::Member`] for one of its arrays.
pub fn read(reader: impl Read + Seek, max_bytes: u64) -> Result<Vec<(String, Tensor)>, NpyError> {
    let mut archive = ZipArchive::new(reader).map_err(archive_error)?;
    if archive.len() > MAX_MEMBERS {
        let reason = format!("{} members are above the limit of {MAX_MEMBERS}", archive.len());
        return Err(NpyError::Archive(reason));
    }
    let mut left = max_bytes;
    let mut arrays: Vec<(String, Tensor)> = Vec::with_capacity(archive.len());
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(archive_error)?;
        let name = member.name().to_owned();
        let of_member = |error| NpyError::Member { name: name.clone(), error: Box::new(error) };
        let key = name.strip_suffix(SUFFIX).ok_or_else(|| of_member(NpyError::NotNpy))?;
        let tensor = npy::read(&mut member, left).map_err(of_member)?;
        // Strings have no bytes of a fixed size: what they hold counts, and an entry each.
        let strings = tensor.view().strings().iter().map(|s| s.len() + size_of::<Vec<u8>>());
        let bytes = tensor.bytes().len() + strings.sum::<usize>();
        left = left.saturating_sub(bytes as u64);
        arrays.push((key.to_owned(), tensor));
    }
    Ok(arrays)
}

/// Writes an uncompressed archive of named arrays.
///
/// # Errors
/// [`NpyError::Archive`] for the archive, [`NpyError::Member`] for an array that has no npy form.
pub fn write<'a>(
    writer: impl Write + Seek,
    arrays: impl IntoIterator<Item = (&'a str, TensorView<'a>)>,
) -> Result<(), NpyError> {
    let mut archive = ZipWriter::new(writer);
    for (key, tensor) in arrays {
        let name = format!("{key}{SUFFIX}");
        // 4 GiB need the larger fields of zip64.
        let large = u32::try_from(tensor.bytes().len()).is_err();
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(large);
        archive.start_file(&*name, options).map_err(archive_error)?;
        npy::write(&mut archive, &tensor)
            .map_err(|error| NpyError::Member { name, error: Box::new(error) })?;
    }
    archive.finish().map_err(archive_error)?;
    Ok(())
}

fn archive_error(error: zip::result::ZipError) -> NpyError {
    NpyError::Archive(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Shape};
    use std::io::Cursor;

    #[test]
    fn arrays_round_trip_in_order() {
        let a = Tensor::from_slice(&[1.0f32, 2.0], &[1, 2]).unwrap();
        let b = Tensor::from_strings(vec![b"hi".to_vec()], &[]).unwrap();
        let mut out = Cursor::new(Vec::new());
        write(&mut out, [("input/x", a.view()), ("b", b.view())]).unwrap();
        let read = read(out, 1 << 20).unwrap();
        assert_eq!(read, [("input/x".to_owned(), a), ("b".to_owned(), b)]);
    }

    #[test]
    fn the_limit_counts_all_members_after_decompression() {
        let zeros = Tensor::zeros(DType::U8, Shape::new(&[60_000]).unwrap()).unwrap();
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for name in ["a.npy", "b.npy"] {
            archive.start_file(name, SimpleFileOptions::default()).unwrap();
            npy::write(&mut archive, &zeros.view()).unwrap();
        }
        let bomb = archive.finish().unwrap().into_inner();
        assert!(bomb.len() < 2000, "{} bytes", bomb.len());
        assert!(read(Cursor::new(&bomb), 120_000).is_ok());
        let err = read(Cursor::new(&bomb), 119_999).unwrap_err();
        let NpyError::Member { name, error } = err else { panic!("{err}") };
        assert_eq!(name, "b.npy");
        assert_eq!(*error, NpyError::TooLarge { limit: 59_999, actual: 60_000 });
    }

    #[test]
    fn what_is_no_archive_or_no_array_is_an_error() {
        assert!(matches!(read(Cursor::new(b"no zip"), 100), Err(NpyError::Archive(_))));
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        archive.start_file("readme.txt", SimpleFileOptions::default()).unwrap();
        let bytes = archive.finish().unwrap();
        assert!(matches!(read(bytes, 100), Err(NpyError::Member { .. })));
    }
}
