//! What operations of the API come to.

use super::Call;
use super::answer::Failure;
use std::time::Duration;
use stead_node::Meter;
use stead_store::{Action, Outcome};

impl Call {
    /// Counts an operation that was tried, and what became of it.
    pub(super) fn count(&self, verb: Meter, result: &Result<Outcome, Failure>, took: Duration) {
        let became = match result {
            Ok(Outcome::Applied | Outcome::Ignored) => Meter::ApiSucceeded,
            Ok(Outcome::Absent) => Meter::ApiNotFound,
            Ok(Outcome::ConditionFailed) => Meter::ApiConditionNotMet,
            Err(failure) => match failure.status() {
                504 => Meter::ApiTimeout,
                507 => Meter::ApiNoRoom,
                _ => Meter::ApiFailed,
            },
        };
        self.deployments.meters().record(&[
            (Meter::ApiOperations, 1.0),
            (verb, 1.0),
            (became, 1.0),
            (Meter::ApiLatency, took.as_secs_f64() * 1000.0),
        ]);
    }

    /// Counts an operation that could not be read.
    pub(super) fn count_unread(&self) {
        self.deployments.meters().record(&[(Meter::ApiParseError, 1.0)]);
    }
}

/// What an operation is counted as.
pub(super) fn verb(action: &Action) -> Meter {
    match action {
        Action::Put { .. } => Meter::ApiPuts,
        Action::Update { .. } => Meter::ApiUpdates,
        Action::Remove => Meter::ApiRemoves,
    }
}
