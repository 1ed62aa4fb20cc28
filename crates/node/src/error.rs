//! What can go wrong, in words for clients.

use crate::Code;
use stead_sequence::SequenceError;

/// A failure with its class. The text is for clients: it names models, tensors and limits, never a path of
/// the server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}")]
pub struct Error {
    /// The class.
    pub code: Code,
    /// What happened.
    pub kind: ErrorKind,
}

/// What happened. The texts before the dash are those of OpenVINO Model Server, where it has one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// No model of this name is served.
    #[error("Model with requested name is not found - model: {model}")]
    UnknownModel {
        /// The name asked for.
        model: String,
    },
    /// The model has no such version.
    #[error("Model with requested version is not found - model: {model}; version: {version}")]
    UnknownVersion {
        /// The model.
        model: String,
        /// The version asked for.
        version: u64,
    },
    /// The version is being loaded, or failed to load.
    #[error("Model with requested version is not loaded yet - model: {model}; version: {version}")]
    NotLoaded {
        /// The model.
        model: String,
        /// The version asked for.
        version: u64,
    },
    /// The version was served and is no longer.
    #[error("Model with requested version is retired - model: {model}; version: {version}")]
    Retired {
        /// The model.
        model: String,
        /// The version asked for.
        version: u64,
    },
    /// A statistics request names a model that is not there (Triton's text and code).
    #[error("requested model '{model}' is not available")]
    NotAvailable {
        /// The name asked for.
        model: String,
    },
    /// The version in a request is no positive integer.
    #[error(
        "Could not parse model version in request - version: {text}; expected an integer above 0"
    )]
    BadVersion {
        /// The text given.
        text: String,
    },
    /// The request has another number of inputs than the model.
    #[error("Invalid number of inputs - Expected: {expected}; Actual: {actual}; {detail}")]
    WrongInputCount {
        /// Inputs of the model.
        expected: usize,
        /// Inputs of the request.
        actual: usize,
        /// Which are missing or not known.
        detail: String,
    },
    /// A required input is not given.
    #[error("Missing input with specific name - Required input: {input}")]
    MissingInput {
        /// Its name.
        input: String,
    },
    /// The model has no such input.
    #[error("Unexpected input - model {model} has no input '{input}'; it has: {known}")]
    UnexpectedInput {
        /// The model.
        model: String,
        /// The name given.
        input: String,
        /// The names that exist.
        known: String,
    },
    /// An input is given twice.
    #[error("Duplicate input - input name: {input}")]
    DuplicateInput {
        /// Its name.
        input: String,
    },
    /// The model has no such output.
    #[error("Unexpected output - model {model} has no output '{output}'; it has: {known}")]
    UnexpectedOutput {
        /// The model.
        model: String,
        /// The name given.
        output: String,
        /// The names that exist.
        known: String,
    },
    /// An output is asked for twice.
    #[error("Duplicate output - output name: {output}")]
    DuplicateOutput {
        /// Its name.
        output: String,
    },
    /// An input has another rank.
    #[error(
        "Invalid number of shape dimensions - Expected: {expected}; Actual: {actual}; input name: {input}"
    )]
    WrongRank {
        /// Its name.
        input: String,
        /// The model's shape, such as `(-1,10)`.
        expected: String,
        /// The request's shape.
        actual: String,
    },
    /// A dimension is not what the model wants.
    #[error("Invalid input shape - Expected: {expected}; Actual: {actual}; input name: {input}")]
    WrongShape {
        /// Its name.
        input: String,
        /// The model's shape, such as `(-1,10)`.
        expected: String,
        /// The request's shape.
        actual: String,
    },
    /// Only the first dimension is not what the model wants.
    #[error(
        "Invalid input batch size - Expected: {expected}; Actual: {actual}; input name: {input}"
    )]
    WrongBatch {
        /// Its name.
        input: String,
        /// The model's first dimension, or the limit.
        expected: String,
        /// The request's first dimension.
        actual: String,
    },
    /// An input has another element type.
    #[error(
        "Invalid input precision - Expected: {expected}; Actual: {actual}; input name: {input}"
    )]
    WrongPrecision {
        /// Its name.
        input: String,
        /// The model's type, such as `FP32`.
        expected: String,
        /// The request's type.
        actual: String,
    },
    /// A special input or parameter of a sequence is wrong.
    #[error("{text}")]
    SpecialInput {
        /// What is wrong, in the words of OpenVINO Model Server where it has the case.
        text: String,
    },
    /// A sequence refuses the request.
    #[error("{0}")]
    Sequence(SequenceError),
    /// A state has grown to its limit.
    #[error(
        "state '{state}' has grown beyond its limit of {max} elements; the sequence is as before"
    )]
    StateFull {
        /// The state's input.
        state: String,
        /// The limit.
        max: usize,
    },
    /// Sequences are asked for where there are none.
    #[error("model '{model}' is not stateful")]
    NotStateful {
        /// The model.
        model: String,
    },
    /// The model's queue is full.
    #[error("Exceeds maximum queue size - model: {model}; max_queue_size: {limit}")]
    QueueFull {
        /// The model.
        model: String,
        /// The limit.
        limit: usize,
    },
    /// So many wait that the deadline would pass first.
    #[error("{what} cannot be answered before the deadline; try again in {retry_after} s")]
    CannotMeetDeadline {
        /// What was asked: a model or a rank profile.
        what: String,
        /// Seconds, at least 1.
        retry_after: u64,
    },
    /// As many wait for the same threads as may.
    #[error("{what}: {limit} requests wait already, which is the limit")]
    TooManyWait {
        /// What was asked.
        what: String,
        /// The limit.
        limit: usize,
    },
    /// Waiting requests hold as much memory as they may.
    #[error("Exceeds maximum memory of waiting requests - model: {model}; limit: {limit} bytes")]
    QueueMemory {
        /// The model.
        model: String,
        /// The limit of the whole server.
        limit: u64,
    },
    /// The log of states failed or cannot follow: what it does not hold is not acknowledged.
    #[error("State cannot be made durable - model: {model}; {text}")]
    StateLog {
        /// The model.
        model: String,
        /// Why.
        text: String,
    },
    /// The deadline passed.
    #[error("Request timeout expired - model: {model}; {stage}")]
    DeadlineExceeded {
        /// The model.
        model: String,
        /// Where the request stood: `waiting` or `running`.
        stage: &'static str,
    },
    /// The caller went away.
    #[error("Request was cancelled - model: {model}")]
    Cancelled {
        /// The model.
        model: String,
    },
    /// The server stops.
    #[error("Server is shutting down")]
    ShuttingDown,
    /// The engine could not evaluate the model on this input.
    #[error("Evaluation failed - model: {model}; {text}")]
    Evaluation {
        /// The model.
        model: String,
        /// The engine's words.
        text: String,
    },
    /// The model could not be loaded.
    #[error("failed to load '{model}', {text}")]
    LoadFailed {
        /// The model.
        model: String,
        /// Why.
        text: String,
    },
    /// Loading and unloading by request is not allowed for this model.
    #[error("{text}")]
    ModelControl {
        /// Why.
        text: String,
    },
    /// The pipeline cannot be served now.
    #[error("Pipeline is not loaded yet - pipeline: {pipeline}; {text}")]
    PipelineNotLoaded {
        /// The pipeline.
        pipeline: String,
        /// Why.
        text: String,
    },
    /// A node of a pipeline failed.
    #[error("{text}; pipeline: {pipeline}; node: {node}")]
    PipelineNode {
        /// The pipeline.
        pipeline: String,
        /// The node.
        node: String,
        /// What happened in it.
        text: String,
    },
    /// There was nothing to go on with behind a demultiplexer.
    #[error("Pipeline execution aborted due to no content - pipeline: {pipeline}; node: {node}")]
    NoContent {
        /// The pipeline.
        pipeline: String,
        /// The demultiplexer.
        node: String,
    },
    /// A value has another first dimension than the demultiplexer needs.
    #[error(
        "Wrong dimension size. Should match demultiply count - expected: {expected}; actual: {actual}"
    )]
    WrongCount {
        /// The count.
        expected: String,
        /// The dimension, or `none`.
        actual: String,
    },
    /// The branches of a demultiplexer gave values of different shapes or types.
    #[error("Gathered tensors shards dimensions are different - {text}")]
    WrongShards {
        /// How they differ.
        text: String,
    },
    /// The configuration is missing.
    #[error("Config file not found or cannot open")]
    ConfigMissing,
    /// The configuration cannot be used; nothing was changed.
    #[error("Reloading config file failed - {text}")]
    ConfigInvalid {
        /// What is wrong in it.
        text: String,
    },
    /// Something that a protocol adapter found wrong, in its own words.
    #[error("{0}")]
    Protocol(String),
}

impl ErrorKind {
    /// The class of this failure.
    pub fn code(&self) -> Code {
        use ErrorKind::*;
        match self {
            UnknownModel { .. } | UnknownVersion { .. } | Retired { .. } => Code::NotFound,
            NotLoaded { .. } | PipelineNotLoaded { .. } => Code::NotLoaded,
            NoContent { .. } => Code::NoContent,
            PipelineNode { .. } => Code::Internal,
            NotAvailable { .. }
            | BadVersion { .. }
            | WrongInputCount { .. }
            | MissingInput { .. }
            | UnexpectedInput { .. }
            | DuplicateInput { .. }
            | UnexpectedOutput { .. }
            | DuplicateOutput { .. }
            | WrongRank { .. }
            | WrongShape { .. }
            | WrongBatch { .. }
            | WrongPrecision { .. }
            | WrongCount { .. }
            | WrongShards { .. }
            | ModelControl { .. }
            | SpecialInput { .. }
            | NotStateful { .. }
            | Protocol(_) => Code::InvalidArgument,
            QueueFull { .. } | QueueMemory { .. } | StateLog { .. } | ShuttingDown => {
                Code::Unavailable
            }
            CannotMeetDeadline { .. } | TooManyWait { .. } => Code::Unavailable,
            StateFull { .. } => Code::ResourceExhausted,
            Sequence(error) => sequence_code(error),
            DeadlineExceeded { .. } => Code::DeadlineExceeded,
            Cancelled { .. } => Code::Cancelled,
            ConfigMissing => Code::NotFound,
            Evaluation { .. } | LoadFailed { .. } | ConfigInvalid { .. } => Code::Internal,
        }
    }
}

/// The class of a sequence's refusal, as OpenVINO Model Server and Triton have it.
fn sequence_code(error: &SequenceError) -> Code {
    match error {
        SequenceError::Missing => Code::NotFound,
        SequenceError::AlreadyExists => Code::AlreadyExists,
        SequenceError::TooMany => Code::Unavailable,
        SequenceError::NoRandomId => Code::Internal,
        SequenceError::Terminated | SequenceError::Gap { .. } | SequenceError::NotKept { .. } => {
            Code::FailedPrecondition
        }
        SequenceError::IdNotProvided
        | SequenceError::BadStep { .. }
        | SequenceError::NotStarted { .. }
        | SequenceError::NoCorrelationId { .. } => Code::InvalidArgument,
    }
}

impl Error {
    /// After how many seconds the same request may be answered, where it was refused as too many wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self.kind {
            ErrorKind::CannotMeetDeadline { retry_after, .. } => Some(retry_after),
            ErrorKind::TooManyWait { .. }
            | ErrorKind::QueueFull { .. }
            | ErrorKind::QueueMemory { .. } => Some(1),
            _ => None,
        }
    }

    /// An error in a protocol adapter's own words.
    pub fn new(code: Code, text: impl Into<String>) -> Error {
        Error { code, kind: ErrorKind::Protocol(text.into()) }
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Error {
        Error { code: kind.code(), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_kinds() {
        let model = || "m".to_string();
        let cases = [
            (ErrorKind::UnknownModel { model: model() }, 5, 404, 404),
            (ErrorKind::NotLoaded { model: model(), version: 2 }, 14, 503, 404),
            (ErrorKind::QueueFull { model: model(), limit: 3 }, 14, 503, 503),
            (ErrorKind::CannotMeetDeadline { what: model(), retry_after: 2 }, 14, 503, 503),
            (ErrorKind::TooManyWait { what: model(), limit: 3 }, 14, 503, 503),
            (ErrorKind::NotAvailable { model: model() }, 3, 400, 400),
            (ErrorKind::MissingInput { input: model() }, 3, 400, 400),
            (ErrorKind::Sequence(SequenceError::Missing), 5, 404, 404),
            (ErrorKind::Sequence(SequenceError::AlreadyExists), 6, 409, 409),
            (ErrorKind::Sequence(SequenceError::Terminated), 9, 412, 412),
            (ErrorKind::Sequence(SequenceError::TooMany), 14, 503, 503),
            (ErrorKind::Sequence(SequenceError::IdNotProvided), 3, 400, 400),
        ];
        for (kind, grpc, kserve, tfs) in cases {
            let error = Error::from(kind);
            let row = error.code.row();
            assert_eq!((row.grpc, row.kserve_http, row.tfs_http), (grpc, kserve, tfs), "{error}");
        }
    }
}
