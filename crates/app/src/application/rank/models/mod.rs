//! What the files of a package tell of its models.

mod expressions;
mod onnx;
mod trees;

pub use expressions::ExpressionModel;
pub use onnx::cell_type;
pub use trees::{read_any_trees, read_trees, tree_facts};

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use stead_expr::TensorType;
use stead_onnx::{FindFile, Limits, Model, ValueInfo};

use super::compile::{ModelTypes, TreeFacts, Why};
use super::uses::{SourceType, TreeLibrary};
use crate::BackendKind;
use crate::application::profile::OnnxModel;
use crate::package::PackageFiles;
use onnx::{Sizes, output_type, plain, probed_type, shape};

/// The largest model file that is read for its types: a file of protobuf has at most 2 GiB.
const MAX_MODEL: u64 = 1 << 31;

/// What to do with a file of another format than ONNX, by its name; packages hold none.
pub(crate) fn of_other_format(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "pb" => Some(
            "models of TensorFlow are not read in packages; convert it to ONNX (tf2onnx) and put the .onnx in its place",
        ),
        "xml" => Some(
            "OpenVINO IR is not read in packages; export the model to ONNX where it was trained and put the .onnx in its place",
        ),
        _ => None,
    }
}

/// The file of a model, and how the files beside it are found.
#[derive(Clone, Copy)]
pub struct ModelBytes<'f> {
    /// Its bytes.
    pub bytes: &'f [u8],
    /// Finds a file by the place that the model gives.
    pub beside: &'f FindFile<'f>,
    /// What evaluates it.
    pub backend: BackendKind,
}

/// Runs a model to see what it gives; nothing here can.
pub trait ModelProbe {
    /// The names and shapes of all outputs for inputs of these shapes, whatever is in them.
    ///
    /// # Errors
    /// Why the model does not run.
    fn output_shapes(
        &self,
        file: &ModelBytes<'_>,
        inputs: &[(String, Vec<usize>)],
    ) -> Result<Vec<(String, Vec<usize>)>, String>;
}

/// Names of outputs with their shapes, or why they are not known.
type Shapes = Result<Rc<Vec<(String, Vec<usize>)>>, String>;

/// The models in the files of a package.
pub struct PackageModels<'f> {
    files: &'f PackageFiles,
    probe: Option<&'f dyn ModelProbe>,
    /// What was probed, by path, what evaluates it and shapes of inputs.
    probed: RefCell<HashMap<(String, BackendKind, Vec<Vec<usize>>), Shapes>>,
    /// What was read, by path.
    known: RefCell<HashMap<String, Result<Signature, String>>>,
    /// The tree models, by file.
    trees: RefCell<HashMap<String, Result<TreeFacts, String>>>,
    /// The models of functions, by file.
    functions: RefCell<HashMap<String, Result<Rc<ExpressionModel>, String>>>,
}

#[derive(Clone)]
struct Signature {
    inputs: Vec<ValueInfo>,
    outputs: Vec<ValueInfo>,
    metadata: Vec<(String, String)>,
}

impl<'f> PackageModels<'f> {
    /// The models of a package.
    #[must_use]
    pub fn new(files: &'f PackageFiles) -> PackageModels<'f> {
        PackageModels {
            files,
            probe: None,
            probed: RefCell::default(),
            known: RefCell::default(),
            trees: RefCell::default(),
            functions: RefCell::default(),
        }
    }

    /// The same models; where a file does not tell the sizes of an output, the model is run.
    #[must_use]
    pub fn with_probe(self, probe: &'f dyn ModelProbe) -> PackageModels<'f> {
        PackageModels { probe: Some(probe), ..self }
    }

    /// The shapes of outputs where those of all inputs are known.
    fn probe(
        &self,
        (path, backend): (&str, BackendKind),
        inputs: &[(String, Vec<usize>)],
    ) -> Option<Shapes> {
        let probe = self.probe?;
        let key =
            (path.to_owned(), backend, inputs.iter().map(|(_, shape)| shape.clone()).collect());
        if let Some(known) = self.probed.borrow().get(&key) {
            return Some(known.clone());
        }
        let run = || {
            let bytes = self.files.read(path, MAX_MODEL).map_err(|e| e.to_string())?;
            let beside = self.beside(path);
            let file = ModelBytes { bytes: &bytes, beside: &beside, backend };
            probe.output_shapes(&file, inputs).map(Rc::new)
        };
        let shapes = run();
        self.probed.borrow_mut().insert(key, shapes.clone());
        Some(shapes)
    }

    fn beside<'b>(&'b self, path: &'b str) -> impl Fn(&str) -> Result<Vec<u8>, String> + 'b {
        move |location| self.files.read_beside(path, location, MAX_MODEL).map_err(|e| e.to_string())
    }

    /// The signature of a file. That it is missing is said where it is named.
    fn signature(&self, path: &str) -> Result<Signature, Why> {
        let why = if self.files.has(path) { Why::Wrong } else { Why::Unknown };
        self.read_signature(path).map_err(why)
    }

    fn read_signature(&self, path: &str) -> Result<Signature, String> {
        if let Some(known) = self.known.borrow().get(path) {
            return known.clone();
        }
        let read = || {
            if let Some(text) = of_other_format(path).filter(|_| self.files.has(path)) {
                return Err(format!("{path}: {text}"));
            }
            let bytes = self.files.read(path, MAX_MODEL).map_err(|e| e.to_string())?;
            let beside = self.beside(path);
            let model = Model::from_files(&bytes, &beside, &Limits::default())
                .map_err(|e| format!("{path}: {e}"))?;
            // An input with an initializer has a value of its own.
            let graph = &model.graph;
            let inputs = graph.inputs.iter().filter(|i| graph.initializer(&i.name).is_none());
            Ok(Signature {
                inputs: inputs.cloned().collect(),
                outputs: graph.outputs.clone(),
                metadata: model.metadata,
            })
        };
        let signature = read();
        self.known.borrow_mut().insert(path.to_owned(), signature.clone());
        signature
    }
}

impl ModelTypes for PackageModels<'_> {
    fn onnx_inputs(&self, model: &OnnxModel) -> Result<Vec<(String, String)>, Why> {
        let name = &model.name.value;
        let signature = self.signature(&model.file.value)?;
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
        let source = |input: &ValueInfo| {
            let bound = model.inputs.iter().find(|(n, _)| n.value == input.name);
            bound.map_or_else(|| plain(&input.name), |(_, source)| source.value.clone())
        };
        Ok(signature.inputs.iter().map(|i| (i.name.clone(), source(i))).collect())
    }

    fn onnx(
        &self,
        model: &OnnxModel,
        output: &str,
        source: &dyn Fn(&str) -> Option<SourceType>,
        has_own_cells: bool,
    ) -> Result<(String, TensorType), Why> {
        let name = &model.name.value;
        let sources = self.onnx_inputs(model)?;
        let signature = self.signature(&model.file.value)?;
        let mut sizes = Sizes::default();
        let mut shapes = Some(Vec::new());
        for (input, (_, text)) in signature.inputs.iter().zip(&sources) {
            let is_bound = model.inputs.iter().any(|(n, _)| n.value == input.name);
            let Some(kind) = source(text) else {
                return Err(match is_bound {
                    true => Why::Unknown(format!(
                        "the type of {text}, input {} of onnx-model {name}, is not known",
                        input.name
                    )),
                    false => Why::Wrong(format!(
                        "input {} of onnx-model {name} is bound to nothing; expected a line input {}: or a function {text}",
                        input.name, input.name
                    )),
                });
            };
            sizes.bind(name, input, &kind)?;
            match (shape(input, &kind), &mut shapes) {
                (Some(shape), Some(shapes)) => shapes.push((input.name.clone(), shape)),
                _ => shapes = None,
            }
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
        let kind = output_type(name, found, &sizes, has_own_cells);
        if let (Err(Why::Unknown(text)), Some(inputs)) = (&kind, &shapes)
            && let Some(shapes) = self.probe((&model.file.value, model.backend), inputs)
        {
            let shapes = shapes.map_err(|why| {
                Why::Unknown(format!("{text}, and it does not run with zeros: {why}"))
            })?;
            let shape = shapes.iter().find(|(n, _)| *n == found.name).map(|(_, shape)| shape);
            let kind = probed_type(name, found, shape, has_own_cells);
            return kind.map(|kind| (found.name.clone(), kind));
        }
        kind.map(|kind| (found.name.clone(), kind))
    }

    fn trees(&self, library: TreeLibrary, file: &str) -> Result<TreeFacts, String> {
        if let Some(known) = self.trees.borrow().get(file) {
            return known.clone();
        }
        let facts = read_trees(self.files, library, file).map(|model| tree_facts(&model));
        self.trees.borrow_mut().insert(file.to_owned(), facts.clone());
        facts
    }

    fn expressions(&self, file: &str) -> Result<Rc<ExpressionModel>, String> {
        let mut known = self.functions.borrow_mut();
        let read = || expressions::read(self.files, file).map(Rc::new);
        known.entry(file.to_owned()).or_insert_with(read).clone()
    }

    fn metadata(&self, model: &OnnxModel, key: &str) -> Option<String> {
        let signature = self.signature(&model.file.value).ok()?;
        signature.metadata.into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    fn files(&self) -> Option<&PackageFiles> {
        Some(self.files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_formats_are_named_with_what_to_do() {
        let list =
            [("models/net.xml", "<net/>"), ("models/saved_model.pb", ""), ("models/a.onnx", "")];
        let files = PackageFiles::from_texts(list).unwrap();
        let models = PackageModels::new(&files);
        for (path, expected) in [
            (
                "models/net.xml",
                "models/net.xml: OpenVINO IR is not read in packages; export the model",
            ),
            ("models/saved_model.pb", "convert it to ONNX (tf2onnx)"),
            ("models/a.onnx", "models/a.onnx: "),
        ] {
            let Err(Why::Wrong(text)) = models.signature(path) else { panic!("{path}") };
            assert!(text.contains(expected), "{path}: {text}");
        }
        assert!(matches!(models.signature("models/none.xml"), Err(Why::Unknown(_))));
    }
}
