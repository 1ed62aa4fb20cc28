//! What becomes of graphs, and that the results stay near.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{LoadOptions, Model as Loaded, RunContext, Session, SessionOptions};
use stead_onnx::{Model, ModelBuilder, Node};
use stead_quantize::{
    Bits, QuantizeError, Ranges, Run, calibrate, compare, dynamic, fixed, fold_weights, weight_only,
};
use stead_tensor::{DType, Tensor};

/// Numbers from -1 to 1 of which none tells anything about the next.
fn numbers(seed: u64, dims: &[usize]) -> Tensor {
    let value = |i: usize| {
        let mut bits = (i as u64 + (seed << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (bits >> 40) as f32 / (1u32 << 23) as f32 - 1.0
    };
    let count = dims.iter().product::<usize>();
    Tensor::from_slice(&(0..count).map(value).collect::<Vec<f32>>(), dims).unwrap()
}

/// A convolution, a product, a Gemm whose weights are turned, and three that cannot be quantised.
fn model() -> ModelBuilder {
    ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "3", "8", "8"])
        .input("v", DType::F32, &["32", "8"])
        .init("filters", numbers(1, &[4, 3, 3, 3]))
        .init("conv_bias", numbers(2, &[4]))
        .init("w", numbers(3, &[144, 32]))
        .init("u", numbers(4, &[10, 32]))
        .init("bias", numbers(5, &[10]))
        .init("half", numbers(6, &[10, 2]))
        .init("flat", Tensor::from_slice(&[0i64, -1], &[2]).unwrap())
        .node("Conv", &["x", "filters", "conv_bias"], &["c"])
        .named("/conv")
        .node("Relu", &["c"], &["r"])
        .node("Reshape", &["r", "flat"], &["f"])
        .node("MatMul", &["f", "w"], &["h"])
        .named("/layer")
        .node("Gemm", &["h", "u", "bias"], &["y"])
        .attr("transB", 1)
        .node("Gemm", &["y", "half"], &["z"])
        .attr("alpha", 0.5f32)
        .node("MatMul", &["h", "v"], &["t"])
        .output("y", DType::F32)
        .output("z", DType::F32)
        .output("t", DType::F32)
        .output("c", DType::F32)
}

fn runs() -> Vec<Run> {
    (0..4)
        .map(|seed| vec![Some(numbers(seed, &[2, 3, 8, 8])), Some(numbers(9, &[32, 8]))])
        .collect()
}

fn session(model: Model) -> Session {
    // What is written must be a model that is read.
    let bytes = model.to_bytes();
    let loaded = Loaded::from_bytes(&bytes, None, &LoadOptions::default()).unwrap();
    Session::new(loaded, &SessionOptions::default()).unwrap()
}

fn ops(model: &Model) -> Vec<&str> {
    model.graph.nodes.iter().map(|node| node.op_type.as_str()).collect()
}

fn node<'a>(model: &'a Model, op: &str, at: usize) -> &'a Node {
    model.graph.nodes.iter().filter(|n| n.op_type == op).nth(at).unwrap()
}

/// No name is that of two nodes: ONNX Runtime refuses such files.
fn check_names(model: &Model) {
    let mut names: Vec<&str> = model.graph.nodes.iter().map(|n| n.name.as_str()).collect();
    names.retain(|name| !name.is_empty());
    names.sort_unstable();
    assert!(names.windows(2).all(|two| two[0] != two[1]), "{names:?}");
}

/// Every output is within `share` of the largest value, and nearly in the same direction.
fn check_near(quantized: Model, share: f64, label: &str) {
    check_names(&quantized);
    let (first, second) = (session(model().build().unwrap()), session(quantized));
    let found = compare(&first, &second, &runs(), &RunContext::default(), || ()).unwrap();
    assert_eq!(found.len(), 4);
    for d in found {
        assert!(d.max_abs <= share * d.magnitude && d.cosine > 0.97, "{label}: {d:?}");
        assert!(d.elements > 0);
    }
}

#[test]
fn dynamic_products_are_integer_products() {
    for per_channel in [false, true] {
        let mut changed = model().build().unwrap();
        let report = dynamic(&mut changed, per_channel).unwrap();
        assert_eq!(report.quantized, ["MatMul node \"/layer\"", "Gemm node of \"y\""]);
        let left: Vec<&str> = report.left.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(left, ["it has a factor alpha or beta", "its weights are no constant"]);
        let product = ["DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul"];
        let mut expected = vec!["Conv", "Relu", "Reshape"];
        expected.extend(product);
        expected.extend(product);
        expected.extend(["Add", "Gemm", "MatMul"]);
        assert_eq!(ops(&changed), expected);
        assert_eq!(node(&changed, "MatMulInteger", 0).name, "/layer_quant");
        let integer = node(&changed, "MatMulInteger", 1);
        let weights = changed.graph.initializer(&integer.inputs[1]).unwrap();
        assert_eq!((weights.dtype(), &*weights.shape()), (DType::I8, &[32, 10][..]));
        let zero = changed.graph.initializer(&integer.inputs[3]).unwrap();
        assert_eq!(zero.shape().elements(), if per_channel { 10 } else { 1 });
        for gone in ["w", "u"] {
            assert!(changed.graph.initializer(gone).is_none(), "{gone}");
        }
        assert!(changed.graph.initializer("half").is_some());
        check_near(changed, 0.03, &format!("per_channel {per_channel}"));
    }
}

#[test]
fn products_of_one_input_quantise_it_once() {
    let mut shared = ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "16"])
        .init("w", numbers(1, &[16, 4]))
        .node("MatMul", &["x", "w"], &["a"])
        .node("MatMul", &["x", "w"], &["b"])
        .node("Add", &["w", "w"], &["kept"])
        .output("a", DType::F32)
        .output("b", DType::F32)
        .output("kept", DType::F32)
        .build()
        .unwrap();
    dynamic(&mut shared, false).unwrap();
    let count = |op| ops(&shared).iter().filter(|o| **o == op).count();
    assert_eq!((count("DynamicQuantizeLinear"), count("MatMulInteger")), (1, 2));
    assert!(shared.graph.initializer("w").is_some(), "another node reads it");
    session(shared);
}

#[test]
fn fixed_ranges_go_before_products_and_around_convolutions() {
    let original = model().build().unwrap();
    let mut steps = 0;
    let ranges = calibrate(&original, &runs(), &RunContext::default(), || steps += 1).unwrap();
    assert_eq!(steps, 4);
    let mut changed = original.clone();
    let report = fixed(&mut changed, &ranges).unwrap();
    let expected = ["Conv node \"/conv\"", "MatMul node \"/layer\"", "Gemm node of \"y\""];
    assert_eq!(report.quantized, expected);
    // Three inputs and one result; weights and two biases are stored as integers.
    let count = |op| ops(&changed).iter().filter(|o| **o == op).count();
    assert_eq!((count("QuantizeLinear"), count("DequantizeLinear")), (4, 4 + 3 + 2));
    let (conv, gemm) = (node(&changed, "Conv", 0), node(&changed, "Gemm", 0));
    let dequantized =
        |name: &str| -> &Node { changed.graph.nodes.iter().find(|n| n.outputs == [name]).unwrap() };
    for (place, dtype, axis) in [
        (&conv.inputs[1], DType::I8, 0),
        (&conv.inputs[2], DType::I32, 0),
        (&gemm.inputs[1], DType::I8, 0),
        (&gemm.inputs[2], DType::I32, 0),
    ] {
        let back = dequantized(place);
        assert_eq!(back.op_type, "DequantizeLinear", "{place}");
        assert_eq!(changed.graph.initializer(&back.inputs[0]).unwrap().dtype(), dtype, "{place}");
        assert_eq!(back.attributes.int_or("axis", 1).unwrap(), axis, "{place}");
    }
    let matmul = node(&changed, "MatMul", 0);
    assert_eq!(dequantized(&matmul.inputs[1]).attributes.int_or("axis", 0).unwrap(), 1);
    // The result keeps its name behind the pair.
    assert_eq!(dequantized("c").op_type, "DequantizeLinear");
    check_near(changed, 0.05, "fixed");
    // Ranges of nothing leave everything alone, by name.
    let nothing = fixed(&mut original.clone(), &Ranges::default()).unwrap_err();
    assert!(nothing.to_string().contains("no run had a value of \"x\""), "{nothing}");
}

#[test]
fn weights_of_few_bits_are_in_blocks() {
    for (bits, block, share) in
        [(Bits::Four, 32, 0.25), (Bits::Four, 16, 0.25), (Bits::Eight, 32, 0.02)]
    {
        let mut changed = model().build().unwrap();
        let report = weight_only(&mut changed, bits, block).unwrap();
        assert_eq!(report.quantized.len(), 2);
        assert_eq!(changed.opset("com.microsoft"), Some(1));
        let small = node(&changed, "MatMulNBits", 0);
        let weights = changed.graph.initializer(&small.inputs[1]).unwrap();
        let blocks = 144usize.div_ceil(block);
        assert_eq!(&*weights.shape(), [32, blocks, block * bits.count() / 8]);
        assert_eq!(small.attributes.int("K").unwrap(), Some(144));
        check_near(changed, share, &format!("{bits:?} {block}"));
    }
}

#[test]
fn what_cannot_be_quantised_is_refused_by_name() {
    let old = ModelBuilder::new(10)
        .input("x", DType::F32, &["n", "16"])
        .init("w", numbers(1, &[16, 4]))
        .node("MatMul", &["x", "w"], &["a"])
        .output("a", DType::F32)
        .build()
        .unwrap();
    assert_eq!(
        dynamic(&mut old.clone(), false),
        Err(QuantizeError::Opset {
            actual: 10,
            needed: 11,
            operators: "DynamicQuantizeLinear and MatMulInteger"
        })
    );
    assert!(matches!(
        fixed(&mut old.clone(), &Ranges::default()),
        Err(QuantizeError::Opset { needed: 13, .. })
    ));
    assert!(weight_only(&mut old.clone(), Bits::Four, 32).is_ok(), "of any opset");
    let weights = |tensor: Tensor| {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n", "2"])
            .init("w", tensor)
            .node("MatMul", &["x", "w"], &["a"])
            .output("a", DType::F32)
    };
    let stacked = numbers(1, &[2, 2, 2]);
    let endless = Tensor::from_slice(&[1.0f32, f32::INFINITY, 0.0, 0.0], &[2, 2]).unwrap();
    let replaceable = weights(numbers(1, &[2, 2])).input("w", DType::F32, &["2", "2"]);
    for (model, why) in [
        (weights(stacked), "its weights have 3 dimensions"),
        (weights(endless), "its weights are not all finite"),
        (replaceable, "its weights are no constant"),
        (
            ModelBuilder::new(17)
                .input("x", DType::F32, &["n"])
                .node("Relu", &["x"], &["y"])
                .output("y", DType::F32),
            "the main graph has no MatMul, Gemm, Conv or recurrent layer",
        ),
    ] {
        let mut model = model.build().unwrap();
        for error in [dynamic(&mut model.clone(), true), weight_only(&mut model, Bits::Eight, 16)] {
            assert!(error.clone().unwrap_err().to_string().contains(why), "{error:?} {why}");
        }
    }
}

/// Recurrent layers of every kind, the LSTM in both directions.
fn layers(opset: i64) -> ModelBuilder {
    let mut model = ModelBuilder::new(opset).input("x", DType::F32, &["t", "n", "12"]);
    for (op, gates, directions) in [("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)] {
        let (w, r) = (format!("{op}_w"), format!("{op}_r"));
        model = model
            .init(&w, numbers(gates as u64, &[directions, 8 * gates, 12]))
            .init(&r, numbers(9 + gates as u64, &[directions, 8 * gates, 8]))
            .node(op, &["x", &w, &r], &[op])
            .named(&format!("/{op}"))
            .attr("hidden_size", 8)
            .output(op, DType::F32);
        if directions == 2 {
            model = model.attr("direction", "bidirectional");
        }
    }
    model
}

#[test]
fn recurrent_layers_have_weights_of_8_bits() {
    let near = |changed: &Model, share: f64, label: &str| {
        check_names(changed);
        let (first, second) = (session(layers(17).build().unwrap()), session(changed.clone()));
        let runs = [vec![Some(numbers(3, &[7, 2, 12]))], vec![Some(numbers(4, &[1, 1, 12]))]];
        let found = compare(&first, &second, &runs, &RunContext::default(), || ()).unwrap();
        assert_eq!(found.len(), 3);
        for d in found {
            assert!(d.max_abs <= share * d.magnitude && d.cosine > 0.999, "{label}: {d:?}");
        }
    };
    for bits in [Bits::Four, Bits::Eight] {
        let mut changed = layers(17).build().unwrap();
        let report = weight_only(&mut changed, bits, 32).unwrap();
        assert_eq!(
            report.quantized,
            ["LSTM node \"/LSTM\"", "GRU node \"/GRU\"", "RNN node \"/RNN\""]
        );
        let back = "DequantizeLinear";
        let expected = [back, back, "LSTM", back, back, "GRU", back, back, "RNN"];
        assert_eq!(ops(&changed), expected);
        let scales = changed.graph.initializer(&node(&changed, back, 0).inputs[1]).unwrap();
        assert_eq!(&*scales.shape(), [32], "one for each row of both directions");
        assert!(changed.graph.initializer("LSTM_w").is_none());
        near(&changed, 0.03, "weight-only");
    }
    for (per_channel, each) in [(false, &[2][..]), (true, &[2, 32])] {
        let mut changed = layers(17).build().unwrap();
        let report = dynamic(&mut changed, per_channel).unwrap();
        assert_eq!(report.quantized, ["LSTM node \"/LSTM\""]);
        assert!(report.left[0].1.contains("there is no GRU that quantises"), "{report:?}");
        assert_eq!(ops(&changed), ["DynamicQuantizeLSTM", "GRU", "RNN"]);
        assert_eq!(changed.opset("com.microsoft"), Some(1));
        let layer = node(&changed, "DynamicQuantizeLSTM", 0);
        let tensor = |i: usize| changed.graph.initializer(&layer.inputs[i]).unwrap();
        assert_eq!((&*tensor(1).shape(), &*tensor(2).shape()), (&[2, 12, 32][..], &[2, 8, 32][..]));
        for index in 8..12 {
            assert_eq!(&*tensor(index).shape(), each, "input {index}");
        }
        near(&changed, 0.05, "dynamic");
    }
    let old = weight_only(&mut layers(12).build().unwrap(), Bits::Eight, 32).unwrap_err();
    assert!(old.to_string().contains("need opset 13"), "{old}");
    let ranges = fixed(&mut layers(17).build().unwrap(), &Ranges::default()).unwrap_err();
    assert!(ranges.to_string().contains("recurrent layers are for"), "{ranges}");
}

#[test]
fn weights_that_are_cast_and_turned_become_constants() {
    let half = |tensor: Tensor| {
        let values: Vec<half::f16> =
            tensor.as_slice::<f32>().unwrap().iter().map(|v| half::f16::from_f32(*v)).collect();
        Tensor::from_slice(&values, tensor.shape().dims()).unwrap()
    };
    let model = ModelBuilder::new(17)
        .input("x", DType::F32, &["n", "16"])
        .init("w", half(numbers(1, &[24, 16])))
        .init("b", half(numbers(2, &[24])))
        .init("given", numbers(3, &[24, 16]))
        .input("given", DType::F32, &["24", "16"])
        .node("Cast", &["w"], &["wide"])
        .attr("to", 1)
        .node("Transpose", &["wide"], &["turned"])
        .node("MatMul", &["x", "turned"], &["s"])
        .node("Cast", &["b"], &["bias"])
        .attr("to", 1)
        .node("Add", &["s", "bias"], &["y"])
        .node("Transpose", &["given"], &["not"])
        .node("MatMul", &["x", "not"], &["z"])
        .output("y", DType::F32)
        .output("z", DType::F32)
        .build()
        .unwrap();
    let mut folded = model.clone();
    fold_weights(&mut folded);
    let ops: Vec<&str> = folded.graph.nodes.iter().map(|n| n.op_type.as_str()).collect();
    // A bias is no weight, and what a caller may replace no constant.
    assert_eq!(ops, ["MatMul", "Cast", "Add", "Transpose", "MatMul"]);
    let names: Vec<&str> = folded.graph.initializers.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["b", "given", "turned"]);
    let input = vec![Some(numbers(5, &[3, 16])), None];
    let found =
        compare(&session(model), &session(folded.clone()), &[input], &RunContext::default(), || ());
    assert!(found.unwrap().iter().all(|d| d.max_abs == 0.0));
    let report = dynamic(&mut folded, false).unwrap();
    assert_eq!((report.quantized.len(), report.left.len()), (1, 1));
}
