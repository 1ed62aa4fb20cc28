//! Bytes as an ONNX model: reading, inlining and writing back must neither panic nor take memory without
//! bound, and what was read once must be readable again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_onnx::{Limits, Model, OnnxError};
use stead_tensor::AlignedBuf;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        expanded_bytes: 1 << 24,
        decoded_bytes: 1 << 26,
        inlined_nodes: 1 << 12,
        ..Limits::default()
    };
    let Ok(buffer) = AlignedBuf::copy_of(bytes) else { return };
    let Ok(model) = Model::from_buffer(buffer, None, &limits) else { return };
    for (name, tensor) in &model.graph.initializers {
        assert_eq!(tensor.view().shape(), tensor.shape(), "{name}");
    }
    let again = Model::from_bytes(&model.to_bytes(), None).expect("a valid model stays valid");
    assert_eq!(again.graph.nodes.len(), model.graph.nodes.len());
    match model.inline_functions(&limits) {
        Ok(flat) => {
            Model::from_bytes(&flat.to_bytes(), None).expect("inlining keeps a model valid");
        }
        Err(
            OnnxError::Limit { .. }
            | OnnxError::CallArity { .. }
            | OnnxError::RecursiveFunction { .. }
            | OnnxError::AttributeKind { .. }
            | OnnxError::Undefined { .. },
        ) => {}
        Err(other) => panic!("{other}"),
    }
});
