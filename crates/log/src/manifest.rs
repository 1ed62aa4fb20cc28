//! A small file that is replaced as a whole or not at all: what a snapshot consists of, which LSN it covers.
//!
//! | at | | |
//! |---|---|---|
//! | 0 | `[u8; 8]` | `STEADMAN` |
//! | 8 | `u32` | format version, 1 |
//! | 12 | | payload |
//! | end - 4 | `u32` | crc32c of all before |

use crate::error::LogError;
use crate::io::{Io, IoFile, read_all};

const MAGIC: &[u8; 8] = b"STEADMAN";
const VERSION: u32 = 1;
const HEADER_LEN: usize = 12;

/// Files of this ending are not finished: they are written, made durable and then renamed.
pub(crate) const UNFINISHED: &str = ".new";

/// Replaces manifest `name` by `payload`, durably: written under another name, synced, renamed, and the folder
/// synced. A crash at any moment leaves the old or the new one. Not for two writers at once.
///
/// # Errors
/// [`LogError::Io`]; the old manifest may or may not have been replaced.
pub fn write_manifest(io: &dyn Io, name: &str, payload: &[u8]) -> Result<(), LogError> {
    let mut bytes = Vec::with_capacity(HEADER_LEN + payload.len() + 4);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
    replace(io, name, &bytes).map(drop)
}

/// Replaces file `name` by `bytes`, durably and as a whole, and returns it open.
///
/// # Errors
/// [`LogError::Io`].
pub(crate) fn replace(io: &dyn Io, name: &str, bytes: &[u8]) -> Result<Box<dyn IoFile>, LogError> {
    let unfinished = format!("{name}{UNFINISHED}");
    let failed = |action| {
        let what = unfinished.as_str();
        move |error: std::io::Error| LogError::io(action, what, &error)
    };
    let mut file = io.create(&unfinished).map_err(failed("create"))?;
    file.append(bytes).map_err(failed("append to"))?;
    file.sync_data().map_err(failed("sync"))?;
    io.rename(&unfinished, name).map_err(failed("rename"))?;
    io.sync_dir().map_err(|error| LogError::io("sync", "the folder of the log", &error))?;
    Ok(file)
}

/// The payload of manifest `name`, or `None` if there is none.
///
/// # Errors
/// [`LogError::Manifest`] if it is damaged or of another version; [`LogError::Io`], also if it is longer than
/// `max_bytes`.
pub fn read_manifest(
    io: &dyn Io,
    name: &str,
    max_bytes: usize,
) -> Result<Option<Vec<u8>>, LogError> {
    let file = match io.open(name) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LogError::io("open", name, &error)),
    };
    let mut bytes = Vec::new();
    let limit = (max_bytes as u64).saturating_add(HEADER_LEN as u64 + 4);
    read_all(&*file, &mut bytes, limit).map_err(|error| LogError::io("read", name, &error))?;
    let corrupt = |reason| LogError::Manifest { name: name.to_owned(), reason };
    let Some((body, crc)) = bytes.split_last_chunk::<4>() else {
        return Err(corrupt("it is cut short"));
    };
    let Some((header, payload)) = body.split_first_chunk::<HEADER_LEN>() else {
        return Err(corrupt("it is cut short"));
    };
    if &header[..8] != MAGIC {
        return Err(corrupt("it does not begin like a manifest"));
    }
    if header[8..] != VERSION.to_le_bytes() {
        return Err(corrupt("it has another format version"));
    }
    if crc32c::crc32c(body) != u32::from_le_bytes(*crc) {
        return Err(corrupt("its checksum differs"));
    }
    Ok(Some(payload.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::SimIo;

    #[test]
    fn the_old_or_the_new_one_is_there_after_a_crash() {
        for seed in 0..200 {
            let io = SimIo::new(seed);
            write_manifest(&io, "state", b"old").unwrap();
            io.power_off_after(seed % 6);
            let result = write_manifest(&io, "state", b"new");
            io.crash();
            let found = read_manifest(&io, "state", 100).unwrap().unwrap();
            assert!(found == b"new" || (found == b"old" && result.is_err()), "seed {seed}");
        }
    }

    #[test]
    fn damage_is_told() {
        let io = SimIo::new(0);
        assert_eq!(read_manifest(&io, "state", 100), Ok(None));
        write_manifest(&io, "state", b"payload").unwrap();
        let kind = std::io::ErrorKind::FileTooLarge;
        let large = LogError::Io { action: "read", what: "state".into(), kind };
        assert_eq!(read_manifest(&io, "state", 6), Err(large));
        let whole = io.contents("state").unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            io.set_contents("state", &bytes);
            assert!(read_manifest(&io, "state", 100).is_err(), "bit {bit}");
        }
        for len in 0..whole.len() {
            io.set_contents("state", &whole[..len]);
            assert!(read_manifest(&io, "state", 100).is_err(), "cut to {len}");
        }
    }
}
