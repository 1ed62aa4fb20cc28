//! Models that another runtime evaluates.

use crate::evaluate::{Evaluate, EvaluateError, Format, Run, Sink};
use crate::instance::{Machine, runs_at_a_time};
use crate::sequences;
use std::path::Path;
use std::sync::Arc;
use stead_app::{BackendKind, ModelSettings};
use stead_engine::{
    Backend, BackendError, BackendModel, BackendOptions, IoSpec, ModelSource, OtherModel,
    PlanStats, Provider,
};
use stead_onnx::Limits;
use stead_tensor::TensorView;

/// A model of another runtime behind the seam of the node.
struct Foreign(OtherModel);

/// A model of another runtime that an application has loaded.
pub(crate) fn evaluate_other(model: OtherModel) -> Arc<dyn Evaluate> {
    Arc::new(Foreign(model))
}

/// A model file in what its settings name: the engine, or another runtime.
///
/// # Errors
/// In words for clients.
pub(crate) fn evaluator(
    file: &Path,
    settings: &ModelSettings,
    machine: &Machine,
) -> Result<Arc<dyn Evaluate>, String> {
    let lift = sequences::lift(&settings.sequences);
    let precision = settings.precision.unwrap_or_default();
    match settings.backend {
        None | Some(BackendKind::Stead) if !settings.providers.is_empty() => {
            Err("providers: only with backend onnxruntime".to_owned())
        }
        None | Some(BackendKind::Stead) => (machine.loader)(file, lift, precision),
        Some(kind) => {
            kind.takes(precision)?;
            if lift.is_some_and(|lift| lift.recurrences) {
                return Err(format!(
                    "low_latency_transformation: not with backend {}",
                    kind.name()
                ));
            }
            // More runs than cores at a time would only wait for each other.
            let cores = machine.pool.threads();
            let runs = runs_at_a_time(settings).map_or(cores, |runs| runs.min(cores));
            let given = settings.providers.iter();
            let providers: Vec<Provider<'_>> =
                given.map(|p| Provider { name: &p.name, options: &p.options }).collect();
            let options = BackendOptions { runs, optimize: true, providers: &providers };
            load(&machine.backends, kind.name(), file, options)
        }
    }
}

/// Loads a model file in the runtime of this name.
///
/// # Errors
/// In words for clients, which name no path; the log does.
fn load(
    backends: &[Arc<dyn Backend>],
    name: &'static str,
    file: &Path,
    options: BackendOptions<'_>,
) -> Result<Arc<dyn Evaluate>, String> {
    let Some(backend) = backends.iter().find(|backend| backend.name() == name) else {
        return Err(format!("backend {name}: this server was started without it"));
    };
    let made = stead_formats::as_onnx(file, &Limits::default())
        .map_err(|error| format!("backend {name}: {error}"))?;
    let source = made.as_deref().map_or(ModelSource::File(file), ModelSource::Bytes);
    let model = backend.load(source, options).map_err(|error| {
        tracing::error!(file = %file.display(), "backend {name}: {error}");
        match error {
            BackendError::Library(text) => format!("backend {name}: {}", without_paths(&text)),
            error => format!("backend {name}: {}", without_folder(&error.to_string(), file)),
        }
    })?;
    Ok(evaluate_other(OtherModel::new(backend.name(), model)))
}

/// Runtimes whose errors name no path of this server; the log does.
pub(crate) fn discreet(backends: &[Arc<dyn Backend>]) -> Vec<Arc<dyn Backend>> {
    let wrapped = |of: &Arc<dyn Backend>| Arc::new(Discreet(Arc::clone(of))) as Arc<dyn Backend>;
    backends.iter().map(wrapped).collect()
}

#[derive(Debug)]
struct Discreet(Arc<dyn Backend>);

impl Discreet {
    fn told(&self, error: BackendError) -> BackendError {
        match error {
            BackendError::Library(text) => {
                tracing::error!("backend {}: {text}", self.0.name());
                BackendError::Library(without_paths(&text))
            }
            other => other,
        }
    }
}

impl Backend for Discreet {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn ready(&self) -> Result<(), BackendError> {
        self.0.ready().map_err(|error| self.told(error))
    }

    fn load(
        &self,
        source: ModelSource<'_>,
        options: BackendOptions<'_>,
    ) -> Result<Box<dyn BackendModel>, BackendError> {
        self.0.load(source, options).map_err(|error| self.told(error))
    }
}

/// A text about the file without the folder in which it lies.
fn without_folder(text: &str, file: &Path) -> String {
    let Some(folder) = file.parent().map(|p| p.display().to_string()).filter(|p| !p.is_empty())
    else {
        return text.to_owned();
    };
    text.replace(&format!("{folder}/"), "")
}

/// A text as far as it names no file.
fn without_paths(text: &str) -> String {
    match text.contains('/') {
        true => "its library cannot be used; the log of the server tells why".to_owned(),
        false => text.to_owned(),
    }
}

impl Evaluate for Foreign {
    fn inputs(&self) -> &[IoSpec] {
        self.0.model().inputs()
    }

    fn outputs(&self) -> &[IoSpec] {
        self.0.model().outputs()
    }

    fn format(&self) -> Format {
        // What Triton calls models of this back end.
        Format { platform: "onnxruntime_onnx", backend: self.0.backend() }
    }

    fn free_batch(&mut self, _: &[(usize, usize)]) -> Result<(), String> {
        Err(format!("backend {} leaves the file as it is", self.0.backend()))
    }

    fn run(
        &self,
        inputs: &[Option<TensorView<'_>>],
        wanted: &[usize],
        run: &Run<'_>,
        sink: &mut Sink<'_>,
    ) -> Result<(), EvaluateError> {
        // A run may have to wait, and is ended late if at all: not on a thread that has sockets to look after.
        if run.within.is_some() {
            return Err(EvaluateError::NotQuick);
        }
        let mut taken = Ok(());
        let ran = self.0.model().run(inputs, wanted, run.cancelled, &mut |place, view| {
            if taken.is_ok() {
                taken = sink(place, view);
            }
        });
        ran.map_err(translate)?;
        taken
    }

    fn plan_stats(&self) -> PlanStats {
        PlanStats::default()
    }
}

fn translate(error: BackendError) -> EvaluateError {
    match error {
        BackendError::Cancelled => EvaluateError::Cancelled,
        BackendError::Input(text) => EvaluateError::Input(text),
        BackendError::Tensor(error) => EvaluateError::Memory(error.to_string()),
        other => EvaluateError::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A runtime that says why it takes no model.
    #[derive(Debug)]
    struct Refusing(BackendError);

    impl Backend for Refusing {
        fn name(&self) -> &'static str {
            "other"
        }

        fn ready(&self) -> Result<(), BackendError> {
            Err(self.0.clone())
        }

        fn load(
            &self,
            _: ModelSource<'_>,
            _: BackendOptions<'_>,
        ) -> Result<Box<dyn BackendModel>, BackendError> {
            Err(self.0.clone())
        }
    }

    #[test]
    fn what_clients_read_names_no_path() {
        let library = |text: &str| BackendError::Library(text.to_owned());
        let model = |text: &str| BackendError::Model(text.to_owned());
        let hidden = "backend other: its library cannot be used; the log of the server tells why";
        let cases = [
            (library("there is no library /opt/lib.so"), hidden),
            (library("build it with a feature"), "backend other: build it with a feature"),
            (
                model("load /srv/models/m/1/model.onnx failed: no such operator"),
                "backend other: load model.onnx failed: no such operator",
            ),
        ];
        let file = Path::new("/srv/models/m/1/model.onnx");
        let options = BackendOptions { runs: 1, optimize: true, providers: &[] };
        for (error, expected) in cases {
            let backends: [Arc<dyn Backend>; 1] = [Arc::new(Refusing(error))];
            let got = load(&backends, "other", file, options).map(|_| ()).unwrap_err();
            assert_eq!(got, expected);
            if let [discreet] = discreet(&backends).as_slice()
                && let BackendError::Library(text) = discreet.ready().unwrap_err()
            {
                assert_eq!(format!("backend other: {text}"), expected);
            }
        }
        let none = load(&[], "other", file, options).map(|_| ()).unwrap_err();
        assert_eq!(none, "backend other: this server was started without it");
    }
}
