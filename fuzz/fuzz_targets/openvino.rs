//! Bytes as OpenVINO IR, the `.xml` and behind a zero byte the `.bin`: what is read is a valid graph, without panics and without
//! memory that the file does not have.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_formats::openvino;
use stead_onnx::{Limits, Model};

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        expanded_bytes: 1 << 24,
        decoded_bytes: 1 << 24,
        nodes: 1 << 12,
        ..Limits::default()
    };
    let cut = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    let (xml, bin) = (&bytes[..cut], bytes.get(cut + 1..).unwrap_or_default());
    let Ok(model) = openvino::from_bytes(xml, bin, &limits) else { return };
    Model::from_bytes(&model.to_bytes(), None).expect("what was read is valid");
});
