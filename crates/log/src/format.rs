//! The bytes of a segment. All numbers are little-endian.
//!
//! A segment is a header and then records without gaps:
//!
//! | header at | | |
//! |---|---|---|
//! | 0 | `[u8; 8]` | `STEADLOG` |
//! | 8 | `u32` | format version, 1 |
//! | 12 | `u32` | salt: random, in the checksum of every record header of this segment |
//! | 16 | `u64` | the segment's number, which is also its file name |
//! | 24 | `u64` | LSN of the first record |
//! | 32 | `[u8; 16]` | the caller's tag |
//! | 48 | `[u8; 12]` | 0 |
//! | 60 | `u32` | crc32c of the 60 bytes before |
//!
//! | record at | | |
//! |---|---|---|
//! | 0 | `u32` | length of the payload |
//! | 4 | `u32` | synced: bytes of this segment that were durable before this record was written |
//! | 8 | `u32` | crc32c of the payload |
//! | 12 | `u32` | crc32c of salt, the record's offset in the segment, and the 12 bytes before |
//! | 16 | | payload |
//!
//! *Why two checksums.* The one of the header makes a length trustworthy before the payload is looked at,
//! and lets the reader find later records behind damage. *Why salt and offset.* A payload may hold a copy
//! of a segment, and clients choose payloads: no such bytes pass for a record. *Why `synced`.* After a crash
//! the bytes of the last write may be damaged, and are cut. Damage in front of a record that says it was
//! written after those bytes were durable is no torn write: something acknowledged is lost, and that is an
//! error ([`SegmentEnd::Corrupt`]).

use crate::error::LogError;

/// What kind of log a segment belongs to, chosen by the caller, padded with 0.
pub type Tag = [u8; 16];

/// Length of a segment's header in bytes.
pub const SEGMENT_HEADER_LEN: usize = 64;
/// Length of a record's header in bytes.
pub const RECORD_HEADER_LEN: usize = 16;
/// The format version that is read and written.
pub const FORMAT_VERSION: u32 = 1;
/// No segment is longer: offsets stay far below `u32::MAX`, and a segment is read into memory as a whole.
pub const MAX_SEGMENT_BYTES: u64 = 1 << 30;

const MAGIC: &[u8; 8] = b"STEADLOG";

/// The decoded header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The segment's number.
    pub number: u64,
    /// LSN of its first record.
    pub first_lsn: u64,
    /// Random bits in the checksum of each record header.
    pub salt: u32,
    /// The caller's tag.
    pub tag: Tag,
}

impl SegmentHeader {
    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_LEN] {
        let mut bytes = [0; SEGMENT_HEADER_LEN];
        bytes[0..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.salt.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.number.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.first_lsn.to_le_bytes());
        bytes[32..48].copy_from_slice(&self.tag);
        let crc = crc32c::crc32c(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header of segment `number` from the segment's first bytes.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] or [`LogError::Version`].
    pub fn decode(number: u64, bytes: &[u8]) -> Result<Self, LogError> {
        let corrupt = |reason| LogError::Corrupt { segment: number, offset: 0, reason };
        let Some(bytes) = bytes.first_chunk::<SEGMENT_HEADER_LEN>() else {
            return Err(corrupt("the header is cut short"));
        };
        if &bytes[..8] != MAGIC {
            return Err(corrupt("it does not begin like a segment"));
        }
        // Before the checksum: another version may have another header.
        let version = u32_at(bytes, 8);
        if version != FORMAT_VERSION {
            return Err(LogError::Version {
                segment: number,
                found: version,
                expected: FORMAT_VERSION,
            });
        }
        if crc32c::crc32c(&bytes[..60]) != u32_at(bytes, 60) {
            return Err(corrupt("the header's checksum differs"));
        }
        let mut tag = Tag::default();
        tag.copy_from_slice(&bytes[32..48]);
        let header = Self {
            number: u64_at(bytes, 16),
            first_lsn: u64_at(bytes, 24),
            salt: u32_at(bytes, 12),
            tag,
        };
        if header.number != number {
            return Err(corrupt("the header has another number than the file"));
        }
        // Half of all numbers are left for the records that follow, so that counting them needs no check.
        if header.first_lsn == 0 || header.first_lsn > u64::MAX / 2 {
            return Err(corrupt("the header has an impossible first LSN"));
        }
        Ok(header)
    }
}

/// Appends one record to `out`. `offset` is where in the segment it begins, `payload_crc` the crc32c of
/// `payload`.
///
/// `payload` must be shorter than [`MAX_SEGMENT_BYTES`], and offset and synced must be below it too.
pub fn encode_record(
    out: &mut Vec<u8>,
    salt: u32,
    offset: u32,
    synced: u32,
    payload: &[u8],
    payload_crc: u32,
) {
    debug_assert!((payload.len() as u64) < MAX_SEGMENT_BYTES);
    let mut header = [0; RECORD_HEADER_LEN];
    header[0..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    header[4..8].copy_from_slice(&synced.to_le_bytes());
    header[8..12].copy_from_slice(&payload_crc.to_le_bytes());
    let crc = record_header_crc(salt, offset, &header);
    header[12..16].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&header);
    out.extend_from_slice(payload);
}

/// Where the records of a segment stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentEnd {
    /// The last record ends with the segment.
    Clean,
    /// What follows the last good record may be the rest of a write that a crash interrupted. In any segment
    /// but the last it is corruption.
    Torn(&'static str),
    /// What follows the last good record was durable once and is damaged.
    Corrupt(&'static str),
}

/// Reads the records of a segment that is in memory: an iterator over payloads that stops at the first
/// damage. Lengths are checked against what is there, so hostile bytes cost no memory.
#[derive(Debug, Clone)]
pub struct SegmentReader<'a> {
    bytes: &'a [u8],
    header: SegmentHeader,
    offset: usize,
    damage: Option<&'static str>,
}

impl<'a> SegmentReader<'a> {
    /// Begins with the header of segment `number`.
    ///
    /// # Errors
    /// Those of [`SegmentHeader::decode`]; [`LogError::Corrupt`] if the segment is longer than
    /// [`MAX_SEGMENT_BYTES`].
    pub fn new(number: u64, bytes: &'a [u8]) -> Result<Self, LogError> {
        let header = SegmentHeader::decode(number, bytes)?;
        if bytes.len() as u64 > MAX_SEGMENT_BYTES {
            let reason = "it is longer than any segment";
            return Err(LogError::Corrupt { segment: number, offset: MAX_SEGMENT_BYTES, reason });
        }
        Ok(Self { bytes, header, offset: SEGMENT_HEADER_LEN, damage: None })
    }

    /// The segment's header.
    #[must_use]
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Where the next record begins or the damage is.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// What follows the records, once the iterator has ended.
    #[must_use]
    pub fn end(&self) -> SegmentEnd {
        match self.damage {
            None => SegmentEnd::Clean,
            Some(reason) if self.was_durable() => SegmentEnd::Corrupt(reason),
            Some(reason) => SegmentEnd::Torn(reason),
        }
    }

    /// Whether a record behind the damage was written after the damaged bytes were durable. One checksum of
    /// 18 bytes for each byte behind the damage at most: only a header that is good has its payload read.
    fn was_durable(&self) -> bool {
        let mut at = self.offset + 1;
        while at + RECORD_HEADER_LEN <= self.bytes.len() {
            match record_at(self.bytes, self.header.salt, at) {
                Ok(record) if record.synced > self.offset => return true,
                Ok(record) => at = record.end,
                Err(_) => at += 1,
            }
        }
        false
    }
}

impl<'a> Iterator for SegmentReader<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.damage.is_some() || self.offset == self.bytes.len() {
            return None;
        }
        match record_at(self.bytes, self.header.salt, self.offset) {
            Ok(record) => {
                self.offset = record.end;
                Some(record.payload)
            }
            Err(reason) => {
                self.damage = Some(reason);
                None
            }
        }
    }
}

struct Record<'a> {
    payload: &'a [u8],
    synced: usize,
    end: usize,
}

/// Reads the record at `offset`, which is below [`MAX_SEGMENT_BYTES`].
fn record_at(bytes: &[u8], salt: u32, offset: usize) -> Result<Record<'_>, &'static str> {
    let Some((header, rest)) =
        bytes.get(offset..).and_then(|bytes| bytes.split_first_chunk::<RECORD_HEADER_LEN>())
    else {
        return Err("a record header is cut short");
    };
    let synced = u32_at(header, 4) as usize;
    // The cheap check first, since the search behind damage asks it of every byte.
    if synced < SEGMENT_HEADER_LEN || synced > offset {
        return Err("a record header is damaged");
    }
    if record_header_crc(salt, offset as u32, header) != u32_at(header, 12) {
        return Err("a record header is damaged");
    }
    let len = u32_at(header, 0) as usize;
    let Some(payload) = rest.get(..len) else {
        return Err("a record is cut short");
    };
    if crc32c::crc32c(payload) != u32_at(header, 8) {
        return Err("a record is damaged");
    }
    Ok(Record { payload, synced, end: offset + RECORD_HEADER_LEN + len })
}

fn record_header_crc(salt: u32, offset: u32, header: &[u8; RECORD_HEADER_LEN]) -> u32 {
    let mut bytes = [0; 20];
    bytes[0..4].copy_from_slice(&salt.to_le_bytes());
    bytes[4..8].copy_from_slice(&offset.to_le_bytes());
    bytes[8..20].copy_from_slice(&header[..12]);
    crc32c::crc32c(&bytes)
}

/// `at + 4` must be within `bytes`.
fn u32_at<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// `at + 8` must be within `bytes`.
fn u64_at<const N: usize>(bytes: &[u8; N], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: SegmentHeader = SegmentHeader {
        number: 3,
        first_lsn: 7,
        salt: 0xdead_beef,
        tag: *b"test\0\0\0\0\0\0\0\0\0\0\0\0",
    };

    /// A segment of three records; the third was written after the first was durable.
    fn segment() -> Vec<u8> {
        let mut bytes = HEADER.encode().to_vec();
        for (payload, synced) in [(&b"first"[..], 64), (b"second", 64), (b"third", 64 + 16 + 5)] {
            let offset = bytes.len() as u32;
            encode_record(
                &mut bytes,
                HEADER.salt,
                offset,
                synced,
                payload,
                crc32c::crc32c(payload),
            );
        }
        bytes
    }

    fn read(bytes: &[u8]) -> (Vec<&[u8]>, usize, SegmentEnd) {
        let mut reader = SegmentReader::new(3, bytes).unwrap();
        let records: Vec<_> = reader.by_ref().collect();
        (records, reader.offset(), reader.end())
    }

    #[test]
    fn the_checksum_is_the_one_of_rfc_3720() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn what_is_written_is_read() {
        let bytes = segment();
        assert_eq!(SegmentHeader::decode(3, &bytes), Ok(HEADER));
        let expected: Vec<&[u8]> = vec![b"first", b"second", b"third"];
        assert_eq!(read(&bytes), (expected, bytes.len(), SegmentEnd::Clean));
    }

    #[test]
    fn damage_is_torn_or_corrupt() {
        let whole = segment();
        let (second, third) = (64 + 21, 64 + 21 + 22);
        let flip = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            bytes
        };
        let mut zeros = whole.clone();
        zeros.extend([0; 100]);
        let corrupt = SegmentEnd::Corrupt;
        let torn = SegmentEnd::Torn;
        let cases = [
            ("payload of the first, durable", flip(64 + 16), 64, 0, corrupt("a record is damaged")),
            ("length of the first", flip(64), 64, 0, corrupt("a record header is damaged")),
            ("payload of the second", flip(second + 17), second, 1, torn("a record is damaged")),
            (
                "checksum of the third",
                flip(third + 12),
                third,
                2,
                torn("a record header is damaged"),
            ),
            (
                "cut in a payload",
                whole[..third + 18].into(),
                third,
                2,
                torn("a record is cut short"),
            ),
            (
                "cut in a header",
                whole[..third + 3].into(),
                third,
                2,
                torn("a record header is cut short"),
            ),
            ("zeros behind", zeros, whole.len(), 3, torn("a record header is damaged")),
        ];
        for (label, bytes, offset, records, end) in cases {
            let (found, at, how) = read(&bytes);
            assert_eq!((found.len(), at, how), (records, offset, end), "{label}");
        }
    }

    #[test]
    fn every_flip_of_a_bit_is_seen() {
        let whole = segment();
        let (records, ..) = read(&whole);
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(mut reader) = SegmentReader::new(3, &bytes) else {
                assert!(bit < 64 * 8, "bit {bit} is no part of the header");
                continue;
            };
            let found: Vec<_> = reader.by_ref().collect();
            assert!(found.len() < 3, "bit {bit}");
            assert_eq!(found, records[..found.len()], "bit {bit}");
            assert_ne!(reader.end(), SegmentEnd::Clean, "bit {bit}");
        }
    }

    #[test]
    fn headers_that_are_refused() {
        let good = HEADER.encode();
        let change = |at: usize, to: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = to;
            bytes
        };
        let corrupt = |reason| LogError::Corrupt { segment: 3, offset: 0, reason };
        let cases = [
            ("empty", vec![], corrupt("the header is cut short")),
            ("short", good[..63].into(), corrupt("the header is cut short")),
            ("other file", change(0, b'X'), corrupt("it does not begin like a segment")),
            ("newer", change(8, 9), LogError::Version { segment: 3, found: 9, expected: 1 }),
            ("flipped", change(30, 1), corrupt("the header's checksum differs")),
        ];
        for (label, bytes, error) in cases {
            assert_eq!(SegmentHeader::decode(3, &bytes), Err(error), "{label}");
        }
        let renamed = LogError::Corrupt {
            segment: 4,
            offset: 0,
            reason: "the header has another number than the file",
        };
        assert_eq!(SegmentHeader::decode(4, &good), Err(renamed));
    }

    #[test]
    fn a_copy_of_a_segment_in_a_payload_is_no_record() {
        let inner = segment();
        let mut bytes = HEADER.encode().to_vec();
        encode_record(&mut bytes, HEADER.salt, 64, 64, &inner, crc32c::crc32c(&inner));
        // The outer header is damaged, so that the reader searches through the copy.
        bytes[64] ^= 1;
        assert_eq!(read(&bytes).2, SegmentEnd::Torn("a record header is damaged"));
    }
}
