//! Bytes as the protobuf messages of both inference calls. Tensors must stay below the limit whatever their
//! shapes say.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prost::Message;
use stead_node::{InferResponse, Parameters};
use stead_server::kserve::{encode_message, parse_message};
use stead_server::proto::{kserve, tensorflow};
use stead_server::tfserving::{tensor_from_proto, tensor_to_proto};

const LIMIT: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = kserve::ModelInferRequest::decode(bytes)
        && let Ok(parsed) = parse_message(request)
    {
        let response = InferResponse {
            model: "m".into(),
            version: 1,
            id: parsed.id,
            outputs: parsed.inputs,
            parameters: Parameters::new(),
        };
        if let Ok(message) = encode_message(response, &parsed.outputs, true) {
            assert_eq!(message.outputs.len(), message.raw_output_contents.len());
        }
    }
    if let Ok(request) = tensorflow::serving::PredictRequest::decode(bytes) {
        for proto in request.inputs.into_values() {
            let Ok(tensor) = tensor_from_proto(proto, LIMIT) else { continue };
            assert!(tensor.bytes().len() <= LIMIT);
            let again = tensor_from_proto(tensor_to_proto(&tensor), LIMIT);
            if tensor.shape().elements() > 0 {
                assert_eq!(again.expect("what was written is read"), tensor);
            }
        }
    }
});
