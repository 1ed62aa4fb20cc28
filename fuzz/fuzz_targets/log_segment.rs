//! Bytes as the only segment of a log. It is refused or read; after one more record and a new start the same
//! records are found and the new one behind them.
//!
//! The first byte says whether checksums are mended, without which no mutation would get past them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::Arc;
use stead_log::format::{RECORD_HEADER_LEN, SEGMENT_HEADER_LEN, SegmentHeader, encode_record};
use stead_log::{LogError, LogOptions, LogWriter, SeededRng, SimIo};

const NAME: &str = "0000000000000001.log";

fuzz_target!(|bytes: &[u8]| {
    let Some((mend, bytes)) = bytes.split_first() else { return };
    let mended;
    let bytes = if mend & 1 == 1 {
        mended = mend_checksums(bytes);
        &mended
    } else {
        bytes
    };
    let io = SimIo::new(bytes.len() as u64);
    io.set_contents(NAME, bytes);
    let Ok((mut writer, before)) = open(&io) else {
        assert_eq!(io.contents(NAME).as_deref(), Some(bytes), "what is refused is left as it is");
        return;
    };
    writer.append(b"one more").expect("a log that was opened takes records");
    drop(writer);
    io.crash();
    let (_, mut after) = open(&io).expect("what was opened once is opened again");
    assert_eq!(after.pop().as_deref(), Some(&b"one more"[..]));
    assert_eq!(after, before);
});

fn open(io: &SimIo) -> Result<(LogWriter, Vec<Vec<u8>>), LogError> {
    let mut records = Vec::new();
    let rng = Arc::new(SeededRng::new(1));
    let options = LogOptions::default();
    let (writer, recovery) = LogWriter::open(Arc::new(io.clone()), rng, options, |_, payload| {
        records.push(payload.to_vec());
        Ok::<(), LogError>(())
    })?;
    assert_eq!(recovery.records, records.len() as u64);
    Ok((writer, records))
}

/// The same lengths, payloads and claims of durability under good checksums, up to a length of `u32::MAX`: what
/// follows that stays as it is.
fn mend_checksums(bytes: &[u8]) -> Vec<u8> {
    let number = |at: usize| {
        bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
    };
    let (salt, first_lsn) = (number(12), u64::from(number(24)));
    let mut out =
        SegmentHeader { number: 1, first_lsn, salt, tag: Default::default() }.encode().to_vec();
    while let Some(rest) = bytes.get(out.len() + RECORD_HEADER_LEN..) {
        let at = out.len();
        if number(at) == u32::MAX {
            break;
        }
        let payload = &rest[..rest.len().min(number(at) as usize)];
        let synced = SEGMENT_HEADER_LEN as u32 + number(at + 4) % (at as u32);
        encode_record(&mut out, salt, at as u32, synced, payload, crc32c::crc32c(payload));
    }
    out.extend_from_slice(bytes.get(out.len()..).unwrap_or_default());
    out
}
