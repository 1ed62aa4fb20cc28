//! The one table of stead's own options. The object `stead` in `config.json`, `stead.toml`, their error
//! messages and the page `docs/options.md` all come from it.

use crate::fields::{bad, boolean, integer, join, string};
use crate::sequences;
use crate::{BackendKind, ConfigError, Literal, ModelSettings, Provider};
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::time::Duration;
use stead_tensor::Precision;

/// One option of a model.
pub struct OptionSpec {
    /// The key.
    pub name: &'static str,
    /// The type and range, for people.
    pub kind: &'static str,
    /// What holds when it is not given.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
    read: fn(&Value, &str, &mut ModelSettings) -> Result<(), ConfigError>,
}

impl std::fmt::Debug for OptionSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OptionSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Larger batches give no more throughput and only cost latency and memory.
const MAX_BATCH: u64 = 65_536;
/// A minute: longer waits are mistakes of unit.
const MAX_DELAY_US: u64 = 60_000_000;
/// Queued requests hold their tensors, so a queue must have an end.
const MAX_QUEUE: u64 = 1_000_000;
/// A day, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 86_400_000;
/// More threads than any machine has.
const MAX_THREADS: u64 = 4096;
/// Each answer is memory, for every sequence.
const MAX_REPLAY: u64 = 1024;
/// More memory than any machine has, and exact as a float.
const MAX_BYTES: u64 = 1 << 53;
/// Warm-up happens before the model is served; more runs only delay that.
const MAX_WARMUP: u64 = 1000;

fn small(value: &Value, pointer: &str, min: u64, max: u64) -> Result<u32, ConfigError> {
    // Every maximum above fits.
    integer(value, pointer, min, max).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
}

fn precision(value: &Value, pointer: &str) -> Result<Precision, ConfigError> {
    let name = string(value, pointer)?;
    name.parse().map_err(|_| bad(pointer, "\"f32\", \"bf16\", \"f64\" or \"int8\"", value))
}

/// More providers than a runtime has.
const MAX_PROVIDERS: usize = 32;

/// `providers`: names, some with options.
fn providers(value: &Value, pointer: &str) -> Result<Vec<Provider>, ConfigError> {
    let list = value.as_array().filter(|list| list.len() <= MAX_PROVIDERS);
    let list = list.ok_or_else(|| bad(pointer, "a list of at most 32 providers", value))?;
    let each = list.iter().enumerate().map(|(at, value)| {
        let place = join(pointer, &at.to_string());
        match value {
            Value::Object(object) => provider(object, &place, value),
            name => Ok(Provider { name: string(name, &place)?.to_owned(), options: Vec::new() }),
        }
    });
    each.collect()
}

/// A provider with its options, whose values are texts, numbers and truth values.
fn provider(
    object: &Map<String, Value>,
    pointer: &str,
    value: &Value,
) -> Result<Provider, ConfigError> {
    let (mut name, mut options) = (None, Vec::new());
    for (key, value) in object {
        let place = join(pointer, key);
        match (key.as_str(), value) {
            ("name", value) => name = Some(string(value, &place)?.to_owned()),
            ("options", Value::Object(given)) => {
                for (key, value) in given {
                    let text = match value {
                        Value::String(text) => text.clone(),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        _ => {
                            let place = join(&place, key);
                            return Err(bad(&place, "a text, number or truth value", value));
                        }
                    };
                    options.push((key.clone(), text));
                }
            }
            ("options", value) => return Err(bad(&place, "an object", value)),
            _ => {
                let known = "name, options".to_owned();
                return Err(ConfigError::UnknownKey { pointer: place, known });
            }
        }
    }
    let name = name.ok_or_else(|| bad(pointer, "an object with a name", value))?;
    Ok(Provider { name, options })
}

/// All options, in the order of the documentation.
pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec {
        name: "max_batch_size",
        kind: "integer, 0 to 65536",
        default: "0 (off)",
        doc: "Join waiting requests along axis 0 into one run of at most this many elements. The model \
              must take any size there; see [batching](batching.md).",
        read: |v, p, s| small(v, p, 0, MAX_BATCH).map(|n| s.max_batch_size = Some(n)),
    },
    OptionSpec {
        name: "max_queue_delay_microseconds",
        kind: "integer, 0 to 60000000",
        default: "0",
        doc: "How long the first request of a batch may wait for others. With 0 a batch is what has \
              gathered while the runs before it took their time. Needs `max_batch_size`.",
        read: |v, p, s| {
            integer(v, p, 0, MAX_DELAY_US)
                .map(|n| s.max_queue_delay = Some(Duration::from_micros(n)))
        },
    },
    OptionSpec {
        name: "max_queue_size",
        kind: "integer, 1 to 1000000",
        default: "1024",
        doc: "How many requests may wait. One more is refused at once with UNAVAILABLE (HTTP 503).",
        read: |v, p, s| small(v, p, 1, MAX_QUEUE).map(|n| s.max_queue_size = Some(n)),
    },
    OptionSpec {
        name: "threads",
        kind: "integer, 1 to 4096",
        default: "all threads of the pool",
        doc: "The most threads that one request may use. It starts on one and borrows idle ones.",
        read: |v, p, s| small(v, p, 1, MAX_THREADS).map(|n| s.threads = Some(n)),
    },
    OptionSpec {
        name: "precision",
        kind: "`f32`, `bf16`, `f64` or `int8`",
        default: "f32",
        doc: "`bf16`: weights of products and recurrent layers are kept in bf16, which takes half the memory and up to half the \
              time; see [precision](precision.md). `f64` and `int8` hold the model to what its file has.",
        read: |v, p, s| precision(v, p).map(|precision| s.precision = Some(precision)),
    },
    OptionSpec {
        name: "warmup",
        kind: "integer, 0 to 1000",
        default: "0",
        doc: "Runs on zeros before a version is served (free dimensions are 1), so that the first request \
              finds a plan and warm memory. A version whose warm-up fails is not served.",
        read: |v, p, s| small(v, p, 0, MAX_WARMUP).map(|n| s.warmup = Some(n)),
    },
    OptionSpec {
        name: "default_timeout_ms",
        kind: "integer, 0 to 86400000",
        default: "0 (none)",
        doc: "The deadline of requests that bring none. A request that is not answered in time gets \
              DEADLINE_EXCEEDED (HTTP 504) and stops using a core at its next step.",
        read: |v, p, s| {
            integer(v, p, 0, MAX_TIMEOUT_MS)
                .map(|n| s.default_timeout = Some(Duration::from_millis(n)))
        },
    },
    OptionSpec {
        name: "default_inputs",
        kind: "object: input name to number or nested array",
        default: "{}",
        doc: "Values for inputs that a request leaves out, such as a sampling rate. Written in the model's \
              shape; the element type is the model's.",
        read: |v, p, s| {
            let object = v.as_object().ok_or_else(|| bad(p, "an object", v))?;
            for (name, value) in object {
                let literal =
                    Literal::from_json(value).map_err(|e| bad(&join(p, name), &e, value))?;
                s.default_inputs.insert(name.clone(), literal);
            }
            Ok(())
        },
    },
    OptionSpec {
        name: "backend",
        kind: "`stead` or `onnxruntime`",
        default: "stead",
        doc: "What evaluates the model: stead's engine, or [ONNX Runtime](onnxruntime.md), for operators that only it \
              has. Needs a stead built with the feature `onnxruntime`, and `--onnxruntime_library`.",
        read: |v, p, s| {
            let kind = v.as_str().and_then(BackendKind::from_name);
            let kind = kind.ok_or_else(|| bad(p, "`stead` or `onnxruntime`", v))?;
            s.backend = Some(kind);
            Ok(())
        },
    },
    OptionSpec {
        name: "providers",
        kind: "list of names, or of objects `{\"name\": name, \"options\": {...}}`",
        default: "[\"CPUExecutionProvider\"]",
        doc: "With `backend` `onnxruntime`: the execution providers that compute the nodes, the preferred first, with their \
              options; see [ONNX Runtime](onnxruntime.md#execution-providers).",
        read: |v, p, s| providers(v, p).map(|list| s.providers = list),
    },
    OptionSpec {
        name: "states",
        kind: "list of objects",
        default: "found by name",
        doc: "The states of a stateful model: `{\"input\": name, \"output\": name, \"batch_axis\": n, \"init\": \
              \"zeros\" or \"first_value\" or {\"const\": values} or {\"file\": \"name.npy\"}, \"growable\": \
              {\"axis\": n, \"max\": n}}`; see [sequences](sequences.md).",
        read: |v, p, s| sequences::states(v, p).map(|list| s.sequences.states = list),
    },
    OptionSpec {
        name: "windows",
        kind: "list of objects",
        default: "[]",
        doc: "Inputs that the model takes with the last values of the step before in front: `{\"input\": name, \
              \"length\": n, \"axis\": n}`. Clients send only new values; a START begins with zeros in front.",
        read: |v, p, s| sequences::windows(v, p).map(|list| s.sequences.windows = list),
    },
    OptionSpec {
        name: "sequence_ids",
        kind: "`random` or `counter`",
        default: "random",
        doc: "How ids are made for sequences that begin without one: 53 random bits, which nobody can guess, or \
              1, 2, 3, ... as OpenVINO Model Server does.",
        read: |v, p, s| sequences::ids(v, p).map(|ids| s.sequences.ids = Some(ids)),
    },
    OptionSpec {
        name: "sequence_idle_timeout_ms",
        kind: "integer, 0 to 86400000",
        default: "0 (none)",
        doc: "A sequence without a successful step for exactly this long ends by itself, beside the scans of \
              `--sequence_cleaner_poll_wait_minutes`.",
        read: |v, p, s| {
            integer(v, p, 0, MAX_TIMEOUT_MS)
                .map(|n| s.sequences.idle_timeout = Some(Duration::from_millis(n)))
        },
    },
    OptionSpec {
        name: "replay_depth",
        kind: "integer, 0 to 1024",
        default: "1",
        doc: "How many answers each sequence keeps for steps that a client numbers with `sequence_step` and \
              sends again.",
        read: |v, p, s| small(v, p, 0, MAX_REPLAY).map(|n| s.sequences.replay_depth = Some(n)),
    },
    OptionSpec {
        name: "ended_answer_ttl_ms",
        kind: "integer, 0 to 86400000",
        default: "60000",
        doc: "How long the answer of a numbered END is kept for a client that sends it again.",
        read: |v, p, s| {
            integer(v, p, 0, MAX_TIMEOUT_MS)
                .map(|n| s.sequences.ended_ttl = Some(Duration::from_millis(n)))
        },
    },
    OptionSpec {
        name: "state_durability",
        kind: "`memory`, `snapshot` or `every_step`",
        default: "memory",
        doc: "What survives when the process ends: nothing; what a graceful stop or the last of the snapshots found \
              that are taken every 10 seconds; every step that was answered. See [durability](durability.md). Needs \
              `--state_path`.",
        read: |v, p, s| sequences::durability(v, p).map(|d| s.sequences.durability = Some(d)),
    },
    OptionSpec {
        name: "state_budget_bytes",
        kind: "integer, from 0",
        default: "0 (no limit)",
        doc: "Memory for the states of a model's sequences. Beyond it the states of those that were idle longest \
              wait on disk until their next step. Needs `--state_path`.",
        read: |v, p, s| integer(v, p, 0, MAX_BYTES).map(|n| s.sequences.state_budget = Some(n)),
    },
    OptionSpec {
        name: "triton_compat",
        kind: "truth value",
        default: "false",
        doc: "Triton's rules where it and OpenVINO Model Server disagree: a START on a live id begins it anew, \
              every request needs an id, a step without a START is INVALID_ARGUMENT.",
        read: |v, p, s| boolean(v, p).map(|on| s.sequences.triton_compat = Some(on)),
    },
    OptionSpec {
        name: "compat_zero_init",
        kind: "truth value",
        default: "false",
        doc: "With `low_latency_transformation`, and for variables of OpenVINO IR, begin with zeros where the model has \
              initial values of its own.",
        read: |v, p, s| boolean(v, p).map(|on| s.sequences.zero_init = Some(on)),
    },
    OptionSpec {
        name: "ovms_compat",
        kind: "truth value",
        default: "false",
        doc: "Refuse for a stateful model what OpenVINO Model Server refuses: `batch_size: auto` and \
              `shape: auto`.",
        read: |v, p, s| boolean(v, p).map(|on| s.sequences.ovms_compat = Some(on)),
    },
];

/// Reads an object of options.
pub(crate) fn apply(
    value: &Value,
    pointer: &str,
    settings: &mut ModelSettings,
) -> Result<(), ConfigError> {
    let object = value.as_object().ok_or_else(|| bad(pointer, "an object", value))?;
    for (key, value) in object {
        let place = join(pointer, key);
        let Some(option) = OPTIONS.iter().find(|o| o.name == key) else {
            let known: Vec<_> = OPTIONS.iter().map(|o| o.name).collect();
            return Err(ConfigError::UnknownKey { pointer: place, known: known.join(", ") });
        };
        (option.read)(value, &place, settings)?;
    }
    Ok(())
}

/// The table of options as Markdown.
pub fn options_markdown() -> String {
    let mut text = String::from("| option | type | default | what it does |\n|---|---|---|---|\n");
    for o in OPTIONS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {} | {} |", o.name, o.kind, o.default, o.doc);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges() {
        let cases = [
            ("max_batch_size", json!(65536), true),
            ("max_batch_size", json!(65537), false),
            ("max_queue_size", json!(0), false),
            ("threads", json!(1), true),
            ("threads", json!("2"), true),
            ("threads", json!(2.5), false),
            ("warmup", json!(true), false),
            ("backend", json!("onnxruntime"), true),
            ("backend", json!("stead"), true),
            ("backend", json!("onnx"), false),
            ("backend", json!(1), false),
            ("providers", json!(["OpenVINOExecutionProvider", "CPUExecutionProvider"]), true),
            ("providers", json!([{"name": "A", "options": {"a": "b", "c": 1, "d": true}}]), true),
            ("providers", json!([{"name": "A", "options": {"a": [1]}}]), false),
            ("providers", json!([{"name": "A", "threads": 1}]), false),
            ("providers", json!([{"options": {}}]), false),
            ("providers", json!("CPUExecutionProvider"), false),
            ("providers", json!([1]), false),
            ("providers", json!(vec!["A"; 33]), false),
            ("default_timeout_ms", json!(-1), false),
            ("default_inputs", json!({"sr": [1, [2]]}), false),
            ("default_inputs", json!({"sr": 16000}), true),
        ];
        for (name, value, ok) in cases {
            let mut settings = ModelSettings::default();
            let got = apply(&json!({name: value}), "/stead", &mut settings);
            assert_eq!(got.is_ok(), ok, "{name} {value}: {got:?}");
        }
    }

    #[test]
    fn options_of_providers_are_texts() {
        let given =
            json!({"providers": ["B", {"name": "A", "options": {"a": "b", "c": 1, "d": true}}]});
        let mut settings = ModelSettings::default();
        apply(&given, "/stead", &mut settings).unwrap();
        let found: Vec<(&str, Vec<(&str, &str)>)> = settings
            .providers
            .iter()
            .map(|p| (&*p.name, p.options.iter().map(|(k, v)| (&**k, &**v)).collect()))
            .collect();
        assert_eq!(found, [("B", vec![]), ("A", vec![("a", "b"), ("c", "1"), ("d", "true")])]);
    }

    /// The page is generated: `STEAD_UPDATE_DOCS=1 cargo test -p stead-app options` rewrites it.
    #[test]
    fn the_page_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/options.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        let (start, end) = ("<!-- options: generated -->\n", "<!-- options: end -->");
        let head = page.split_once(start).map_or("", |(head, _)| head);
        let tail = page.split_once(end).map_or("", |(_, tail)| tail);
        let wanted = format!("{head}{start}{}{end}{tail}", options_markdown());
        if std::env::var_os("STEAD_UPDATE_DOCS").is_some() {
            std::fs::write(path, &wanted).unwrap();
        }
        assert!(page == wanted || std::env::var_os("STEAD_UPDATE_DOCS").is_some());
    }
}
