//! Evaluating one case.

use std::path::Path;

use stead_engine::{LoadOptions, Model, Session, SessionOptions};
use stead_onnx::pb::{Value, decode_value};
use stead_onnx::{Limits, ValueType};
use stead_tensor::Tensor;

use super::compare::compare;
use super::{Case, Tolerance, Verdict};

/// Loads the model of a case and compares all of its data sets.
pub fn run(case: &Case, tolerance: Tolerance) -> Verdict {
    let sets = match case.data_sets() {
        Ok(sets) if sets.is_empty() => return Verdict::Skipped("no test_data_set_0".to_owned()),
        Ok(sets) => sets,
        Err(e) => return Verdict::Failed(e.to_string()),
    };
    match check(case, &sets, tolerance) {
        Ok(()) => Verdict::Passed,
        Err(text) => Verdict::Failed(text),
    }
}

fn check(case: &Case, sets: &[std::path::PathBuf], tolerance: Tolerance) -> Result<(), String> {
    let path = case.folder.join("model.onnx");
    // The declared types say which kind of message a .pb file holds; inputs of the suite may be
    // sequences, for which the engine's own description has no place.
    let file = stead_onnx::Model::read(&path, &Limits::default()).map_err(|e| e.to_string())?;
    let types = |infos: &[stead_onnx::ValueInfo]| -> Vec<(String, ValueType)> {
        infos.iter().map(|info| (info.name.clone(), info.ty.clone())).collect()
    };
    let (inputs, outputs) = (types(&file.graph.inputs), types(&file.graph.outputs));
    let model = Model::load(&path, &LoadOptions::default()).map_err(|e| e.to_string())?;
    let session = Session::new(model, &SessionOptions::default()).map_err(|e| e.to_string())?;
    for set in sets {
        let given = read_all(set, "input", &inputs)?;
        let expected = read_all(set, "output", &outputs)?;
        let feed =
            given.iter().map(|(name, value)| Ok((name.as_str(), tensor_of(name, value)?.view())));
        let feed: Vec<_> = feed.collect::<Result<_, String>>()?;
        let results = session.run(&feed, &[]).map_err(|e| e.to_string())?;
        if results.len() != expected.len() {
            return Err(format!("{} outputs expected, got {}", expected.len(), results.len()));
        }
        for ((name, expected), actual) in expected.iter().zip(&results) {
            compare(actual, expected, tolerance).map_err(|e| format!("output `{name}`: {e}"))?;
        }
    }
    Ok(())
}

/// The values of `<kind>_0.pb`, `<kind>_1.pb`, ... with the names of the graph.
fn read_all(
    set: &Path,
    kind: &str,
    declared: &[(String, ValueType)],
) -> Result<Vec<(String, Value)>, String> {
    let mut values = Vec::new();
    for (k, (name, ty)) in declared.iter().enumerate() {
        let file = format!("{kind}_{k}.pb");
        let path = set.join(&file);
        if !path.exists() {
            break; // an initializer that is an input too, or a trailing optional one
        }
        let bytes = std::fs::read(&path).map_err(|e| format!("{file}: {e}"))?;
        let (_, value) = decode_value(&bytes, ty).map_err(|e| format!("{file}: {e}"))?;
        values.push((name.clone(), value));
    }
    Ok(values)
}

fn tensor_of<'a>(name: &str, value: &'a Value) -> Result<&'a Tensor, String> {
    match value {
        Value::Tensor(tensor) => Ok(tensor),
        Value::Optional(Some(inner)) => tensor_of(name, inner),
        Value::Optional(None) | Value::Sequence(_) | Value::Map { .. } => {
            Err(format!("input `{name}` is no tensor"))
        }
    }
}
