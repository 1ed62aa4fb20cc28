//! Which models to serve: the PATH, a config file or one model from flags.

use std::path::PathBuf;

use clap::ArgMatches;
use serde_json::Value;
use stead_app::services::{SERVER_TOML, is_server_toml};
use stead_app::{BackendKind, MODEL_KEYS, ModelSettings, Source, apply_model_key};

use super::flags::{FLAGS, text};
use crate::failure::Failure;

/// Folder of models that OpenVINO Model Server looks at when no flag names models: its `config.json`.
const REPOSITORY_VARIABLE: &str = "OVMS_MODEL_REPOSITORY_PATH";

/// Flags that describe one model: two of its own, and those named like keys of config.json.
fn model_flags() -> impl Iterator<Item = &'static str> {
    let keys = FLAGS.iter().map(|flag| flag.name).filter(|name| MODEL_KEYS.contains(name));
    ["model_name", "model_path"].into_iter().chain(keys)
}

/// The package of an application that the flags name: a PATH that looks like one. A folder does by its
/// `services.xml`, and a zip or tar.gz by its name.
pub fn package(matches: &ArgMatches) -> Option<PathBuf> {
    let path = PathBuf::from(text(matches, "path")?);
    let has = |file: &str| path.join(file).is_file();
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let is_archive = [".zip", ".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end));
    (is_archive || has("services.xml") || has("application/services.xml")).then_some(path)
}

/// The folder with the `stead.toml` that declares components beside the models that are served.
pub fn components(source: &Source) -> Option<PathBuf> {
    let folder = match source {
        Source::Path(path) if path.is_dir() => path.clone(),
        Source::ConfigFile(file) => file.parent()?.to_owned(),
        Source::Path(_) | Source::Model { .. } | Source::Nothing => return None,
    };
    let text = std::fs::read_to_string(folder.join(SERVER_TOML)).ok()?;
    is_server_toml(&text).then_some(folder)
}

/// The models that the flags name; none where an application is served.
///
/// # Errors
/// [`Failure::Usage`] when they name none, or models in two ways.
pub fn source(matches: &ArgMatches, settings: &ModelSettings) -> Result<Source, Failure> {
    let given = |name: &str| text(matches, name);
    let path = text(matches, "path");
    let model_flag = model_flags().find(|name| given(name).is_some());
    if let (Some(_), Some(flag)) = (given("config_path"), model_flag) {
        return Err(Failure::usage(format!("--config_path excludes --{flag}")));
    }
    if given("data").is_some() {
        let other = [("path", "PATH"), ("config_path", "--config_path")];
        if let Some((_, other)) = other.iter().find(|(name, _)| given(name).is_some()) {
            return Err(Failure::usage(format!("--data excludes {other}")));
        }
        return match model_flag {
            Some(flag) => Err(Failure::usage(format!("--data excludes --{flag}"))),
            None => Ok(Source::Nothing),
        };
    }
    if let Some(path) = path {
        if given("config_path").is_some() {
            return Err(Failure::usage("PATH excludes --config_path"));
        }
        if package(matches).is_some() {
            return match model_flag {
                Some(flag) => Err(Failure::usage(format!("an application excludes --{flag}"))),
                None => Ok(Source::Nothing),
            };
        }
        if let Some(flag @ ("model_name" | "model_path")) = model_flag {
            return Err(Failure::usage(format!("PATH excludes --{flag}")));
        }
        return Ok(if path.ends_with(".json") {
            Source::ConfigFile(path.into())
        } else {
            Source::Path(path.into())
        });
    }
    if let Some(path) = given("config_path") {
        return Ok(Source::ConfigFile(path.into()));
    }
    match (given("model_name"), given("model_path")) {
        (Some(name), Some(base_path)) => Ok(Source::Model {
            name: name.to_owned(),
            base_path: base_path.into(),
            settings: Box::new(settings.clone()),
        }),
        (None, None) if model_flag.is_none() => match std::env::var_os(REPOSITORY_VARIABLE) {
            Some(folder) => {
                Ok(Source::ConfigFile(std::path::Path::new(&folder).join("config.json")))
            }
            None => {
                Err(Failure::usage("give a PATH, --config_path, or --model_name with --model_path"))
            }
        },
        _ => Err(Failure::usage("--model_name and --model_path go together")),
    }
}

/// The settings that flags give, read by the very code that reads config.json.
///
/// # Errors
/// [`Failure::Usage`] for a value that config.json could not hold either.
pub fn settings(matches: &ArgMatches, notes: &mut Vec<String>) -> Result<ModelSettings, Failure> {
    let mut settings = ModelSettings::default();
    if let Some(name) = text(matches, "backend") {
        let kind = BackendKind::from_name(name);
        let wrong = || Failure::usage(format!("--backend: `{name}` is not stead or onnxruntime"));
        settings.backend = Some(kind.ok_or_else(wrong)?);
    }
    for flag in model_flags() {
        if let (true, Some(value)) = (MODEL_KEYS.contains(&flag), text(matches, flag)) {
            apply_model_key(flag, &Value::from(value), &mut settings, notes)
                .map_err(|e| Failure::usage(as_flag(flag, &e.to_string())))?;
        }
    }
    if settings.sequences.needs_stateful().is_some() {
        // OpenVINO Model Server's words.
        return Err(Failure::usage(
            "Setting low_latency_transformation, max_sequence_number and idle_sequence_cleanup require setting \
             stateful flag for the model.",
        ));
    }
    Ok(settings)
}

/// The reader names a key by its JSON pointer (`/nireq`); on the command line it is a flag.
fn as_flag(flag: &str, text: &str) -> String {
    text.replacen(&format!("/{flag}"), &format!("--{flag}"), 1)
}
