//! What a request asks of a sequence.

use crate::SequenceId;

/// What a request asks of a sequence: which one, whether it begins or ends with this step, and which step the
/// client takes it for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Order {
    /// The sequence; none for a START that leaves the choice to the server.
    pub id: Option<SequenceId>,
    /// Whether the sequence begins with this step.
    pub start: bool,
    /// Whether it ends with this step.
    pub end: bool,
    /// The number of this step, counted from 1 at the START, by which a repeated request is recognised.
    pub step: Option<u64>,
    /// The client's name for the request, by which a repeated START without an id is recognised; may be empty.
    pub request: String,
}

impl Order {
    /// A step that begins the sequence `id`.
    pub fn start(id: SequenceId) -> Order {
        Order { id: Some(id), start: true, ..Order::default() }
    }

    /// A step that goes on with the sequence `id`.
    pub fn step(id: SequenceId) -> Order {
        Order { id: Some(id), ..Order::default() }
    }

    /// A step that ends the sequence `id`.
    pub fn end(id: SequenceId) -> Order {
        Order { id: Some(id), end: true, ..Order::default() }
    }

    /// The same order with the number of its step.
    #[must_use]
    pub fn numbered(self, step: u64) -> Order {
        Order { step: Some(step), ..self }
    }
}
