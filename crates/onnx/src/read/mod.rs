//! From bytes to a [`Model`].

mod attribute;
mod external;
mod graph;
mod model;
mod opset;
mod scan;
mod source;
mod sparse;
mod tensor;
mod typed;
mod types;
mod weights;

pub(crate) use graph::check_name;
pub(crate) use source::Source;
pub(crate) use tensor::read_tensor;

use crate::{Limits, Model, OnnxError, error, proto};
use external::Folder;
use prost::{Message, bytes::Bytes};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use stead_tensor::AlignedBuf;

#[cfg(test)]
mod tests;

/// How messages call the model file, whose path is the server's secret.
const MODEL_FILE: &str = "the model file";

impl Model {
    /// Reads a model file and the external data that it names, which must lie in the same folder.
    ///
    /// The file is read, not mapped: whoever truncates a mapped file kills the process. Initializers borrow
    /// the one buffer of the file; external data has a buffer for each tensor.
    ///
    /// # Errors
    /// Every [`OnnxError`]: the model is valid when this returns.
    pub fn read(path: &Path, limits: &Limits) -> Result<Model, OnnxError> {
        let buffer = read_file(path, limits)?;
        // The parent of a bare file name is "", which is the current folder.
        let folder =
            path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
        Model::from_buffer(buffer, folder, limits)
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

    /// Reads a model from a buffer that its initializers then share.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn from_buffer(
        buffer: AlignedBuf,
        folder: Option<&Path>,
        limits: &Limits,
    ) -> Result<Model, OnnxError> {
        error::check_limit(MODEL_FILE, buffer.len() as u64, limits.total_bytes)?;
        scan::check(&buffer, limits.decoded_bytes)?;
        let file_len = buffer.len() as u64;
        let owner = Arc::new(buffer);
        let bytes = Bytes::from_owner(source::Owner(owner.clone()));
        let mut proto: proto::ModelProto =
            Message::decode(bytes).map_err(|e| error::malformed("an onnx model", &e))?;
        let owner = weights::align(&mut proto, owner)?;
        let folder =
            folder.map(|path| Folder::new(path, limits.total_bytes.saturating_sub(file_len)));
        let mut source = Source::new(Some(owner), folder, limits);
        let mut model = model::read_model(proto, &mut source)?;
        crate::validate::model(&mut model)?;
        Ok(model)
    }
}

/// The whole file in an aligned buffer.
fn read_file(path: &Path, limits: &Limits) -> Result<AlignedBuf, OnnxError> {
    let io = error::io(MODEL_FILE);
    // Asked before opening: a pipe would block the opener for ever.
    if !std::fs::metadata(path).map_err(&io)?.is_file() {
        return Err(io(std::io::ErrorKind::InvalidInput.into()));
    }
    let mut file = std::fs::File::open(path).map_err(&io)?;
    let len = file.metadata().map_err(&io)?.len();
    error::check_limit(MODEL_FILE, len, limits.total_bytes)?;
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let mut buffer = AlignedBuf::zeroed(len).map_err(error::memory(MODEL_FILE))?;
    file.read_exact(&mut buffer).map_err(&io)?;
    Ok(buffer)
}
