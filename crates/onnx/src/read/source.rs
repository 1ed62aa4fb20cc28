//! Where the data of tensors comes from, and how much of it is left.

use super::external::Folder;
use crate::{Limits, OnnxError, error};
use prost::bytes::Bytes;
use std::sync::Arc;
use stead_tensor::{AlignedBuf, SharedBytes};

/// Lets `Bytes` keep the file's buffer alive.
pub(super) struct Owner(pub Arc<AlignedBuf>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// What reading a model draws on.
pub(crate) struct Source<'a> {
    /// The buffer that `raw_data` fields are parts of.
    buffer: Option<Arc<AlignedBuf>>,
    /// The folder of external data.
    pub(super) folder: Option<Folder>,
    /// The bounds.
    pub(crate) limits: &'a Limits,
    /// Bytes that compact data may still grow to.
    expansion_left: u64,
    /// Nodes that may still come.
    nodes_left: usize,
}

impl<'a> Source<'a> {
    /// A source over a buffer and a folder.
    pub(crate) fn new(
        buffer: Option<Arc<AlignedBuf>>,
        folder: Option<Folder>,
        limits: &'a Limits,
    ) -> Source<'a> {
        let (expansion_left, nodes_left) = (limits.expanded_bytes, limits.nodes);
        Source { buffer, folder, limits, expansion_left, nodes_left }
    }

    /// `bytes` as a part of the buffer, or `None` when it is of another one.
    pub(super) fn share(&self, bytes: &Bytes) -> Option<SharedBytes> {
        let buffer = self.buffer.as_ref()?;
        let start = (bytes.as_ptr() as usize).checked_sub(buffer.as_ptr() as usize)?;
        SharedBytes::new(buffer.clone(), start..start.checked_add(bytes.len())?)
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
