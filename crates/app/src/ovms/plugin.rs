//! `plugin_config`: what OpenVINO's CPU plugin is told.

use super::{count, unsupported, unwrapped};
use crate::fields::{bad, join, string};
use crate::{ConfigError, ModelSettings};
use serde_json::Value;
use stead_tensor::Precision;

/// Keys of OpenVINO's CPU plugin that say how to compute, not what, and that stead has no use for.
const IGNORED_PLUGIN_KEYS: &[&str] = &[
    "CACHE_DIR",
    "CPU_BIND_THREAD",
    "ENABLE_CPU_PINNING",
    "ENABLE_HYPER_THREADING",
    "ENABLE_PROFILING",
    "LOG_LEVEL",
    "MODEL_DISTRIBUTION_POLICY",
    "PERFORMANCE_HINT_NUM_REQUESTS",
    "PERF_COUNT",
    "SCHEDULING_CORE_TYPE",
];

pub(super) fn plugin_config(
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
            "INFERENCE_PRECISION_HINT" => match value.as_str().unwrap_or_default() {
                "f32" => settings.precision = settings.precision.or(Some(Precision::F32)),
                "bf16" => settings.precision = settings.precision.or(Some(Precision::Bf16)),
                _ => warnings.push(format!("{place} is ignored")),
            },
            key if IGNORED_PLUGIN_KEYS.contains(&key) => {
                warnings.push(format!("{place} is ignored"));
            }
            _ => {
                return Err(unsupported(
                    &place,
                    "known here: NUM_STREAMS, PERFORMANCE_HINT, INFERENCE_NUM_THREADS, INFERENCE_PRECISION_HINT",
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;
    use serde_json::json;

    #[test]
    fn plugin_keys() {
        let s =
            read("plugin_config", json!({"NUM_STREAMS": "4", "INFERENCE_NUM_THREADS": 2})).unwrap();
        assert_eq!((s.streams, s.threads), (Some(4), Some(2)));
        let s = read("plugin_config", json!({"PERFORMANCE_HINT": "THROUGHPUT"})).unwrap();
        assert_eq!(s.threads, Some(1));
        let s = read("plugin_config", json!({"NUM_STREAMS": "AUTO", "PERF_COUNT": true})).unwrap();
        assert_eq!(s, ModelSettings::default());
        let cases = [
            ("f32", Some(Precision::F32)),
            ("bf16", Some(Precision::Bf16)),
            ("f16", None),
            ("dynamic", None),
            ("", None),
        ];
        for (hint, expected) in cases {
            let s = read("plugin_config", json!({"INFERENCE_PRECISION_HINT": hint})).unwrap();
            assert_eq!(s.precision, expected, "{hint}");
        }
        let e =
            read("plugin_config", json!({"GPU_THROUGHPUT_STREAMS": 1})).unwrap_err().to_string();
        assert!(e.starts_with("/plugin_config/GPU_THROUGHPUT_STREAMS is not supported"), "{e}");
    }
}
