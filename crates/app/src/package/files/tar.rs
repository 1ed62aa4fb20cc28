//! Tar: blocks of 512 bytes, a header before each file (POSIX.1-2001, `pax`; long names of GNU tar too).

use std::io::Read;

use super::archive::{Sink, broken};
use super::{MAX_FILES, PackageError};

const BLOCK: usize = 512;

/// The largest extended header; it holds a path and some times and numbers.
const MAX_EXTENDED: u64 = 64 << 10;

/// Hands over the files of an archive with their paths. Folders are left out; links and devices are refused.
pub(super) fn entries(tar: &mut dyn Read, sink: &mut Sink<'_>) -> Result<(), PackageError> {
    let mut files = 0_usize;
    let mut long_name: Option<String> = None;
    let mut header = [0; BLOCK];
    while fill(tar, &mut header)? {
        if header.iter().all(|b| *b == 0) {
            return Ok(());
        }
        let size = number(&header[124..136]).ok_or_else(|| broken("a size is no number"))?;
        let mut bytes = (&mut *tar).take(size);
        match header[156] {
            b'0' | 0 | b'7' => {
                files += 1;
                if files > MAX_FILES {
                    let what = "the archive has files:".to_owned();
                    return Err(PackageError::Limit { what, limit: MAX_FILES as u64 });
                }
                let name = long_name.take().unwrap_or_else(|| name(&header));
                sink(&name, &mut bytes)?;
            }
            b'L' => long_name = Some(text(&extended(&mut bytes)?)),
            b'x' => long_name = pax_path(&extended(&mut bytes)?).or(long_name),
            b'5' => long_name = None,
            b'g' => {}
            _ => return Err(broken(format!("{} is a link or device", name(&header)))),
        }
        skip(&mut bytes)?;
        if bytes.limit() > 0 {
            return Err(broken("a file is longer than the archive"));
        }
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        skip(&mut (&mut *tar).take(padding))?;
    }
    Ok(())
}

/// The next block; false at the end, or where less than a block is left.
fn fill(tar: &mut dyn Read, block: &mut [u8; BLOCK]) -> Result<bool, PackageError> {
    match tar.read_exact(block) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(broken(error)),
    }
}

/// Reads to the end.
pub(super) fn skip(bytes: &mut dyn Read) -> Result<(), PackageError> {
    std::io::copy(bytes, &mut std::io::sink()).map(drop).map_err(broken)
}

fn extended(bytes: &mut dyn Read) -> Result<Vec<u8>, PackageError> {
    let mut all = Vec::new();
    bytes.take(MAX_EXTENDED + 1).read_to_end(&mut all).map_err(broken)?;
    if all.len() as u64 > MAX_EXTENDED {
        let what = "an extended header has bytes:".to_owned();
        return Err(PackageError::Limit { what, limit: MAX_EXTENDED });
    }
    Ok(all)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn name(header: &[u8]) -> String {
    let name = text(&header[..100]);
    let prefix =
        if header[257..].starts_with(b"ustar\0") { text(&header[345..500]) } else { String::new() };
    if prefix.is_empty() { name } else { format!("{prefix}/{name}") }
}

/// A number in octal digits.
fn number(field: &[u8]) -> Option<u64> {
    let digits = text(field);
    let digits = digits.trim();
    // Eleven digits at most, so that rounding up to blocks cannot overflow.
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// The path of an extended header, whose records are `length key=value` with a newline.
fn pax_path(records: &[u8]) -> Option<String> {
    let mut rest = records;
    while let Some(space) = rest.iter().position(|b| *b == b' ') {
        let length: usize = std::str::from_utf8(&rest[..space]).ok()?.parse().ok()?;
        let record = rest.get(space + 1..length)?;
        if let Some(path) = record.strip_prefix(b"path=") {
            return Some(text(path.strip_suffix(b"\n").unwrap_or(path)));
        }
        rest = rest.get(length..)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut block = vec![0; BLOCK];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        block[156] = kind;
        block.extend_from_slice(bytes);
        block.resize(block.len().next_multiple_of(BLOCK), 0);
        block
    }

    fn read(tar: &[u8]) -> Result<Vec<(String, Vec<u8>)>, PackageError> {
        let mut files = Vec::new();
        let tar = &mut &*tar;
        entries(tar, &mut |name, bytes| {
            let mut all = Vec::new();
            bytes.read_to_end(&mut all).map_err(broken)?;
            files.push((name.to_owned(), all));
            Ok(())
        })?;
        Ok(files)
    }

    #[test]
    fn files_have_the_names_of_their_headers() {
        let long = "a/".repeat(80) + "b";
        let pax = format!("{} path={long}\n", long.len() + 10);
        for (label, tar, expected) in [
            ("plain", file("a.sd", b'0', b"text"), vec![("a.sd".to_owned(), b"text".to_vec())]),
            ("folder", file("a/", b'5', b""), vec![]),
            (
                "long name of GNU",
                [file("L", b'L', long.as_bytes()), file("x", b'0', b"1")].concat(),
                vec![(long.clone(), b"1".to_vec())],
            ),
            (
                "pax",
                [file("x", b'x', pax.as_bytes()), file("x", b'0', b"1")].concat(),
                vec![(long.clone(), b"1".to_vec())],
            ),
        ] {
            assert_eq!(read(&tar), Ok(expected), "{label}");
        }
    }

    #[test]
    fn links_and_lies_are_refused() {
        let mut short = file("a", b'0', b"text");
        short.truncate(BLOCK + 2);
        for (label, tar, message) in [
            ("link", file("a", b'2', b""), "the archive cannot be read: a is a link or device"),
            ("short", short, "the archive cannot be read: a file is longer than the archive"),
            (
                "endless name",
                file("L", b'L', &vec![b'a'; 65 << 10]),
                "an extended header has bytes: more than 65536",
            ),
        ] {
            assert_eq!(read(&tar).unwrap_err().to_string(), message, "{label}");
        }
    }
}
