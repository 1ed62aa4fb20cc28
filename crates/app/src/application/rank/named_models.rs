//! Models that expressions of a profile name.

use std::cell::Cell;

use stead_expr::{CellType, Compiled, Dimension, ExprError, Function, Rate, Scope, TensorType};

use super::compile::Why;
use super::feature::FeatureName;
use super::models::ExpressionModel;
use super::scope::{Meaning, ProfileScope, wrong};
use super::uses::{Source, TreeLibrary};
use crate::application::profile::{InputType, OnnxModel};
use crate::application::schema::AttributeType;
use crate::schema::FieldType;

/// The most models of which each takes the output of the one before it.
const MAX_MODELS: usize = 8;

/// An output of a model that an expression names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Used {
    /// As the expression has it.
    pub(super) feature: String,
    pub(super) model: UsedModel,
    /// Its name in the file.
    pub(super) output: String,
    pub(super) kind: TensorType,
}

/// A model that an expression names.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum UsedModel {
    Onnx(String),
    Trees(TreeLibrary, String),
    /// A function of a file.
    Function(String, String),
}

/// The names within a file of functions.
struct FileScope<'s, 'p> {
    outer: &'s ProfileScope<'p>,
    model: &'s ExpressionModel,
    rate: Cell<Rate>,
}

impl Scope for FileScope<'_, '_> {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        let plain = name.strip_prefix("constant(").and_then(|n| n.strip_suffix(')'));
        let plain = plain.unwrap_or(name);
        if let Some((_, value)) = self.model.constants.iter().find(|(n, _)| n == plain) {
            return Some((value.kind().clone(), Rate::Constant));
        }
        let given = self.outer.expression(name).ok()?;
        let declared = self.model.inputs.iter().find(|(n, _)| n == name).map(|(_, kind)| kind);
        let expected = declared.cloned().unwrap_or_else(TensorType::double);
        let kind = given.kind().clone();
        if !expected.takes(&kind) {
            let text = format!("{name} is a {kind}, expected a {expected}");
            self.outer.blame(name, Why::Wrong(text));
            return None;
        }
        let rate = Source::Expression(given).rate();
        self.rate.set(self.rate.get().max(rate));
        Some((kind, rate))
    }

    fn is_rounded(&self) -> bool {
        self.outer.options.is_rounded
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.model.functions.iter().find(|(n, _)| n == name).map(|(_, function)| function)
    }
}

impl ProfileScope<'_> {
    /// The ONNX model of this name.
    pub(super) fn onnx_model(&self, name: &str) -> Option<&OnnxModel> {
        let models = self.profile.onnx_models.iter().chain(&self.schema.onnx_models);
        models.into_iter().find(|m| m.name.value == name)
    }

    pub(super) fn onnx(&self, feature: &str, name: &str, output: &str) -> Meaning {
        let Some(model) = self.onnx_model(name) else {
            let models = self.profile.onnx_models.iter().chain(&self.schema.onnx_models);
            let known: Vec<&str> = models.map(|m| m.name.value.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return wrong(format!("unknown onnx-model {name}; known: {known}"));
        };
        let renamed = model.outputs.iter().find(|(_, known)| known.value == output);
        let output = renamed.map_or(output, |(name, _)| name.value.as_str());
        self.open(&format!("onnx-model {name}"))?;
        let rate = Cell::new(Rate::Query);
        let has_own_cells = self.options.of_model(&format!("onnx({name})")).has_own_cells;
        let source = |text: &str| {
            let source = self.source(text).ok()?;
            rate.set(rate.get().max(source.rate()));
            Some(source.kind())
        };
        let found = self.models.onnx(model, output, &source, has_own_cells);
        self.open_models.borrow_mut().pop();
        let (output, kind) = found?;
        let model = UsedModel::Onnx(name.to_owned());
        self.note(Used { feature: feature.to_owned(), model, output, kind: kind.clone() });
        Ok((kind, rate.get()))
    }

    pub(super) fn trees(&self, feature: &str, library: &str, file: &str) -> Meaning {
        let Some(library) = TreeLibrary::of_feature(library) else {
            return wrong(format!("{feature} is no tree model"));
        };
        let facts = self.models.trees(library, file).map_err(Why::Wrong)?;
        let kind = match facts.outputs {
            0 | 1 => TensorType::double(),
            several => TensorType::new(CellType::Double, vec![Dimension::indexed("d0", several)])
                .map_err(|e| Why::Wrong(e.to_string()))?,
        };
        self.open(&format!("{library} model {file}"))?;
        let mut rate = Rate::Query;
        let mut fault = None;
        for name in facts.features.iter().filter(|f| !f.is_empty()) {
            match self.expression(name) {
                Ok(compiled) if compiled.kind().is_double() => {
                    rate = rate.max(Source::Expression(compiled).rate());
                }
                Ok(compiled) => {
                    let kind = compiled.kind();
                    fault = Some(format!(
                        "feature {name} of {library}(\"{file}\") is a {kind}; trees take numbers"
                    ));
                }
                Err(error) => {
                    let reason = self.reason(&error);
                    fault = Some(format!("feature {name} of {library}(\"{file}\"): {reason}"));
                }
            }
            if fault.is_some() {
                break;
            }
        }
        self.open_models.borrow_mut().pop();
        if let Some(text) = fault {
            return wrong(text);
        }
        let model = UsedModel::Trees(library, file.to_owned());
        let feature = feature.to_owned();
        self.note(Used { feature, model, output: String::new(), kind: kind.clone() });
        Ok((kind, rate))
    }

    /// `vespa(file).function`
    pub(super) fn file_function(&self, feature: &str, file: &str, function: &str) -> Meaning {
        let model = self.models.expressions(file).map_err(Why::Wrong)?;
        let callable = || model.functions.iter().filter(|(_, f)| f.parameters().is_empty());
        let names: Vec<&str> = callable().map(|(name, _)| name.as_str()).collect();
        let function = match (function, &names[..]) {
            ("", [only]) => only,
            (name, names) if names.contains(&name) => name,
            _ => {
                return wrong(format!(
                    "vespa(\"{file}\") needs one of its functions behind a dot: {}",
                    names.join(", ")
                ));
            }
        };
        let (body, rate) = self.function_of_file(file, function)?;
        let (kind, model) =
            (body.kind().clone(), UsedModel::Function(file.to_owned(), function.to_owned()));
        let (feature, output) = (feature.to_owned(), function.to_owned());
        self.note(Used { feature, model, output, kind: kind.clone() });
        Ok((kind, rate))
    }

    /// The body of a function of a file, and how often its value changes.
    pub(super) fn function_of_file(
        &self,
        file: &str,
        function: &str,
    ) -> Result<(Compiled, Rate), Why> {
        let model = self.models.expressions(file).map_err(Why::Wrong)?;
        self.open(&format!("models/{file}"))?;
        let scope = FileScope { outer: self, model: &model, rate: Cell::new(Rate::Query) };
        let body = stead_expr::compile(function, &scope);
        self.open_models.borrow_mut().pop();
        let rate = scope.rate.get();
        let body = body.map_err(|error| {
            let reason = self.reason(&error);
            Why::Wrong(format!("function {function} of models/{file}: {reason}"))
        })?;
        Ok((body, rate))
    }

    /// Why an expression cannot be compiled.
    fn reason(&self, error: &ExprError) -> String {
        match self.why(error) {
            Some(Why::Wrong(text) | Why::Unknown(text)) => text,
            None => error.reason.to_string(),
        }
    }

    /// Begins with the inputs of a model.
    fn open(&self, model: &str) -> Result<(), Why> {
        let mut open = self.open_models.borrow_mut();
        if open.iter().any(|name| name == model) {
            return wrong(format!("an input of {model} is bound to its own output"));
        }
        if open.len() == MAX_MODELS {
            return wrong(format!("more than {MAX_MODELS} models, each an input of the next"));
        }
        open.push(model.to_owned());
        Ok(())
    }

    fn note(&self, used: Used) {
        let mut all = self.used.borrow_mut();
        if !all.contains(&used) {
            all.push(used);
        }
    }

    /// What an input of a model takes.
    pub(super) fn source(&self, text: &str) -> Result<Source, ExprError> {
        if let Some(parsed) = FeatureName::parse(text)
            && parsed.arguments.len() == 1
            && parsed.output.is_empty()
        {
            let name = parsed.argument(0).unwrap_or_default();
            let input = || self.profile.inputs.iter().find(|i| i.name.value == name);
            match (parsed.name, self.schema.attribute(name)) {
                ("attribute", Some(AttributeType::Of(kind))) if is_stored(kind) => {
                    return Ok(Source::Attribute { name: name.to_owned(), kind: kind.clone() });
                }
                ("query", _) if input().is_some_and(|i| i.kind == InputType::Text) => {
                    return Ok(Source::Text(name.to_owned()));
                }
                _ => {}
            }
        }
        self.expression(text).map(Source::Expression)
    }

    /// An expression that a model takes.
    pub(super) fn expression(&self, text: &str) -> Result<Compiled, ExprError> {
        stead_expr::compile(text, self)
    }
}

/// Whether models take a field as it is stored: numbers and texts, and lists of them.
fn is_stored(kind: &FieldType) -> bool {
    use FieldType::{Array, Bool, Byte, Double, Float, Float16, Int, Long, String};
    match kind {
        Array(of) => !matches!(**of, Array(_)) && is_stored(of),
        kind => matches!(kind, Bool | Byte | Int | Long | Float16 | Float | Double | String),
    }
}
