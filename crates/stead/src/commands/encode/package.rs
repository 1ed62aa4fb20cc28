//! The package of a ranker: its profile, and what may be wrong with it.

use std::collections::BTreeSet;

use stead_app::application::{Application, RankProfile, Schema};
use stead_app::package::Report;

use super::EncodeArgs;
use crate::failure::Failure;

/// Lists what is wrong with a package. That the model is missing is no matter: it is trained on what is made here.
pub(super) fn refuse_errors(report: &Report, application: &Application) -> Result<(), Failure> {
    let of_models = |schema: &Schema| {
        let models = schema.profiles.iter().flat_map(|p| &p.onnx_models).chain(&schema.onnx_models);
        models.map(|m| m.file.place.clone()).collect::<Vec<_>>()
    };
    let models: Vec<_> = application.schemas.iter().flat_map(of_models).collect();
    let errors: Vec<String> =
        report.errors().filter(|e| !models.contains(&e.place)).map(ToString::to_string).collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!("the package cannot be used\n{}", errors.join("\n"))))
}

/// The profile that is asked for, with its schema.
pub(super) fn find_profile<'a>(
    application: &'a Application,
    args: &EncodeArgs,
) -> Result<(&'a Schema, &'a RankProfile), Failure> {
    let name = &args.profile;
    let wanted = |s: &&Schema| args.schema.as_ref().is_none_or(|name| s.name.value == *name);
    let schemas = || application.schemas.iter().filter(wanted);
    let found: Vec<_> = schemas().filter_map(|s| Some((s, s.profile(name)?))).collect();
    match found.as_slice() {
        [one] => Ok(*one),
        [] => {
            let known: BTreeSet<&str> =
                schemas().flat_map(|s| &s.profiles).map(|p| p.name.value.as_str()).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            let known = if known.is_empty() { "none".to_owned() } else { known };
            Err(Failure::usage(format!(
                "--profile {name}: no such rank-profile; there are {known}"
            )))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|(s, _)| s.name.value.as_str()).collect();
            Err(Failure::usage(format!(
                "--profile {name}: schemas {} have one; choose with --schema",
                names.join(", ")
            )))
        }
    }
}
