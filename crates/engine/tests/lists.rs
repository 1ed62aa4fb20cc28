//! Sequences and optionals, inside of models and as their inputs and outputs.
#![allow(clippy::unwrap_used)] // a panic is the report

use stead_engine::{
    Form, LoadError, LoadOptions, Model, OwnedOutput, PassChoice, RunContext, RunError, Session,
    SessionOptions, Value,
};
use stead_onnx::{Graph, ModelBuilder, ValueType};
use stead_tensor::{Bool, DType, Tensor};

fn load(model: ModelBuilder, passes: PassChoice) -> Result<Session, LoadError> {
    let load = LoadOptions { lists: true, passes, ..LoadOptions::default() };
    let model = Model::from_onnx(model.build().unwrap(), &load)?;
    Session::new(model, &SessionOptions::default())
}

fn run(session: &Session, inputs: &[Value<Tensor>]) -> Result<Vec<Value<Tensor>>, RunError> {
    let views: Vec<_> = inputs.iter().map(|value| value.map(Tensor::view)).collect();
    let all: Vec<usize> = (0..session.model().outputs().len()).collect();
    let outputs = session.run_values(&views, &RunContext::default(), &all)?;
    let tensors = outputs.into_iter().map(|v| v.try_map(OwnedOutput::into_tensor).unwrap());
    Ok(tensors.collect())
}

fn tensor(values: &[f32], dims: &[usize]) -> Tensor {
    Tensor::from_slice(values, dims).unwrap()
}

fn row(values: &[f32]) -> Tensor {
    tensor(values, &[values.len()])
}

fn int(value: i64) -> Tensor {
    Tensor::scalar(value).unwrap()
}

fn rows(lists: &[&[f32]]) -> Value<Tensor> {
    Value::Sequence(lists.iter().map(|list| row(list)).collect())
}

fn anything() -> ValueType {
    ValueType::tensor(DType::F32, None)
}

fn sequence() -> ValueType {
    ValueType::Sequence(Box::new(anything()))
}

fn optional(of: ValueType) -> ValueType {
    ValueType::Optional(Box::new(of))
}

/// With all passes and as the file has it.
fn check(label: &str, model: &dyn Fn() -> ModelBuilder, cases: &[(Vec<Value<Tensor>>, Outputs)]) {
    for passes in [PassChoice::All, PassChoice::None] {
        let session = load(model(), passes).unwrap();
        // Twice, so that plans are found again.
        for (inputs, expected) in cases.iter().chain(cases) {
            let actual = run(&session, inputs).map_err(|e| e.to_string());
            match (actual, expected) {
                (Ok(actual), Ok(expected)) => assert_eq!(actual, *expected, "{label} {passes:?}"),
                (Err(actual), Err(expected)) => {
                    assert!(actual.contains(expected), "{label} {passes:?}: {actual}");
                }
                (actual, expected) => panic!("{label} {passes:?}: {actual:?}, not {expected:?}"),
            }
        }
    }
}

type Outputs = Result<Vec<Value<Tensor>>, &'static str>;

#[test]
fn positions_of_run_time_select_what_follows() {
    let model = || {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .input("at", DType::I64, &[])
            .node("Neg", &["x"], &["minus"])
            .node("Concat", &["x", "minus"], &["both"])
            .attr("axis", 0)
            .node("SequenceConstruct", &["x", "minus", "both"], &["list"])
            .node("SequenceAt", &["list", "at"], &["y"])
            .node("SequenceErase", &["list", "at"], &["rest"])
            .node("SequenceLength", &["rest"], &["count"])
            .node("ConcatFromSequence", &["rest"], &["joined"])
            .attr("axis", -1)
            .output("y", DType::F32)
            .output("count", DType::I64)
            .output("joined", DType::F32)
    };
    let inputs = |at: i64| vec![Value::Tensor(row(&[1.0, 2.0])), Value::Tensor(int(at))];
    let outputs =
        |y: &[f32], joined: &[f32]| Ok([row(y), int(2), row(joined)].map(Value::Tensor).to_vec());
    let cases = [
        (inputs(0), outputs(&[1., 2.], &[-1., -2., 1., 2., -1., -2.])),
        (inputs(1), outputs(&[-1., -2.], &[1., 2., 1., 2., -1., -2.])),
        (inputs(-1), outputs(&[1., 2., -1., -2.], &[1., 2., -1., -2.])),
        (inputs(3), Err("position 3 is outside of a sequence of 3 elements")),
        (inputs(-4), Err("position -4 is outside of a sequence of 3 elements")),
    ];
    check("at", &model, &cases);
}

#[test]
fn plans_are_made_for_the_number_and_the_shapes_of_elements() {
    let model = || {
        ModelBuilder::new(13)
            .input_of("list", sequence())
            .input("x", DType::F32, &["n"])
            .node("SequenceInsert", &["list", "x"], &["longer"])
            .node("ConcatFromSequence", &["longer"], &["y"])
            .attr("axis", 0)
            .output_of("longer", sequence())
            .output("y", DType::F32)
    };
    let case = |list: &[&[f32]], x: &[f32]| {
        let longer: Vec<&[f32]> = list.iter().copied().chain([x]).collect();
        let outputs = vec![rows(&longer), Value::Tensor(row(&longer.concat()))];
        (vec![rows(list), Value::Tensor(row(x))], Ok(outputs))
    };
    let cases = [
        case(&[&[1.], &[2., 3.]], &[4.]),
        case(&[&[1., 2.], &[3.]], &[4.]),
        case(&[&[1.]], &[2., 3.]),
        case(&[&[1.], &[2., 3.], &[4.]], &[]),
        case(&[], &[1.]),
        // The same tensors as before, in another arrangement.
        case(&[&[5.], &[6., 7.]], &[8.]),
    ];
    check("inputs", &model, &cases);
    let session = load(model(), PassChoice::All).unwrap();
    assert_eq!(session.model().input_form(0), Form::Sequence);
    assert_eq!(session.model().input_form(1), Form::Tensor);
    assert_eq!(session.model().output_form(0), Form::Sequence);
    cases.iter().for_each(|(inputs, _)| drop(run(&session, inputs).unwrap()));
    assert_eq!((session.plan_stats().plans, session.plan_stats().hits), (5, 1));
}

#[test]
fn parts_of_views_stay_where_they_are() {
    let model = || {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["2", "3"])
            .node("Transpose", &["x"], &["turned"])
            .node("SplitToSequence", &["turned"], &["columns"])
            .attr("keepdims", 0)
            .init("two", int(2))
            .node("SplitToSequence", &["turned", "two"], &["pairs"])
            .node("ConcatFromSequence", &["columns"], &["stacked"])
            .attr("axis", 1)
            .attr("new_axis", 1)
            .output_of("columns", sequence())
            .output_of("pairs", sequence())
            .output("stacked", DType::F32)
    };
    let x = tensor(&[1., 2., 3., 4., 5., 6.], &[2, 3]);
    let pairs = vec![tensor(&[1., 4., 2., 5.], &[2, 2]), tensor(&[3., 6.], &[1, 2])];
    let outputs = vec![
        rows(&[&[1., 4.], &[2., 5.], &[3., 6.]]),
        Value::Sequence(pairs),
        Value::Tensor(x.clone()),
    ];
    check("split", &model, &[(vec![Value::Tensor(x)], Ok(outputs))]);
}

/// Halves `x` until its sum is at most 1, and gives all that it was.
fn halving() -> Graph {
    ModelBuilder::new(17)
        .input("i", DType::I64, &[])
        .input("before", DType::Bool, &[])
        .input("x", DType::F32, &["n"])
        .input_of("list", sequence())
        .init("half", Tensor::scalar(0.5f32).unwrap())
        .init("one", Tensor::scalar(1.0f32).unwrap())
        .node("SequenceInsert", &["list", "x"], &["longer"])
        .node("Mul", &["x", "half"], &["less"])
        .node("ReduceSum", &["less"], &["sum"])
        .attr("keepdims", 0)
        .node("Greater", &["sum", "one"], &["on"])
        .output("on", DType::Bool)
        .output("less", DType::F32)
        .output_of("longer", sequence())
        .graph()
}

#[test]
fn loops_collect_as_long_as_values_say() {
    let model = || {
        ModelBuilder::new(17)
            .input("x", DType::F32, &["n"])
            .init("true", Tensor::scalar(Bool(1)).unwrap())
            .node("SequenceEmpty", &[], &["none"])
            .node("Loop", &["", "true", "x", "none"], &["last", "all"])
            .attr("body", halving())
            .output("last", DType::F32)
            .output_of("all", sequence())
    };
    let case = |x: &[f32], all: &[&[f32]], last: &[f32]| {
        (vec![Value::Tensor(row(x))], Ok(vec![Value::Tensor(row(last)), rows(all)]))
    };
    let cases = [
        case(&[4., 4.], &[&[4., 4.], &[2., 2.], &[1., 1.]], &[0.5, 0.5]),
        case(&[1., 0.], &[&[1., 0.]], &[0.5, 0.]),
        case(&[4.], &[&[4.], &[2.]], &[1.]),
    ];
    check("loop", &model, &cases);
}

#[test]
fn maps_go_over_elements_of_any_shape() {
    let body = || {
        ModelBuilder::new(17)
            .input_of("a", anything())
            .input_of("b", anything())
            .input_of("c", anything())
            .node("Add", &["a", "b"], &["sum"])
            // From the graph around.
            .node("Mul", &["sum", "factor"], &["scaled"])
            .node("Identity", &["c"], &["same"])
            .output("scaled", DType::F32)
            .output("same", DType::F32)
            .graph()
    };
    let model = || {
        ModelBuilder::new(17)
            .input_of("a", sequence())
            .input_of("b", sequence())
            .input("c", DType::F32, &["n"])
            .input("factor", DType::F32, &[])
            .node("SequenceMap", &["a", "b", "c"], &["y", "z"])
            .attr("body", body())
            .output_of("y", sequence())
            .output_of("z", sequence())
    };
    let inputs = |a: &[&[f32]], b: &[&[f32]]| {
        let factor = Value::Tensor(Tensor::scalar(2.0f32).unwrap());
        vec![rows(a), rows(b), Value::Tensor(row(&[9.])), factor]
    };
    let cases = [
        (
            inputs(&[&[1., 2.], &[3.]], &[&[10.], &[20.]]),
            Ok(vec![rows(&[&[22., 24.], &[46.]]), rows(&[&[9.], &[9.]])]),
        ),
        (inputs(&[], &[]), Ok(vec![rows(&[]), rows(&[])])),
        (inputs(&[&[1.]], &[]), Err("the sequences differ in length")),
    ];
    check("map", &model, &cases);
}

#[test]
fn what_is_in_an_optional_decides_the_plan() {
    let branch = |node: &str, inputs: &[&str]| {
        let graph = ModelBuilder::new(18).node(node, inputs, &["y"]).output("y", DType::F32);
        graph.graph()
    };
    let model = move || {
        ModelBuilder::new(18)
            .input_of("x", optional(anything()))
            .input("other", DType::F32, &["n"])
            .node("OptionalHasElement", &["x"], &["has"])
            .node("If", &["has"], &["y"])
            .attr("then_branch", branch("OptionalGetElement", &["x"]))
            .attr("else_branch", branch("Neg", &["other"]))
            .node("Optional", &["y"], &["some"])
            .output("has", DType::Bool)
            .output("y", DType::F32)
            .output_of("some", optional(anything()))
            .output_of("x", optional(anything()))
    };
    let other = || Value::Tensor(row(&[1.0]));
    let (given, minus) = (Value::Tensor(row(&[5., 6.])), Value::Tensor(row(&[-1.])));
    let truth = |has: u8| Value::Tensor(Tensor::scalar(Bool(has)).unwrap());
    let cases = [
        (
            vec![given.clone(), other()],
            Ok(vec![truth(1), given.clone(), given.clone(), given.clone()]),
        ),
        (vec![Value::Nothing, other()], Ok(vec![truth(0), minus.clone(), minus, Value::Nothing])),
        (vec![rows(&[&[1.]]), other()], Err("optional(f32) expected, got a sequence")),
        (vec![Value::Nothing, Value::Nothing], Err("missing input \"other\"")),
    ];
    check("optional", &model, &cases);
    let get = || {
        ModelBuilder::new(15)
            .input_of("x", optional(sequence()))
            .node("OptionalGetElement", &["x"], &["y"])
            .output_of("y", sequence())
    };
    let list = rows(&[&[1.], &[2., 3.]]);
    let cases = [
        (vec![list.clone()], Ok(vec![list])),
        (vec![Value::Nothing], Err("the optional holds nothing")),
    ];
    check("get", &get, &cases);
}

#[test]
fn refusals_name_what_is_wrong() {
    let add = || {
        ModelBuilder::new(13)
            .input_of("list", sequence())
            .node("Add", &["list", "list"], &["y"])
            .output("y", DType::F32)
    };
    let text = load(add(), PassChoice::All).err().unwrap().to_string();
    assert!(text.contains("input 0 of Add has element type seq(f32); supported: f32"), "{text}");
    let mixed = || {
        ModelBuilder::new(13)
            .input_of("list", sequence())
            .input("x", DType::I64, &[])
            .node("SequenceInsert", &["list", "x"], &["y"])
            .output_of("y", sequence())
    };
    let text = load(mixed(), PassChoice::All).err().unwrap().to_string();
    assert!(text.contains("element type i64; supported: f32, as the inputs before"), "{text}");
    let nested = || {
        let deep = ValueType::Sequence(Box::new(sequence()));
        let model = ModelBuilder::new(13).input_of("x", deep.clone());
        model.node("Identity", &["x"], &["y"]).output_of("y", deep)
    };
    let text = load(nested(), PassChoice::All).err().unwrap().to_string();
    assert_eq!(text, "input x: type seq(seq(f32[...])) is not supported");

    // Who does not ask for lists gets models of tensors only.
    let lists_at = |input: bool| {
        let model = ModelBuilder::new(13);
        let model = match input {
            true => model.input_of("io", sequence()).node("SequenceLength", &["io"], &["n"]),
            false => model
                .input("x", DType::F32, &[])
                .node("SequenceConstruct", &["x"], &["io"])
                .node("SequenceLength", &["io"], &["n"])
                .output_of("io", sequence()),
        };
        model.output("n", DType::I64)
    };
    for (input, expected) in
        [(true, "input io: type seq(f32) is not supported"), (false, "output io: type seq(f32)")]
    {
        let model = lists_at(input).build().unwrap();
        let text = Model::from_onnx(model, &LoadOptions::default()).err().unwrap().to_string();
        assert!(text.starts_with(expected), "{text}");
    }

    // Runs by tensors only.
    let session = load(lists_at(true), PassChoice::All).unwrap();
    let text = session.run(&[], &[]).unwrap_err().to_string();
    assert_eq!(text, "input \"io\": seq(f32) expected, got tensors only");
    let session = load(lists_at(false), PassChoice::All).unwrap();
    let text = session.run(&[("x", int(1).view())], &[]).unwrap_err().to_string();
    assert!(text.contains("element type f32 expected, got i64"), "{text}");
    let x = Tensor::scalar(1.0f32).unwrap();
    let text = session.run(&[("x", x.view())], &[]).unwrap_err().to_string();
    assert!(text.contains("a sequence, no tensor"), "{text}");
    assert_eq!(session.run(&[("x", x.view())], &["n"]).unwrap(), [int(1)]);
}
