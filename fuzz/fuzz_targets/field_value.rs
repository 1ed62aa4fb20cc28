//! Bytes as the value of a field: what is one is written and read again as the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_store::FieldValue;

fuzz_target!(|data: &[u8]| {
    let Ok(value) = FieldValue::from_bytes(data) else { return };
    // Numbers may have been written longer than they need be, and NaN is not itself.
    let bytes = value.to_bytes();
    let again = FieldValue::from_bytes(&bytes).expect("what was written is read");
    assert_eq!(again.to_bytes(), bytes);
});
