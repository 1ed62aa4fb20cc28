//! Where the data of tensors comes from, and how much of it is left.

use super::{buffers::Buffers, external::Files, tables::Tables};
use crate::{Limits, OnnxError, error};
use prost::bytes::Bytes;
use stead_tensor::SharedBytes;

/// What reading a model draws on.
pub(crate) struct Source<'a> {
    /// The buffers that `raw_data` fields are parts of.
    buffers: Option<Buffers>,
    /// The files of external data.
    pub(super) files: Option<Files<'a>>,
    /// Which tensors of the files are tables.
    pub(super) tables: Tables,
    /// The bounds.
    pub(crate) limits: &'a Limits,
    /// Bytes that compact data may still grow to.
    expansion_left: u64,
    /// Nodes that may still come.
    nodes_left: usize,
}

impl<'a> Source<'a> {
    /// A source over buffers and files.
    pub(crate) fn new(
        buffers: Option<Buffers>,
        files: Option<Files<'a>>,
        limits: &'a Limits,
    ) -> Source<'a> {
        let (expansion_left, nodes_left) = (limits.expanded_bytes, limits.nodes);
        Source { buffers, files, tables: Tables::default(), limits, expansion_left, nodes_left }
    }

    /// `bytes` as a part of the buffers, or `None` when it is of others.
    pub(super) fn share(&self, bytes: &Bytes) -> Option<SharedBytes> {
        let (buffer, range) = self.buffers.as_ref()?.place_of(bytes)?;
        SharedBytes::new(buffer.clone(), range)
    }

    /// Takes note of `bytes` that stand for less in the file.
    pub(super) fn expand(&mut self, what: &str, bytes: usize) -> Result<(), OnnxError> {
        let left = self.expansion_left.checked_sub(bytes as u64);
        self.expansion_left = left.ok_or_else(|| OnnxError::Limit {
            what: format!("bytes of {what} when dense"),
            limit: self.expansion_left,
            actual: bytes as u64,
        })?;
        Ok(())
    }

    /// Takes note of `nodes` more.
    pub(super) fn count_nodes(&mut self, nodes: usize) -> Result<(), OnnxError> {
        let used = (self.limits.nodes - self.nodes_left).saturating_add(nodes);
        error::check_limit("nodes of the model", used as u64, self.limits.nodes as u64)?;
        self.nodes_left -= nodes;
        Ok(())
    }
}
