//! What can go wrong.

/// An error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnnError {
    /// There are as many vectors, or documents, as numbers for them.
    #[error("a graph of vectors has room for 2147483648 of them")]
    Full,
}
