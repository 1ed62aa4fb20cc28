//! How urgent work is.

/// The class of a task, the most urgent first. Within one class the order is that of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Somebody waits for the answer: searches, evaluations, requests of models.
    Query,
    /// A step of a sequence, whose client sends the next one when it has the answer.
    Step,
    /// Work for documents that are on their way into the store.
    Feed,
    /// Whatever can wait: loading, warming up, cleaning.
    Background,
}

/// How many classes there are.
pub(crate) const CLASSES: usize = 4;

impl Class {
    /// All of them, the most urgent first.
    pub const ALL: [Class; CLASSES] = [Class::Query, Class::Step, Class::Feed, Class::Background];
}
