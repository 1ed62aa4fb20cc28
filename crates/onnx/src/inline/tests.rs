use super::*;
use crate::{AttributeKind, ModelBuilder};
use stead_tensor::{DType, Tensor};

const DOMAIN: &str = "local";

fn base() -> ModelBuilder {
    ModelBuilder::new(17).import(DOMAIN, 1)
}

fn body() -> ModelBuilder {
    ModelBuilder::new(17).import(DOMAIN, 1)
}

fn inlined(builder: ModelBuilder) -> Result<Model, OnnxError> {
    let model = builder.build()?.inline_functions(&Limits::default())?;
    // What is left must still be a valid model.
    Model::from_bytes(&model.to_bytes(), None)
}

/// One line for each node: `out = Op(in, in)`.
fn program(graph: &Graph) -> Vec<String> {
    let line =
        |n: &Node| format!("{} = {}({})", n.outputs.join(", "), n.op_type, n.inputs.join(", "));
    graph.nodes.iter().map(line).collect()
}

#[test]
fn a_call_becomes_the_body_with_names_of_its_own() {
    let twice = body().node("Add", &["a", "a"], &["t"]).node("Neg", &["t"], &["b"]);
    let model = base()
        .input("x", DType::F32, &["?"])
        .node("F", &["x"], &["y"])
        .domain(DOMAIN)
        .node("F", &["y"], &["t"])
        .domain(DOMAIN)
        .output("t", DType::F32)
        .function(DOMAIN, "F", &["a"], &["b"], &[], twice);
    let model = inlined(model).unwrap();
    assert_eq!(
        program(&model.graph),
        ["F.1/t = Add(x, x)", "y = Neg(F.1/t)", "F.2/t = Add(y, y)", "t = Neg(F.2/t)"]
    );
    assert!(model.functions.is_empty());
}

#[test]
fn attribute_references_are_resolved_through_two_calls() {
    let inner = body()
        .node("LeakyRelu", &["a"], &["b"])
        .attr("alpha", AttributeValue::reference("slope", AttributeKind::Float));
    let outer = body()
        .node("Inner", &["a"], &["b"])
        .domain(DOMAIN)
        .attr("slope", AttributeValue::reference("s", AttributeKind::Float));
    let with = |attr: Option<f32>| {
        let call = base().input("x", DType::F32, &[]).node("Outer", &["x"], &["y"]).domain(DOMAIN);
        let call = match attr {
            Some(value) => call.attr("s", value),
            None => call,
        };
        let model = call
            .output("y", DType::F32)
            .function(DOMAIN, "Outer", &["a"], &["b"], &["s"], outer.clone())
            .function(DOMAIN, "Inner", &["a"], &["b"], &["slope"], inner.clone());
        inlined(model).unwrap().graph.nodes[0].attributes.float("alpha").unwrap()
    };
    assert_eq!(with(Some(0.25)), Some(0.25));
    assert_eq!(with(None), None, "the operator's default applies");
}

#[test]
fn absent_inputs_unwanted_outputs_and_inputs_handed_through() {
    let f = body().node("Clip", &["a", "", "hi"], &["b"]);
    let model = base()
        .input("x", DType::F32, &["?"])
        .node("F", &["x"], &["", "same"])
        .domain(DOMAIN)
        .node("Neg", &["same"], &["y"])
        .output("y", DType::F32)
        .function(DOMAIN, "F", &["a", "hi"], &["b", "a"], &[], f);
    assert_eq!(
        program(&inlined(model).unwrap().graph),
        ["F.1/b = Clip(x, , )", "same = Identity(x)", "y = Neg(same)"]
    );
}

#[test]
fn bodies_inside_functions_keep_their_scopes() {
    // The branch defines `x`, a name that the caller has too, and captures the formal input `a`.
    let branch = ModelBuilder::new(17).node("Neg", &["a"], &["x"]).output("x", DType::F32).graph();
    let f = body()
        .node("If", &["c"], &["b"])
        .attr("then_branch", branch.clone())
        .attr("else_branch", branch);
    let model = base()
        .input("x", DType::F32, &["?"])
        .init("c", Tensor::scalar(stead_tensor::Bool(1)).unwrap())
        .node("F", &["c", "x"], &["y"])
        .domain(DOMAIN)
        .output("y", DType::F32)
        .function(DOMAIN, "F", &["c", "a"], &["b"], &[], f);
    let model = inlined(model).unwrap();
    let branches: Vec<_> =
        model.graph.nodes[0].subgraphs().map(|(_, body)| program(body).concat()).collect();
    assert_eq!(branches, ["F.1/x = Neg(x)", "inlined.1 = Neg(x)"]);
}

#[test]
fn recursion_excess_and_growth_are_errors() {
    let call = |name: &str| body().node(name, &["a"], &["b"]).domain(DOMAIN);
    let model = |first: &str| {
        base()
            .input("x", DType::F32, &["?"])
            .node(first, &["x"], &["y"])
            .domain(DOMAIN)
            .output("y", DType::F32)
    };
    let cyclic = model("F").function(DOMAIN, "F", &["a"], &["b"], &[], call("G")).function(
        DOMAIN,
        "G",
        &["a"],
        &["b"],
        &[],
        call("F"),
    );
    assert!(matches!(inlined(cyclic), Err(OnnxError::RecursiveFunction { .. })));

    let short = model("F").function(DOMAIN, "F", &[], &["b"], &[], body().node("C", &[], &["b"]));
    assert!(matches!(inlined(short), Err(OnnxError::CallArity { actual: 1, formal: 0, .. })));

    // Each of 60 functions calls the one below twice: 2^60 nodes, called or not.
    for called in ["F0", "F60"] {
        let err = inlined(doubling(model(called)));
        assert!(matches!(err, Err(OnnxError::Limit { .. })), "{called}");
    }
}

fn doubling(mut model: ModelBuilder) -> ModelBuilder {
    for i in 0..60 {
        let next = format!("F{}", i + 1);
        let twice = body()
            .node(&next, &["a"], &["t"])
            .domain(DOMAIN)
            .node(&next, &["t"], &["b"])
            .domain(DOMAIN);
        model = model.function(DOMAIN, &format!("F{i}"), &["a"], &["b"], &[], twice);
    }
    model.function(DOMAIN, "F60", &["a"], &["b"], &[], body().node("Neg", &["a"], &["b"]))
}

#[test]
fn a_chain_of_functions_needs_no_stack() {
    let mut model = base()
        .input("x", DType::F32, &["?"])
        .node("F0", &["x"], &["y"])
        .domain(DOMAIN)
        .output("y", DType::F32);
    let n = 20_000;
    for i in 0..n {
        let f = body().node(&format!("F{}", i + 1), &["a"], &["b"]).domain(DOMAIN);
        model = model.function(DOMAIN, &format!("F{i}"), &["a"], &["b"], &[], f);
    }
    let last = body().node("Neg", &["a"], &["b"]);
    let model = model.function(DOMAIN, &format!("F{n}"), &["a"], &["b"], &[], last);
    assert_eq!(program(&inlined(model).unwrap().graph), ["y = Neg(x)"]);
}
