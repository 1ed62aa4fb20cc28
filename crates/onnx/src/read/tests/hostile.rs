use super::*;
use crate::{AttributeValue, ModelBuilder, ValueInfo};
use proptest::prelude::*;
use stead_tensor::{DType, Tensor};

/// A model with something of every kind, to be damaged.
pub(in crate::read) fn sample() -> Vec<u8> {
    let body = ModelBuilder::new(17).node("Neg", &["x"], &["r"]).output("r", DType::F32).graph();
    let function = ModelBuilder::new(17).node("Abs", &["a"], &["b"]);
    ModelBuilder::new(17)
        .import("acme", 1)
        .metadata("k", "v")
        .input("x", DType::F32, &["n", "3"])
        .init("w", Tensor::from_slice(&[1.0f32; 12], &[3, 4]).unwrap())
        .init("s", Tensor::from_strings(vec![b"ab".to_vec()], &[1]).unwrap())
        .node("MatMul", &["x", "w"], &["m"])
        .node("F", &["m"], &["f"])
        .domain("acme")
        .attr("ints", [1i64, 2, 300])
        .attr("sparse", AttributeValue::SparseTensor(Tensor::scalar(1.0f32).unwrap()))
        .attr("t", Tensor::from_slice(&[1u8, 2], &[2]).unwrap())
        .node("If", &["f"], &["y"])
        .attr("then_branch", body.clone())
        .attr("else_branch", body)
        .output("y", DType::F32)
        .function("acme", "F", &["a"], &["b"], &["ints"], function)
        .bytes()
}

/// Reads bytes that may be anything, and uses what is read.
fn try_read(bytes: &[u8]) -> Result<(), OnnxError> {
    let model = Model::from_bytes(bytes, None)?;
    for (_, tensor) in &model.graph.initializers {
        assert_eq!(tensor.bytes().len(), tensor.shape().byte_len(tensor.dtype()));
    }
    let limits = Limits { inlined_nodes: 1000, ..Limits::default() };
    let again = Model::from_bytes(&model.to_bytes(), None)?;
    assert_eq!(again.graph.nodes.len(), model.graph.nodes.len());
    model.inline_functions(&limits)?;
    Ok(())
}

#[test]
fn every_truncation_is_an_error_or_a_model() {
    let bytes = sample();
    try_read(&bytes).unwrap();
    for len in 0..bytes.len() {
        let _ = try_read(&bytes[..len]);
    }
}

#[test]
fn every_bit_of_every_byte_changed() {
    let bytes = sample();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << bit;
            let _ = try_read(&changed);
        }
    }
}

// PROPTEST_CASES=100000 makes this a long loop; a failure prints the input that shows it.
proptest! {
    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = try_read(&bytes);
    }

    #[test]
    fn several_bytes_changed(changes in prop::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        let mut bytes = sample();
        for (at, byte) in changes {
            let at = usize::from(at) % bytes.len();
            bytes[at] = byte;
        }
        let _ = try_read(&bytes);
    }
}

#[test]
fn limits_are_named() {
    let model = |graph| {
        read_within(
            &model_of(graph),
            &Limits {
                nodes: 10,
                name_bytes: 20,
                depth: 3,
                decoded_bytes: 1 << 20,
                ..Limits::default()
            },
        )
    };
    let node = |name: &str| proto::NodeProto {
        op_type: Some("Neg".to_owned()),
        name: Some(name.to_owned()),
        ..Default::default()
    };
    let nodes = |node, n| proto::GraphProto { node: vec![node; n], ..Default::default() };
    let mut deep = proto::GraphProto::default();
    for _ in 0..5 {
        let attribute = proto::AttributeProto {
            name: Some("g".to_owned()),
            r#type: Some(5),
            g: Some(Box::new(deep)),
            ..Default::default()
        };
        let holder = proto::NodeProto { attribute: vec![attribute], ..node("") };
        deep = proto::GraphProto { node: vec![holder], ..Default::default() };
    }
    let cases = [
        ("nodes of the model", nodes(node(""), 11)),
        ("bytes of node name", nodes(node(&"n".repeat(21)), 1)),
        ("depth of graphs", deep),
        ("bytes of the model's graphs when decoded", nodes(node(""), 100_000)),
    ];
    for (expected, graph) in cases {
        let err = model(graph).unwrap_err();
        assert!(err.to_string().starts_with(expected), "{err}");
    }
}

#[test]
fn nesting_beyond_the_decoder_is_an_error() {
    // Types within types, each length-prefixed by hand: an encoder of such a depth would recurse.
    let mut ty = Vec::new();
    for _ in 0..50_000 {
        let mut outer = vec![0x22];
        let inner_len = {
            let mut inner = vec![0x0a];
            prost::encoding::encode_varint(ty.len() as u64, &mut inner);
            inner.append(&mut ty);
            ty = inner;
            ty.len() as u64
        };
        prost::encoding::encode_varint(inner_len, &mut outer);
        outer.append(&mut ty);
        ty = outer;
        if ty.len() > 300_000 {
            break;
        }
    }
    let mut info = vec![0x12];
    prost::encoding::encode_varint(ty.len() as u64, &mut info);
    info.append(&mut ty);
    let mut graph = vec![0x5a];
    prost::encoding::encode_varint(info.len() as u64, &mut graph);
    graph.append(&mut info);
    let mut model = vec![0x08, 8, 0x3a];
    prost::encoding::encode_varint(graph.len() as u64, &mut model);
    model.append(&mut graph);
    let err = Model::from_bytes(&model, None).unwrap_err();
    assert!(matches!(err, OnnxError::Malformed { .. }), "{err}");
}

#[test]
fn declared_shapes_are_bounded() {
    let dims = |dims: &[usize]| Some(dims.iter().map(|&d| crate::Dim::Known(d)).collect());
    for shape in [vec![1 << 40, 1 << 40], vec![1; 9]] {
        let mut model = ModelBuilder::new(17).unchecked();
        let ty = crate::ValueType::tensor(DType::F32, dims(&shape));
        model.graph.inputs.push(ValueInfo { name: "x".to_owned(), ty });
        let err = Model::from_bytes(&model.to_bytes(), None).unwrap_err();
        assert!(matches!(err, OnnxError::DeclaredShape { .. }), "{err}");
    }
}
