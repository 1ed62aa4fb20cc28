//! Packs: files of pieces of bytes, written once and read where they lie. Snapshots consist of pieces.
//!
//! A pack is the file `NNNNNNNNNNNNNNNN.pack`, 16 digits of its number. All numbers are little-endian.
//!
//! | at | | |
//! |---|---|---|
//! | 0 | `[u8; 8]` | `STEADPAK` |
//! | 8 | `u32` | format version, 1 |
//! | 12 | `u32` | 0 |
//! | 16 | `u64` | the pack's number |
//! | 24 | `u32` | 0 |
//! | 28 | `u32` | crc32c of the 28 bytes before |
//! | 32 | | pieces behind each other, without gaps |
//!
//! What a piece is, where it lies and its crc32c stand where the piece is [named](Place): in the table of a snapshot. So a
//! pack needs no table of its own, and a piece that was torn, cut off or changed is found when it is read.

mod read;
mod write;

pub(crate) use read::{Blob, Pack, damage};
pub(crate) use write::PackWriter;

/// The version that this stead writes, and the only one that there has been.
const VERSION: u32 = 1;

const MAGIC: &[u8; 8] = b"STEADPAK";

const HEADER_BYTES: usize = 32;

/// Where a piece lies in its pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// The crc32c of its bytes.
    pub(crate) crc: u32,
}

/// The name of the file of a pack.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:016}.pack")
}

/// The number of the pack that a file is.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let number = name.strip_suffix(".pack")?.parse().ok()?;
    (file_name(number) == name).then_some(number)
}

fn header(number: u64) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..24].copy_from_slice(&number.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&crc.to_le_bytes());
    bytes
}
