//! Triton's inference statistics, as JSON and as messages.

use crate::proto::kserve as pb;
use serde::Serialize;
use std::collections::BTreeMap;
use stead_node::{ModelStatistics, StatDuration};

#[derive(Serialize)]
struct Answer {
    model_stats: Vec<Model>,
}

#[derive(Serialize)]
struct Model {
    name: String,
    version: String,
    last_inference: u64,
    inference_count: u64,
    execution_count: u64,
    inference_stats: Inference,
    response_stats: BTreeMap<String, u64>,
    batch_stats: Vec<Batch>,
    memory_usage: [u64; 0],
}

#[derive(Serialize)]
struct Inference {
    success: Time,
    fail: Time,
    queue: Time,
    compute_input: Time,
    compute_infer: Time,
    compute_output: Time,
    cache_hit: Time,
    cache_miss: Time,
}

#[derive(Serialize)]
struct Batch {
    batch_size: u64,
    compute_input: Time,
    compute_infer: Time,
    compute_output: Time,
}

#[derive(Serialize)]
struct Time {
    count: u64,
    ns: u64,
}

impl From<StatDuration> for Time {
    fn from(d: StatDuration) -> Time {
        Time { count: d.count, ns: d.ns }
    }
}

/// Statistics as JSON text, keys in Triton's order.
///
/// # Errors
/// None for values of these types.
pub fn statistics_json(list: Vec<ModelStatistics>) -> Result<Vec<u8>, serde_json::Error> {
    let model = |s: ModelStatistics| Model {
        name: s.name,
        version: s.version.to_string(),
        last_inference: s.last_inference_ms,
        inference_count: s.inference_count,
        execution_count: s.execution_count,
        inference_stats: Inference {
            success: s.success.into(),
            fail: s.fail.into(),
            queue: s.queue.into(),
            compute_input: s.compute_input.into(),
            compute_infer: s.compute_infer.into(),
            compute_output: s.compute_output.into(),
            cache_hit: StatDuration::default().into(),
            cache_miss: StatDuration::default().into(),
        },
        response_stats: BTreeMap::new(),
        batch_stats: s
            .batch_stats
            .into_iter()
            .map(|b| Batch {
                batch_size: b.batch_size,
                compute_input: b.compute_input.into(),
                compute_infer: b.compute_infer.into(),
                compute_output: b.compute_output.into(),
            })
            .collect(),
        memory_usage: [],
    };
    serde_json::to_vec(&Answer { model_stats: list.into_iter().map(model).collect() })
}

/// Statistics as a message.
pub fn statistics_message(list: Vec<ModelStatistics>) -> pb::ModelStatisticsResponse {
    let time = |d: StatDuration| Some(pb::StatisticDuration { count: d.count, ns: d.ns });
    let model = |s: ModelStatistics| pb::ModelStatistics {
        name: s.name,
        version: s.version.to_string(),
        last_inference: s.last_inference_ms,
        inference_count: s.inference_count,
        execution_count: s.execution_count,
        inference_stats: Some(pb::InferStatistics {
            success: time(s.success),
            fail: time(s.fail),
            queue: time(s.queue),
            compute_input: time(s.compute_input),
            compute_infer: time(s.compute_infer),
            compute_output: time(s.compute_output),
            cache_hit: time(StatDuration::default()),
            cache_miss: time(StatDuration::default()),
        }),
        batch_stats: s
            .batch_stats
            .into_iter()
            .map(|b| pb::InferBatchStatistics {
                batch_size: b.batch_size,
                compute_input: time(b.compute_input),
                compute_infer: time(b.compute_infer),
                compute_output: time(b.compute_output),
            })
            .collect(),
        ..pb::ModelStatistics::default()
    };
    pb::ModelStatisticsResponse { model_stats: list.into_iter().map(model).collect() }
}
