//! Bytes as a frozen GraphDef and as the table of a checkpoint: what is read is a valid graph, without panics and without memory
//! that the file does not have.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_formats::tensorflow;
use stead_onnx::{Limits, Model};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        expanded_bytes: 1 << 24,
        decoded_bytes: 1 << 24,
        nodes: 1 << 12,
        inlined_nodes: 1 << 12,
        ..Limits::default()
    };
    let _ = tensorflow::check_index(bytes);
    let Ok(model) = tensorflow::frozen(bytes, &limits) else { return };
    Model::from_bytes(&model.to_bytes(), None).expect("what was read is valid");
});
