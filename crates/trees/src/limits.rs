//! How large a model may be.

/// Bounds that hold before memory is taken. The defaults are far above the models of practice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Trees of a forest.
    pub trees: usize,
    /// Splits and leaves of all trees.
    pub nodes: usize,
    /// Features, used or not.
    pub features: usize,
    /// Outputs (classes, targets).
    pub outputs: usize,
    /// Values of a JSON or UBJSON document.
    pub values: usize,
    /// How deep a document or a tree may nest.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            trees: 1 << 17,
            nodes: 1 << 26,
            features: 1 << 17,
            outputs: 1 << 14,
            // Sixteen bytes each.
            values: 1 << 28,
            // LightGBM grows leaf by leaf: a tree of 131,072 leaves, its maximum, may be as deep as that.
            depth: 1 << 17,
        }
    }
}
