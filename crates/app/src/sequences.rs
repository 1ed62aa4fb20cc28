//! What a configuration says about the sequences of a stateful model.

use crate::fields::{Fields, array, bad, integer, join, string};
use crate::{ConfigError, Literal};
use serde_json::Value;
use std::time::Duration;

/// Where the first value of a state comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum StateInit {
    /// Zeros; empty along a growing axis.
    Zeros,
    /// These values; one number fills the whole state.
    Const(Literal),
    /// A `.npy` file in the version's folder.
    File(String),
    /// The value that the request of the START brings under the input's name.
    FirstValue,
}

/// An axis along which a state becomes longer with every step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Growable {
    /// The axis.
    pub axis: usize,
    /// The most elements along it.
    pub max: usize,
}

/// One state: an input, and the output that gives its next value.
#[derive(Debug, Clone, PartialEq)]
pub struct StateSetting {
    /// The model's input.
    pub input: String,
    /// The model's output.
    pub output: String,
    /// The axis along which the states of several sequences are joined; found by its symbol when not given.
    pub batch_axis: Option<usize>,
    /// The first value.
    pub init: StateInit,
    /// Whether and how it grows.
    pub growable: Option<Growable>,
}

/// An input that the model takes with the last values of the step before in front of the new ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowSetting {
    /// The model's input.
    pub input: String,
    /// How many values of the step before it wants.
    pub length: usize,
    /// The axis that they lie along; the last one when not given.
    pub axis: Option<usize>,
}

/// Who chooses ids, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceIds {
    /// 53 random bits.
    Random,
    /// 1, 2, 3, ...
    Counter,
}

/// What survives when the process ends, the weakest promise first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Durability {
    /// Nothing.
    #[default]
    Memory,
    /// What a graceful stop, or the last of the snapshots that are taken every few seconds, found.
    Snapshot,
    /// Every step that was answered.
    EveryStep,
}

/// Settings of a stateful model. `None` and empty mean: not set here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SequenceSettings {
    /// Whether the model keeps state at all.
    pub stateful: Option<bool>,
    /// Whether the cleaner's scans end idle sequences.
    pub idle_cleanup: Option<bool>,
    /// Sequences at a time.
    pub max_sequences: Option<u32>,
    /// Whether recurrences inside the model become states.
    pub low_latency: Option<bool>,
    /// States by name; found by the names of the model when empty.
    pub states: Vec<StateSetting>,
    /// Inputs with a window.
    pub windows: Vec<WindowSetting>,
    /// Triton's rules where it and OpenVINO Model Server disagree.
    pub triton_compat: Option<bool>,
    /// Refuse what OpenVINO Model Server refuses.
    pub ovms_compat: Option<bool>,
    /// Whether lifted recurrences begin with zeros, whatever the model says.
    pub zero_init: Option<bool>,
    /// Answers kept for repeated steps.
    pub replay_depth: Option<u32>,
    /// How long the answer of an END is kept.
    pub ended_ttl: Option<Duration>,
    /// When an idle sequence ends.
    pub idle_timeout: Option<Duration>,
    /// How ids are made.
    pub ids: Option<SequenceIds>,
    /// What survives when the process ends.
    pub durability: Option<Durability>,
    /// Bytes of states in memory; idle ones beyond go to disk.
    pub state_budget: Option<u64>,
}

impl SequenceSettings {
    /// Whether the model keeps state.
    pub fn is_stateful(&self) -> bool {
        self.stateful == Some(true)
    }

    /// The name of an option that needs a folder for states.
    pub fn needs_state_path(&self) -> Option<&'static str> {
        let set = [
            (self.durability.is_some_and(|d| d != Durability::Memory), "state_durability"),
            (self.state_budget.is_some_and(|bytes| bytes > 0), "state_budget_bytes"),
        ];
        set.into_iter().find(|(set, _)| *set).map(|(_, name)| name)
    }

    /// The name of an option that is set although the model keeps no state.
    pub fn needs_stateful(&self) -> Option<&'static str> {
        let set = [
            (self.idle_cleanup.is_some(), "idle_sequence_cleanup"),
            (self.max_sequences.is_some(), "max_sequence_number"),
            (self.low_latency == Some(true), "low_latency_transformation"),
            (!self.states.is_empty(), "states"),
            (!self.windows.is_empty(), "windows"),
            (self.triton_compat == Some(true), "triton_compat"),
            (self.ovms_compat == Some(true), "ovms_compat"),
            (self.zero_init == Some(true), "compat_zero_init"),
            (self.replay_depth.is_some(), "replay_depth"),
            (self.ended_ttl.is_some(), "ended_answer_ttl_ms"),
            (self.idle_timeout.is_some(), "sequence_idle_timeout_ms"),
            (self.ids.is_some(), "sequence_ids"),
            (self.durability.is_some(), "state_durability"),
            (self.state_budget.is_some(), "state_budget_bytes"),
        ];
        if self.is_stateful() {
            return None;
        }
        set.into_iter().find(|(set, _)| *set).map(|(_, name)| name)
    }

    /// These settings with the limits of `other`: what can change while sequences live.
    #[must_use]
    pub fn with_limits_of(self, other: &SequenceSettings) -> SequenceSettings {
        SequenceSettings {
            idle_cleanup: other.idle_cleanup,
            max_sequences: other.max_sequences,
            triton_compat: other.triton_compat,
            replay_depth: other.replay_depth,
            ended_ttl: other.ended_ttl,
            idle_timeout: other.idle_timeout,
            state_budget: other.state_budget,
            ..self
        }
    }

    /// These settings, and those of `base` where these say nothing.
    #[must_use]
    pub fn over(self, base: &SequenceSettings) -> SequenceSettings {
        let list = |own: bool| if own { &self } else { base };
        SequenceSettings {
            states: list(!self.states.is_empty()).states.clone(),
            windows: list(!self.windows.is_empty()).windows.clone(),
            stateful: self.stateful.or(base.stateful),
            idle_cleanup: self.idle_cleanup.or(base.idle_cleanup),
            max_sequences: self.max_sequences.or(base.max_sequences),
            low_latency: self.low_latency.or(base.low_latency),
            triton_compat: self.triton_compat.or(base.triton_compat),
            ovms_compat: self.ovms_compat.or(base.ovms_compat),
            zero_init: self.zero_init.or(base.zero_init),
            replay_depth: self.replay_depth.or(base.replay_depth),
            ended_ttl: self.ended_ttl.or(base.ended_ttl),
            idle_timeout: self.idle_timeout.or(base.idle_timeout),
            ids: self.ids.or(base.ids),
            durability: self.durability.or(base.durability),
            state_budget: self.state_budget.or(base.state_budget),
        }
    }
}

/// An axis: a model has no more.
fn axis(value: &Value, pointer: &str) -> Result<usize, ConfigError> {
    small(value, pointer, 0, 7)
}

fn small(value: &Value, pointer: &str, min: u64, max: u64) -> Result<usize, ConfigError> {
    integer(value, pointer, min, max).map(|n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// More elements along one axis than any cache has.
const MAX_LENGTH: u64 = 1 << 30;

/// Reads the list of the option `states`.
pub(crate) fn states(value: &Value, pointer: &str) -> Result<Vec<StateSetting>, ConfigError> {
    array(value, pointer)?
        .iter()
        .enumerate()
        .map(|(i, item)| state(item, &join(pointer, &i.to_string())))
        .collect()
}

fn state(value: &Value, pointer: &str) -> Result<StateSetting, ConfigError> {
    let fields =
        Fields::new(value, pointer, &["input", "output", "batch_axis", "init", "growable"])?;
    let name = |key: &str| {
        let (value, place) = fields.require(key)?;
        string(value, &place).map(str::to_owned)
    };
    let optional = |key: &str| fields.get(key).map(|v| (v, fields.at(key)));
    Ok(StateSetting {
        input: name("input")?,
        output: name("output")?,
        batch_axis: optional("batch_axis").map(|(v, p)| axis(v, &p)).transpose()?,
        init: optional("init").map_or(Ok(StateInit::Zeros), |(v, p)| init(v, &p))?,
        growable: optional("growable").map(|(v, p)| growable(v, &p)).transpose()?,
    })
}

fn init(value: &Value, pointer: &str) -> Result<StateInit, ConfigError> {
    const EXPECTED: &str = "\"zeros\", \"first_value\", {\"const\": number or nested array} or {\"file\": \"name.npy\"}";
    match value {
        Value::String(text) if text == "zeros" => Ok(StateInit::Zeros),
        Value::String(text) if text == "first_value" => Ok(StateInit::FirstValue),
        Value::Object(object) if object.len() == 1 => {
            let fields = Fields::new(value, pointer, &["const", "file"])?;
            if let Some(values) = fields.get("const") {
                let place = fields.at("const");
                let literal = Literal::from_json(values).map_err(|e| bad(&place, &e, values))?;
                return Ok(StateInit::Const(literal));
            }
            let (file, place) = fields.require("file")?;
            let name = string(file, &place)?;
            // One name inside the version's folder, so that nothing else can be read.
            let plain = !name.is_empty() && !name.contains(['/', '\\', '\0']) && name != "..";
            if !plain || !name.ends_with(".npy") {
                return Err(bad(&place, "the name of a .npy file in the version's folder", file));
            }
            Ok(StateInit::File(name.to_owned()))
        }
        _ => Err(bad(pointer, EXPECTED, value)),
    }
}

fn growable(value: &Value, pointer: &str) -> Result<Growable, ConfigError> {
    let fields = Fields::new(value, pointer, &["axis", "max"])?;
    let (along, place) = fields.require("axis")?;
    let along = axis(along, &place)?;
    let (max, place) = fields.require("max")?;
    Ok(Growable { axis: along, max: small(max, &place, 1, MAX_LENGTH)? })
}

/// Reads the list of the option `windows`.
pub(crate) fn windows(value: &Value, pointer: &str) -> Result<Vec<WindowSetting>, ConfigError> {
    let window = |(i, item): (usize, &Value)| {
        let place = join(pointer, &i.to_string());
        let fields = Fields::new(item, &place, &["input", "length", "axis"])?;
        let (input, input_place) = fields.require("input")?;
        let (length, length_place) = fields.require("length")?;
        Ok(WindowSetting {
            input: string(input, &input_place)?.to_owned(),
            length: small(length, &length_place, 1, MAX_LENGTH)?,
            axis: fields.get("axis").map(|v| axis(v, &fields.at("axis"))).transpose()?,
        })
    };
    array(value, pointer)?.iter().enumerate().map(window).collect()
}

/// Reads the option `sequence_ids`.
pub(crate) fn ids(value: &Value, pointer: &str) -> Result<SequenceIds, ConfigError> {
    match string(value, pointer)? {
        "random" => Ok(SequenceIds::Random),
        "counter" => Ok(SequenceIds::Counter),
        _ => Err(bad(pointer, "\"random\" or \"counter\"", value)),
    }
}

/// Reads the option `state_durability`.
pub(crate) fn durability(value: &Value, pointer: &str) -> Result<Durability, ConfigError> {
    match string(value, pointer)? {
        "memory" => Ok(Durability::Memory),
        "snapshot" => Ok(Durability::Snapshot),
        "every_step" => Ok(Durability::EveryStep),
        _ => Err(bad(pointer, "\"memory\", \"snapshot\" or \"every_step\"", value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn states_as_people_write_them() {
        let list = json!([{"input": "state", "output": "stateN", "batch_axis": 1},
            {"input": "past", "output": "present", "growable": {"axis": 2, "max": 4096}},
            {"input": "h", "output": "hn", "init": {"const": 0.5}},
            {"input": "c", "output": "cn", "init": "first_value"}]);
        let read = states(&list, "/states").unwrap();
        assert_eq!(read[0].batch_axis, Some(1));
        assert_eq!(read[1].growable, Some(Growable { axis: 2, max: 4096 }));
        assert!(matches!(read[2].init, StateInit::Const(_)));
        assert_eq!(read[3].init, StateInit::FirstValue);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let state = |rest: Value| {
            let mut whole = json!({"input": "x", "output": "y"});
            whole.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            json!([whole])
        };
        let cases = [
            (json!({}), "/states"),
            (json!([{"input": "x"}]), "/states/0/output"),
            (state(json!({"batch_axis": 8})), "/states/0/batch_axis"),
            (state(json!({"init": "ones"})), "/states/0/init"),
            (state(json!({"init": {"const": [1, [2]]}})), "/states/0/init/const"),
            (state(json!({"init": {"file": "../x.npy"}})), "/states/0/init/file"),
            (state(json!({"init": {"file": "x.bin"}})), "/states/0/init/file"),
            (state(json!({"init": {"const": 1, "file": "x.npy"}})), "/states/0/init"),
            (state(json!({"growable": {"axis": 1}})), "/states/0/growable/max"),
            (state(json!({"color": 1})), "/states/0/color"),
        ];
        for (value, place) in cases {
            let text = states(&value, "/states").unwrap_err().to_string();
            assert!(text.contains(place), "{value}: {text}");
        }
        assert!(windows(&json!([{"input": "x", "length": 0}]), "/windows").is_err());
        assert!(ids(&json!("uuid"), "/sequence_ids").is_err());
        assert_eq!(durability(&json!("every_step"), "/d"), Ok(Durability::EveryStep));
        assert!(durability(&json!("always"), "/d").is_err());
    }
}
