//! What `services.xml` says of models: the threads of their runs, in the words of ONNX Runtime, their precision, and what evaluates them.

use std::collections::BTreeMap;

use super::{EvaluationKind, EvaluationModel};
use crate::BackendKind;
use crate::package::{Place, Report};
use crate::services::ContainerModel;
use stead_tensor::Precision;

/// What `services.xml` says of a model.
pub(super) fn apply(
    of: &ContainerModel,
    place: &Place,
    models: &mut BTreeMap<String, EvaluationModel>,
    report: &mut Report,
) {
    let name = &of.name;
    let Some(model) = models.get_mut(name) else {
        let known = models.keys().cloned().collect::<Vec<_>>().join(", ");
        let text =
            format!("model-evaluation names the model {name}, which is none of models/: {known}");
        // A warning as in Vespa: packages that are deployed there may carry settings of models that are gone.
        return report.warning(place, text);
    };
    let mut settings = Settings::default();
    for (option, value) in &of.settings {
        match settings.set(option, value.trim()) {
            Ok(None) => {}
            Ok(Some(text)) => report.warning(place, format!("model {name}: {text}")),
            Err(Wrong::Unknown) => {
                report.error(place, format!("model {name} has the unknown setting {option}"));
            }
            Err(Wrong::Value(expected)) => {
                let text = format!("model {name}: {option} must be {expected}, found {value}");
                report.error(place, text);
            }
        }
    }
    if settings.precision != Precision::F32 && !matches!(model.kind, EvaluationKind::Onnx) {
        report.error(place, format!("model {name}: precision is for ONNX models, which it is not"));
    }
    if let Err(text) = settings.backend.takes(settings.precision) {
        report.error(place, format!("model {name}: {text}"));
    }
    if settings.backend != BackendKind::Stead {
        if !matches!(model.kind, EvaluationKind::Onnx) {
            let text = format!("model {name}: backend is for ONNX models, which it is not");
            report.error(place, text);
        } else if settings.most().is_some() {
            let text = "threads have no effect: other back ends compute a run on one thread";
            report.warning(place, format!("model {name}: {text}"));
        }
    }
    model.threads = settings.most();
    model.precision = settings.precision;
    model.backend = settings.backend;
}

/// What the settings of a model say, of threads in the words of ONNX Runtime.
#[derive(Default)]
struct Settings {
    intra: Option<i32>,
    inter: Option<i32>,
    is_parallel: bool,
    precision: Precision,
    backend: BackendKind,
}

/// Why a setting is refused.
enum Wrong {
    Unknown,
    /// What it must be.
    Value(&'static str),
}

impl Settings {
    /// Takes a setting; a text for who deploys it if it has no effect.
    fn set(&mut self, option: &str, value: &str) -> Result<Option<&'static str>, Wrong> {
        let number = || value.parse::<i32>().map_err(|_| Wrong::Value("a number"));
        match (option, value) {
            ("intraop-threads", _) => self.intra = Some(number()?),
            ("interop-threads", _) => match number()? {
                0.. => self.inter = Some(number()?),
                _ => return Err(Wrong::Value("a number from 0 on")),
            },
            ("execution-mode", "sequential" | "parallel") => self.is_parallel = value == "parallel",
            ("execution-mode", _) => return Err(Wrong::Value("parallel or sequential")),
            ("gpu-device", _) => match number()? {
                0.. => return Ok(Some("gpu-device is not used: models run on CPUs")),
                // No device.
                -1 => {}
                _ => return Err(Wrong::Value("the number of a device, or -1 for none")),
            },
            ("optimize-model", "true") => {}
            ("optimize-model", "false") => {
                return Ok(Some("optimize-model is not used: models are always optimised"));
            }
            ("optimize-model", _) => return Err(Wrong::Value("true or false")),
            ("precision", name) => {
                let expected = Wrong::Value("f32, bf16, f64 or int8");
                self.precision = name.parse().map_err(|_| expected)?;
            }
            ("backend", name) => {
                let expected = Wrong::Value("stead or onnxruntime");
                self.backend = BackendKind::from_name(name).ok_or(expected)?;
            }
            _ => return Err(Wrong::Unknown),
        }
        Ok(None)
    }

    /// The most threads of a run. Operators run one after the other, and those of one share its work: where several would run at
    /// once, the one that runs has the threads of all.
    fn most(&self) -> Option<i32> {
        let intra = self.intra.filter(|threads| *threads != 0);
        match (intra, self.inter) {
            (Some(intra @ 1..), Some(inter)) if self.is_parallel => Some(intra.max(inter)),
            _ => intra,
        }
    }
}
