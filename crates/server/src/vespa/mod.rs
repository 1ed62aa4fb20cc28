//! What Vespa's clients speak: deployments of application packages, and what is known of the application that is served.

pub mod deploy;
pub mod status;
