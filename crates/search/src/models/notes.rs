//! What is worth knowing of the models of profiles before a query runs them.

use stead_app::application::rank::{CompiledProfile, ModelKind};
use stead_app::package::Place;

use super::loaded::Loaded;

/// Networks that run for one document at a time, with why, and those that cannot be loaded: where the package names them.
pub fn notes(loaded: &Loaded<'_>, profiles: &[CompiledProfile]) -> Vec<(Place, String)> {
    let mut notes = Vec::new();
    for model in profiles.iter().flat_map(|profile| &profile.models) {
        let ModelKind::Onnx(onnx) = &model.kind else { continue };
        let name = &onnx.name;
        let text = match loaded.function(model) {
            Ok(function) => function.singly().map(|why| {
                format!("onnx-model {} runs for one document at a time: {why}", name.value)
            }),
            Err(error) => Some(format!("onnx-model {} cannot be loaded: {error}", name.value)),
        };
        // Profiles that inherit a model say the same of it.
        let note = text.map(|text| (name.place.clone(), text));
        if let Some(note) = note.filter(|note| !notes.contains(note)) {
            notes.push(note);
        }
    }
    notes
}
