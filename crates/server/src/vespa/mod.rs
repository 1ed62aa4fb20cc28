//! What Vespa's clients speak: deployments of application packages, what is known of the application that is served, its documents,
//! searches of them, and its models.

pub mod bindings;
pub mod deploy;
pub mod document;
pub mod evaluation;
pub mod logs;
pub mod metrics;
pub mod parameters;
pub mod search;
pub mod status;
