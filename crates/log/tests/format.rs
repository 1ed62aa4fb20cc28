//! Segments that another implementation of the format has written (`fuzz/seeds/make_log.py`). A change that
//! breaks these needs a new format version.

use stead_log::LogError;
use stead_log::format::{SegmentEnd, SegmentReader};

macro_rules! seed {
    ($name:literal) => {
        // The first byte is for the fuzz target.
        &include_bytes!(concat!("../../../fuzz/seeds/log_segment/", $name))[1..]
    };
}

#[test]
fn the_format_does_not_change() {
    let cases: [(&str, &[u8], &[&[u8]], usize, SegmentEnd); 5] = [
        ("empty", seed!("empty"), &[], 64, SegmentEnd::Clean),
        ("three records", seed!("three"), &[b"first", b"", b"third"], 122, SegmentEnd::Clean),
        ("torn", seed!("torn"), &[b"first", b""], 101, SegmentEnd::Torn("a record is cut short")),
        (
            "zeros behind",
            seed!("zeros"),
            &[b"first", b"", b"third"],
            122,
            SegmentEnd::Torn("a record header is damaged"),
        ),
        (
            "durable once",
            seed!("corrupt"),
            &[],
            64,
            SegmentEnd::Corrupt("a record header is damaged"),
        ),
    ];
    for (label, bytes, records, offset, end) in cases {
        let mut reader = SegmentReader::new(1, bytes).unwrap();
        assert_eq!(reader.header().first_lsn, 1, "{label}");
        assert_eq!(reader.by_ref().collect::<Vec<_>>(), records, "{label}");
        assert_eq!((reader.offset(), reader.end()), (offset, end), "{label}");
    }
    let newer = LogError::Version { segment: 1, found: 2, expected: 1 };
    assert_eq!(SegmentReader::new(1, seed!("newer")).err(), Some(newer));
}
