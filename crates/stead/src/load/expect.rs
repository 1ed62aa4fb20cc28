//! The model in this process, whose answers are the expected ones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use stead_app::{ModelSettings, SequenceSettings, Source, StateInit, StateSetting, WindowSetting};
use stead_node::{
    Embedded, InferRequest, NodeConfig, Param, Parameters, Protocol, VersionRef, VersionState,
};
use stead_tensor::Tensor;

use super::signals::Frame;
use crate::failure::Failure;

/// A model with its states in this process.
pub struct Reference {
    node: Arc<Embedded>,
    name: String,
}

impl Reference {
    /// Loads a model file with the states and windows that the server's `parameters` tell of; or, from a
    /// `config.json` or a folder of models, the model `name` with all of its options.
    ///
    /// # Errors
    /// A model that cannot be loaded.
    pub fn load(
        path: &Path,
        name: &str,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Reference, Failure> {
        let has_options = path.is_dir() || path.extension().is_some_and(|e| e == "json");
        let source = if has_options {
            Source::Path(path.into())
        } else {
            let sequences = settings(parameters);
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
        Ok(Reference { node, name: name.to_owned() })
    }

    /// The outputs of one step of a signal's sequence of `steps`.
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
        parameters.insert("sequence_id".to_owned(), Param::U64(signal as u64 + 1));
        parameters.insert("sequence_start".to_owned(), Param::Bool(step == 0));
        parameters.insert("sequence_end".to_owned(), Param::Bool(step + 1 == steps));
        let request = InferRequest {
            model: self.name.clone(),
            version: VersionRef::Latest,
            id: String::new(),
            inputs: frame.tensors.clone(),
            outputs: Vec::new(),
            parameters,
            deadline: None,
            protocol: Protocol::KserveGrpc,
        };
        let answer = self.node.infer(request).await;
        answer.map(|a| a.outputs).map_err(|e| Failure::failed(format!("the expected model: {e}")))
    }
}

/// The settings that stead's configuration page tells of: `state.IN` is `IN <- OUT TYPE[..], ..., begins ...`, and
/// `window.IN` is `the last N values along axis A go before new ones`.
fn settings(parameters: &BTreeMap<String, String>) -> SequenceSettings {
    let mut settings = SequenceSettings { stateful: Some(true), ..SequenceSettings::default() };
    for (key, text) in parameters {
        if let Some(input) = key.strip_prefix("state.") {
            let rest = text.strip_prefix(input).and_then(|rest| rest.strip_prefix(" <- "));
            let output = rest.and_then(|rest| rest.split(' ').next());
            if text.ends_with("as the model itself does") {
                settings.low_latency = Some(true);
            } else if let Some(output) = output {
                let axis = number_behind(text, "batch axis ");
                let first = text.ends_with("the value of the START");
                settings.states.push(StateSetting {
                    input: input.to_owned(),
                    output: output.to_owned(),
                    batch_axis: axis,
                    init: if first { StateInit::FirstValue } else { StateInit::Zeros },
                    growable: number_behind(text, "grows along axis ").map(|axis| {
                        let max = number_behind(text, &format!("grows along axis {axis} to "));
                        stead_app::Growable { axis, max: max.unwrap_or(usize::MAX) }
                    }),
                });
            }
        } else if let Some(input) = key.strip_prefix("window.")
            && let Some(length) = number_behind(text, "the last ")
        {
            let axis = number_behind(text, "along axis ");
            settings.windows.push(WindowSetting { input: input.to_owned(), length, axis });
        }
    }
    settings
}

/// The number that stands behind a text.
fn number_behind(text: &str, before: &str) -> Option<usize> {
    let (_, rest) = text.split_once(before)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_and_windows_are_read_from_the_servers_page() {
        let parameters = [
            ("state.h", "h <- hN f32[2,batch,128], batch axis 1, begins with zeros"),
            (
                "state.k",
                "k <- kN f32[batch,n,8], batch axis 0, grows along axis 1 to 64, begins with the value of the START",
            ),
            ("window.x", "the last 64 values along axis 1 go before new ones"),
            ("other", "text"),
        ];
        let parameters = parameters.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let settings = settings(&parameters);
        let [h, k] = &settings.states[..] else { panic!("{settings:?}") };
        assert_eq!((&*h.output, h.batch_axis, h.growable), ("hN", Some(1), None));
        assert_eq!(k.growable, Some(stead_app::Growable { axis: 1, max: 64 }));
        assert_eq!((&h.init, &k.init), (&StateInit::Zeros, &StateInit::FirstValue));
        let window = WindowSetting { input: "x".into(), length: 64, axis: Some(1) };
        assert_eq!(settings.windows, [window]);
        assert!(settings.is_stateful() && settings.low_latency.is_none());
    }
}
