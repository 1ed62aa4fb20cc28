//! Why a profile does not run.

use stead_expr::RunError;
use stead_store::StoreError;

use crate::models::ModelError;

/// Why a profile does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RankError {
    /// A schema without such a profile.
    #[error("schema {schema} has no rank-profile {name}; it has {known}")]
    Profile {
        /// The schema.
        schema: String,
        /// The name that was asked for.
        name: String,
        /// The profiles that there are.
        known: String,
    },
    /// An expression or feature that cannot run.
    #[error("{what}: {text}")]
    Plan {
        /// The phase, feature or constant.
        what: String,
        /// Why not.
        text: String,
    },
    /// A value of a query that does not fit.
    #[error("input {name}: {text}")]
    Input {
        /// The name of the value.
        name: String,
        /// What was found and what was expected.
        text: String,
    },
    /// Something in a query that makes no sense.
    #[error("{0}")]
    Query(String),
    /// A feature that could not be computed.
    #[error("{name}: {text}")]
    Feature {
        /// The feature.
        name: String,
        /// Why not.
        text: String,
    },
    /// Values of documents that cannot be read.
    #[error(transparent)]
    Documents(#[from] StoreError),
    /// A model that cannot be loaded or run.
    #[error(transparent)]
    Model(ModelError),
    /// An expression that could not be computed.
    #[error("{what}: {error}")]
    Run {
        /// The expression.
        what: String,
        /// Why not.
        error: RunError,
    },
}
