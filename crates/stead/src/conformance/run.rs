//! Evaluating one case.

use std::path::Path;

use stead_engine::{LoadOptions, Model, OwnedOutput, RunContext, Session, SessionOptions, Value};
use stead_onnx::pb::{self, decode_value};
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
    // The declared types say which kind of message a .pb file holds.
    let file = stead_onnx::Model::read(&path, &Limits::default()).map_err(|e| e.to_string())?;
    let types = |infos: &[stead_onnx::ValueInfo]| -> Vec<(String, ValueType)> {
        infos.iter().map(|info| (info.name.clone(), info.ty.clone())).collect()
    };
    let (inputs, outputs) = (types(&file.graph.inputs), types(&file.graph.outputs));
    let load = LoadOptions { lists: true, ..LoadOptions::default() };
    let model = Model::load(&path, &load).map_err(|e| e.to_string())?;
    let session = Session::new(model, &SessionOptions::default()).map_err(|e| e.to_string())?;
    for set in sets {
        let given = read_all(set, "input", &inputs)?;
        let expected = read_all(set, "output", &outputs)?;
        let specs = session.model().inputs().iter();
        let values = specs.map(|spec| match given.iter().find(|(name, _)| *name == spec.name) {
            Some((name, value)) => value_of(value).map_err(|e| format!("input `{name}`: {e}")),
            None => Ok(Value::Nothing),
        });
        let values = values.collect::<Result<Vec<_>, String>>()?;
        let feed: Vec<_> = values.iter().map(|value| value.map(Tensor::view)).collect();
        let all: Vec<usize> = (0..session.model().outputs().len()).collect();
        let results = session.run_values(&feed, &RunContext::default(), &all);
        let results = results.map_err(|e| e.to_string())?.into_iter();
        let results = results.map(|value| value.try_map(OwnedOutput::into_tensor));
        let results = results.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
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
) -> Result<Vec<(String, pb::Value)>, String> {
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

/// A value of a file as the engine takes it.
fn value_of(value: &pb::Value) -> Result<Value<Tensor>, &'static str> {
    match value {
        pb::Value::Tensor(tensor) => Ok(Value::Tensor(tensor.clone())),
        pb::Value::Optional(Some(inner)) => value_of(inner),
        pb::Value::Optional(None) => Ok(Value::Nothing),
        pb::Value::Sequence(elements) => {
            let element = |value: &pb::Value| match value {
                pb::Value::Tensor(tensor) => Ok(tensor.clone()),
                _ => Err("only sequences of tensors can be computed"),
            };
            Ok(Value::Sequence(elements.iter().map(element).collect::<Result<_, _>>()?))
        }
        pb::Value::Map { .. } => Err("maps of test data are not read"),
    }
}
