//! Checkpoints: `variables.index`, a table of names in LevelDB's format, and the values in `variables.data-NNNNN-of-NNNNN`.

use super::proto::{BundleEntryProto, BundleHeaderProto};
use super::tensor::{dtype, fixed, malformed, truths};
use crate::error::{FormatError, check_limit, io, quote};
use prost::Message;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use stead_onnx::Limits;
use stead_tensor::{AlignedBuf, DType, Tensor};

/// The last eight bytes of a table.
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;

/// The handles of two blocks, padded, and the magic number.
const FOOTER: usize = 48;

/// Behind each block: how it is compressed, and its checksum.
const TRAILER: usize = 5;

/// What is added to the turned CRC-32C of data that holds checksums itself.
const MASK: u32 = 0xa282_ead8;

const fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK)
}

/// A checkpoint.
pub(super) struct Bundle {
    folder: PathBuf,
    shards: i32,
    entries: BTreeMap<String, BundleEntryProto>,
    left: u64,
}

impl Bundle {
    /// Opens the checkpoint in the `variables` folder of a SavedModel; one without variables has none.
    ///
    /// # Errors
    /// Tables that are damaged or compressed.
    pub fn open(folder: &Path, limits: &Limits) -> Result<Bundle, FormatError> {
        let what = "variables.index";
        let mut bundle = Bundle {
            folder: folder.to_owned(),
            shards: 0,
            entries: BTreeMap::new(),
            left: limits.total_bytes,
        };
        let file = match File::open(folder.join(what)) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(bundle),
            Err(e) => return Err(io(what)(e)),
        };
        let len = file.metadata().map_err(io(what))?.len();
        check_limit(what, len, limits.decoded_bytes)?;
        let mut bytes = Vec::new();
        file.take(limits.decoded_bytes).read_to_end(&mut bytes).map_err(io(what))?;
        for (key, value) in entries(&bytes)? {
            if key.is_empty() {
                let header = BundleHeaderProto::decode(value.as_slice()).map_err(malformed)?;
                if header.endianness != 0 {
                    return Err(malformed("a checkpoint of a big-endian machine"));
                }
                bundle.shards = header.num_shards;
            } else {
                let entry = BundleEntryProto::decode(value.as_slice()).map_err(malformed)?;
                bundle.entries.insert(String::from_utf8_lossy(&key).into_owned(), entry);
            }
        }
        Ok(bundle)
    }

    /// Whether there is a value of this name.
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The value of this name, its checksum verified.
    ///
    /// # Errors
    /// A name that is not there, a file that is too short, a checksum that is not that of the bytes.
    pub fn tensor(&mut self, key: &str) -> Result<Tensor, FormatError> {
        let bad = |text: &str| malformed(format!("variable {}: {text}", quote(key)));
        let entry = self.entries.get(key).ok_or_else(|| bad("it is not in the checkpoint"))?;
        if !entry.slices.is_empty() {
            return Err(bad("it is stored in slices"));
        }
        let dtype = dtype(entry.dtype).filter(|&d| d != DType::String);
        let dtype = dtype.ok_or_else(|| bad("its element type is not read"))?;
        let shape = fixed(entry.shape.as_ref())?;
        let (Ok(offset), Ok(size)) = (u64::try_from(entry.offset), u64::try_from(entry.size))
        else {
            return Err(bad("its place is negative"));
        };
        if shape.byte_len(dtype) as u64 != size {
            return Err(bad("its size is not that of its shape"));
        }
        let what = "variables.data";
        let name = format!("variables.data-{:05}-of-{:05}", entry.shard_id, self.shards);
        let mut file = File::open(self.folder.join(name)).map_err(io(what))?;
        let len = file.metadata().map_err(io(what))?.len();
        if offset.checked_add(size).is_none_or(|end| end > len) {
            return Err(bad("it lies behind the end of its file"));
        }
        let Some(left) = self.left.checked_sub(size) else {
            return Err(bad("the variables together are above the limit"));
        };
        self.left = left;
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        file.seek(SeekFrom::Start(offset)).map_err(io(what))?;
        let mut buffer = AlignedBuf::filled(size, |room| room.read(size, &mut file))
            .map_err(malformed)?
            .map_err(io(what))?;
        if masked(crc32c::crc32c(&buffer)) != entry.crc32c {
            return Err(bad("its checksum is wrong: the file is damaged"));
        }
        truths(dtype, &mut buffer);
        Tensor::from_buffer(dtype, shape, buffer).map_err(malformed)
    }
}

/// All keys and values of a table.
pub(super) fn entries(table: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, FormatError> {
    let short = || malformed("variables.index is no table");
    let footer = table.len().checked_sub(FOOTER).and_then(|at| table.get(at..));
    let (mut handles, magic) = footer.and_then(|f| f.split_last_chunk::<8>()).ok_or_else(short)?;
    if u64::from_le_bytes(*magic) != MAGIC {
        return Err(short());
    }
    let mut numbers = [0_u64; 4];
    for number in &mut numbers {
        *number = varint(&mut handles).ok_or_else(short)?;
    }
    let [_, _, offset, size] = numbers;
    let mut all = Vec::new();
    // Keys share beginnings: a table may hold more than its length, but not without bound.
    let mut left = table.len().saturating_mul(64);
    for (_, handle) in block(table, offset, size, &mut left)? {
        let mut handle = handle.as_slice();
        let offset = varint(&mut handle).ok_or_else(short)?;
        let size = varint(&mut handle).ok_or_else(short)?;
        all.extend(block(table, offset, size, &mut left)?);
    }
    Ok(all)
}

/// The keys and values of a block.
fn block(
    table: &[u8],
    offset: u64,
    size: u64,
    left: &mut usize,
) -> Result<Vec<(Vec<u8>, Vec<u8>)>, FormatError> {
    let bad = |text: &str| malformed(format!("variables.index: {text}"));
    let start = usize::try_from(offset).ok();
    let size = usize::try_from(size).ok();
    let range = start.zip(size).and_then(|(start, size)| {
        let end = start.checked_add(size)?;
        Some((table.get(start..end)?, table.get(end..end.checked_add(TRAILER)?)?))
    });
    let (content, trailer) = range.ok_or_else(|| bad("a block lies behind the end"))?;
    let (&kind, crc) = trailer.split_first().ok_or_else(|| bad("a block ends too soon"))?;
    if kind != 0 {
        return Err(bad("its blocks are compressed"));
    }
    let crc = crc.first_chunk::<4>().map(|c| u32::from_le_bytes(*c));
    let sum = crc32c::crc32c_append(crc32c::crc32c(content), &[kind]);
    if crc != Some(masked(sum)) {
        return Err(bad("the checksum of a block is wrong: the file is damaged"));
    }
    let count = content.split_last_chunk::<4>().map(|(_, n)| u32::from_le_bytes(*n));
    let restarts = count.and_then(|n| usize::try_from(n).ok()?.checked_add(1)?.checked_mul(4));
    let end = restarts.and_then(|n| content.len().checked_sub(n));
    let mut rest = end.and_then(|end| content.get(..end)).ok_or_else(|| bad("a bad block"))?;
    let (mut all, mut key) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        let mut number = || varint(&mut rest).and_then(|n| usize::try_from(n).ok());
        let lens = number().zip(number()).zip(number());
        let ((shared, own), value) = lens.ok_or_else(|| bad("an entry ends too soon"))?;
        let parts = rest.split_at_checked(own).and_then(|(own, rest)| {
            let (value, rest) = rest.split_at_checked(value)?;
            (shared <= key.len()).then_some((own, value, rest))
        });
        let (own, value, behind) = parts.ok_or_else(|| bad("an entry ends too soon"))?;
        key.truncate(shared);
        key.extend_from_slice(own);
        *left = left.checked_sub(key.len() + value.len()).ok_or_else(|| bad("it is too large"))?;
        all.push((key.clone(), value.to_vec()));
        rest = behind;
    }
    Ok(all)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
