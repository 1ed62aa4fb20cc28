//! Which models the source asks for, now.

use super::scan;
use crate::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use stead_app::services::SERVER_TOML;
use stead_app::{ModelSettings, PipelineEntry, ServerConfig, Source};

/// A model that the source asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Desired {
    pub(super) name: String,
    /// A folder with version folders, or a model file.
    pub(super) base: PathBuf,
    /// Its settings, or why they cannot be followed.
    pub(super) settings: Result<ModelSettings, String>,
}

/// The models and pipelines, and remarks for people.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) models: Vec<Desired>,
    pub(super) pipelines: Vec<PipelineEntry>,
    pub(super) warnings: Vec<String>,
}

/// Reads the source.
///
/// # Errors
/// [`ErrorKind::ConfigMissing`], [`ErrorKind::ConfigInvalid`].
pub(super) fn read(source: &Source) -> Result<Listing, Error> {
    match source {
        Source::Nothing => Ok(Listing::default()),
        Source::ConfigFile(file) => config_file(file),
        Source::Path(path) => {
            let config = path.join("config.json");
            if path.extension().is_some_and(|e| e == "json") {
                config_file(path)
            } else if config.is_file() {
                config_file(&config)
            } else {
                folder(path)
            }
        }
        Source::Model { name, base_path, settings } => {
            if !base_path.exists() {
                return Err(ErrorKind::ConfigMissing.into());
            }
            let settings = Ok((**settings).clone());
            let model = Desired { name: name.clone(), base: base_path.clone(), settings };
            Ok(Listing { models: vec![model], ..Listing::default() })
        }
    }
}

fn config_file(file: &Path) -> Result<Listing, Error> {
    let bytes = std::fs::read(file).map_err(|_| Error::from(ErrorKind::ConfigMissing))?;
    let config = ServerConfig::parse(&bytes)
        .map_err(|e| Error::from(ErrorKind::ConfigInvalid { text: e.to_string() }))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let models = config
        .models
        .into_iter()
        .map(|m| Desired {
            name: m.name,
            // An absolute path replaces the folder.
            base: folder.join(m.base_path),
            settings: m.settings.map_err(|e| e.to_string()),
        })
        .collect();
    Ok(Listing { models, pipelines: config.pipelines, warnings: config.warnings })
}

/// A model file, a model's folder, or a folder of them.
fn folder(path: &Path) -> Result<Listing, Error> {
    let default = || Ok(ModelSettings::default());
    let named = |path: &Path, name: Option<&std::ffi::OsStr>| Desired {
        name: name.map_or_else(|| "model".to_owned(), |n| n.to_string_lossy().into_owned()),
        base: path.to_owned(),
        settings: default(),
    };
    // `.` and `models/..` have no name of their own.
    let resolved = path.canonicalize().map_err(|_| Error::from(ErrorKind::ConfigMissing))?;
    if resolved.is_file() {
        let model = named(path, resolved.file_stem());
        return Ok(Listing { models: vec![model], ..Listing::default() });
    }
    if scan::has_versions(path) {
        let model = named(path, resolved.file_name());
        return Ok(Listing { models: vec![model], ..Listing::default() });
    }
    let (mut listing, base) = (Listing::default(), path);
    let entries = std::fs::read_dir(path).map_err(|_| Error::from(ErrorKind::ConfigMissing))?;
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_file() {
            if scan::is_model(&path) {
                listing.models.push(named(&path, path.file_stem()));
            }
        } else if scan::has_versions(&path) || scan::has_models(&path) {
            listing.models.push(named(&path, Some(&name)));
        } else if name != "python" || !base.join(SERVER_TOML).is_file() {
            listing.warnings.push(format!(
                "folder {:?} is no model: it has no version folder such as 1/model.onnx",
                name.to_string_lossy()
            ));
        }
    }
    // A folder and a file of one name: the folder is the model.
    listing.models.sort_by(|a, b| (&a.name, a.base.is_file()).cmp(&(&b.name, b.base.is_file())));
    listing.models.dedup_by(|b, a| {
        let twice = a.name == b.name;
        if twice {
            listing.warnings.push(format!("model {:?} is there twice; the folder holds", a.name));
        }
        twice
    });
    Ok(listing)
}
