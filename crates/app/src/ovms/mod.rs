//! The keys of a model in OpenVINO Model Server's `config.json`, which are also its command-line flags: one
//! reader for each, whoever brings the value.

mod plugin;
mod shape;

use crate::fields::{Fields, array, bad, boolean, integer, join, string};
use crate::{ConfigError, ModelSettings, VersionPolicy, json};
use plugin::plugin_config;
use serde_json::Value;
use stead_tensor::Precision;

/// The keys that [`apply_model_key`] reads: those of `config{}` without `name`, `base_path` and `stead`.
pub const MODEL_KEYS: &[&str] = &[
    "batch_size",
    "shape",
    "layout",
    "model_version_policy",
    "nireq",
    "target_device",
    "allow_cache",
    "plugin_config",
    "stateful",
    "idle_sequence_cleanup",
    "max_sequence_number",
    "low_latency_transformation",
    "mean",
    "scale",
    "color_format",
    "precision",
    "custom_loader_options",
    "graph_path",
    "subconfig",
];

/// Reads the value of one key of [`MODEL_KEYS`] into `settings`. Flags hand their text over as a JSON string:
/// objects inside it are read too. Warnings for people are appended to `warnings`.
///
/// # Errors
/// [`ConfigError::Unsupported`] for what stead has not; else [`ConfigError::BadValue`],
/// [`ConfigError::UnknownKey`].
pub fn apply_model_key(
    key: &str,
    value: &Value,
    settings: &mut ModelSettings,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    let pointer = join("", key);
    let p = pointer.as_str();
    match key {
        "batch_size" => settings.batch_size = shape::batch_size(value, p)?,
        "shape" => {
            settings.shapes = shape::shapes(value, p)?;
            settings.auto_shape = shape::is_auto(value).then_some(true);
        }
        "layout" => shape::layout(value, p)?,
        "model_version_policy" => settings.version_policy = Some(version_policy(value, p)?),
        "nireq" => settings.nireq = Some(count(value, p)?),
        "target_device" => target_device(value, p)?,
        "allow_cache" => drop(boolean(value, p)?),
        "plugin_config" => plugin_config(value, p, settings, warnings)?,
        "stateful" => settings.sequences.stateful = Some(flag(value, p)?),
        "idle_sequence_cleanup" => settings.sequences.idle_cleanup = Some(flag(value, p)?),
        "low_latency_transformation" => settings.sequences.low_latency = Some(flag(value, p)?),
        "max_sequence_number" => {
            let n = integer(value, p, 0, u64::from(u32::MAX)).map_err(|error| match error {
                ConfigError::BadValue { .. } => {
                    unsupported(p, "Sequence max number parameter too high")
                }
                other => other,
            })?;
            settings.sequences.max_sequences = u32::try_from(n).ok();
        }
        // The names of OpenVINO Model Server (FP32, ...) say what a client's tensors are.
        "precision" => match value.as_str().map(str::parse::<Precision>) {
            Some(Ok(precision)) => settings.precision = Some(precision),
            _ => warnings.push(format!("{p} is ignored: models run in their own precision")),
        },
        "mean" | "scale" | "color_format" => {
            // Ignoring it would give other results than before, and nobody would notice.
            return Err(unsupported(p, "put image preprocessing into the model or the client"));
        }
        "custom_loader_options" => return Err(unsupported(p, "there are no custom loaders")),
        "graph_path" | "subconfig" => {
            return Err(unsupported(p, "there are no MediaPipe graphs"));
        }
        _ => {
            return Err(ConfigError::UnknownKey { pointer, known: MODEL_KEYS.join(", ") });
        }
    }
    Ok(())
}

fn unsupported(pointer: &str, text: &str) -> ConfigError {
    ConfigError::Unsupported { pointer: pointer.to_owned(), text: text.to_owned() }
}

fn count(value: &Value, pointer: &str) -> Result<u32, ConfigError> {
    integer(value, pointer, 0, 100_000).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

/// A truth value, or its name as a flag brings it.
fn flag(value: &Value, pointer: &str) -> Result<bool, ConfigError> {
    match value.as_str() {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => boolean(value, pointer),
    }
}

/// The object that a string holds, or the value itself.
fn unwrapped(value: &Value, pointer: &str) -> Result<Value, ConfigError> {
    match value.as_str() {
        Some(text) if text.trim_start().starts_with('{') => {
            json::parse(text.as_bytes()).map_err(|_| bad(pointer, "a valid JSON object", value))
        }
        _ => Ok(value.clone()),
    }
}

fn version_policy(value: &Value, pointer: &str) -> Result<VersionPolicy, ConfigError> {
    const EXPECTED: &str = "one of {\"latest\": {\"num_versions\": n}}, {\"specific\": {\"versions\": [n, ...]}}, {\"all\": {}}";
    let value = unwrapped(value, pointer)?;
    let fields = Fields::new(&value, pointer, &["latest", "specific", "all"])?;
    if value.as_object().is_none_or(|o| o.len() != 1) {
        return Err(bad(pointer, EXPECTED, &value));
    }
    if let Some(latest) = fields.get("latest") {
        let inner = Fields::new(latest, &fields.at("latest"), &["num_versions"])?;
        return match inner.get("num_versions") {
            Some(n) => Ok(VersionPolicy::Latest(
                u32::try_from(integer(n, &inner.at("num_versions"), 1, u64::from(u32::MAX))?)
                    .unwrap_or(u32::MAX),
            )),
            None => Ok(VersionPolicy::Latest(1)),
        };
    }
    if let Some(specific) = fields.get("specific") {
        let inner = Fields::new(specific, &fields.at("specific"), &["versions"])?;
        let (list, place) = inner.require("versions")?;
        let mut versions = array(list, &place)?
            .iter()
            .enumerate()
            .map(|(i, v)| integer(v, &join(&place, &i.to_string()), 1, i64::MAX.unsigned_abs()))
            .collect::<Result<Vec<_>, _>>()?;
        versions.sort_unstable();
        versions.dedup();
        return Ok(VersionPolicy::Specific(versions));
    }
    Fields::new(fields.require("all")?.0, &fields.at("all"), &[])?;
    Ok(VersionPolicy::All)
}

fn target_device(value: &Value, pointer: &str) -> Result<(), ConfigError> {
    match string(value, pointer)? {
        "CPU" | "AUTO" | "AUTO:CPU" => Ok(()),
        other => {
            let shown: String = other.chars().take(32).collect();
            Err(unsupported(pointer, &format!("stead computes on the CPU only, not on {shown:?}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    pub(super) fn read(key: &str, value: Value) -> Result<ModelSettings, ConfigError> {
        let mut settings = ModelSettings::default();
        apply_model_key(key, &value, &mut settings, &mut Vec::new()).map(|()| settings)
    }

    #[test]
    fn policies() {
        let cases = [
            (json!({"latest": {"num_versions": 2}}), Some(VersionPolicy::Latest(2))),
            (json!({"latest": {}}), Some(VersionPolicy::Latest(1))),
            (
                json!("{\"specific\": {\"versions\": [3, 1, 3]}}"),
                Some(VersionPolicy::Specific(vec![1, 3])),
            ),
            (json!({"all": {}}), Some(VersionPolicy::All)),
            (json!({"all": {}, "latest": {}}), None),
            (json!({}), None),
            (json!({"latest": {"num_versions": 0}}), None),
            (json!({"specific": {"versions": [0]}}), None),
            (json!({"specific": {}}), None),
            (json!({"newest": {}}), None),
        ];
        for (value, expected) in cases {
            let got =
                read("model_version_policy", value.clone()).ok().and_then(|s| s.version_policy);
            assert_eq!(got, expected, "{value}");
        }
    }

    /// DefaultValues, ChangedValues and ModelConfigParse of OpenVINO Model Server's tests of stateful models.
    #[test]
    fn options_of_stateful_models() {
        let default = ModelSettings::default().sequences;
        assert!(!default.is_stateful(), "DefaultValues");
        // What is not set means 500 sequences, which the cleaner looks after, and no transformation.
        let unset = (default.max_sequences, default.idle_cleanup, default.low_latency);
        assert_eq!(unset, (None, None, None), "DefaultValues");
        let read = |key: &str, value| read(key, value).map(|s| s.sequences);
        let changed = read("max_sequence_number", json!(1000)).unwrap();
        assert_eq!(changed.max_sequences, Some(1000), "ChangedValues");
        let changed = read("low_latency_transformation", json!(true)).unwrap();
        assert_eq!(changed.low_latency, Some(true), "ChangedValues");
        let changed = read("idle_sequence_cleanup", json!(false)).unwrap();
        assert_eq!(changed.idle_cleanup, Some(false), "ChangedValues");
        assert!(read("stateful", json!(true)).unwrap().is_stateful(), "ChangedValues");
        for (key, value, valid) in [
            ("stateful", json!(true), true),
            ("stateful", json!("stateful"), false),
            ("stateful", json!(1), false),
            ("low_latency_transformation", json!(false), true),
            ("low_latency_transformation", json!("maybe"), false),
            ("idle_sequence_cleanup", json!(true), true),
            ("idle_sequence_cleanup", json!(0), false),
            ("max_sequence_number", json!(0), true),
            ("max_sequence_number", json!(u32::MAX), true),
            ("max_sequence_number", json!(u64::from(u32::MAX) + 1), false),
            ("max_sequence_number", json!(-1), false),
            ("max_sequence_number", json!("many"), false),
            ("max_sequence_number", json!(1.5), false),
        ] {
            assert_eq!(read(key, value.clone()).is_ok(), valid, "ModelConfigParse: {key} {value}");
        }
    }

    #[test]
    fn precisions_of_stead_are_taken_and_those_of_openvino_ignored() {
        let cases = [
            (json!("bf16"), Some(Precision::Bf16), 0),
            (json!("f32"), Some(Precision::F32), 0),
            (json!("int8"), Some(Precision::Int8), 0),
            (json!("BF16"), None, 1),
            (json!("FP16"), None, 1),
            (json!({"x": "FP32"}), None, 1),
        ];
        for (value, expected, count) in cases {
            let (mut settings, mut warnings) = (ModelSettings::default(), Vec::new());
            apply_model_key("precision", &value, &mut settings, &mut warnings).unwrap();
            assert_eq!((settings.precision, warnings.len()), (expected, count), "{value}");
        }
    }

    #[test]
    fn what_stead_has_not_is_named() {
        let refused = [
            ("max_sequence_number", json!(1u64 << 32)),
            ("target_device", json!("GPU")),
            ("layout", json!("NHWC:NCHW")),
            ("mean", json!("[1,2]")),
            ("custom_loader_options", json!({"loader_name": "x"})),
        ];
        for (key, value) in refused {
            let error = read(key, value).unwrap_err();
            let named = format!("/{key} is not supported: ");
            assert!(error.to_string().starts_with(&named), "{error}");
        }
        for (key, value) in [
            ("target_device", json!("AUTO")),
            ("layout", json!({"a": "NHWC:NHWC"})),
            ("precision", json!("FP32")),
            ("allow_cache", json!(true)),
        ] {
            assert_eq!(read(key, value), Ok(ModelSettings::default()), "{key}");
        }
    }
}
