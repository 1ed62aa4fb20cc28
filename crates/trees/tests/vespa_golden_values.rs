//! Vespa's own models give the values of Vespa's own tests.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use stead_trees::{
    Categories, Difference, Forest, Mode, Model, ReadOptions, Rows, feature_names, read,
};

fn file(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/vespa");
    fs::read(folder.join(name)).unwrap()
}

fn model(name: &str) -> Model {
    read(&file(name), &ReadOptions::default()).unwrap()
}

/// A value of a feature as tests give it.
#[derive(Clone, Copy)]
enum Given<'a> {
    Number(f64),
    Text(&'a str),
}

/// The score of one row; features that are not given are missing.
fn score(forest: &Forest, given: &[(&str, Given<'_>)]) -> f64 {
    let given: HashMap<_, _> = given.iter().copied().collect();
    let row: Vec<f64> = forest
        .features()
        .iter()
        .map(|feature| match (given.get(feature.name.as_str()), &feature.categories) {
            (None, _) => f64::NAN,
            (Some(Given::Text(text)), Some(Categories::Strings(names))) => {
                names.iter().position(|name| name == text).map_or(-1.0, |code| code as f64)
            }
            (Some(Given::Number(x)), Some(Categories::Integers(values))) => {
                values.iter().position(|v| *v as f64 == *x).map_or(-1.0, |code| code as f64)
            }
            (Some(Given::Number(x)), _) => *x,
            (Some(Given::Text(text)), other) => panic!("{}: `{text}`, {other:?}", feature.name),
        })
        .collect();
    let mut out = [0.0];
    forest.predict(&Rows::of_f64(&row, row.len()), &mut out).unwrap();
    out[0]
}

#[test]
fn xgboost_dump() {
    let forest = Forest::new(&model("xgboost/xgboost.test.json"), Mode::Compat);
    let cases: &[(Option<f64>, Option<f64>, f64)] = &[
        (Some(0.0), Some(0.0), 1.0),
        (Some(0.0), Some(1.0), 2.0),
        (Some(1.0), Some(0.0), 3.0),
        (Some(1.0), Some(1.0), 4.0),
        (Some(0.0), None, 5.0),
        (Some(1.0), None, 6.0),
        (None, Some(0.0), 7.0),
        (None, Some(1.0), 9.0),
        (None, None, 11.0),
    ];
    for (f1, f2, expected) in cases {
        let given: Vec<_> = [("f1", f1), ("f2", f2)]
            .into_iter()
            .filter_map(|(name, x)| x.map(|x| (name, Given::Number(x))))
            .collect();
        assert_eq!(score(&forest, &given), *expected, "{f1:?}, {f2:?}");
    }
}

/// The expression that Vespa's import test expects: `if (f29 < -0.12345670163631439,
/// if (!(f56 >= -0.2423979938030243), 1.71218, -1.70044), if (f109 < 0.8723472952842712, -1.94071,
/// 1.85965)) + if (!(f60 >= -0.4829469919204712), if (f29 < -4.238749980926514, 0.784718, -0.96853),
/// -6.23624)`
#[test]
fn xgboost_thresholds_are_f32() {
    let forest = Forest::new(&model("xgboost/xgboost.2.2.json"), Mode::Compat);
    let (none, threshold) = (f64::NAN, -0.123_456_701_636_314_39_f64);
    let cases = [
        ("at the threshold", threshold, none, none, 1.0, 1.85965 - 6.23624),
        ("below, f56 missing", threshold.next_down(), none, none, 1.0, 1.71218 - 6.23624),
        ("f56 at its threshold", -1.0, -0.242_397_993_803_024_3, none, 1.0, -1.70044 - 6.23624),
        ("f109", 0.0, none, 0.5, 1.0, -1.94071 - 6.23624),
        ("f60 missing", -5.0, 0.0, none, none, -1.70044 + 0.784718),
        ("everything missing", none, none, none, none, 1.85965 - 0.96853),
    ];
    for (label, f29, f56, f109, f60, expected) in cases {
        let given = [("f29", f29), ("f56", f56), ("f109", f109), ("f60", f60)];
        let found = score(&forest, &given.map(|(name, x)| (name, Given::Number(x))));
        assert!((found - expected).abs() < 1e-12, "{label}: {found} {expected}");
    }
}

#[test]
fn xgboost_ubj_adds_base_score_and_takes_names_from_beside_it() {
    let names = feature_names(
        &String::from_utf8(file("xgboost/binary_breast_cancer-features.txt")).unwrap(),
    );
    assert_eq!(names.len(), 30);
    let options = ReadOptions { feature_names: Some(names), ..ReadOptions::default() };
    let named = read(&file("xgboost/binary_breast_cancer.ubj"), &options).unwrap();
    assert_eq!(named.features()[0].name, "mean_radius");
    assert_eq!(named.objective(), Some("binary:logistic"));
    let ubj = Forest::new(&model("xgboost/binary_breast_cancer.ubj"), Mode::Compat);
    assert_eq!(ubj.features()[29].name, "xgboost_input_29");
    let dump = Forest::new(&model("xgboost/binary_breast_cancer.json"), Mode::Compat);
    // Rows far from any threshold: the trees are the same, the base is added.
    for row in 0..20 {
        let value = |i: usize| (((i * 7 + row * 13) % 29) as f64 + 0.123) * [1.0, 0.01][i % 2];
        let names: Vec<String> = (0..30).map(|i| format!("xgboost_input_{i}")).collect();
        let given: Vec<_> = names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), Given::Number(value(i))))
            .collect();
        let (with, without) = (score(&ubj, &given), score(&dump, &given));
        assert!((with - without - 0.521_149_42).abs() < 1e-6, "row {row}: {with} {without}");
    }
    let differences = named.differences();
    let link = Difference::NoLink { objective: "binary:logistic".into() };
    assert_eq!(differences, [link, Difference::LowerThresholds]);
}

#[test]
fn lightgbm_regression_and_classification() {
    use Given::{Number, Text};
    let rows: [&[(&str, Given<'_>)]; 4] = [
        &[],
        &[
            ("numerical_1", Number(0.1)),
            ("numerical_2", Number(0.2)),
            ("categorical_1", Text("a")),
            ("categorical_2", Text("i")),
        ],
        &[("numerical_2", Number(0.5)), ("categorical_1", Text("b")), ("categorical_2", Text("j"))],
        &[("numerical_1", Number(0.7)), ("numerical_2", Number(0.8)), ("categorical_2", Text("m"))],
    ];
    let regression = [1.91300868, 2.05469776, 2.0745534, 2.3571838];
    let classification = [0.37464997, 0.37464997, 0.38730827, 0.5647872];
    for (name, expected) in [("regression", regression), ("classification", classification)] {
        let forest = Forest::new(&model(&format!("lightgbm/{name}.json")), Mode::Compat);
        for (given, expected) in rows.iter().zip(expected) {
            let found = score(&forest, given);
            assert!((found - expected).abs() < 1e-6, "{name}: {found} {expected}");
        }
    }
}

#[test]
fn lightgbm_categories_of_strings_and_integers() {
    for name in ["categorical", "cat_integers"] {
        let model = model(&format!("lightgbm/{name}.json"));
        let cases: serde_json::Value =
            serde_json::from_slice(&file(&format!("lightgbm/{name}_tests.json"))).unwrap();
        let cases = cases.as_array().unwrap();
        assert_eq!(cases.len(), 100);
        for mode in [Mode::Compat, Mode::Exact] {
            let forest = Forest::new(&model, mode);
            for (i, case) in cases.iter().enumerate() {
                let case = case.as_object().unwrap();
                let given: Vec<_> = case
                    .iter()
                    .filter_map(|(name, value)| {
                        let given = match value {
                            serde_json::Value::String(text) => Given::Text(text),
                            other => Given::Number(other.as_f64()?),
                        };
                        Some((name.as_str(), given))
                    })
                    .collect();
                let expected = case["model_prediction"].as_f64().unwrap();
                let found = score(&forest, &given);
                assert!((found - expected).abs() < 1e-9, "{name} {i} {mode:?}: {found} {expected}");
            }
        }
    }
}
