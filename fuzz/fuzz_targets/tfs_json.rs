//! Bytes as the body of TensorFlow Serving's `:predict`, for a model with three inputs and for one with one.
//! What is accepted is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_node::{ModelMetadata, TensorInfo};
use stead_server::tfserving::{Format, encode_predict, parse_predict};
use stead_tensor::DType;

fn model(inputs: &[(&str, DType)]) -> ModelMetadata {
    let info = |&(name, dtype): &(&str, DType)| TensorInfo {
        name: name.into(),
        dtype,
        shape: vec![-1],
        optional: false,
    };
    ModelMetadata {
        name: "m".into(),
        version: 1,
        versions: vec![1],
        platform: "onnx".into(),
        inputs: inputs.iter().map(info).collect(),
        outputs: vec![],
        special_inputs: vec![],
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, body)) = bytes.split_first() else { return };
    let types = [DType::F32, DType::F64, DType::I64, DType::U8, DType::Bool, DType::String];
    let model = match kind as usize {
        k if k < types.len() => model(&[("x", types[k])]),
        _ => model(&[("x", DType::F32), ("n", DType::I32), ("s", DType::String)]),
    };
    let Ok(parsed) = parse_predict(&body.to_vec().into(), &model) else { return };
    let text = encode_predict(Format::Column, &parsed.inputs).expect("what was read can be written");
    if parsed.inputs.iter().any(|(_, t)| t.shape().elements() == 0) {
        // An empty array does not say what it is an array of.
        return;
    }
    let text = String::from_utf8(text).expect("JSON is UTF-8");
    let again = text.replacen("\"outputs\"", "\"inputs\"", 1);
    if let Ok(again) = parse_predict(&again.into(), &model) {
        for ((_, a), (_, b)) in parsed.inputs.iter().zip(&again.inputs) {
            assert_eq!(a.shape(), b.shape());
        }
    } else {
        assert!(parsed.inputs.len() != 1 || model.inputs.len() != 1, "not read again: {text}");
    }
});
