//! Bytes as a record of a log of states. It is refused, or it is written as the same bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_sequence::durable::{Image, decode, encode};

fuzz_target!(|bytes: &[u8]| {
    let Ok(Some(record)) = decode(bytes) else { return };
    assert_eq!(encode(&record), bytes);
    let mut image = Image::default();
    image.apply(record.clone());
    image.apply(record);
});
