//! `onnx-model`: a file, what is bound to its inputs and outputs, and how many threads it gets.

use stead_tensor::Precision;

use super::{all, one, unique};
use crate::BackendKind;
use crate::application::profile::OnnxModel;
use crate::package::Report;
use crate::schema::{Element, Expression, Name, Value};

/// An ONNX model.
pub(super) fn onnx_model(element: &Element, report: &mut Report) -> Option<OnnxModel> {
    let name = element.name.clone()?;
    let file = match one(&element.body, "file", report).and_then(|e| e.value.clone()) {
        Some(Value::Text(file)) => file,
        _ => {
            report.error(&name.place, format!("onnx-model {} must have a file", name.value));
            return None;
        }
    };
    let bound = |keyword: &'static str| -> Vec<(Name, Expression)> {
        all(&element.body, keyword)
            .filter_map(|e| Some((e.name.clone()?, e.raw()?.clone())))
            .collect()
    };
    let (inputs, outputs) = (bound("input"), bound("output"));
    unique("input", inputs.iter().map(|(name, _)| name), report);
    unique("output", outputs.iter().map(|(name, _)| name), report);
    let mode = one(&element.body, "execution-mode", report);
    let is_parallel = mode.is_some_and(|e| e.text() == "parallel");
    let backend = backend(&element.body, report);
    let settings = settings(&name, element, (is_parallel, backend), report);
    let precision = precision(&element.body, report);
    if let Err(text) = backend.takes(precision.unwrap_or_default()) {
        report.error(&name.place, format!("onnx-model {}: {text}", name.value));
    }
    Some(OnnxModel { name, file, inputs, outputs, settings, is_parallel, precision, backend })
}

/// What the body of a model says of `backend`.
fn backend(body: &[Element], report: &mut Report) -> BackendKind {
    let found = one(body, "backend", report).and_then(|e| BackendKind::from_name(e.text()));
    found.unwrap_or_default()
}

/// What the body of a model or profile says of `precision`. The grammar takes no other words than those that it has.
pub(super) fn precision(body: &[Element], report: &mut Report) -> Option<Precision> {
    one(body, "precision", report).and_then(|e| e.text().parse().ok())
}

/// The numbers; those that have no effect are told.
fn settings(
    name: &Name,
    element: &Element,
    (is_parallel, backend): (bool, BackendKind),
    report: &mut Report,
) -> Vec<(&'static str, i64)> {
    let mut settings = Vec::new();
    for keyword in ["gpu-device", "intraop-threads", "interop-threads"] {
        let Some(element) = one(&element.body, keyword, report) else { continue };
        let Some(number) = element.integer() else { continue };
        let why = match keyword {
            // A negative number is Vespa's own way to ask for the CPU.
            "gpu-device" if number < 0 => None,
            "gpu-device" => Some("models run on the CPU"),
            _ if number < 0 => Some("a number of threads is 0, for all there are, or more"),
            "intraop-threads" if backend != BackendKind::Stead => {
                Some("other back ends compute a run on one thread")
            }
            "interop-threads" if !is_parallel => {
                Some("only execution-mode: parallel has several runs at a time")
            }
            _ => None,
        };
        if let Some(why) = why {
            let text =
                format!("{keyword} {number} of onnx-model {} has no effect: {why}", name.value);
            report.warning(&element.place, text);
        }
        settings.push((keyword, number));
    }
    settings
}
