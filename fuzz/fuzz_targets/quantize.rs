//! Bytes as an ONNX model that is quantised in every mode that needs no inputs: what is written is a model that is read, with the
//! inputs and outputs of the original.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_onnx::{Limits, Model};
use stead_quantize::{Bits, QuantizeError, Report, dynamic, weight_only};
use stead_tensor::AlignedBuf;

type Mode = fn(&mut Model) -> Result<Report, QuantizeError>;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        expanded_bytes: 1 << 22,
        decoded_bytes: 1 << 24,
        inlined_nodes: 1 << 12,
        ..Limits::default()
    };
    let Ok(buffer) = AlignedBuf::copy_of(bytes) else { return };
    let Ok(model) = Model::from_buffer(buffer, None, &limits) else { return };
    let modes: [Mode; 4] = [
        |model| dynamic(model, false),
        |model| dynamic(model, true),
        |model| weight_only(model, Bits::Four, 16),
        |model| weight_only(model, Bits::Eight, 32),
    ];
    for mode in modes {
        let mut small = model.clone();
        if mode(&mut small).is_err() {
            continue;
        }
        let again = Model::from_bytes(&small.to_bytes(), None).expect("what is written is read");
        let names = |model: &Model| -> Vec<String> {
            let graph = &model.graph;
            graph.inputs.iter().chain(&graph.outputs).map(|info| info.name.clone()).collect()
        };
        assert_eq!(names(&again), names(&model));
    }
});
