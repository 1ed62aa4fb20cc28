//! Packages with cells and sizes that Vespa does not have, from documents and queries to features.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use crate::harness::{Package, value};

fn network(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/onnx");
    fs::read(folder.join(format!("{name}.onnx"))).unwrap()
}

/// A profile with features, of which those of the documents come back in the order of the documents.
fn features(
    fields: &[(&str, &str)],
    profile: &str,
    feature: &str,
    query: &Json,
    documents: &[Json],
) -> Result<Vec<String>, String> {
    let profile = format!(
        "{profile}\nfunction f() {{ expression: {feature} }}\nfirst-phase {{ expression: 0 }}\nmatch-features {{\n f\n }}"
    );
    let package = Package::new(fields, &profile, &[("files/m.onnx", &network("int64"))]);
    let mut hits = package.rank(query, documents)?.hits;
    hits.sort_by_key(|hit| hit.document);
    Ok(hits.iter().map(|hit| hit.match_features[0].to_string()).collect())
}

/// The network gives 5 and the three elements in another order.
#[test]
fn identifiers_of_64_bits_go_from_documents_through_models_to_features() {
    let fields = [("ids", "tensor<int64>(d0[1],d1[3])")];
    let model = "onnx-model m {\n file: files/m.onnx\n input x: attribute(ids)\n output y: out\n}";
    let documents = [json!({"ids": [9_007_199_254_740_993_i64, -1, 7]}), json!({})];
    let own = format!("{model}\nrank-properties {{ onnx(m).cells: own }}");
    assert_eq!(
        features(&fields, &own, "onnx(m).out", &json!({}), &documents),
        Ok(vec![
            "tensor<int64>(d0[1],d1[4]):[[5,7,9007199254740993,-1]]".to_owned(),
            "tensor<int64>(d0[1],d1[4]):[[5,0,0,0]]".to_owned(),
        ])
    );
    assert_eq!(
        features(&fields, model, "onnx(m).out", &json!({}), &documents),
        Err("output y of onnx(m): 9007199254740993 is no double".to_owned())
    );
    // One property for the whole package.
    let allowed = format!("{model}\nrank-properties {{ stead.inexact-conversions: allow }}");
    assert_eq!(
        features(&fields, &allowed, "onnx(m).out", &json!({}), &documents[..1]),
        Ok(vec!["tensor(d0[1],d1[4]):[[5,7,9007199254740992,-1]]".to_owned()])
    );
}

#[test]
fn what_is_computed_of_documents_is_exact_or_an_error() {
    let fields = [("ids", "tensor<int64>(x[2])"), ("small", "tensor<float16>(x[2])")];
    let documents =
        [json!({"ids": [1, 2], "small": [0.5, 2]}), json!({"ids": [9_007_199_254_740_993_i64, 0]})];
    let run = |properties: &str, feature: &str, count: usize| {
        features(&fields, properties, feature, &json!({}), &documents[..count])
    };
    let allow = "rank-properties { stead.inexact-conversions: allow }";
    let sum = "sum(attribute(ids) * attribute(small))";
    assert_eq!(run("", sum, 1), Ok(vec!["4.5".to_owned()]));
    assert_eq!(
        run("", sum, 2),
        Err("f: * of attribute(ids), attribute(small): 9007199254740993 is no double".to_owned())
    );
    assert_eq!(run(allow, sum, 2), Ok(vec!["4.5".to_owned(), "0".to_owned()]));
    let cast = "cell_cast(attribute(small), int16)";
    assert_eq!(
        run("", cast, 1),
        Err("f: cell_cast of attribute(small): 0.5 is no int16".to_owned())
    );
    assert_eq!(run(allow, cast, 1), Ok(vec!["tensor<int16>(x[2]):[0,2]".to_owned()]));
    assert_eq!(
        run("", "cell_cast(tensor(x[1]):[300], uint8)", 1),
        Err("300 is no uint8".to_owned())
    );
    assert_eq!(
        run("rank-properties { stead.inexact-conversions: maybe }", "1", 1),
        Err("expected refuse or allow for stead.inexact-conversions, found maybe".to_owned())
    );
}

#[test]
fn values_of_queries_have_the_sizes_that_they_have() {
    let fields = [("v", "tensor<float>(x[2])")];
    let inputs = "inputs {\n query(q) tensor<float>(x[])\n query(t) tensor(k{},y[])\n query(d) tensor(x[]): tensor(x[2]):[7,8]\n}";
    let documents = [json!({"v": [1, 2]}), json!({"v": [3, 4]})];
    let run = |feature: &str, query: Json| features(&fields, inputs, feature, &query, &documents);
    let texts = |list: &[&str]| Ok(list.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
    assert_eq!(
        run("sum(query(q) * attribute(v))", json!({"input.query(q)": [10, 1]})),
        texts(&["12", "34"])
    );
    assert_eq!(
        run("concat(query(q), attribute(v), x)", json!({"input.query(q)": "[9]"})),
        texts(&["tensor<float>(x[3]):[9,1,2]", "tensor<float>(x[3]):[9,3,4]"])
    );
    assert_eq!(
        run("sum(query(t), y)", json!({"input.query(t)": {"a": [1, 2, 3], "b": [4, 5, 6]}})),
        texts(&["tensor(k{}):{a:6,b:15}"; 2])
    );
    assert_eq!(run("query(d)", json!({})), texts(&["tensor(x[2]):[7,8]"; 2]));
    assert_eq!(
        run("sum(query(q) * attribute(v))", json!({"input.query(q)": [1, 2, 3]})),
        Err("f: * of query(q), attribute(v): dimension x differs: tensor<float>(x[3]) and tensor<float>(x[2])".to_owned())
    );
    assert_eq!(
        run("sum(query(q))", json!({})),
        Err("query(q): is a tensor<float>(x[]) that the query does not give".to_owned())
    );
    assert_eq!(
        run("sum(query(t))", json!({"input.query(t)": {}})),
        Err("input query(t): the size of dimension y of tensor(k{},y[]) is in no cell".to_owned())
    );
}

/// A network takes a value of the query of any size; its outputs then have a mapped dimension.
#[test]
fn values_of_any_size_go_into_models() {
    let inputs = "inputs {\n query(ids) tensor<int64>(d0[1],d1[])\n query(mask) tensor<int64>(d0[1],d1[])\n}";
    let model =
        "onnx-model m {\n file: files/m.onnx\n input ids: query(ids)\n input mask: query(mask)\n}";
    let profile = format!("{inputs}\n{model}\nfirst-phase {{ expression: sum(onnx(m).masked) }}");
    let package = Package::new(&[], &profile, &[("files/m.onnx", &network("ids"))]);
    for size in [1, 3, 5] {
        let ids: Vec<i64> = (1..=size).collect();
        let query =
            json!({"input.query(ids)": [ids], "input.query(mask)": [vec![0; size as usize]]});
        let found = package.rank(&query, &[json!({})]).unwrap();
        assert_eq!(found.hits[0].relevance, 0.0, "{size}");
    }
    let query = json!({"input.query(ids)": [[1, 2]], "input.query(mask)": [[1, 1, 1]]});
    assert!(package.rank(&query, &[json!({})]).is_err());
}

/// The functions of a file are typed for what they are given.
#[test]
fn functions_of_files_take_values_of_any_size() {
    let model = "model sized { inputs { q: tensor<float>(x[]) } function norm() { expression: sqrt(sum(q * q)) } }";
    let profile = "inputs {\n query(v) tensor<float>(x[])\n}\nfunction q() { expression: query(v) }\n\
        first-phase { expression: vespa(\"sized.model\").norm }";
    let package = Package::new(&[], profile, &[("models/sized.model", model.as_bytes())]);
    for (json, expected) in [(json!([3, 4]), 5.0), (json!([2]), 2.0), (json!([1, 1, 1, 1]), 2.0)] {
        let found = package.rank(&json!({"input.query(v)": json}), &[json!({})]);
        assert_eq!(found.map(|r| r.hits[0].relevance), Ok(expected), "{json}");
    }
    let given = value("tensor<float>(x[2]):[6,8]");
    assert_eq!(given.kind().to_string(), "tensor<float>(x[2])");
}
