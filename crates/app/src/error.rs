//! What can be wrong with a configuration.

/// An error in a configuration. Places are JSON pointers, such as `/model_config_list/0/config/name`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is larger than any sensible configuration.
    #[error("the file has {actual} bytes, the limit is {limit}")]
    TooLarge {
        /// Bytes of the file.
        actual: u64,
        /// The limit.
        limit: u64,
    },
    /// Arrays and objects are nested deeper than any sensible configuration.
    #[error("nesting is deeper than {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The text is not JSON or TOML.
    #[error("the file is not valid {format} - {text}")]
    Syntax {
        /// `JSON` or `TOML`.
        format: &'static str,
        /// What the parser says.
        text: String,
    },
    /// A key that does not exist.
    #[error("unknown key {pointer}; known here: {known}")]
    UnknownKey {
        /// The key.
        pointer: String,
        /// The keys that exist there.
        known: String,
    },
    /// A key that must be there.
    #[error("missing key {pointer}")]
    Missing {
        /// The key.
        pointer: String,
    },
    /// A value of the wrong type or out of range.
    #[error("{pointer} must be {expected}, got {actual}")]
    BadValue {
        /// The key.
        pointer: String,
        /// What it must be.
        expected: String,
        /// What it is, shortened.
        actual: String,
    },
    /// Something that OpenVINO Model Server has and stead has not, or not yet.
    #[error("{pointer} is not supported: {text}")]
    Unsupported {
        /// The key.
        pointer: String,
        /// Why, or until when.
        text: String,
    },
    /// A pipeline whose parts do not fit together.
    #[error("{pointer}: {text}")]
    Pipeline {
        /// The key.
        pointer: String,
        /// What is wrong.
        text: String,
    },
}

impl ConfigError {
    /// The same error, with its place below `prefix`.
    pub(crate) fn below(mut self, prefix: &str) -> ConfigError {
        match &mut self {
            ConfigError::UnknownKey { pointer, .. }
            | ConfigError::Missing { pointer }
            | ConfigError::BadValue { pointer, .. }
            | ConfigError::Unsupported { pointer, .. }
            | ConfigError::Pipeline { pointer, .. } => pointer.insert_str(0, prefix),
            ConfigError::TooLarge { .. }
            | ConfigError::TooDeep { .. }
            | ConfigError::Syntax { .. } => {}
        }
        self
    }
}
