//! What the files of a package tell of its models.

use std::cell::RefCell;
use std::collections::HashMap;

use stead_expr::{CellType, Dimension, TensorType};
use stead_onnx::{Dim, Model, ValueInfo, ValueType};
use stead_tensor::DType;

use super::compile::{ModelTypes, Why};
use crate::application::profile::OnnxModel;
use crate::package::PackageFiles;

/// The largest model file that is read for its types: a file of protobuf has at most 2 GiB.
const MAX_MODEL: u64 = 1 << 31;

/// The models in the files of a package.
pub struct PackageModels<'f> {
    files: &'f PackageFiles,
    /// What was read, by path.
    known: RefCell<HashMap<String, Result<Signature, String>>>,
}

#[derive(Clone)]
struct Signature {
    inputs: Vec<ValueInfo>,
    outputs: Vec<ValueInfo>,
}

impl<'f> PackageModels<'f> {
    /// The models of a package.
    #[must_use]
    pub fn new(files: &'f PackageFiles) -> PackageModels<'f> {
        PackageModels { files, known: RefCell::default() }
    }

    fn signature(&self, path: &str) -> Result<Signature, String> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let read = || {
            let bytes = self.files.read(path, MAX_MODEL).map_err(|e| e.to_string())?;
            let model = Model::from_bytes(&bytes, None).map_err(|e| format!("{path}: {e}"))?;
            // An input with an initializer has a value of its own.
            let graph = &model.graph;
            let inputs = graph.inputs.iter().filter(|i| graph.initializer(&i.name).is_none());
            Ok(Signature { inputs: inputs.cloned().collect(), outputs: graph.outputs.clone() })
        };
        let signature = read();
        self.known.borrow_mut().insert(path.to_owned(), signature.clone());
        signature
    }
}

impl ModelTypes for PackageModels<'_> {
    fn onnx(
        &self,
        model: &OnnxModel,
        output: &str,
        source: &dyn Fn(&str) -> Option<TensorType>,
    ) -> Result<TensorType, Why> {
        let name = &model.name.value;
        // That a file is missing is said where it is named.
        let signature = self.signature(&model.file.value).map_err(Why::Unknown)?;
        for (bound, _) in &model.inputs {
            if !signature.inputs.iter().any(|i| i.name == bound.value) {
                let known: Vec<&str> = signature.inputs.iter().map(|i| i.name.as_str()).collect();
                return Err(Why::Wrong(format!(
                    "onnx-model {name} has no input {}; it has {}",
                    bound.value,
                    known.join(", ")
                )));
            }
        }
        let mut sizes: HashMap<&str, usize> = HashMap::new();
        for input in &signature.inputs {
            let bound = model.inputs.iter().find(|(n, _)| n.value == input.name);
            let text = bound.map_or_else(|| plain(&input.name), |(_, source)| source.value.clone());
            let Some(kind) = source(&text) else {
                return Err(match bound {
                    Some(_) => Why::Unknown(format!(
                        "the type of {text}, input {} of onnx-model {name}, is not known",
                        input.name
                    )),
                    None => Why::Wrong(format!(
                        "input {} of onnx-model {name} is bound to nothing; expected a line input {}: or a function {text}",
                        input.name, input.name
                    )),
                });
            };
            bind(name, input, &kind, &mut sizes)?;
        }
        let found = if output.is_empty() {
            signature.outputs.first()
        } else {
            signature.outputs.iter().find(|o| o.name == output || plain(&o.name) == output)
        };
        let Some(found) = found else {
            let known: Vec<&str> = signature.outputs.iter().map(|o| o.name.as_str()).collect();
            let known = known.join(", ");
            return Err(Why::Wrong(format!(
                "onnx-model {name} has no output {output}; it has {known}"
            )));
        };
        output_type(name, found, &sizes)
    }

    fn trees(&self, file: &str) -> Result<(), String> {
        let path = format!("models/{file}");
        if self.files.has(&path) { Ok(()) } else { Err(format!("the package has no file {path}")) }
    }
}

/// A name as expressions may have it.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// Takes the sizes of symbols from what is bound to an input.
fn bind<'i>(
    model: &str,
    input: &'i ValueInfo,
    kind: &TensorType,
    sizes: &mut HashMap<&'i str, usize>,
) -> Result<(), Why> {
    let ValueType::Tensor { dims: Some(dims), .. } = &input.ty else { return Ok(()) };
    let wrong = |expected: String| {
        Err(Why::Wrong(format!(
            "input {} of onnx-model {model} expects {expected}, found a {kind}",
            input.name
        )))
    };
    if !kind.is_dense() {
        let text = format!(
            "input {} of onnx-model {model} is a {kind}, whose size each document decides",
            input.name
        );
        return Err(Why::Unknown(text));
    }
    if kind.dimensions().len() != dims.len() {
        return wrong(format!("{} dimensions", dims.len()));
    }
    for ((dimension, size), dim) in kind.indexed().zip(dims.iter()) {
        match dim {
            Dim::Known(expected) if *expected != size => {
                return wrong(format!("size {expected} of dimension {}", dimension.name));
            }
            Dim::Symbol(symbol) => match sizes.insert(symbol, size) {
                Some(other) if other != size => {
                    return wrong(format!(
                        "size {other} of dimension {} ({symbol})",
                        dimension.name
                    ));
                }
                _ => {}
            },
            _ => {}
        }
    }
    Ok(())
}

/// The type of an output: dimensions `d0`, `d1` and so on, and cells as Vespa's content nodes have them.
fn output_type(
    model: &str,
    output: &ValueInfo,
    sizes: &HashMap<&str, usize>,
) -> Result<TensorType, Why> {
    let unknown = |what: &str| {
        Err(Why::Unknown(format!(
            "{what} of output {} of onnx-model {model} is not known before the model runs",
            output.name
        )))
    };
    let ValueType::Tensor { dtype, dims: Some(dims) } = &output.ty else {
        return unknown("the shape");
    };
    let cell = match dtype {
        DType::I8 => CellType::Int8,
        DType::BF16 => CellType::BFloat16,
        DType::U8 | DType::I16 | DType::U16 | DType::F16 | DType::F32 | DType::Bool => {
            CellType::Float
        }
        _ => CellType::Double,
    };
    let mut dimensions = Vec::new();
    for (at, dim) in dims.iter().enumerate() {
        let size = match dim {
            Dim::Known(size) => *size,
            Dim::Symbol(symbol) => match sizes.get(symbol.as_str()) {
                Some(size) => *size,
                None => return unknown(&format!("dimension {symbol}")),
            },
            Dim::Unknown => return unknown(&format!("dimension {at}")),
        };
        dimensions.push(Dimension::indexed(&format!("d{at}"), size));
    }
    TensorType::new(cell, dimensions).map_err(|e| Why::Wrong(e.to_string()))
}
