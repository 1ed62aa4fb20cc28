//! Bytes as a `.npy` file and as a `.npz` archive; what was read must be written and read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use stead_tensor::npy::{self, NpyError};
use stead_tensor::{Tensor, npz};

const LIMIT: u64 = 1 << 22;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(tensor) = npy::read(&mut &*bytes, LIMIT) {
        round_trip(&tensor);
    }
    if let Ok(arrays) = npz::read(Cursor::new(bytes), LIMIT) {
        arrays.iter().for_each(|(_, tensor)| round_trip(tensor));
    }
});

fn round_trip(tensor: &Tensor) {
    let mut out = Vec::new();
    match npy::write(&mut out, &tensor.view()) {
        // Byte strings need not be Unicode.
        Err(NpyError::BadString(_)) => return,
        result => result.expect("a type that was read can be written"),
    }
    let again = npy::read(&mut &*out, u64::MAX).expect("what was written can be read");
    assert_eq!(&again, tensor);
}
