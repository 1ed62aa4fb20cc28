//! TensorFlow: SavedModel with its checkpoint, and frozen GraphDef.
//!
//! Only what a signature's outputs need is read. Functions are inlined where they are called; variables are the constants of the
//! checkpoint. Inputs and outputs of a SavedModel are called as in its signature, which is what TensorFlow Serving shows; those of
//! a GraphDef are its placeholders and the nodes that nobody reads. Images lie with channels last: convolutions and pools are
//! lowered between transpositions, of which the engine removes those that cancel.

mod bundle;
mod graph;
mod op;
mod ops;
mod proto;
pub mod table;
mod tensor;

use crate::error::{FormatError, check_limit, io};
use crate::make;
use bundle::Bundle;
use graph::Reader;
use prost::Message;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use stead_onnx::{Limits, Model};
use tensor::malformed;

/// The file of a SavedModel's graphs.
pub const SAVED_MODEL: &str = "saved_model.pb";

/// The signature that TensorFlow Serving takes where none is named.
const SIGNATURE: &str = "serving_default";

const FILE: &str = "the .pb file";

/// Reads a SavedModel, by its folder or its file `saved_model.pb`, or a frozen GraphDef.
///
/// # Errors
/// [`FormatError`], which names the node for an operation that is not read.
pub fn read(path: &Path, limits: &Limits) -> Result<Model, FormatError> {
    let inside = path.join(SAVED_MODEL);
    let path = if path.is_dir() { inside.as_path() } else { path };
    let file = File::open(path).map_err(io(FILE))?;
    let len = file.metadata().map_err(io(FILE))?.len();
    // Constants lie within the messages: these are as large as a model may be. protobuf itself ends at 2 GiB.
    check_limit(FILE, len, limits.total_bytes.min(1 << 31))?;
    let mut bytes = Vec::new();
    file.take(len).read_to_end(&mut bytes).map_err(io(FILE))?;
    if path.file_name().is_some_and(|name| name == SAVED_MODEL) {
        let folder = path.parent().unwrap_or(Path::new("."));
        saved_model(&bytes, &mut Bundle::open(&folder.join("variables"), limits)?, limits)
    } else {
        frozen(&bytes, limits)
    }
}

/// Reads a frozen GraphDef from its bytes.
///
/// # Errors
/// As [`read`].
pub fn frozen(bytes: &[u8], limits: &Limits) -> Result<Model, FormatError> {
    let graph = proto::GraphDef::decode(bytes).map_err(malformed)?;
    let mut none = Bundle::open(Path::new(""), limits)?;
    let (graph, _) = Reader::new(&graph, &mut none, limits)?.frozen()?;
    make::model(graph, "TensorFlow GraphDef", "")
}

/// The names and checked bytes of a checkpoint's table, for tests and the fuzzer.
///
/// # Errors
/// Tables that are damaged.
pub fn check_index(bytes: &[u8]) -> Result<usize, FormatError> {
    Ok(bundle::entries(bytes)?.len())
}

fn saved_model(bytes: &[u8], bundle: &mut Bundle, limits: &Limits) -> Result<Model, FormatError> {
    let saved = proto::SavedModel::decode(bytes).map_err(malformed)?;
    let serves = |m: &&proto::MetaGraphDef| {
        m.meta_info_def.as_ref().is_some_and(|info| info.tags.iter().any(|tag| tag == "serve"))
    };
    let meta = saved.meta_graphs.iter().find(serves);
    let meta = meta.ok_or_else(|| malformed("it has no graph with the tag serve"))?;
    let graph = meta.graph_def.as_ref().ok_or_else(|| malformed("it has no graph"))?;
    let initialises = |name: &str| name.starts_with("__saved_model_init_op");
    let mut others = meta.signature_def.iter().filter(|(name, _)| !initialises(name));
    let signature = match (meta.signature_def.get(SIGNATURE), others.next(), others.next()) {
        (Some(signature), ..) | (None, Some((_, signature)), None) => signature,
        _ => return Err(malformed(format!("it has several signatures and none {SIGNATURE}"))),
    };
    let version = meta.meta_info_def.as_ref().map_or("", |info| &info.tensorflow_version);
    let reader = Reader::new(graph, bundle, limits)?;
    make::model(reader.signature(signature)?, "TensorFlow SavedModel", version)
}
