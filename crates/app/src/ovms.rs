//! The keys of a model in OpenVINO Model Server's `config.json`, which are also its command-line flags: one
//! reader for each, whoever brings the value.

use crate::fields::{Fields, array, bad, boolean, integer, join, string};
use crate::{BatchSize, ConfigError, InputShape, ModelSettings, VersionPolicy, json};
use serde_json::Value;

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

/// Above this a dimension cannot be meant.
const MAX_DIM: u64 = 1 << 40;

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
        "batch_size" => settings.batch_size = batch_size(value, p)?,
        "shape" => settings.shapes = shapes(value, p)?,
        "layout" => layout(value, p)?,
        "model_version_policy" => settings.version_policy = Some(version_policy(value, p)?),
        "nireq" => settings.nireq = Some(count(value, p)?),
        "target_device" => target_device(value, p)?,
        "allow_cache" => drop(boolean(value, p)?),
        "plugin_config" => plugin_config(value, p, settings, warnings)?,
        "stateful" => {
            if flag(value, p)? {
                return Err(unsupported(
                    p,
                    "stateful models come with a later version (Sequences)",
                ));
            }
        }
        "idle_sequence_cleanup" | "low_latency_transformation" => {
            // `false` asks for nothing.
            if flag(value, p)? {
                return Err(unsupported(p, "sequences come with a later version (Sequences)"));
            }
        }
        "max_sequence_number" => {
            return Err(unsupported(p, "sequences come with a later version (Sequences)"));
        }
        "precision" => warnings.push(format!("{p} is ignored: models run in their own precision")),
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

fn batch_size(value: &Value, pointer: &str) -> Result<Option<BatchSize>, ConfigError> {
    let text = match value {
        Value::Number(n) => n.to_string(),
        v => string(v, pointer)?.trim().to_owned(),
    };
    match text.as_str() {
        // The model's own.
        "0" => return Ok(None),
        "auto" | "-1" => return Ok(Some(BatchSize::Auto)),
        _ => {}
    }
    let range = match dimension(&text) {
        Some(Some((low, high))) if low > 0 => Some((low, high)),
        _ => None,
    };
    let (low, high) = range.ok_or_else(|| {
        bad(pointer, "an integer from 0, \"auto\" or a range such as \"1:8\"", value)
    })?;
    Ok(Some(if low == high { BatchSize::Fixed(low) } else { BatchSize::Range(low, high) }))
}

/// `-1`, `5` or `1:8`; the outer `None` when it is none of them.
fn dimension(text: &str) -> Option<Option<(usize, usize)>> {
    let size = |t: &str| {
        let n: u64 = t.trim().parse().ok()?;
        if n > MAX_DIM { None } else { usize::try_from(n).ok() }
    };
    match text.trim().split_once(':') {
        None if text.trim() == "-1" => Some(None),
        None => size(text).map(|n| Some((n, n))),
        Some((low, high)) => {
            let (low, high) = (size(low)?, size(high)?);
            (low <= high).then_some(Some((low, high)))
        }
    }
}

fn shape(value: &Value, pointer: &str) -> Result<Option<InputShape>, ConfigError> {
    const EXPECTED: &str = "\"auto\" or a shape such as \"(1,3,-1,64:128)\"";
    let text = string(value, pointer)?.trim();
    if text == "auto" {
        return Ok(None);
    }
    let inner = text
        .strip_prefix('(')
        .and_then(|t| t.strip_suffix(')'))
        .ok_or_else(|| bad(pointer, EXPECTED, value))?;
    let dims: Option<Vec<_>> = match inner.trim() {
        "" => Some(Vec::new()),
        inner => inner.strip_suffix(',').unwrap_or(inner).split(',').map(dimension).collect(),
    };
    dims.map(Some).ok_or_else(|| bad(pointer, EXPECTED, value))
}

fn shapes(
    value: &Value,
    pointer: &str,
) -> Result<std::collections::BTreeMap<String, InputShape>, ConfigError> {
    let value = unwrapped(value, pointer)?;
    let mut shapes = std::collections::BTreeMap::new();
    match &value {
        Value::Object(map) => {
            for (input, value) in map {
                if let Some(shape) = shape(value, &join(pointer, input))? {
                    shapes.insert(input.clone(), shape);
                }
            }
        }
        value => {
            if let Some(shape) = shape(value, pointer)? {
                shapes.insert(String::new(), shape);
            }
        }
    }
    Ok(shapes)
}

/// Layouts name axes; only one that would move axes changes anything, and that is not offered.
fn layout(value: &Value, pointer: &str) -> Result<(), ConfigError> {
    let check = |value: &Value, pointer: &str| -> Result<(), ConfigError> {
        let text = string(value, pointer)?;
        let valid = |t: &str| {
            t == "auto"
                || (!t.is_empty()
                    && t.chars().all(|c| {
                        c.is_ascii_alphabetic() || matches!(c, '.' | '?' | ',' | '[' | ']')
                    }))
        };
        match text.split_once(':') {
            None if valid(text) => Ok(()),
            Some((from, to)) if valid(from) && from == to => Ok(()),
            Some((from, to)) if valid(from) && valid(to) => {
                Err(unsupported(pointer, "send inputs in the layout of the model"))
            }
            _ => Err(bad(pointer, "a layout such as \"NCHW\"", value)),
        }
    };
    match &unwrapped(value, pointer)? {
        Value::Object(map) => map.iter().try_for_each(|(t, v)| check(v, &join(pointer, t))),
        value => check(value, pointer),
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

/// Keys of OpenVINO's CPU plugin that say how to compute, not what, and that stead has no use for.
const IGNORED_PLUGIN_KEYS: &[&str] = &[
    "CACHE_DIR",
    "CPU_BIND_THREAD",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "ENABLE_PROFILING",
    "INFERENCE_PRECISION_HINT",
    "LOG_LEVEL",
    "MODEL_DISTRIBUTION_POLICY",
    "PERFORMANCE_HINT_NUM_REQUESTS",
    "PERF_COUNT",
    "SCHEDULING_CORE_TYPE",
];

fn plugin_config(
    value: &Value,
    pointer: &str,
    settings: &mut ModelSettings,
    warnings: &mut Vec<String>,
) -> Result<(), ConfigError> {
    let value = unwrapped(value, pointer)?;
    let object = value.as_object().ok_or_else(|| bad(pointer, "an object", &value))?;
    for (key, value) in object {
        let place = join(pointer, key);
        match key.as_str() {
            "NUM_STREAMS" | "CPU_THROUGHPUT_STREAMS" => match value.as_str() {
                // As many as there are cores: what stead does by itself.
                Some("AUTO" | "NUMA" | "-1" | "CPU_THROUGHPUT_AUTO" | "CPU_THROUGHPUT_NUMA") => {}
                _ if value.as_i64() == Some(-1) => {}
                _ => settings.streams = Some(count(value, &place)?).filter(|n| *n > 0),
            },
            "INFERENCE_NUM_THREADS" | "CPU_THREADS_NUM" => {
                let threads = Some(count(value, &place)?).filter(|n| *n > 0);
                settings.threads = threads.or(settings.threads);
            }
            "PERFORMANCE_HINT" => match string(value, &place)? {
                // Cores are lent to a request only when no other waits, which is best for both.
                "LATENCY" | "UNDEFINED" | "" => {}
                "THROUGHPUT" | "CUMULATIVE_THROUGHPUT" => {
                    settings.threads = settings.threads.or(Some(1));
                }
                _ => return Err(bad(&place, "\"LATENCY\" or \"THROUGHPUT\"", value)),
            },
            key if IGNORED_PLUGIN_KEYS.contains(&key) => {
                warnings.push(format!("{place} is ignored"));
            }
            _ => {
                return Err(unsupported(
                    &place,
                    "known here: NUM_STREAMS, PERFORMANCE_HINT, INFERENCE_NUM_THREADS",
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(key: &str, value: Value) -> Result<ModelSettings, ConfigError> {
        let mut settings = ModelSettings::default();
        apply_model_key(key, &value, &mut settings, &mut Vec::new()).map(|()| settings)
    }

    #[test]
    fn batch_sizes() {
        let cases = [
            (json!(0), Ok(None)),
            (json!("0"), Ok(None)),
            (json!(4), Ok(Some(BatchSize::Fixed(4)))),
            (json!("4"), Ok(Some(BatchSize::Fixed(4)))),
            (json!("auto"), Ok(Some(BatchSize::Auto))),
            (json!("-1"), Ok(Some(BatchSize::Auto))),
            (json!(-1), Ok(Some(BatchSize::Auto))),
            (json!("1:8"), Ok(Some(BatchSize::Range(1, 8)))),
            (json!("8:1"), Err(())),
            (json!("0:8"), Err(())),
            (json!("many"), Err(())),
            (json!(1.5), Err(())),
            (json!(u64::MAX), Err(())),
        ];
        for (value, expected) in cases {
            let got = read("batch_size", value.clone()).map(|s| s.batch_size).map_err(|_| ());
            assert_eq!(got, expected, "{value}");
        }
    }

    #[test]
    fn shapes_for_one_and_for_named_inputs() {
        let one = read("shape", json!("(1,3, -1,64:128)")).unwrap().shapes;
        assert_eq!(one[""], vec![Some((1, 1)), Some((3, 3)), None, Some((64, 128))]);
        for value in
            [json!({"a": "(1,2)", "b": "auto"}), json!("{\"a\": \"(1,2)\", \"b\": \"auto\"}")]
        {
            let named = read("shape", value).unwrap().shapes;
            assert_eq!(named.keys().collect::<Vec<_>>(), ["a"]);
        }
        assert_eq!(read("shape", json!("auto")).unwrap().shapes.len(), 0);
        assert_eq!(read("shape", json!("()")).unwrap().shapes[""], vec![]);
        for bad in [json!("1,2"), json!("(a)"), json!("(1,,2)"), json!(3), json!("(1"), json!("{")]
        {
            assert!(read("shape", bad.clone()).is_err(), "{bad}");
        }
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

    #[test]
    fn plugin_keys() {
        let s =
            read("plugin_config", json!({"NUM_STREAMS": "4", "INFERENCE_NUM_THREADS": 2})).unwrap();
        assert_eq!((s.streams, s.threads), (Some(4), Some(2)));
        let s = read("plugin_config", json!({"PERFORMANCE_HINT": "THROUGHPUT"})).unwrap();
        assert_eq!(s.threads, Some(1));
        let s = read("plugin_config", json!({"NUM_STREAMS": "AUTO", "PERF_COUNT": true})).unwrap();
        assert_eq!(s, ModelSettings::default());
        let e =
            read("plugin_config", json!({"GPU_THROUGHPUT_STREAMS": 1})).unwrap_err().to_string();
        assert!(e.starts_with("/plugin_config/GPU_THROUGHPUT_STREAMS is not supported"), "{e}");
    }

    #[test]
    fn what_stead_has_not_is_named() {
        let refused = [
            ("stateful", json!(true)),
            ("max_sequence_number", json!(5)),
            ("low_latency_transformation", json!(true)),
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
            ("stateful", json!(false)),
            ("target_device", json!("AUTO")),
            ("layout", json!({"a": "NHWC:NHWC"})),
            ("precision", json!("FP32")),
            ("allow_cache", json!(true)),
        ] {
            assert_eq!(read(key, value), Ok(ModelSettings::default()), "{key}");
        }
    }
}
