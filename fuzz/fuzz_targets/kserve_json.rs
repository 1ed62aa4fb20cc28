//! Bytes as the body of a KServe inference over HTTP: the first two say how many of the others are JSON. What
//! is accepted is answered as it came, as JSON and as raw bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_node::{InferResponse, Parameters};
use stead_server::kserve::{encode_infer, parse_infer};

fuzz_target!(|bytes: &[u8]| {
    let Some((head, body)) = bytes.split_first_chunk::<2>() else { return };
    let json_len = usize::from(u16::from_le_bytes(*head)).min(body.len());
    let Ok(parsed) = parse_infer(&body.to_vec().into(), json_len) else { return };
    let held: usize = parsed.inputs.iter().map(|(_, t)| t.bytes().len()).sum();
    assert!(held <= body.len() * 8, "{held} bytes of tensors from {} bytes", body.len());
    let response = InferResponse {
        model: "m".into(),
        version: 1,
        id: parsed.id,
        outputs: parsed.inputs,
        parameters: Parameters::new(),
    };
    for binary in [false, true] {
        let Ok(encoded) = encode_infer(&response, &parsed.outputs, binary, true) else { continue };
        assert!(encoded.json_len.is_none_or(|n| n <= encoded.body.len()));
    }
});
