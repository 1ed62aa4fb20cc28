//! Triton's inference statistics of a model version, as plain data.

/// How often something happened and how long it took in sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Duration {
    /// Times.
    pub count: u64,
    /// Nanoseconds in sum.
    pub ns: u64,
}

impl Duration {
    /// Counts `times` occurrences that took `took` each.
    pub fn add(&mut self, times: u64, took: std::time::Duration) {
        self.count += times;
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.ns = self.ns.saturating_add(ns.saturating_mul(times));
    }
}

/// The executions of one batch size.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchStatistics {
    /// Elements along the batch axis.
    pub batch_size: u64,
    /// Time to gather inputs.
    pub compute_input: Duration,
    /// Time in the engine.
    pub compute_infer: Duration,
    /// Time to hand out outputs.
    pub compute_output: Duration,
}

/// The statistics of one model version since it was loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelStatistics {
    /// The model.
    pub name: String,
    /// The version.
    pub version: u64,
    /// When the last request arrived, in milliseconds since 1970; 0 for never.
    pub last_inference_ms: u64,
    /// Successful inferences, each element of a batch counted.
    pub inference_count: u64,
    /// Successful runs of the engine.
    pub execution_count: u64,
    /// Successful requests, from arrival to answer.
    pub success: Duration,
    /// Failed requests, from arrival to answer.
    pub fail: Duration,
    /// Time that requests waited.
    pub queue: Duration,
    /// Time to gather inputs.
    pub compute_input: Duration,
    /// Time in the engine.
    pub compute_infer: Duration,
    /// Time to hand out outputs.
    pub compute_output: Duration,
    /// By batch size, ascending.
    pub batch_stats: Vec<BatchStatistics>,
}
