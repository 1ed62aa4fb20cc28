//! OpenVINO IR: the operations in an `.xml` file, their constants in a `.bin` file beside it.
//!
//! The format is that of `ov::save_model`, versions 10 and 11, with the operations of the [table]. ReadValue and Assign become
//! variables under the names that the file has. Inputs and outputs are called as OpenVINO Model Server calls them: by the first
//! of the tensor's names, or by the layer where a tensor has none.

mod cx;
mod graph;
mod net;
mod ops;
pub mod table;
mod weights;
mod xml;

use crate::error::{FormatError, check_limit, io, quote};
use crate::make;
use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use stead_onnx::{Limits, Model};
use weights::{Source, Weights};

/// The versions of the format that are read.
const VERSIONS: std::ops::RangeInclusive<u32> = 10..=11;

/// How messages call the file.
const FILE: &str = "the .xml file";

/// Reads an `.xml` file and the `.bin` file of the same name beside it, which a model without constants may lack.
///
/// # Errors
/// [`FormatError`], which names the layer for an operation that is not read.
pub fn read(path: &Path, limits: &Limits) -> Result<Model, FormatError> {
    let file = File::open(path).map_err(io(FILE))?;
    let len = file.metadata().map_err(io(FILE))?.len();
    check_limit(FILE, len, limits.decoded_bytes)?;
    let mut text = Vec::new();
    file.take(limits.decoded_bytes).read_to_end(&mut text).map_err(io(FILE))?;
    let bin = path.with_extension("bin");
    match File::open(&bin) {
        Ok(mut bin) => decode(&text, &mut bin, limits),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => from_bytes(&text, &[], limits),
        Err(e) => Err(io("the .bin file")(e)),
    }
}

/// Reads a model from the bytes of its two files.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(xml: &[u8], bin: &[u8], limits: &Limits) -> Result<Model, FormatError> {
    check_limit(FILE, xml.len() as u64, limits.decoded_bytes)?;
    decode(xml, &mut Cursor::new(bin), limits)
}

fn decode(xml: &[u8], bin: &mut dyn Source, limits: &Limits) -> Result<Model, FormatError> {
    let text = std::str::from_utf8(xml).map_err(xml::malformed)?;
    let root = xml::parse(text, limits)?;
    if root.name != "net" {
        return Err(xml::malformed(format!("it begins with <{}>", quote(&root.name))));
    }
    let version = root.attribute("version").and_then(|v| v.parse::<u32>().ok());
    let Some(version) = version.filter(|v| VERSIONS.contains(v)) else {
        let found = quote(root.attribute("version").unwrap_or_default());
        return Err(xml::malformed(format!(
            "version {found}; {} and {} are read: convert the original model with a release of OpenVINO of 2021 or later",
            VERSIONS.start(),
            VERSIONS.end()
        )));
    };
    let net = net::read(&root, &mut 0, limits)?;
    let mut weights = Weights::new(bin, limits)?;
    let mut graph = graph::lower(&net, &mut weights)?;
    root.attribute("name").unwrap_or_default().clone_into(&mut graph.name);
    make::model(graph, "OpenVINO IR", &version.to_string())
}
