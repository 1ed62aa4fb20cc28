//! What is told about a model whose scores of Vespa are not those of its library.
#![allow(clippy::unwrap_used)]

use stead_trees::{DumpFacts, Forest, Mode, ReadOptions, Rows, read};

/// A text of LightGBM: `a <= 0.5` with `decision` and as many equal trees as outputs.
fn lightgbm(objective: &str, decision: u8, outputs: usize, head: &str) -> String {
    let mut text = format!(
        "tree\nversion=v4\nnum_tree_per_iteration={outputs}\nobjective={objective}\n\
        feature_names=a\nfeature_infos=[0:1]\n{head}\n"
    );
    for tree in 0..outputs {
        text += &format!(
            "Tree={tree}\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold=0.5\n\
            decision_type={decision}\nleft_child=-1\nright_child=-2\nleaf_value=1 2\nis_linear=0\n\n"
        );
    }
    text + "end of trees\n\npandas_categorical:null\n"
}

fn told(text: &str) -> Vec<String> {
    let model = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    model.differences().iter().map(ToString::to_string).collect()
}

const EQUALITY: &str = "LightGBM sends values equal to a threshold left, here they go right";

#[test]
fn lightgbm_models() {
    let missing = "missing values or zeros are sent another way by a";
    // decision: 2 default left; 0 nothing missing, 4 zeros, 8 NaN.
    let cases: &[(&str, u8, usize, &str, &[&str])] = &[
        ("regression", 8, 1, "", &[EQUALITY]),
        ("regression", 10, 1, "", &[EQUALITY]),
        // NaN is 0, which goes left; the default is right.
        ("regression", 0, 1, "", &[EQUALITY, missing]),
        ("regression", 2, 1, "", &[EQUALITY]),
        ("regression", 4, 1, "", &[EQUALITY, missing]),
        ("binary sigmoid:1", 8, 1, "", &[EQUALITY]),
        (
            "binary sigmoid:2",
            8,
            1,
            "",
            &["`binary sigmoid:2`: the sigmoid is computed with slope 1", EQUALITY],
        ),
        (
            "cross_entropy_lambda",
            8,
            1,
            "",
            &["the score is the sum before the transformation of `cross_entropy_lambda`", EQUALITY],
        ),
        (
            "multiclass num_class:3",
            8,
            3,
            "",
            &["Vespa cannot read models of several outputs; the scores are those of the library"],
        ),
    ];
    for (objective, decision, outputs, head, expected) in cases {
        let text = lightgbm(objective, *decision, *outputs, head);
        assert_eq!(told(&text), *expected, "{objective}, {decision}");
    }
}

/// The score of one value in both modes: equality, NaN, zero, and something near zero.
#[test]
fn lightgbm_rules_for_one_split() {
    let (left, right) = (1.0, 2.0);
    let cases: &[(u8, f64, f64, f64)] = &[
        // decision, value, compat, exact
        (8, 0.5, right, left),
        (8, 0.4, left, left),
        (8, f64::NAN, right, right),
        (10, f64::NAN, left, left),
        (0, f64::NAN, right, left),
        (4, 0.0, left, right),
        (4, 1e-36, left, right),
        (4, f64::NAN, right, right),
        (6, 0.0, left, left),
        (6, 0.5, right, left),
    ];
    for &(decision, x, compat, exact) in cases {
        let text = lightgbm("regression", decision, 1, "");
        let model = read(text.as_bytes(), &ReadOptions::default()).unwrap();
        for (mode, expected) in [(Mode::Compat, compat), (Mode::Exact, exact)] {
            let mut out = [0.0];
            Forest::new(&model, mode).predict(&Rows::of_f64(&[x], 1), &mut out).unwrap();
            assert_eq!(out[0], expected, "{decision}, {x}, {mode:?}");
            if f64::from(x as f32) == x || x.is_nan() {
                Forest::new(&model, mode).predict(&Rows::of_f32(&[x as f32], 1), &mut out).unwrap();
                assert_eq!(out[0], expected, "{decision}, {x}, {mode:?}, f32");
            }
        }
    }
}

#[test]
fn dumps_of_xgboost_need_the_facts_for_exact_scores() {
    let dump = br#"[{"nodeid": 0, "leaf": 0.5}]"#;
    let model = read(dump, &ReadOptions::default()).unwrap();
    let told = model.differences();
    assert!(told[0].to_string().starts_with("a dump of XGBoost has no base_score"), "{told:?}");
    let dump_facts =
        DumpFacts { objective: Some("binary:logistic".into()), base_score: Some(0.5), outputs: 1 };
    let options = ReadOptions { dump: dump_facts, ..ReadOptions::default() };
    let model = read(dump, &options).unwrap();
    // No feature at all: a row is empty, so columns say how many rows there are.
    let rows = Rows::of_columns(&[], 2);
    let mut scores = [0.0; 2];
    Forest::new(&model, Mode::Compat).predict(&rows, &mut scores).unwrap();
    assert_eq!(scores, [0.5, 0.5]);
    Forest::new(&model, Mode::Exact).predict(&rows, &mut scores).unwrap();
    assert!((scores[0] - 1.0 / (1.0 + (-0.5_f64).exp())).abs() < 1e-7);
}
