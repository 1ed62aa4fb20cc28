//! The model in this process, whose answers are the expected ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use stead_app::{
    Growable, ModelSettings, SequenceSettings, Source, StateInit, StateSetting, WindowSetting,
};
use stead_node::{
    Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef, VersionState,
};
use stead_tensor::Tensor;

use super::carry::Carry;
use super::signals::Frame;
use crate::failure::Failure;

/// A model in this process, with its states or with those that a client carries.
pub struct Reference<'a> {
    node: Arc<Embedded>,
    name: String,
    /// Whether the model keeps states.
    has_sequences: bool,
    carry: &'a [Carry],
    /// What the last step gave for the next one, by input.
    carried: Mutex<Vec<(String, Tensor)>>,
}

impl<'a> Reference<'a> {
    /// Loads a model file, with the states and windows that the server's `parameters` tell of if it has sequences;
    /// or, from a `config.json` or a folder of models, the model `name` with all of its options.
    ///
    /// # Errors
    /// A model that cannot be loaded.
    pub fn load(
        path: &Path,
        name: &str,
        parameters: Option<&BTreeMap<String, String>>,
        carry: &'a [Carry],
    ) -> Result<Reference<'a>, Failure> {
        let has_options = path.is_dir() || path.extension().is_some_and(|e| e == "json");
        let source = if has_options {
            Source::Path(path.into())
        } else {
            let sequences = parameters.map(settings).unwrap_or_default();
            let settings = Box::new(ModelSettings { sequences, ..ModelSettings::default() });
            Source::Model { name: name.to_owned(), base_path: path.into(), settings }
        };
        let shown = path.display();
        let node = Embedded::start(NodeConfig::new(source))
            .map_err(|e| Failure::failed(format!("{shown}: {e}")))?;
        if !node.model_ready(name, &VersionRef::Latest) {
            let status = node.model_status(name, &VersionRef::Latest).unwrap_or_default();
            let failed = status.iter().find(|s| s.state != VersionState::Available);
            let text = failed.map_or("it has no model of this name", |s| &s.error_message);
            return Err(Failure::failed(format!("{shown}: model `{name}`: {text}")));
        }
        let (name, has_sequences) = (name.to_owned(), parameters.is_some());
        Ok(Reference { node, name, has_sequences, carry, carried: Mutex::default() })
    }

    /// The outputs of one step of a signal's sequence of `steps`. Steps are asked for in their order, a signal after
    /// the other.
    ///
    /// # Errors
    /// Those of the step.
    pub async fn step(
        &self,
        signal: usize,
        step: usize,
        steps: usize,
        frame: &Frame,
    ) -> Result<Vec<(String, Tensor)>, Failure> {
        let mut parameters = Parameters::new();
        if self.has_sequences {
            parameters.insert("sequence_id".into(), Param::U64(signal as u64 + 1));
            parameters.insert("sequence_start".into(), Param::Bool(step == 0));
            parameters.insert("sequence_end".into(), Param::Bool(step + 1 == steps));
        }
        let mut inputs = frame.tensors.clone();
        if step > 0 {
            for (name, tensor) in self.carried().drain(..) {
                inputs
                    .iter_mut()
                    .filter(|(n, _)| *n == name)
                    .for_each(|(_, t)| *t = tensor.clone());
            }
        }
        let request = InferRequest {
            model: self.name.clone(),
            version: VersionRef::Latest,
            id: String::new(),
            inputs,
            outputs: Vec::new(),
            parameters,
            deadline: None,
            protocol: Protocol::KserveGrpc,
        };
        let answer = self.node.infer(request).await;
        let answer = answer.map_err(|e| Failure::failed(format!("the expected model: {e}")))?;
        let next = |pair: &Carry| {
            let output = answer.outputs.iter().find(|(name, _)| *name == pair.output);
            let (_, tensor) = output.ok_or_else(|| {
                Failure::usage(format!("--carry: the model has no output `{}`", pair.output))
            })?;
            Ok((pair.input.clone(), tensor.clone()))
        };
        let next: Result<Vec<_>, Failure> = self.carry.iter().map(next).collect();
        *self.carried() = next?;
        Ok(answer.outputs)
    }

    fn carried(&self) -> MutexGuard<'_, Vec<(String, Tensor)>> {
        self.carried.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parameter of stead's configuration page that tells of states and windows, in JSON.
const PARAMETER: &str = "stead.states";

/// The settings that stead's configuration page tells of.
fn settings(parameters: &BTreeMap<String, String>) -> SequenceSettings {
    let mut settings = SequenceSettings { stateful: Some(true), ..SequenceSettings::default() };
    let told = parameters.get(PARAMETER).and_then(|text| serde_json::from_str(text).ok());
    let told: Value = told.unwrap_or_default();
    let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    for state in told["states"].as_array().into_iter().flatten() {
        let (Some(input), Some(output)) = (text(&state["input"]), text(&state["output"])) else {
            continue;
        };
        if state["init"] == "model" {
            settings.low_latency = Some(true);
            continue;
        }
        let growable = number(&state["growable"]["axis"]).map(|axis| Growable {
            axis,
            max: number(&state["growable"]["max"]).unwrap_or(usize::MAX),
        });
        let init = match state["init"].as_str() {
            Some("first_value") => StateInit::FirstValue,
            _ => StateInit::Zeros,
        };
        let batch_axis = number(&state["batch_axis"]);
        settings.states.push(StateSetting { input, output, batch_axis, init, growable });
    }
    for window in told["windows"].as_array().into_iter().flatten() {
        if let (Some(input), Some(length)) = (text(&window["input"]), number(&window["length"])) {
            let axis = number(&window["axis"]);
            settings.windows.push(WindowSetting { input, length, axis });
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_windows_are_read_from_the_servers_page() {
        let states = r#"{"states": [
            {"input": "h", "output": "hN", "datatype": "FP32", "shape": [2, -1, 128], "batch_axis": 1, "init": "zeros"},
            {"input": "k", "output": "kN", "growable": {"axis": 1, "max": 64}, "init": "first_value"},
            {"input": "l", "output": "lN", "init": "model"}],
            "windows": [{"input": "x", "length": 64, "axis": 1}]}"#;
        let parameters = [(PARAMETER, states), ("state.h", "text for people"), ("other", "text")];
        let parameters = parameters.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let settings = settings(&parameters);
        let [h, k] = &settings.states[..] else { panic!("{settings:?}") };
        assert_eq!((&*h.output, h.batch_axis, h.growable), ("hN", Some(1), None));
        assert_eq!(k.growable, Some(Growable { axis: 1, max: 64 }));
        assert_eq!((&h.init, &k.init), (&StateInit::Zeros, &StateInit::FirstValue));
        let window = WindowSetting { input: "x".into(), length: 64, axis: Some(1) };
        assert_eq!(settings.windows, [window]);
        assert!(settings.is_stateful() && settings.low_latency == Some(true));
    }
}
