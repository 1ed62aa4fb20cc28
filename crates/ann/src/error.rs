//! What can go wrong.

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnnError {
    /// There are as many vectors, or documents, as numbers for them.
    #[error("a graph of vectors has room for 2147483648 of them")]
    Full,
    /// The bytes are not those of the links of a graph, or of another version.
    #[error("not the links of a graph of vectors, of version 1")]
    NotLinks,
    /// The graph was made with other options.
    #[error("links of a graph of vectors with another {0}")]
    OtherOptions(&'static str),
    /// The bytes are not what was written.
    #[error("damaged links of a graph of vectors: {0}")]
    Damaged(&'static str),
}
