//! Why a sequence refuses a request.

/// Why a sequence refuses a request. Texts are those of OpenVINO Model Server 2026.2 where it has the case,
/// and Triton's where its rules are asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SequenceError {
    /// There is no such sequence: it never began, has ended or was idle for too long.
    #[error("Sequence with provided ID does not exist")]
    Missing,
    /// A START for a sequence that lives.
    #[error("Sequence with provided ID already exists")]
    AlreadyExists,
    /// A START while the last step of that sequence is being processed.
    #[error("Sequence last request is being processed and it's not available anymore")]
    Terminated,
    /// No id where one is needed.
    #[error("Sequence ID has not been provided in request inputs")]
    IdNotProvided,
    /// The system gives no random bits for an id.
    #[error("no id can be made: the system gives no random numbers")]
    NoRandomId,
    /// The table is full.
    #[error("Max sequence number has been reached. Could not create new sequence.")]
    TooMany,
    /// The step is not the one after the last.
    #[error("sequence_step {given} leaves a gap: the next step of this sequence is {next}")]
    Gap {
        /// The number that the request brought.
        given: u64,
        /// The number that was expected.
        next: u64,
    },
    /// The answer of a step that was done is not kept any more.
    #[error("the answer of sequence_step {given} is not kept: {}", kept(*.oldest, *.last))]
    NotKept {
        /// The number that the request brought.
        given: u64,
        /// The oldest step whose answer is kept, if any is.
        oldest: Option<u64>,
        /// The last step that was done.
        last: u64,
    },
    /// A step number that cannot be: 0, or another one than 1 at the START.
    #[error("sequence_step {given} cannot be: steps are counted from 1, which is the START")]
    BadStep {
        /// The number that the request brought.
        given: u64,
    },
    /// Triton's refusal of a step without a START before it.
    #[error(
        "inference request for sequence {id} to model '{model}' must specify the START flag on the first request of the sequence"
    )]
    NotStarted {
        /// The sequence.
        id: String,
        /// The model, once it is known: see [`SequenceError::of_model`].
        model: String,
    },
    /// Triton's refusal of a request without an id.
    #[error(
        "inference request to model '{model}' must specify a non-zero or non-empty correlation ID"
    )]
    NoCorrelationId {
        /// The model, once it is known: see [`SequenceError::of_model`].
        model: String,
    },
}

impl SequenceError {
    /// The same error with the name of the model, which a table does not know and Triton's texts tell.
    #[must_use]
    pub fn of_model(mut self, name: &str) -> SequenceError {
        if let SequenceError::NotStarted { model, .. } | SequenceError::NoCorrelationId { model } =
            &mut self
        {
            name.clone_into(model);
        }
        self
    }
}

fn kept(oldest: Option<u64>, last: u64) -> String {
    match oldest {
        Some(oldest) => format!("the oldest kept is {oldest}, the last step was {last}"),
        None => format!("no answer is, the last step was {last}"),
    }
}
