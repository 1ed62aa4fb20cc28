//! The token features of a rank profile.

use std::collections::BTreeSet;

use stead_app::application::rank::CompiledProfile;
use stead_app::application::rank::encoding::TokenRow;
use stead_app::application::{OnnxModel, RankProfile, Schema};

/// The token features that the expressions of a profile and the inputs of its models name.
pub(super) fn token_features<'c>(
    schema: &Schema,
    profile: &RankProfile,
    compiled: impl Iterator<Item = &'c CompiledProfile>,
) -> BTreeSet<String> {
    let is_token_feature = |name: &&str| TokenRow::is_feature(name);
    let mut found = BTreeSet::new();
    for compiled in compiled {
        let phases = [&compiled.first_phase, &compiled.second_phase, &compiled.global_phase];
        let lists = [&compiled.functions, &compiled.match_features, &compiled.summary_features];
        let typed = lists.into_iter().flatten().map(|t| &t.compiled);
        for expression in phases.into_iter().flatten().chain(typed) {
            let names = expression.names().iter().map(String::as_str);
            found.extend(names.filter(is_token_feature).map(str::to_owned));
        }
    }
    // What is bound to the models of the profile, and to those of the schema that it calls.
    let phases = [&profile.first_phase, &profile.second_phase, &profile.global_phase];
    let phases = phases.into_iter().filter_map(|p| p.expression.as_ref());
    let expressions: Vec<&str> = phases
        .chain(profile.functions.iter().map(|f| &f.body))
        .map(|expression| expression.value.as_str())
        .collect();
    let is_called = |model: &&OnnxModel| {
        let call = format!("({})", model.name.value);
        expressions.iter().any(|text| text.contains(&call))
    };
    let of_schema = schema.onnx_models.iter().filter(is_called);
    let inputs = profile.onnx_models.iter().chain(of_schema).flat_map(|m| &m.inputs);
    let bound = inputs.map(|(_, source)| source.value.trim()).filter(is_token_feature);
    found.extend(bound.map(spaceless));
    found
}

/// A feature as expressions know it.
fn spaceless(name: &str) -> String {
    name.split_ascii_whitespace().collect()
}
