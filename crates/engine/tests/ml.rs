//! Operators of `ai.onnx.ml`: what is refused, and trees that no exporter writes. Pipelines are compared with ONNX Runtime in
//! tests/python/operators.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a panic is the report

use stead_engine::{LoadError, LoadOptions, Model, Session, SessionOptions};
use stead_onnx::{AttributeValue, ModelBuilder};
use stead_tensor::{DType, Tensor};

const ML: &str = "ai.onnx.ml";

type Attribute = (&'static str, AttributeValue);

fn load(model: ModelBuilder) -> Result<Session, LoadError> {
    let model = Model::from_bytes(&model.bytes(), None, &LoadOptions::default())?;
    Session::new(model, &SessionOptions::default())
}

fn node(op: &str, input: DType, outputs: &[&str], attributes: &[Attribute]) -> ModelBuilder {
    let mut model = ModelBuilder::new(17)
        .import(ML, 5)
        .input("x", input, &["rows", "?"])
        .node(op, &["x"], outputs)
        .domain(ML);
    for (name, value) in attributes {
        model = model.attr(name, value.clone());
    }
    let integers = op.ends_with("Classifier");
    let is_text = attributes.iter().any(|(name, _)| *name == "classlabels_strings");
    let labels = if is_text { DType::String } else { DType::I64 };
    outputs.iter().fold(model, |model, name| {
        model.output(name, if integers && *name == "y" { labels } else { DType::F32 })
    })
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::String(text.as_bytes().to_vec())
}

fn texts(list: &[&str]) -> AttributeValue {
    AttributeValue::Strings(list.iter().map(|s| s.as_bytes().to_vec()).collect())
}

fn ints(list: &[i64]) -> AttributeValue {
    AttributeValue::Ints(list.to_vec())
}

fn floats(list: &[f32]) -> AttributeValue {
    AttributeValue::Floats(list.to_vec())
}

/// A tree of one split of feature 0 at 1 and votes of its two leaves, named `prefix_*`.
fn stump(mode: &str, prefix: &str, votes: &[(i64, i64, f32)]) -> Vec<(String, AttributeValue)> {
    let of = |f: fn(&(i64, i64, f32)) -> i64| ints(&votes.iter().map(f).collect::<Vec<_>>());
    let mut list: Vec<(String, AttributeValue)> = vec![
        ("nodes_treeids".into(), ints(&[0, 0, 0])),
        ("nodes_nodeids".into(), ints(&[0, 1, 2])),
        ("nodes_featureids".into(), ints(&[0, 0, 0])),
        ("nodes_modes".into(), texts(&[mode, "LEAF", "LEAF"])),
        ("nodes_values".into(), floats(&[1.0, 0.0, 0.0])),
        ("nodes_truenodeids".into(), ints(&[1, 0, 0])),
        ("nodes_falsenodeids".into(), ints(&[2, 0, 0])),
    ];
    list.push((format!("{prefix}_treeids"), ints(&vec![0; votes.len()])));
    list.push((format!("{prefix}_nodeids"), of(|v| v.0)));
    list.push((format!("{prefix}_ids"), of(|v| v.1)));
    let weights: Vec<f32> = votes.iter().map(|v| v.2).collect();
    list.push((format!("{prefix}_weights"), floats(&weights)));
    list
}

fn tree(
    op: &str,
    outputs: &[&str],
    trees: &[(String, AttributeValue)],
    more: &[Attribute],
) -> Result<Session, LoadError> {
    let mut model = node(op, DType::F32, outputs, &[]);
    for (name, value) in trees {
        // What comes later replaces what a test changes.
        if !more.iter().any(|(changed, _)| changed == name) {
            model = model.attr(name, value.clone());
        }
    }
    for (name, value) in more {
        model = model.attr(name, value.clone());
    }
    load(model)
}

fn run(session: &Session, x: &[f32]) -> Vec<Tensor> {
    let x = Tensor::from_slice(x, &[x.len(), 1]).unwrap();
    session.run(&[("x", x.view())], &[]).unwrap()
}

const REGRESSOR: &str = "TreeEnsembleRegressor";
const CLASSIFIER: &str = "TreeEnsembleClassifier";

#[test]
fn every_comparison_takes_values_and_nan_to_their_sides() {
    let x = [0.5, 1.0, 1.5, f32::INFINITY, f32::NAN];
    // y for the leaf of yes, for NaN with missing_value_tracks_true 0 and 1.
    let cases = [
        ("BRANCH_LEQ", "yynnn", "yynny"),
        ("BRANCH_LT", "ynnnn", "ynnny"),
        ("BRANCH_GTE", "nyyyn", "nyyyy"),
        ("BRANCH_GT", "nnyyn", "nnyyy"),
        ("BRANCH_EQ", "nynnn", "nynny"),
        ("BRANCH_NEQ", "ynyyy", "ynyyy"),
    ];
    for (mode, no, yes) in cases {
        for (nan, sides) in [(0, no), (1, yes)] {
            let trees = stump(mode, "target", &[(1, 0, 2.0), (2, 0, -3.0)]);
            let more = [
                ("nodes_missing_value_tracks_true", ints(&[nan, 0, 0])),
                ("n_targets", AttributeValue::Int(1)),
            ];
            let y = run(&tree(REGRESSOR, &["y"], &trees, &more).unwrap(), &x).remove(0);
            let expected: Vec<f32> =
                sides.bytes().map(|side| if side == b'y' { 2.0 } else { -3.0 }).collect();
            assert_eq!(y.as_slice::<f32>().unwrap(), expected, "{mode} {nan}");
        }
    }
}

#[test]
fn votes_are_aggregated_as_the_attribute_says() {
    // Two votes of a leaf are two votes; the average is one over trees.
    let trees = stump("BRANCH_LT", "target", &[(1, 0, 2.0), (1, 0, 5.0), (2, 1, 1.0)]);
    for (how, low) in [("SUM", 7.0), ("AVERAGE", 7.0), ("MIN", 2.0), ("MAX", 5.0)] {
        let more = [
            ("aggregate_function", text(how)),
            ("n_targets", AttributeValue::Int(2)),
            ("base_values", floats(&[0.5, 0.25])),
        ];
        let y = run(&tree(REGRESSOR, &["y"], &trees, &more).unwrap(), &[0.0, 2.0]).remove(0);
        assert_eq!(y.as_slice::<f32>().unwrap(), [low + 0.5, 0.25, 0.5, 1.25], "{how}");
    }
}

#[test]
fn a_lone_score_of_two_classes_is_a_probability_or_a_distance() {
    // What ONNX Runtime 1.31.1 gives for scores of -0.3 or 0.3, and of 0.6.
    let sigmoid = |x: f64| (1.0 / (1.0 + (-x).exp())) as f32;
    let cases: [(f32, &str, [i64; 2], [f32; 4]); 4] = [
        (0.3, "NONE", [3, 7], [0.7, 0.3, 0.4, 0.6]),
        (-0.3, "NONE", [3, 7], [0.3, -0.3, -0.6, 0.6]),
        (0.3, "LOGISTIC", [3, 7], [sigmoid(-0.3), sigmoid(0.3), sigmoid(-0.6), sigmoid(0.6)]),
        (-0.3, "LOGISTIC", [3, 7], [sigmoid(0.3), sigmoid(-0.3), sigmoid(-0.6), sigmoid(0.6)]),
    ];
    for (low, post, labels, scores) in cases {
        let trees = stump("BRANCH_LT", "class", &[(1, 0, low), (2, 0, 0.6)]);
        let more = [("classlabels_int64s", ints(&[3, 7])), ("post_transform", text(post))];
        let results = run(&tree(CLASSIFIER, &["y", "z"], &trees, &more).unwrap(), &[0.0, 2.0]);
        assert_eq!(results[0].as_slice::<i64>().unwrap(), labels, "{low} {post}");
        for (a, b) in results[1].as_slice::<f32>().unwrap().iter().zip(scores) {
            assert!((a - b).abs() < 1e-6, "{low} {post}: {a} {b}");
        }
    }
}

#[test]
fn labels_and_categories_may_be_strings() {
    let names = ("classlabels_strings", texts(&["low", "high"]));
    let strings = |words: &[&str]| {
        let words = words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        let count = words.len();
        Tensor::from_strings(words, &[count]).unwrap()
    };
    let votes = stump("BRANCH_LT", "class", &[(1, 0, 0.3), (2, 0, 0.6)]);
    let trees = tree(CLASSIFIER, &["y", "z"], &votes, std::slice::from_ref(&names)).unwrap();
    assert_eq!(run(&trees, &[0.0, 2.0])[0], strings(&["low", "high"]));
    let linear = [("coefficients", floats(&[-1.0, 1.0])), ("intercepts", floats(&[1.0, 0.0]))];
    let more = [names.clone(), linear[0].clone(), linear[1].clone()];
    let linear = load(node("LinearClassifier", DType::F32, &["y"], &more)).unwrap();
    assert_eq!(run(&linear, &[0.0, 2.0])[0], strings(&["low", "high"]));

    let categories = ("cats_strings", texts(&["b", "a"]));
    for zeros in [0, 1] {
        let more = [categories.clone(), ("zeros", AttributeValue::Int(zeros))];
        let encoder = load(node("OneHotEncoder", DType::String, &["y"], &more)).unwrap();
        let x = strings(&["a", "b", "c"]);
        let x = x.reshaped(stead_tensor::Shape::new(&[3, 1]).unwrap()).unwrap();
        match encoder.run(&[("x", x.view())], &[]) {
            Ok(y) => {
                let expected = [0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
                assert_eq!((zeros, y[0].as_slice::<f32>().unwrap()), (1, &expected[..]));
            }
            Err(error) => {
                assert!(zeros == 0 && error.to_string().contains("c is none of the categories"))
            }
        }
    }
}

#[test]
fn trees_that_do_not_fit_together_are_refused() {
    let good = || stump("BRANCH_LT", "target", &[(1, 0, 2.0), (2, 0, -3.0)]);
    let cases: &[(&[Attribute], &str)] = &[
        (
            &[("nodes_modes", texts(&["BRANCH_IN", "LEAF", "LEAF"]))],
            "nodes_modes has \"BRANCH_IN\"",
        ),
        (&[("nodes_truenodeids", ints(&[9, 0, 0]))], "tree 0 has no node 9"),
        (&[("nodes_truenodeids", ints(&[2, 0, 0]))], "tree 0 has two roots"),
        (&[("nodes_truenodeids", ints(&[0, 0, 0]))], "a node that no tree comes to"),
        (&[("nodes_treeids", ints(&[0, 0, 1]))], "tree 0 has no node 2"),
        (&[("nodes_nodeids", ints(&[0, 1, 1]))], "node 1 of tree 0 is there twice"),
        (&[("nodes_featureids", ints(&[-1, 0, 0]))], "asks for feature -1"),
        (&[("nodes_values", floats(&[1.0]))], "lists of 3 nodes_nodeids"),
        (&[("target_ids", ints(&[0, 1]))], "a vote for output 1 of 1"),
        (&[("target_nodeids", ints(&[1, 5]))], "a vote of node 5 of tree 0"),
        (&[("target_weights", floats(&[1.0, f32::NAN]))], "not finite"),
        (&[("post_transform", text("SOFTMAX"))], "post_transform of one target; supported: NONE"),
        (&[("post_transform", text("TANH"))], "post_transform is \"TANH\""),
        (&[("aggregate_function", text("MEAN"))], "aggregate_function is \"MEAN\""),
        (&[("base_values", floats(&[1.0, 2.0]))], "2 base values for 1 targets"),
    ];
    for (more, expected) in cases {
        let error = tree(REGRESSOR, &["y"], &good(), more).err().map(|e| e.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {error}");
    }
    // Splits that lead to each other below the root.
    let circle: Vec<(String, AttributeValue)> = vec![
        ("nodes_treeids".into(), ints(&[0, 0, 0, 0])),
        ("nodes_nodeids".into(), ints(&[0, 1, 2, 3])),
        ("nodes_featureids".into(), ints(&[0; 4])),
        ("nodes_modes".into(), texts(&["BRANCH_LT", "BRANCH_LT", "BRANCH_LT", "LEAF"])),
        ("nodes_values".into(), floats(&[0.0; 4])),
        ("nodes_truenodeids".into(), ints(&[1, 2, 1, 0])),
        ("nodes_falsenodeids".into(), ints(&[3, 3, 3, 0])),
    ];
    let error = tree(REGRESSOR, &["y"], &circle, &[]).err().unwrap().to_string();
    assert!(error.contains("lead back to themselves"), "{error}");
}

#[test]
fn rows_with_fewer_features_than_trees_ask_for_are_an_error() {
    let trees = stump("BRANCH_LT", "target", &[(1, 0, 2.0), (2, 0, -3.0)]);
    let more = [("nodes_featureids", ints(&[4, 0, 0]))];
    let session = tree(REGRESSOR, &["y"], &trees, &more).unwrap();
    let x = Tensor::from_slice(&[0f32; 4], &[2, 2]).unwrap();
    let error = session.run(&[("x", x.view())], &[]).unwrap_err().to_string();
    assert!(error.contains("2 features; the trees ask for 5"), "{error}");
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let labels = ("classlabels_ints", ints(&[1, 2]));
    let strings = texts(&["a", "b"]);
    let linear = [("coefficients", floats(&[1.0, 2.0])), ("intercepts", floats(&[0.5]))];
    let [coefficients, intercepts] = linear.clone();
    let cases: &[(&str, &[Attribute], &str)] = &[
        ("LinearClassifier", std::slice::from_ref(&labels), "coefficients"),
        (
            "LinearClassifier",
            &[
                labels.clone(),
                coefficients.clone(),
                intercepts.clone(),
                ("post_transform", text("PROBIT")),
            ],
            "PROBIT of two classes",
        ),
        (
            "LinearRegressor",
            &[coefficients.clone(), ("targets", AttributeValue::Int(3))],
            "2 coefficients for 3 scores",
        ),
        (
            "LinearRegressor",
            &[coefficients.clone(), ("post_transform", text("LOGISTIC"))],
            "supported: NONE",
        ),
        ("Scaler", &[("scale", floats(&[1.0]))], "offset"),
        ("Scaler", &[("scale", floats(&[1.0])), ("offset", floats(&[1.0, 2.0]))], "offsets"),
        ("Normalizer", &[("norm", text("L3"))], "norm is \"L3\"; supported: MAX L1 L2"),
        ("Imputer", &[("imputed_value_int64s", ints(&[1]))], "no imputed values for inputs of f32"),
        ("OneHotEncoder", &[("cats_strings", strings.clone())], "cats_int64s"),
        (
            "LabelEncoder",
            &[("keys_strings", strings.clone()), ("values_int64s", ints(&[1, 2]))],
            "keys of string for inputs of f32",
        ),
        (
            "LabelEncoder",
            &[("keys_int64s", ints(&[1])), ("values_floats", floats(&[1.0]))],
            "keys of i64 for inputs of f32",
        ),
        ("SVMClassifier", std::slice::from_ref(&labels), "vectors_per_class"),
        (
            "SVMRegressor",
            &[("kernel_type", text("COSINE")), ("coefficients", floats(&[1.0]))],
            "kernel_type is \"COSINE\"",
        ),
    ];
    for (op, attributes, expected) in cases {
        let error = load(node(op, DType::F32, &["y"], attributes)).err().map(|e| e.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains(expected), "{op}, {expected}: {error}");
    }
}

#[test]
fn a_category_that_is_not_known_is_an_error_without_zeros() {
    let categories = ("cats_int64s", ints(&[3, 1]));
    for zeros in [0, 1] {
        let attributes = [categories.clone(), ("zeros", AttributeValue::Int(zeros))];
        let session = load(node("OneHotEncoder", DType::F32, &["y"], &attributes)).unwrap();
        let run = |x: &[f32]| {
            let x = Tensor::from_slice(x, &[1, x.len()]).unwrap();
            session.run(&[("x", x.view())], &[]).map(|mut y| y.remove(0))
        };
        let y = run(&[1.0, 3.7]).unwrap();
        assert_eq!(y.as_slice::<f32>().unwrap(), [0.0, 1.0, 1.0, 0.0]);
        match run(&[2.0, 3.0]) {
            Ok(y) => {
                assert_eq!((zeros, y.as_slice::<f32>().unwrap()), (1, &[0.0, 0.0, 1.0, 0.0][..]))
            }
            Err(error) => {
                assert!(zeros == 0 && error.to_string().contains("2 is none of the categories"))
            }
        }
    }
}
