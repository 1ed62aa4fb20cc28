//! Bytes as a tensor in Vespa's binary format: what is read is written and read again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_expr::codec::binary::{decode, encode};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(value) = decode(bytes) {
        assert_eq!(decode(&encode(&value)).expect("what was written is read"), value);
    }
});
