//! What a model may cost to read.

/// Bounds on a model file. A file within them is read in memory proportional to its size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the model file and of its external data together.
    pub total_bytes: u64,
    /// Bytes of memory for graphs, nodes and attributes while the file is decoded, without the weights.
    pub decoded_bytes: u64,
    /// Bytes that data stored in few bytes (sparse tensors, repeated typed fields) may grow to.
    pub expanded_bytes: u64,
    /// Nodes of all graphs and functions together.
    pub nodes: usize,
    /// Nodes of all graphs and functions together after functions are inlined, which multiplies bodies.
    pub inlined_nodes: usize,
    /// How deep bodies may stand in bodies.
    pub depth: usize,
    /// Bytes of a name.
    pub name_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // The largest models that a CPU serves sensibly: 8 billion weights of four bytes.
            total_bytes: 32 << 30,
            // A graph of 300 000 nodes with three attributes each decodes to this much.
            decoded_bytes: 1 << 30,
            // Sparse weights of real models are within 1 GiB when dense.
            expanded_bytes: 1 << 30,
            // Unrolled networks of real life have some 10^5 nodes.
            nodes: 1 << 21,
            inlined_nodes: 1 << 21,
            depth: 64,
            // Exporters write a module path into a name: up to some hundred bytes.
            name_bytes: 1 << 14,
        }
    }
}
