//! `config.json` of OpenVINO Model Server.

use crate::fields::{Fields, array, bad, boolean, join, string};
use crate::pipelines::{self, PipelineEntry};
use crate::{ConfigError, MODEL_KEYS, ModelSettings, json, options, ovms};
use serde_json::Value;

/// A model of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelEntry {
    /// Its name.
    pub name: String,
    /// Its folder or file; relative to the folder of the file that names it.
    pub base_path: String,
    /// Its settings. An error concerns this model alone: it asks for something that stead has not.
    pub settings: Result<ModelSettings, ConfigError>,
}

/// The object `monitoring.metrics`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricsSettings {
    /// Whether metrics are served; `None` when the file does not say.
    pub enable: Option<bool>,
    /// The families to serve; empty for the default ones.
    pub metrics_list: Vec<String>,
}

/// A whole `config.json`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerConfig {
    /// The models in the order of the file; names are unique.
    pub models: Vec<ModelEntry>,
    /// The pipelines in the order of the file; names are unique.
    pub pipelines: Vec<PipelineEntry>,
    /// What it says about metrics.
    pub metrics: MetricsSettings,
    /// Remarks for people: keys that have no effect.
    pub warnings: Vec<String>,
}

const TOP: &[&str] = &[
    "model_config_list",
    "monitoring",
    "mediapipe_config_list",
    "pipeline_config_list",
    "custom_node_library_config_list",
    "custom_loader_config_list",
];

/// Lists that must be empty, and why.
const REFUSED_LISTS: &[(&str, &str)] = &[
    ("mediapipe_config_list", "there are no MediaPipe graphs"),
    ("custom_loader_config_list", "there are no custom loaders"),
];

impl ServerConfig {
    /// Reads the file's bytes. All or nothing: a file that is half written or has an unknown key gives an
    /// error.
    ///
    /// # Errors
    /// [`ConfigError`] with the place.
    pub fn parse(bytes: &[u8]) -> Result<ServerConfig, ConfigError> {
        let value = json::parse(bytes)?;
        let top = Fields::new(&value, "", TOP)?;
        for (key, text) in REFUSED_LISTS {
            if let Some(list) = top.get(key)
                && !array(list, &top.at(key))?.is_empty()
            {
                return Err(ConfigError::Unsupported {
                    pointer: top.at(key),
                    text: (*text).to_owned(),
                });
            }
        }
        let mut config = ServerConfig::default();
        if let Some(monitoring) = top.get("monitoring") {
            config.metrics = metrics(monitoring, &top.at("monitoring"))?;
        }
        let (list, place) = top.require("model_config_list")?;
        for (i, item) in array(list, &place)?.iter().enumerate() {
            let item_place = join(&place, &i.to_string());
            let item = Fields::new(item, &item_place, &["config"])?;
            let (value, place) = item.require("config")?;
            let entry = model(value, &place, &mut config.warnings)?;
            if config.models.iter().any(|m| m.name == entry.name) {
                // As OpenVINO Model Server does.
                config.warnings.push(format!(
                    "{place}/name: model {:?} stands in the file already; the first entry holds",
                    entry.name
                ));
            } else {
                config.models.push(entry);
            }
        }
        let place = top.at("custom_node_library_config_list");
        if let Some(list) = top.get("custom_node_library_config_list") {
            pipelines::libraries(list, &place, &mut config.warnings)?;
        }
        if let Some(list) = top.get("pipeline_config_list") {
            let models: Vec<&str> = config.models.iter().map(|m| &*m.name).collect();
            let place = top.at("pipeline_config_list");
            config.pipelines = pipelines::pipelines(list, &place, &models, &mut config.warnings)?;
        }
        Ok(config)
    }
}

fn metrics(value: &Value, pointer: &str) -> Result<MetricsSettings, ConfigError> {
    let monitoring = Fields::new(value, pointer, &["metrics"])?;
    let (value, place) = monitoring.require("metrics")?;
    let fields = Fields::new(value, &place, &["enable", "metrics_list"])?;
    let enable = match fields.get("enable") {
        Some(v) => Some(boolean(v, &fields.at("enable"))?),
        None => None,
    };
    let mut metrics_list = Vec::new();
    if let Some(list) = fields.get("metrics_list") {
        let place = fields.at("metrics_list");
        for (i, v) in array(list, &place)?.iter().enumerate() {
            metrics_list.push(string(v, &join(&place, &i.to_string()))?.to_owned());
        }
    }
    Ok(MetricsSettings { enable, metrics_list })
}

/// Characters that would make a name ambiguous in a URL or a path.
pub(crate) fn valid_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 255
        && !name.contains(['/', '\\', ':'])
        && !name.chars().any(char::is_control)
        && name != ".."
        && name != "."
}

fn model(
    value: &Value,
    pointer: &str,
    warnings: &mut Vec<String>,
) -> Result<ModelEntry, ConfigError> {
    let object = value.as_object().ok_or_else(|| bad(pointer, "an object", value))?;
    let required = |key: &str| -> Result<&str, ConfigError> {
        let place = join(pointer, key);
        let value =
            object.get(key).ok_or_else(|| ConfigError::Missing { pointer: place.clone() })?;
        string(value, &place)
    };
    let name = required("name")?;
    if !valid_name(name) {
        return Err(bad(
            &join(pointer, "name"),
            "a name without slashes and colons",
            &Value::from(name),
        ));
    }
    let base_path = required("base_path")?;
    let mut settings = ModelSettings::default();
    let mut refused = None;
    for (key, value) in object {
        let read = match key.as_str() {
            "name" | "base_path" => Ok(()),
            "stead" => options::apply(value, "/stead", &mut settings),
            key if MODEL_KEYS.contains(&key) => {
                let before = warnings.len();
                let read = ovms::apply_model_key(key, value, &mut settings, warnings);
                for warning in &mut warnings[before..] {
                    warning.insert_str(0, pointer);
                }
                read
            }
            key => {
                let known = ["name", "base_path", "stead"].iter().chain(MODEL_KEYS);
                let known: Vec<_> = known.copied().collect();
                return Err(ConfigError::UnknownKey {
                    pointer: join(pointer, key),
                    known: known.join(", "),
                });
            }
        };
        match read.map_err(|e| e.below(pointer)) {
            Ok(()) => {}
            Err(error @ ConfigError::Unsupported { .. }) => refused = refused.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    if settings.batch_size.is_some() && !settings.shapes.is_empty() {
        warnings.push(format!("{pointer}/batch_size is ignored: shape is given"));
        settings.batch_size = None;
    }
    if base_path.split(['/', '\\']).any(|part| part == "..") {
        refused = refused.or(Some(ConfigError::Unsupported {
            pointer: join(pointer, "base_path"),
            text: "it must not contain \"..\"".to_owned(),
        }));
    }
    Ok(ModelEntry {
        name: name.to_owned(),
        base_path: base_path.to_owned(),
        settings: refused.map_or(Ok(settings), Err),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file() {
        let text = r#"{
            "model_config_list": [
                {"config": {"name": "a", "base_path": "models/a", "nireq": 2, "batch_size": "4",
                            "model_version_policy": {"all": {}}, "target_device": "CPU",
                            "stead": {"max_batch_size": 8, "max_queue_delay_microseconds": 500}}},
                {"config": {"name": "s", "base_path": "s", "mean": "[1,2]"}},
                {"config": {"name": "a", "base_path": "other"}},
                {"config": {"name": "p", "base_path": "../p"}}
            ],
            "monitoring": {"metrics": {"enable": true, "metrics_list": ["ovms_streams"]}},
            "mediapipe_config_list": []
        }"#;
        let config = ServerConfig::parse(text.as_bytes()).unwrap();
        assert_eq!(config.models.iter().map(|m| &*m.name).collect::<Vec<_>>(), ["a", "s", "p"]);
        let a = config.models[0].settings.as_ref().unwrap();
        assert_eq!((a.nireq, a.max_batch_size), (Some(2), Some(8)));
        let error = config.models[1].settings.as_ref().unwrap_err().to_string();
        assert!(error.starts_with("/model_config_list/1/config/mean is not supported"), "{error}");
        assert!(config.models[2].settings.is_err());
        assert_eq!(config.warnings.len(), 1);
        assert_eq!(config.metrics.enable, Some(true));
    }

    #[test]
    fn files_that_change_nothing() {
        let cases = [
            (
                "half written",
                r#"{"model_config_list": [{"config": {"name": "a", "#,
                "the file is not valid JSON",
            ),
            ("no list", "{}", "missing key /model_config_list"),
            ("top key", r#"{"model_config_list": [], "models": []}"#, "unknown key /models;"),
            (
                "model key",
                r#"{"model_config_list": [{"config": {"name": "a", "base_path": "a", "bath_size": 1}}]}"#,
                "unknown key /model_config_list/0/config/bath_size;",
            ),
            (
                "option key",
                r#"{"model_config_list": [{"config": {"name": "a", "base_path": "a", "stead": {"max": 1}}}]}"#,
                "unknown key /model_config_list/0/config/stead/max;",
            ),
            (
                "no name",
                r#"{"model_config_list": [{"config": {"base_path": "a"}}]}"#,
                "missing key /model_config_list/0/config/name",
            ),
            (
                "name with slash",
                r#"{"model_config_list": [{"config": {"name": "a/b", "base_path": "a"}}]}"#,
                "/model_config_list/0/config/name must be a name without slashes",
            ),
            (
                "wrong type",
                r#"{"model_config_list": [{"config": {"name": "a", "base_path": "a", "nireq": "x"}}]}"#,
                "/model_config_list/0/config/nireq must be an integer from 0 to 100000, got \"x\"",
            ),
            (
                "pipeline without a name",
                r#"{"model_config_list": [], "pipeline_config_list": [{}]}"#,
                "missing key /pipeline_config_list/0/name",
            ),
            (
                "graphs",
                r#"{"model_config_list": [], "mediapipe_config_list": [{}]}"#,
                "/mediapipe_config_list is not supported: there are no MediaPipe graphs",
            ),
            ("not an object", "[]", " must be an object, got []"),
        ];
        for (label, text, start) in cases {
            let error = ServerConfig::parse(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(start), "{label}: {error}");
        }
    }
}
