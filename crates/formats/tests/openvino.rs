//! Nets that OpenVINO wrote, against what OpenVINO computed of them; `data/openvino/README.md` says how they were made.
#![allow(clippy::unwrap_used)]

mod recorded;

use recorded::{complaint, input, output};
use serde_json::Value;
use std::path::{Path, PathBuf};
use stead_engine::{
    IoSpec, Lift, LoadOptions, Model, RunContext, Session, SessionOptions, StateInit,
};
use stead_formats::{FormatError, openvino, read};
use stead_onnx::Limits;
use stead_tensor::{Tensor, TensorView};

/// How far a number may be from OpenVINO's: sums are added in another order and functions approximated in another way.
const TOLERANCE: f64 = 2e-5;

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/openvino")
}

/// A net with its states as inputs and outputs.
fn session(name: &str) -> Session {
    let model = read(&data().join(name), &Limits::default()).unwrap();
    let lift = Some(Lift { zero_init: false, recurrences: false });
    let options = LoadOptions { lift, ..LoadOptions::default() };
    let model = Model::from_onnx(model, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
    Session::new(model, &SessionOptions::default()).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn steps(name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(data().join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Runs a step; gives the outputs by the order of the model, and puts the states of the next step into `states`.
fn run(session: &Session, step: &Value, states: &mut [Option<Tensor>]) -> Vec<Tensor> {
    let model = session.model();
    let own = model.inputs().len() - states.len();
    let given: Vec<Tensor> =
        model.inputs()[..own].iter().map(|spec| input(&step["inputs"][&spec.name])).collect();
    let mut inputs: Vec<Option<TensorView<'_>>> = given.iter().map(|t| Some(t.view())).collect();
    inputs.extend(states.iter().map(|s| s.as_ref().map(Tensor::view)));
    let mut all = session
        .run_with(&inputs, &RunContext::default(), |outputs| {
            (0..outputs.len())
                .map(|i| outputs.get(i).unwrap().to_tensor().unwrap())
                .collect::<Vec<_>>()
        })
        .unwrap();
    let last = all.split_off(all.len() - states.len());
    for (state, last) in states.iter_mut().zip(last) {
        *state = Some(last);
    }
    all
}

/// All steps of a net, each compared with what was recorded.
fn check(name: &str, net: &str) {
    let session = session(net);
    let outputs: Vec<IoSpec> = session.model().outputs().to_vec();
    let mut states = vec![None; session.model().lifted().len()];
    let mut wrong = Vec::new();
    for (at, step) in steps(name).iter().enumerate() {
        if step["reset"] == true {
            states.fill(None);
            continue;
        }
        let results = run(&session, step, &mut states);
        let expected = step["outputs"].as_object().unwrap();
        assert_eq!(results.len(), expected.len(), "{name}: outputs");
        for (spec, result) in outputs.iter().zip(&results) {
            if let Some(text) = complaint(result, &expected[&spec.name], TOLERANCE) {
                wrong.push(format!("{name}, step {at}, output {}: {text}", spec.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_feed_forward_net_with_weights_in_half_precision() {
    check("mlp_fp16", "mlp_fp16.xml");
}

#[test]
fn element_wise_operations() {
    check("elementwise", "elementwise.xml");
}

#[test]
fn activations() {
    check("activations", "activations.xml");
}

#[test]
fn shapes_and_movement() {
    check("shapes", "shapes.xml");
}

#[test]
fn convolutions_pools_and_normalisation() {
    check("images", "images.xml");
}

#[test]
fn reductions_and_products() {
    check("reductions", "reductions.xml");
}

#[test]
fn recurrent_cells_and_sequences() {
    check("recurrent", "recurrent.xml");
}

#[test]
fn bodies() {
    check("iterations", "iterations.xml");
}

#[test]
fn variables_go_from_step_to_step() {
    check("variables", "variables.xml");
    let session = session("variables.xml");
    let states = session.model().lifted().iter();
    let names: Vec<_> =
        states.map(|s| (s.name.as_str(), matches!(s.init, StateInit::Computed))).collect();
    assert_eq!(names, [("first", true), ("lstm/h", false), ("lstm/c", false), ("total", false)]);
}

#[test]
fn a_net_of_kaldi_is_the_same_as_ir_and_as_onnx() {
    check("rm_lstm4f", "rm_lstm4f.xml");
    // The twin has its states as pairs of inputs and outputs of the same names.
    let (ir, twin) = (session("rm_lstm4f.xml"), session("rm_lstm4f.onnx"));
    assert!(twin.model().lifted().is_empty());
    let names = |specs: &[IoSpec]| specs.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let mut of_ir = vec![None; ir.model().lifted().len()];
    let pairs: Vec<(String, usize)> =
        names(ir.model().inputs()).into_iter().skip(1).map(|n| (n.clone(), 0)).collect();
    assert_eq!(pairs.len(), 4);
    let mut of_twin: Vec<(String, Tensor)> = Vec::new();
    for spec in &twin.model().inputs()[1..] {
        let sizes: Vec<usize> =
            spec.dims.as_ref().unwrap().iter().map(|d| d.known().unwrap()).collect();
        let zeros = Tensor::from_slice(&vec![0.0f32; sizes.iter().product()], &sizes).unwrap();
        of_twin.push((spec.name.clone(), zeros));
    }
    for step in steps("rm_lstm4f").iter().take_while(|s| s["reset"] != true) {
        let y = run(&ir, step, &mut of_ir).remove(0);
        let x = input(&step["inputs"]["Parameter"]);
        let inputs: Vec<_> = std::iter::once(&x)
            .chain(of_twin.iter().map(|(_, t)| t))
            .map(|t| Some(t.view()))
            .collect();
        let all: Vec<Tensor> = twin
            .run_with(&inputs, &RunContext::default(), |outputs| {
                (0..outputs.len()).map(|i| outputs.get(i).unwrap().to_tensor().unwrap()).collect()
            })
            .unwrap();
        for (a, b) in output(&y).1.iter().zip(output(&all[0]).1) {
            assert!((a - b).abs() < 1e-5, "{a} for {b}");
        }
        let outputs = names(twin.model().outputs());
        for (name, state) in &mut of_twin {
            let at = outputs.iter().position(|o| *o == format!("{name}_next")).unwrap();
            *state = all[at].clone();
        }
    }
}

fn refused(xml: &str, bin: &[u8]) -> String {
    openvino::from_bytes(xml.as_bytes(), bin, &Limits::default()).unwrap_err().to_string()
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let good = std::fs::read_to_string(data().join("variables.xml")).unwrap();
    let bin = std::fs::read(data().join("variables.bin")).unwrap();
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        refused(&good.replacen(from, to, 1), &bin)
    };
    let cases = [
        (with("type=\"Squeeze\"", "type=\"Proposal\""), "Proposal-1 layer"),
        (
            with("type=\"Squeeze\"", "type=\"Proposal\""),
            "the operation is not read; export the model to ONNX",
        ),
        (
            with("type=\"Squeeze\" version=\"opset1\"", "type=\"Squeeze\" version=\"opset77\""),
            "of opset77 is not read, only of opset1, opset15",
        ),
        (
            with("type=\"Squeeze\" version=\"opset1\"", "type=\"Squeeze\" version=\"extension\""),
            "operations of extensions are not read",
        ),
        (with("version=\"11\"", "version=\"7\""), "version \"7\"; 10 and 11 are read"),
        (
            with("direction=\"forward\"", "direction=\"sideways\""),
            "not one of forward, reverse, bidirectional",
        ),
        (with("auto_broadcast=\"numpy\"", "auto_broadcast=\"pdpd\""), "auto_broadcast"),
        (with("variable_id=\"total\"", "variable_id=\"\""), "variable_id is missing"),
    ];
    for (text, expected) in cases {
        assert!(text.contains(expected), "{text}");
    }
}

/// Files that lie are errors, and neither panics nor ask for memory that the file does not have.
#[test]
fn hostile_files() {
    let good = std::fs::read_to_string(data().join("variables.xml")).unwrap();
    let bin = std::fs::read(data().join("variables.bin")).unwrap();
    let with = |from: &str, to: &str| refused(&good.replacen(from, to, 1), &bin);
    assert!(with("offset=\"0\"", "offset=\"18446744073709551610\"").contains("bytes at byte"));
    assert!(with("offset=\"0\"", "offset=\"999999\"").contains(".bin file of"));
    assert!(with("size=\"8\"", "size=\"4611686018427387904\"").contains("bytes at byte"));
    assert!(with("shape=\"1, 2\" offset", "shape=\"4294967296, 4294967296\" offset").len() > 10);
    assert!(refused(&good, &bin[..bin.len() - 1]).contains(".bin file of"));

    let cycle = good.replacen(
        "<edges>",
        "<edges><edge from-layer=\"999\" from-port=\"0\" to-layer=\"0\" to-port=\"9\"/>",
        1,
    );
    assert!(refused(&cycle, &bin).contains("one is not there"));
    let itself = "<net name='n' version='11'><layers><layer id='0' name='a' type='Relu' version='opset1'>\
                  <input><port id='0' precision='FP32'/></input><output><port id='1' precision='FP32'/></output></layer></layers>\
                  <edges><edge from-layer='0' from-port='1' to-layer='0' to-port='0'/></edges></net>";
    assert!(refused(itself, &[]).contains("the layers have a cycle"));
    let deep = "<net version='11'>".to_owned() + &"<layers>".repeat(100_000);
    assert!(refused(&deep, &[]).contains("elements in each other"));
    assert!(
        refused("<!DOCTYPE a [<!ENTITY b 'b'>]><net version='11'/>", &[]).contains("document type")
    );

    // Every prefix and every cut-out is an error or a model.
    for at in (0..good.len()).step_by(97).filter(|&at| good.is_char_boundary(at)) {
        refused(&good[..at], &bin);
    }
    let lines: Vec<&str> = good.lines().collect();
    for at in 0..lines.len() {
        let without: Vec<&str> =
            lines.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, l)| *l).collect();
        let _ = openvino::from_bytes(without.join("\n").as_bytes(), &bin, &Limits::default());
    }
}

#[test]
fn limits_hold_before_memory_is_asked_for() {
    let (xml, bin) =
        (data().join("mlp_fp16.xml"), std::fs::read(data().join("mlp_fp16.bin")).unwrap());
    let text = std::fs::read(&xml).unwrap();
    let few = Limits { nodes: 3, ..Limits::default() };
    let small = Limits { total_bytes: 100, ..Limits::default() };
    let short = Limits { decoded_bytes: 1000, ..Limits::default() };
    for limits in [few, small, short] {
        let error = openvino::from_bytes(&text, &bin, &limits).unwrap_err();
        assert!(matches!(error, FormatError::Limit { .. }), "{error}");
    }
}
