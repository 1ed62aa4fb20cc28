//! From bytes to a [`Model`].

mod attribute;
mod buffers;
mod external;
mod graph;
mod model;
mod opset;
mod scan;
mod source;
mod sparse;
mod stream;
mod tables;
mod tensor;
mod typed;
mod types;
mod weights;

pub use external::FindFile;
pub(crate) use graph::check_name;
pub(crate) use source::Source;
pub(crate) use tensor::read_tensor;

use crate::{Limits, Model, OnnxError, error, proto};
use buffers::Buffers;
use external::{Files, Root};
use prost::Message;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use stead_tensor::AlignedBuf;
use tables::Tables;

#[cfg(test)]
mod tests;

/// How messages call the model file, whose path is the server's secret.
const MODEL_FILE: &str = "the model file";

impl Model {
    /// Reads a model file and the external data that it names, which must lie in the same folder.
    ///
    /// The file is read, not mapped: whoever truncates a mapped file kills the process. It is in memory once:
    /// each large weight and each piece of external data in a buffer of its own, which goes when its tensor
    /// goes, and everything else in one buffer that small weights borrow from. Of large tables there is a copy on a disk instead
    /// ([`AlignedBuf::aside`]).
    ///
    /// # Errors
    /// Every [`OnnxError`]: the model is valid when this returns.
    pub fn read(path: &Path, limits: &Limits) -> Result<Model, OnnxError> {
        let (file, len) = open(path)?;
        // The parent of a bare file name is "", which is the current folder.
        let folder =
            path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
        error::check_limit(MODEL_FILE, len, limits.total_bytes)?;
        decode(stream::read_file(&file, len, limits)?, folder.map(Root::Folder), limits)
    }

    /// Reads a model of `len` bytes as [`Model::read`] does. External data is looked for in `folder`; without
    /// one it is refused.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_reader(
        reader: impl Read,
        len: u64,
        folder: Option<&Path>,
        limits: &Limits,
    ) -> Result<Model, OnnxError> {
        error::check_limit(MODEL_FILE, len, limits.total_bytes)?;
        decode(stream::read(reader, len, limits)?, folder.map(Root::Folder), limits)
    }

    /// Reads a model from a copy of `bytes`. Files of external data are those that `find` gives.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_files(
        bytes: &[u8],
        find: &FindFile<'_>,
        limits: &Limits,
    ) -> Result<Model, OnnxError> {
        error::check_limit(MODEL_FILE, bytes.len() as u64, limits.total_bytes)?;
        let buffers = stream::read(bytes, bytes.len() as u64, limits)?;
        decode(buffers, Some(Root::Files(find)), limits)
    }

    /// Reads a model from a copy of `bytes`, within the default limits. External data is looked for in
    /// `folder`; without one it is refused.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Result<Model, OnnxError> {
        let buffer = AlignedBuf::copy_of(bytes).map_err(error::memory(MODEL_FILE))?;
        Model::from_buffer(buffer, folder, &Limits::default())
    }

    /// Reads a model from the buffer of its file, which its initializers then share.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_buffer(
        buffer: AlignedBuf,
        folder: Option<&Path>,
        limits: &Limits,
    ) -> Result<Model, OnnxError> {
        error::check_limit(MODEL_FILE, buffer.len() as u64, limits.total_bytes)?;
        scan::check(&mut Cursor::new(&*buffer), buffer.len(), limits.decoded_bytes)?;
        decode(Buffers::whole(buffer), folder.map(Root::Folder), limits)
    }
}

/// The locations of the files beside a model that its tensors lie in, in order, each once.
///
/// # Errors
/// Bytes that are no model, within the limits, and locations that leave the folder of the model.
pub fn external_files(bytes: &[u8], limits: &Limits) -> Result<Vec<String>, OnnxError> {
    error::check_limit(MODEL_FILE, bytes.len() as u64, limits.total_bytes)?;
    let buffers = stream::read(bytes, bytes.len() as u64, limits)?;
    let mut proto: proto::ModelProto =
        Message::decode(buffers.rope()).map_err(|e| error::malformed("an onnx model", &e))?;
    external::locations(&mut proto)
}

/// The model in a file that was walked over.
fn decode(buffers: Buffers, root: Option<Root<'_>>, limits: &Limits) -> Result<Model, OnnxError> {
    let left = limits.total_bytes.saturating_sub(buffers.len());
    let files = root.map(|root| Files::new(root, left));
    let mut proto: proto::ModelProto =
        Message::decode(buffers.rope()).map_err(|e| error::malformed("an onnx model", &e))?;
    let buffers = weights::align(&mut proto, buffers)?;
    let nodes = proto.graph.as_ref().map_or(&[][..], |graph| &graph.node);
    let tables = Tables::of(nodes);
    let mut source = Source::new(Some(buffers), files, limits);
    source.tables = tables;
    let mut model = model::read_model(proto, &mut source)?;
    crate::validate::model(&mut model)?;
    Ok(model)
}

/// The file at `path` and its length.
fn open(path: &Path) -> Result<(File, u64), OnnxError> {
    let io = error::io(MODEL_FILE);
    // Asked before opening: a pipe would block the opener for ever.
    if !std::fs::metadata(path).map_err(&io)?.is_file() {
        return Err(io(std::io::ErrorKind::InvalidInput.into()));
    }
    let file = File::open(path).map_err(&io)?;
    let len = file.metadata().map_err(&io)?.len();
    Ok((file, len))
}
