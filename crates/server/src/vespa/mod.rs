//! What Vespa's clients speak: deployments of application packages, what is known of the application that is served, its documents,
//! and searches of them.

pub mod deploy;
pub mod document;
pub mod metrics;
pub mod parameters;
pub mod search;
pub mod status;
