//! Tar: blocks of 512 bytes, a header before each file (POSIX.1-2001, `pax`; long names of GNU tar too).

use super::{MAX_FILES, PackageError};

const BLOCK: usize = 512;

/// The files of an archive with their paths. Folders are left out; links and devices are refused.
pub(super) fn entries(tar: &[u8]) -> Result<Vec<(String, &[u8])>, PackageError> {
    let broken = |text: &str| PackageError::Archive(text.to_owned());
    let (mut files, mut at) = (Vec::new(), 0_usize);
    let mut long_name: Option<String> = None;
    while let Some(header) = tar.get(at..at + BLOCK) {
        if header.iter().all(|b| *b == 0) {
            return Ok(files);
        }
        let size = number(&header[124..136]).ok_or_else(|| broken("a size is no number"))?;
        let begin = at + BLOCK;
        let end = begin.checked_add(size).filter(|end| *end <= tar.len());
        let end = end.ok_or_else(|| broken("a file is longer than the archive"))?;
        let bytes = &tar[begin..end];
        match header[156] {
            b'0' | 0 | b'7' => {
                let name = match long_name.take() {
                    Some(name) => name,
                    None => name(header),
                };
                files.push((name, bytes));
                if files.len() > MAX_FILES {
                    let what = "the archive has files:".to_owned();
                    return Err(PackageError::Limit { what, limit: MAX_FILES as u64 });
                }
            }
            b'L' => long_name = Some(text(bytes)),
            b'x' => long_name = pax_path(bytes).or(long_name),
            b'5' => long_name = None,
            b'g' => {}
            _ => return Err(broken(&format!("{} is a link or device", name(header)))),
        }
        at = begin.saturating_add(size.next_multiple_of(BLOCK));
    }
    Ok(files)
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
fn number(field: &[u8]) -> Option<usize> {
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { usize::from_str_radix(digits, 8).ok() }
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

    #[test]
    fn files_have_the_names_of_their_headers() {
        let long = "a/".repeat(80) + "b";
        let pax = format!("{} path={long}\n", long.len() + 10);
        for (label, tar, expected) in [
            ("plain", file("a.sd", b'0', b"text"), vec![("a.sd".to_owned(), b"text".as_slice())]),
            ("folder", file("a/", b'5', b""), vec![]),
            (
                "long name of GNU",
                [file("L", b'L', long.as_bytes()), file("x", b'0', b"1")].concat(),
                vec![(long.clone(), b"1".as_slice())],
            ),
            (
                "pax",
                [file("x", b'x', pax.as_bytes()), file("x", b'0', b"1")].concat(),
                vec![(long.clone(), b"1".as_slice())],
            ),
        ] {
            assert_eq!(entries(&tar), Ok(expected), "{label}");
        }
    }

    #[test]
    fn links_and_lies_are_refused() {
        let mut short = file("a", b'0', b"text");
        short.truncate(BLOCK + 2);
        for (label, tar, message) in [
            ("link", file("a", b'2', b""), "the archive cannot be read: a is a link or device"),
            ("short", short, "the archive cannot be read: a file is longer than the archive"),
        ] {
            assert_eq!(entries(&tar).unwrap_err().to_string(), message, "{label}");
        }
    }
}
