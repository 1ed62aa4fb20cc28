//! Triton's model configuration, as JSON and as a message. Fields that stead has no meaning for stand with
//! Triton's defaults, since clients look for them.

use super::datatype::{config_name, config_number};
use super::states::{PARAMETER, TritonState, parameter, states_json, states_message};
use crate::proto::kserve as pb;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use stead_node::{DynamicBatching, ModelConfig, VersionPolicyInfo};

#[derive(Serialize)]
struct Json<'a> {
    name: &'a str,
    platform: &'a str,
    backend: &'a str,
    runtime: &'a str,
    version_policy: Policy<'a>,
    max_batch_size: u64,
    input: Vec<Input<'a>>,
    output: Vec<Output<'a>>,
    batch_input: [(); 0],
    batch_output: [(); 0],
    optimization: Optimization,
    #[serde(skip_serializing_if = "Option::is_none")]
    dynamic_batching: Option<Batching>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sequence_batching: Option<Sequences<'a>>,
    instance_group: [Instance<'a>; 1],
    default_model_filename: &'a str,
    cc_model_filenames: BTreeMap<String, String>,
    metric_tags: BTreeMap<String, String>,
    parameters: BTreeMap<&'a str, Value<'a>>,
    model_warmup: [(); 0],
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Policy<'a> {
    Latest { num_versions: u32 },
    Specific { versions: &'a [u64] },
    All {},
}

#[derive(Serialize)]
struct Input<'a> {
    name: &'a str,
    data_type: &'static str,
    format: &'static str,
    dims: &'a [i64],
    is_shape_tensor: bool,
    allow_ragged_batch: bool,
    optional: bool,
    is_non_linear_format_io: bool,
}

#[derive(Serialize)]
struct Output<'a> {
    name: &'a str,
    data_type: &'static str,
    dims: &'a [i64],
    label_filename: &'static str,
    is_shape_tensor: bool,
    is_non_linear_format_io: bool,
}

#[derive(Serialize)]
struct Optimization {
    priority: &'static str,
    input_pinned_memory: Enable,
    output_pinned_memory: Enable,
    gather_kernel_buffer_threshold: u32,
    eager_batching: bool,
}

#[derive(Serialize)]
struct Enable {
    enable: bool,
}

#[derive(Serialize)]
struct Batching {
    preferred_batch_size: [u32; 0],
    max_queue_delay_microseconds: u64,
    preserve_ordering: bool,
    priority_levels: u32,
    default_priority_level: u32,
    default_queue_policy: QueuePolicy,
    priority_queue_policy: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Sequences<'a> {
    oldest: Oldest,
    max_sequence_idle_microseconds: u64,
    control_input: [(); 0],
    state: Vec<TritonState<'a>>,
    iterative_sequence: bool,
}

#[derive(Serialize)]
struct Oldest {
    max_candidate_sequences: u64,
    preferred_batch_size: Vec<u64>,
    max_queue_delay_microseconds: u64,
    preserve_ordering: bool,
}

#[derive(Serialize)]
struct QueuePolicy {
    timeout_action: &'static str,
    default_timeout_microseconds: u64,
    allow_timeout_override: bool,
    max_queue_size: u64,
}

#[derive(Serialize)]
struct Instance<'a> {
    name: &'a str,
    kind: &'static str,
    count: u64,
    gpus: [u32; 0],
    secondary_devices: [u32; 0],
    profile: [u32; 0],
    passive: bool,
    host_policy: &'static str,
}

#[derive(Serialize)]
struct Value<'a> {
    string_value: Cow<'a, str>,
}

/// The dynamic batching of a stateless model: a model has one way of scheduling.
fn dynamic(config: &ModelConfig) -> Option<&DynamicBatching> {
    config.dynamic_batching.as_ref().filter(|_| config.sequence_batching.is_none())
}

/// The batch size that the scheduler waits for.
fn preferred(config: &ModelConfig) -> Vec<u64> {
    Some(config.max_batch_size).filter(|&n| n > 0).into_iter().collect()
}

/// The configuration as JSON text, keys in Triton's order.
///
/// # Errors
/// None for values of these types.
pub fn config_json(config: &ModelConfig) -> Result<Vec<u8>, serde_json::Error> {
    let policy = match &config.version_policy {
        VersionPolicyInfo::Latest(num_versions) => Policy::Latest { num_versions: *num_versions },
        VersionPolicyInfo::Specific(versions) => Policy::Specific { versions },
        VersionPolicyInfo::All => Policy::All {},
    };
    serde_json::to_vec(&Json {
        name: &config.name,
        platform: &config.platform,
        backend: &config.backend,
        runtime: "",
        version_policy: policy,
        max_batch_size: config.max_batch_size,
        input: config
            .inputs
            .iter()
            .map(|t| Input {
                name: &t.name,
                data_type: config_name(t.dtype),
                format: "FORMAT_NONE",
                dims: &t.shape,
                is_shape_tensor: false,
                allow_ragged_batch: false,
                optional: t.optional,
                is_non_linear_format_io: false,
            })
            .collect(),
        output: config
            .outputs
            .iter()
            .map(|t| Output {
                name: &t.name,
                data_type: config_name(t.dtype),
                dims: &t.shape,
                label_filename: "",
                is_shape_tensor: false,
                is_non_linear_format_io: false,
            })
            .collect(),
        batch_input: [],
        batch_output: [],
        optimization: Optimization {
            priority: "PRIORITY_DEFAULT",
            input_pinned_memory: Enable { enable: true },
            output_pinned_memory: Enable { enable: true },
            gather_kernel_buffer_threshold: 0,
            eager_batching: false,
        },
        sequence_batching: config.sequence_batching.as_ref().map(|b| Sequences {
            oldest: Oldest {
                max_candidate_sequences: b.max_candidate_sequences,
                preferred_batch_size: preferred(config),
                max_queue_delay_microseconds: b.max_queue_delay_microseconds,
                preserve_ordering: false,
            },
            max_sequence_idle_microseconds: b.max_sequence_idle_microseconds,
            control_input: [],
            state: states_json(config),
            iterative_sequence: false,
        }),
        dynamic_batching: dynamic(config).map(|b| Batching {
            preferred_batch_size: [],
            max_queue_delay_microseconds: b.max_queue_delay_microseconds,
            preserve_ordering: false,
            priority_levels: 0,
            default_priority_level: 0,
            default_queue_policy: QueuePolicy {
                timeout_action: "REJECT",
                default_timeout_microseconds: 0,
                allow_timeout_override: true,
                max_queue_size: b.max_queue_size,
            },
            priority_queue_policy: BTreeMap::new(),
        }),
        instance_group: [Instance {
            name: &config.name,
            kind: "KIND_CPU",
            count: config.instances,
            gpus: [],
            secondary_devices: [],
            profile: [],
            passive: false,
            host_policy: "",
        }],
        default_model_filename: &config.default_model_filename,
        cc_model_filenames: BTreeMap::new(),
        metric_tags: BTreeMap::new(),
        parameters: config
            .parameters
            .iter()
            .map(|(k, v)| (k.as_str(), Cow::Borrowed(v.as_str())))
            .chain(parameter(config).map(|text| (PARAMETER, Cow::Owned(text))))
            .map(|(name, string_value)| (name, Value { string_value }))
            .collect(),
        model_warmup: [],
    })
}

/// The sequences of a stateful model as a message.
fn sequences_message(config: &ModelConfig) -> Option<pb::model_config::SchedulingChoice> {
    let number = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
    let b = config.sequence_batching.as_ref()?;
    let oldest = pb::model_sequence_batching::StrategyOldest {
        max_candidate_sequences: number(b.max_candidate_sequences),
        preferred_batch_size: preferred(config).into_iter().map(number).collect(),
        max_queue_delay_microseconds: b.max_queue_delay_microseconds,
        preserve_ordering: false,
    };
    Some(pb::model_config::SchedulingChoice::SequenceBatching(pb::ModelSequenceBatching {
        max_sequence_idle_microseconds: b.max_sequence_idle_microseconds,
        state: states_message(config),
        strategy_choice: Some(pb::model_sequence_batching::StrategyChoice::Oldest(oldest)),
        ..pb::ModelSequenceBatching::default()
    }))
}

/// The configuration as a message.
pub fn config_message(config: &ModelConfig) -> pb::ModelConfig {
    use pb::model_version_policy::{All, Latest, PolicyChoice, Specific};
    let number = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
    let policy = match &config.version_policy {
        VersionPolicyInfo::Latest(n) => PolicyChoice::Latest(Latest { num_versions: *n }),
        VersionPolicyInfo::Specific(v) => PolicyChoice::Specific(Specific {
            versions: v.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect(),
        }),
        VersionPolicyInfo::All => PolicyChoice::All(All {}),
    };
    let pinned = pb::model_optimization_policy::PinnedMemoryBuffer { enable: true };
    pb::ModelConfig {
        name: config.name.clone(),
        platform: config.platform.clone(),
        backend: config.backend.clone(),
        version_policy: Some(pb::ModelVersionPolicy { policy_choice: Some(policy) }),
        max_batch_size: number(config.max_batch_size),
        input: config
            .inputs
            .iter()
            .map(|t| pb::ModelInput {
                name: t.name.clone(),
                data_type: config_number(t.dtype),
                dims: t.shape.clone(),
                optional: t.optional,
                ..pb::ModelInput::default()
            })
            .collect(),
        output: config
            .outputs
            .iter()
            .map(|t| pb::ModelOutput {
                name: t.name.clone(),
                data_type: config_number(t.dtype),
                dims: t.shape.clone(),
                ..pb::ModelOutput::default()
            })
            .collect(),
        optimization: Some(pb::ModelOptimizationPolicy {
            input_pinned_memory: Some(pinned),
            output_pinned_memory: Some(pinned),
            ..pb::ModelOptimizationPolicy::default()
        }),
        scheduling_choice: sequences_message(config).or_else(|| {
            let b = dynamic(config)?;
            Some(pb::model_config::SchedulingChoice::DynamicBatching(pb::ModelDynamicBatching {
                max_queue_delay_microseconds: b.max_queue_delay_microseconds,
                default_queue_policy: Some(pb::ModelQueuePolicy {
                    allow_timeout_override: true,
                    max_queue_size: u32::try_from(b.max_queue_size).unwrap_or(u32::MAX),
                    ..pb::ModelQueuePolicy::default()
                }),
                ..pb::ModelDynamicBatching::default()
            }))
        }),
        instance_group: vec![pb::ModelInstanceGroup {
            name: config.name.clone(),
            kind: pb::model_instance_group::Kind::Cpu.into(),
            count: number(config.instances),
            ..pb::ModelInstanceGroup::default()
        }],
        default_model_filename: config.default_model_filename.clone(),
        parameters: config
            .parameters
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .chain(parameter(config).map(|text| (PARAMETER.to_owned(), text)))
            .map(|(name, string_value)| (name, pb::ModelParameter { string_value }))
            .collect(),
        ..pb::ModelConfig::default()
    }
}
