//! Models that name a runtime that cannot be used here.

use stead_app::BackendKind;
use stead_app::application::{Application, OnnxModel};
use stead_app::package::Report;
use stead_engine::Backends;

/// Tells of each `onnx-model` whose runtime cannot load models, with what to do: such a package is not deployed.
pub fn unready(application: &Application, backends: &Backends, report: &mut Report) {
    let mut told: Vec<&OnnxModel> = Vec::new();
    for schema in &application.schemas {
        let of_profiles = schema.profiles.iter().flat_map(|profile| &profile.onnx_models);
        for model in schema.onnx_models.iter().chain(of_profiles) {
            // Profiles that inherit a model say the same of it.
            let is_known = told.iter().any(|known| known.name.place == model.name.place);
            if model.backend == BackendKind::Stead || is_known {
                continue;
            }
            let (name, backend) = (&model.name, model.backend.name());
            if let Err(error) = backends.ready(backend) {
                let text = format!("onnx-model {}: backend {backend}: {error}", name.value);
                report.error(&name.place, text);
                told.push(model);
            }
        }
    }
}
