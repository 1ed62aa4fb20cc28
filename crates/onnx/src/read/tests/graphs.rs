use super::*;
use crate::{Graph, ModelBuilder, ValueType};
use stead_tensor::{Bool, DType, Tensor};

fn ops(graph: &Graph) -> Vec<&str> {
    graph.nodes.iter().map(|node| node.op_type.as_str()).collect()
}

fn base() -> ModelBuilder {
    ModelBuilder::new(17).input("x", DType::F32, &["n"]).output("y", DType::F32)
}

#[test]
fn nodes_in_any_order_are_sorted() {
    let model = base()
        .node("Neg", &["b"], &["y"])
        .node("Exp", &["a"], &["b"])
        .node("Abs", &["x"], &["a"])
        .build()
        .unwrap();
    assert_eq!(ops(&model.graph), ["Abs", "Exp", "Neg"]);
}

#[test]
fn a_body_waits_for_what_it_captures() {
    let branch = |op: &str| {
        ModelBuilder::new(17).node(op, &["late"], &["r"]).output("r", DType::F32).graph()
    };
    let model = base()
        .init("c", Tensor::scalar(Bool(1)).unwrap())
        .node("If", &["c"], &["y"])
        .attr("then_branch", branch("Neg"))
        .attr("else_branch", branch("Abs"))
        .node("Exp", &["x"], &["late"])
        .build()
        .unwrap();
    assert_eq!(ops(&model.graph), ["Exp", "If"]);
}

#[test]
fn names_that_do_not_fit() {
    let body = |input: &str| {
        ModelBuilder::new(17).node("Neg", &[input], &["r"]).output("r", DType::F32).graph()
    };
    let one = || Tensor::scalar(1.0f32).unwrap();
    let cases = [
        (base().node("Neg", &["z"], &["y"]), "Neg node of \"y\" uses \"z\", which nothing defines"),
        (base(), "an output of graph \"graph\" uses \"y\", which nothing defines"),
        (
            base().node("Neg", &["x"], &["y"]).node("Abs", &["x"], &["y"]).named("second"),
            "Abs node \"second\" defines \"y\", which is already defined",
        ),
        (
            base().node("Neg", &["x"], &["x"]).node("Abs", &["x"], &["y"]),
            "Neg node of \"x\" defines \"x\", which is already defined",
        ),
        (
            base().init("w", one()).init("w", one()).node("Neg", &["w"], &["y"]),
            "the list of initializers of graph \"graph\" defines \"w\", which is already defined",
        ),
        (
            base().input("x", DType::F32, &[]).node("Neg", &["x"], &["y"]),
            "the list of inputs of graph \"graph\" defines \"x\", which is already defined",
        ),
        (
            base().node("Add", &["x", "b"], &["a"]).node("Neg", &["a"], &["b"]).node(
                "Abs",
                &["b"],
                &["y"],
            ),
            "the graph has a cycle through Add node of \"a\"",
        ),
        (
            base().node("If", &["x"], &["y"]).attr("then_branch", body("y")),
            "the graph has a cycle through If node of \"y\"",
        ),
        (
            base().node("If", &["x"], &["y"]).attr("then_branch", body("q")),
            "Neg node of \"r\" uses \"q\", which nothing defines",
        ),
        (
            base().node("Neg", &["r"], &["y"]).node("If", &["x"], &["s"]).attr("g", body("x")),
            "Neg node of \"y\" uses \"r\", which nothing defines",
        ),
        (base().node("", &["x"], &["y"]), "node of \"y\" has no operator type"),
        (
            base().node("F", &["x"], &["y"]).domain("acme"),
            "F node of \"y\": domain \"acme\" is not in the model's opset imports",
        ),
        (
            base().output("y", DType::F32).node("Neg", &["x"], &["y"]),
            "the list of outputs defines \"y\", which is already defined",
        ),
    ];
    for (builder, expected) in cases {
        assert_eq!(builder.build().unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_body_may_hide_an_outer_name_and_branches_may_use_the_same() {
    let branch = || {
        ModelBuilder::new(17)
            .node("Neg", &["x"], &["t"])
            .node("Abs", &["t"], &["r"])
            .output("r", DType::F32)
    };
    let model = base()
        .init("c", Tensor::scalar(Bool(1)).unwrap())
        .node("Exp", &["x"], &["t"])
        .node("If", &["c"], &["y"])
        .attr("then_branch", branch().graph())
        .attr("else_branch", branch().graph());
    assert!(model.build().is_ok());
}

#[test]
fn initializers_that_are_inputs_are_defaults_since_ir_4() {
    let model = |ir| {
        base()
            .ir_version(ir)
            .input("w", DType::F32, &[])
            .init("w", Tensor::scalar(2.0f32).unwrap())
            .node("Mul", &["x", "w"], &["y"])
            .build()
            .unwrap()
    };
    let inputs = |model: &Model| model.graph.inputs.len();
    assert_eq!((inputs(&model(3)), inputs(&model(4))), (1, 2));
    assert_eq!(model(8).graph.required_inputs().count(), 1);
}

#[test]
fn versions() {
    let opset = |version| {
        ModelBuilder::new(version)
            .input("x", DType::F32, &[])
            .node("Add", &["x", "x"], &["y"])
            .output("y", DType::F32)
    };
    for version in [1, 6, 7, 28] {
        assert_eq!(opset(version).build().unwrap().opset(""), Some(version));
    }
    for version in [-1, 0, 29, i64::MAX] {
        let err = opset(version).build().unwrap_err();
        assert_eq!(err, OnnxError::Opset { version, min: 1, max: 28 });
    }
    for ir in [0, 2, 15, -1] {
        assert_eq!(opset(17).ir_version(ir).build().unwrap_err(), OnnxError::IrVersion(ir));
    }
    let twice = opset(17).import("ai.onnx", 18).build();
    assert!(matches!(twice, Err(OnnxError::Redefined { .. })));
    assert!(opset(17).import("ai.onnx", 17).build().is_ok());
}

#[test]
fn everything_that_is_written_is_read_back() {
    let any = ValueType::Unknown;
    let body = ModelBuilder::new(17).node("Neg", &["x"], &["r"]).output_of("r", any).graph();
    let tensor = || Tensor::from_slice(&[1i64, 2], &[2]).unwrap();
    let seq = ValueType::Sequence(Box::new(ValueType::tensor(DType::I64, None)));
    let map =
        ValueType::Map { key: DType::I64, value: Box::new(ValueType::tensor(DType::F32, None)) };
    let model = base()
        .metadata("author", "me")
        .import("acme", 3)
        .input_of("s", seq.clone())
        .input_of("o", ValueType::Optional(Box::new(seq)))
        .input_of("m", map)
        .node("F", &["x", "", "s"], &["y", ""])
        .domain("acme")
        .named("f")
        .attr("int", -5)
        .attr("float", 0.5f32)
        .attr("string", "text")
        .attr("tensor", tensor())
        .attr("graph", body.clone())
        .attr("ints", [1i64, 2])
        .attr("floats", [1.0f32])
        .attr("strings", ["a", "b"])
        .attr("type", ValueType::tensor(DType::BF16, None))
        .attr("tensors", crate::AttributeValue::Tensors(vec![tensor(), tensor()]))
        .attr("graphs", crate::AttributeValue::Graphs(vec![body]))
        .attr("sparse", crate::AttributeValue::SparseTensor(tensor()))
        .value("q", ValueType::tensor(DType::F16, Some(crate::dims_of(&["a", "2", "?"]))));
    let read = model.clone().build().unwrap();
    // The label is for messages and is made by the reader.
    let mut written = model.unchecked();
    let label = written.graph.nodes[0].label();
    written.graph.nodes[0].attributes.set_label(label);
    for (_, value) in written.graph.nodes[0].attributes.iter_mut() {
        for body in value.graphs_mut() {
            for node in &mut body.nodes {
                let label = node.label();
                node.attributes.set_label(label);
            }
        }
    }
    assert_eq!(read, written);
}
