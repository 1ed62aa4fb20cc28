//! Tree models as rank functions give the values of Vespa's own tests.
#![allow(clippy::unwrap_used)]

use stead_expr::{Attribute, Numbers};
use stead_search::models::{Column, Documents, Given, ModelFunction, Scratch};

use crate::harness::{Package, hash, vespa_trees};

/// The scores for rows of numbers, those of the query the same for all.
fn scores(model: &ModelFunction, rows: &[Vec<f64>]) -> Vec<f64> {
    assert_eq!(model.query_names().count(), 0);
    let columns: Vec<Vec<f64>> = (0..model.document_names().count())
        .map(|at| rows.iter().map(|row| row[at]).collect())
        .collect();
    let columns: Vec<Column<'_>> =
        columns.iter().map(|c| Column::Cells(Attribute::Numbers(Numbers::F64(c)))).collect();
    let documents = Documents { count: rows.len(), index: None, columns: &columns };
    let bound = model.for_query(&[]).unwrap();
    let stored = bound.run(&documents, &mut Scratch::default()).unwrap();
    stored[0].values().iter().map(|v| v.as_double().unwrap()).collect()
}

/// A profile that names a tree model whose features are functions of attributes of the same name.
fn package(feature: &str, names: &[&str], file: &str, bytes: &[u8], properties: &str) -> Package {
    let fields: Vec<(String, &str)> =
        names.iter().map(|name| (format!("f_{name}"), "double")).collect();
    let fields: Vec<(&str, &str)> = fields.iter().map(|(n, t)| (n.as_str(), *t)).collect();
    let function =
        |name: &&str| format!("function {name}() {{ expression: attribute(f_{name}) }}\n");
    let functions: String = names.iter().map(function).collect();
    let phase = format!("first-phase {{ expression: {feature}(\"{file}\") }}\n");
    let profile = format!("{functions}{phase}{properties}");
    Package::new(&fields, &profile, &[(&format!("models/{file}"), bytes)])
}

#[test]
fn xgboost() {
    let bytes = vespa_trees("xgboost/xgboost.test.json");
    let model = package("xgboost", &["f1", "f2"], "x.json", &bytes, "").model().unwrap();
    assert_eq!(model.name(), "xgboost(\"x.json\")");
    let none = f64::NAN;
    let rows = [
        (0.0, 0.0),
        (0.0, 1.0),
        (1.0, 0.0),
        (1.0, 1.0),
        (0.0, none),
        (1.0, none),
        (none, 0.0),
        (none, 1.0),
        (none, none),
    ];
    let names: Vec<&str> = model.document_names().map(|(name, _)| name).collect();
    let row = |(f1, f2): &(f64, f64)| {
        names.iter().map(|n| if *n == "attribute(f_f1)" { *f1 } else { *f2 }).collect()
    };
    let rows: Vec<Vec<f64>> = rows.iter().map(row).collect();
    assert_eq!(scores(&model, &rows), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 9.0, 11.0]);
}

#[test]
fn lightgbm_with_categories_that_are_texts() {
    let names = ["numerical_1", "numerical_2", "categorical_1", "categorical_2"];
    let none = f64::NAN;
    let rows = [
        [none, none, none, none],
        [0.1, 0.2, hash("a"), hash("i")],
        [none, 0.5, hash("b"), hash("j")],
        [0.7, 0.8, none, hash("m")],
    ];
    for (file, expected) in [
        ("regression", [1.91300868, 2.05469776, 2.0745534, 2.3571838]),
        ("classification", [0.37464997, 0.37464997, 0.38730827, 0.5647872]),
    ] {
        let bytes = vespa_trees(&format!("lightgbm/{file}.json"));
        let model = package("lightgbm", &names, "m.json", &bytes, "").model().unwrap();
        let order: Vec<usize> = model
            .document_names()
            .map(|(name, _)| {
                names.iter().position(|n| name == format!("attribute(f_{n})")).unwrap()
            })
            .collect();
        let rows: Vec<Vec<f64>> =
            rows.iter().map(|row| order.iter().map(|at| row[*at]).collect()).collect();
        for (found, expected) in scores(&model, &rows).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{file}: {found} {expected}");
        }
    }
}

#[test]
fn lightgbm_with_categories_of_texts_and_integers_over_a_hundred_rows() {
    let names: Vec<String> = (1..=7).map(|i| format!("feature_{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for file in ["categorical", "cat_integers"] {
        let bytes = vespa_trees(&format!("lightgbm/{file}.json"));
        let cases = vespa_trees(&format!("lightgbm/{file}_tests.json"));
        let cases: serde_json::Value = serde_json::from_slice(&cases).unwrap();
        let cases = cases.as_array().unwrap();
        for properties in ["", "rank-properties { lightgbm(\"m.json\").mode: exact }"] {
            let model = package("lightgbm", &names, "m.json", &bytes, properties).model().unwrap();
            let row = |case: &serde_json::Value| -> Vec<f64> {
                let value = |(name, _): (&str, _)| {
                    let name = name.trim_start_matches("attribute(f_").trim_end_matches(')');
                    match &case[name] {
                        serde_json::Value::String(text) => hash(text),
                        other => other.as_f64().unwrap_or(f64::NAN),
                    }
                };
                model.document_names().map(value).collect()
            };
            let rows: Vec<Vec<f64>> = cases.iter().map(row).collect();
            for (at, (found, case)) in scores(&model, &rows).iter().zip(cases).enumerate() {
                let expected = case["model_prediction"].as_f64().unwrap();
                assert!((found - expected).abs() < 1e-9, "{file} {at}: {found} {expected}");
            }
        }
    }
}

#[test]
fn features_may_be_of_the_query_and_columns_have_places() {
    let bytes = vespa_trees("xgboost/xgboost.test.json");
    let profile = "inputs { query(f) double }
        function f1() { expression: query(f) }
        function f2() { expression: attribute(a) * 2 }
        first-phase { expression: xgboost(\"x.json\") }";
    let package = Package::new(&[("a", "float")], profile, &[("models/x.json", &bytes)]);
    let model = package.model().unwrap();
    let bound = model.for_query(&[Given::Value(&stead_expr::Value::double(1.0))]).unwrap();
    let columns = [Column::Cells(Attribute::Numbers(Numbers::F32(&[0.0, 7.0, 0.5])))];
    let documents = Documents { count: 2, index: Some(&[2, 0]), columns: &columns };
    let stored = bound.run(&documents, &mut Scratch::default()).unwrap();
    assert_eq!(stored[0].values(), [4.0, 3.0].map(stead_expr::Value::double));
}

#[test]
fn scores_that_training_would_not_give_are_warned_of_once() {
    let bytes = vespa_trees("xgboost/xgboost.test.json");
    let names = ["f1", "f2"];
    let exact = "rank-properties { xgboost(x.json).mode: exact }";
    let warning = "models/x.json: warning: a dump of XGBoost has no base_score and no objective; the score is the sum of the \
        leaves; rank-properties { xgboost(x.json).mode: exact } takes the predictions of the library";
    for (properties, expected) in [("", vec![warning]), (exact, vec![])] {
        let (wrong, _) = package("xgboost", &names, "x.json", &bytes, properties).models();
        assert_eq!(wrong, expected, "{properties}");
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let bytes = vespa_trees("xgboost/xgboost.test.json");
    let functions = "function f1() { expression: attribute(a) }";
    let phase = |call: &str| format!("first-phase {{ expression: {call} }}");
    for (label, profile, expected) in [
        (
            "a feature that is not there",
            format!("{functions}\n{}", phase("xgboost(\"x.json\")")),
            "schemas/doc.sd:7:27: feature f2 of xgboost(\"x.json\"): unknown function, constant or rank feature f2",
        ),
        (
            "a feature that is a tensor",
            format!(
                "function f1() {{ expression: tensor(x[2]):[1,2] }} {}",
                phase("xgboost(\"x.json\")")
            ),
            "schemas/doc.sd:6:76: feature f1 of xgboost(\"x.json\") is a tensor(x[2]); trees take numbers",
        ),
        (
            "a feature that is the score",
            format!(
                "function f1() {{ expression: xgboost(\"x.json\") }} {}",
                phase("attribute(a)")
            ),
            "schemas/doc.sd:6:29: feature f1 of xgboost(\"x.json\"): an input of xgboost model x.json is bound to its own output",
        ),
        (
            "another library",
            phase("lightgbm(\"x.json\")"),
            "schemas/doc.sd:6:27: models/x.json is a model of XGBoost; write xgboost(\"x.json\")",
        ),
        (
            "no file",
            phase("xgboost(\"y.json\")"),
            "schemas/doc.sd:6:27: the package has no file models/y.json",
        ),
        (
            "no model",
            phase("xgboost(\"z.json\")"),
            "schemas/doc.sd:6:27: models/z.json: not a tree model: expected XGBoost JSON or UBJ (dump_model, save_model) or LightGBM JSON or text (dump_model, save_model)",
        ),
        (
            "another mode",
            format!(
                "{functions}\nfunction f2() {{ expression: 1 }}\n{}\nrank-properties {{ xgboost(\"x.json\").mode: quick }}",
                phase("xgboost(\"x.json\")")
            ),
            "schemas/doc.sd:9:43: expected compat or exact for xgboost(x.json).mode, found quick",
        ),
    ] {
        let files: [(&str, &[u8]); 2] = [("models/x.json", &bytes), ("models/z.json", b"model")];
        let (wrong, _) = Package::new(&[("a", "float")], &profile, &files).models();
        assert_eq!(wrong.first().map(String::as_str), Some(expected), "{label}: {wrong:?}");
    }
}
