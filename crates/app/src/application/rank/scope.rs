//! What the names in the expressions of a profile mean, and their types.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use stead_expr::{
    CellType, Compiled, Dimension, ExprError, Function, Rate, Reason, Scope, TensorType,
};

use super::compile::{ModelTypes, Why};
use super::feature::{Count, FeatureName, RankFeature, Takes};
use super::models::ExpressionModel;
use super::table::RANK_FEATURES;
use super::uses::{Source, TreeLibrary};
use crate::application::profile::{InputType, OnnxModel, RankProfile};
use crate::application::schema::{AttributeType, Schema};
use crate::schema::FieldType;

/// The most keys of a tensor from structs, as in Vespa.
const MAX_KEYS: usize = 5;

/// The most features within each other.
const MAX_NESTING: usize = 32;

/// The most models of which each takes the output of the one before it.
const MAX_MODELS: usize = 8;

/// The names of a profile.
pub(super) struct ProfileScope<'p> {
    pub(super) schema: &'p Schema,
    pub(super) profile: &'p RankProfile,
    pub(super) functions: HashMap<String, Function>,
    pub(super) models: &'p dyn ModelTypes,
    /// Tensor types of inputs that query profile types declare.
    pub(super) inputs: &'p HashMap<String, TensorType>,
    /// Why names have no meaning, by name.
    pub(super) why: RefCell<HashMap<String, Why>>,
    /// The models whose inputs are looked up, the innermost last.
    pub(super) open_models: RefCell<Vec<String>>,
    /// The outputs of models that have been named.
    pub(super) used: RefCell<Vec<Used>>,
}

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
        if kind != expected {
            let text = format!("{name} is a {kind}, expected a {expected}");
            self.outer.why.borrow_mut().insert(name.to_owned(), Why::Wrong(text));
            return None;
        }
        let rate = Source::Expression(given).rate();
        self.rate.set(self.rate.get().max(rate));
        Some((kind, rate))
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.model.functions.iter().find(|(n, _)| n == name).map(|(_, function)| function)
    }
}

impl Scope for ProfileScope<'_> {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        match self.meaning(name) {
            Ok(found) => Some(found),
            Err(why) => {
                self.why.borrow_mut().insert(name.to_owned(), why);
                None
            }
        }
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }
}

type Meaning = Result<(TensorType, Rate), Why>;

fn wrong<T>(text: String) -> Result<T, Why> {
    Err(Why::Wrong(text))
}

impl ProfileScope<'_> {
    fn meaning(&self, name: &str) -> Meaning {
        if name.bytes().filter(|b| *b == b'(').count() > MAX_NESTING {
            return wrong(format!("more than {MAX_NESTING} features within each other"));
        }
        let Some(parsed) = FeatureName::parse(name) else {
            return wrong(format!("{name} is no name of a feature"));
        };
        if parsed.arguments.is_empty()
            && parsed.output.is_empty()
            && let Some(kind) = self.constant(parsed.name)
        {
            return Ok((kind, Rate::Constant));
        }
        let Some(feature) = RANK_FEATURES.iter().find(|f| f.name == parsed.name) else {
            return wrong(format!("unknown function, constant or rank feature {name}"));
        };
        self.check(feature, &parsed)?;
        let number = Ok((TensorType::double(), Rate::Document));
        let first = parsed.argument(0).unwrap_or_default();
        match feature.name {
            "query" => Ok((self.input(first), Rate::Query)),
            "constant" => match self.constant(first) {
                Some(kind) => Ok((kind, Rate::Constant)),
                None => wrong(format!(
                    "rank-profile {} has no constant {first}",
                    self.profile.name.value
                )),
            },
            "attribute" => self.attribute(&parsed),
            "onnx" | "onnxModel" => self.onnx(name, first, parsed.output),
            "xgboost" | "lightgbm" => self.trees(name, feature.name, first),
            "vespa" => self.file_function(name, first, parsed.output),
            "rankingExpression" => match self.functions.contains_key(first) {
                true => number,
                false => wrong(format!(
                    "rank-profile {} has no function {first}",
                    self.profile.name.value
                )),
            },
            "closest" => self.closest(first),
            "bm25_for_labels" => mapped(&["label"], CellType::Float),
            "elementwise" => {
                let cell = parsed.argument(2).unwrap_or("double");
                match CellType::from_name(cell) {
                    Some(cell) => mapped(&[parsed.argument(1).unwrap_or_default()], cell),
                    None => wrong(format!("expected a cell type in {name}, found {cell}")),
                }
            }
            "queryTermDocumentFrequency" => mapped(&["term"], CellType::Double),
            "tensorFromStructs" => {
                // The value and the cell type stand behind the keys.
                let last = parsed.arguments.len().saturating_sub(1);
                let keys: Vec<&str> =
                    (1..last.saturating_sub(1)).filter_map(|at| parsed.argument(at)).collect();
                if keys.len() > MAX_KEYS {
                    return wrong(format!("expected at most {MAX_KEYS} keys in {name}"));
                }
                let cell = parsed.argument(last).unwrap_or_default();
                match CellType::from_name(cell) {
                    Some(cell) => mapped(&keys, cell),
                    None => wrong(format!("expected a cell type in {name}, found {cell}")),
                }
            }
            "tensorFromLabelsWithOffset" => {
                let dimensions = [1, 2].map(|at| parsed.argument(at).unwrap_or_default());
                mapped(&dimensions, CellType::Float)
            }
            "tensorFromWeightedSet" | "tensorFromLabels" => {
                let source = FeatureName::parse(parsed.arguments.first().unwrap_or(&""));
                let own = source.as_ref().and_then(|s| s.argument(0)).unwrap_or_default();
                let (kind, rate) = mapped(&[parsed.argument(1).unwrap_or(own)], CellType::Double)?;
                let is_query = source.is_some_and(|s| s.name == "query");
                Ok((kind, if is_query { Rate::Query } else { rate }))
            }
            "tokenInputIds" | "tokenTypeIds" | "tokenAttentionMask" => {
                let kind = tokens(first, name);
                self.texts(&parsed, 1).and(kind)
            }
            "customTokenInputIds" => {
                let kind = tokens(parsed.argument(2).unwrap_or_default(), name);
                self.texts(&parsed, 3).and(kind)
            }
            "now" | "queryTermCount" | "term" | "num_docs_indexed" => {
                Ok((TensorType::double(), Rate::Query))
            }
            "random" if parsed.output.is_empty() => number,
            _ => number,
        }
    }

    /// Whether the arguments from one on are the token ids of texts.
    fn texts(&self, name: &FeatureName<'_>, from: usize) -> Result<(), Why> {
        for argument in name.arguments.iter().skip(from) {
            // What has no type is told where it stands.
            let Ok((kind, _)) = self.meaning(argument) else { continue };
            if !is_text(&kind) {
                return wrong(format!(
                    "{} joins token ids, tensors with one indexed dimension d0; {argument} is a {kind}",
                    name.name
                ));
            }
        }
        Ok(())
    }

    /// Whether the arguments and the output are such that the feature has them.
    fn check(&self, feature: &RankFeature, name: &FeatureName<'_>) -> Result<(), Why> {
        let count = name.arguments.len();
        if !feature.takes(count) {
            return wrong(format!(
                "expected {}, found {} with {count} arguments",
                feature.signature(),
                feature.name
            ));
        }
        if !feature.outputs.contains(&name.output) && !feature.outputs.contains(&"*") {
            let known: Vec<&str> =
                feature.outputs.iter().copied().filter(|o| !o.is_empty()).collect();
            return wrong(match known.is_empty() {
                true => format!("{} has no output {}", feature.name, name.output),
                false if name.output.is_empty() => {
                    format!("{} needs one of its outputs: {}", feature.name, known.join(", "))
                }
                false => format!(
                    "{} has no output {}; it has {}",
                    feature.name,
                    name.output,
                    known.join(", ")
                ),
            });
        }
        for at in 0..count {
            let argument = name.argument(at).unwrap_or_default();
            let Some(parameter) = feature.parameter(at) else { continue };
            match parameter.takes {
                // The attribute of `attribute(name)` is looked up with its type.
                Takes::Field | Takes::Attribute if feature.name == "attribute" => {}
                Takes::Field | Takes::Attribute => self.field(argument, feature.name)?,
                Takes::Number if argument.parse::<f64>().is_err() => {
                    return wrong(format!(
                        "expected a number for {} of {}, found {argument}",
                        parameter.name, feature.name
                    ));
                }
                Takes::Feature if parameter.count != Count::Many || at < count => {
                    let source = name.arguments.get(at).copied().unwrap_or_default();
                    if !self.functions.contains_key(source.split('(').next().unwrap_or_default()) {
                        self.within(source)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A feature within another. They nest as deep as the expression does, which has a limit.
    fn within(&self, name: &str) -> Result<(), Why> {
        // The sources of tensors from labels are attributes of any type.
        match FeatureName::parse(name) {
            Some(parsed) if parsed.name == "query" => Ok(()),
            Some(parsed) if parsed.name == "attribute" => {
                self.field(parsed.argument(0).unwrap_or_default(), "attribute")
            }
            _ => self.meaning(name).map(|_| ()),
        }
    }

    fn field(&self, name: &str, feature: &str) -> Result<(), Why> {
        let is_there = self.schema.field(name).is_some()
            || self.schema.attribute(name).is_some()
            || self.schema.field_sets.iter().any(|s| s.name.value == name);
        if is_there {
            return Ok(());
        }
        wrong(format!("{feature}({name}) names no field of schema {}", self.schema.name.value))
    }

    fn input(&self, name: &str) -> TensorType {
        let declared = self.profile.inputs.iter().find(|i| i.name.value == name);
        match declared.map(|i| &i.kind) {
            Some(InputType::Tensor(kind)) => kind.clone(),
            Some(InputType::Text) => TensorType::double(),
            None => self.inputs.get(name).cloned().unwrap_or_else(TensorType::double),
        }
    }

    fn constant(&self, name: &str) -> Option<TensorType> {
        if let Some(constant) = self.profile.constants.iter().find(|c| c.name.value == name) {
            return Some(constant.kind.clone());
        }
        let constant = self.schema.constants.iter().find(|c| c.name.value == name)?;
        Some(constant.kind.tensor().cloned().unwrap_or_else(TensorType::double))
    }

    fn attribute(&self, parsed: &FeatureName<'_>) -> Meaning {
        let name = parsed.argument(0).unwrap_or_default();
        match self.schema.attribute(name) {
            Some(AttributeType::Of(FieldType::Tensor(kind))) if parsed.arguments.len() == 1 => {
                Ok((kind.clone(), Rate::Document))
            }
            Some(_) => Ok((TensorType::double(), Rate::Document)),
            None if self.schema.field(name).is_some() => wrong(format!(
                "attribute({name}): field {name} is no attribute; write attribute in its indexing"
            )),
            None => wrong(format!(
                "attribute({name}) names no field of schema {}",
                self.schema.name.value
            )),
        }
    }

    fn closest(&self, name: &str) -> Meaning {
        match self.schema.attribute(name) {
            Some(AttributeType::Of(FieldType::Tensor(kind))) => {
                let names: Vec<&str> = kind.mapped().map(|d| &*d.name).collect();
                mapped(&names, CellType::Float)
            }
            _ => wrong(format!("closest({name}) needs a tensor attribute with a mapped dimension")),
        }
    }

    /// The ONNX model of this name.
    pub(super) fn onnx_model(&self, name: &str) -> Option<&OnnxModel> {
        let models = self.profile.onnx_models.iter().chain(&self.schema.onnx_models);
        models.into_iter().find(|m| m.name.value == name)
    }

    fn onnx(&self, feature: &str, name: &str, output: &str) -> Meaning {
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
        let found = self.models.onnx(model, output, &|text| {
            let source = self.source(text).ok()?;
            rate.set(rate.get().max(source.rate()));
            Some(source.kind())
        });
        self.open_models.borrow_mut().pop();
        let (output, kind) = found?;
        let model = UsedModel::Onnx(name.to_owned());
        self.note(Used { feature: feature.to_owned(), model, output, kind: kind.clone() });
        Ok((kind, rate.get()))
    }

    fn trees(&self, feature: &str, library: &str, file: &str) -> Meaning {
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
    fn file_function(&self, feature: &str, file: &str, function: &str) -> Meaning {
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

    /// Why an expression cannot be compiled: of a name without a meaning, why it has none.
    fn reason(&self, error: &ExprError) -> String {
        let mut reason = &error.reason;
        while let Reason::Function { error, .. } = reason {
            reason = &error.reason;
        }
        if let Reason::Unknown(what) = reason
            && let Some(Why::Wrong(text) | Why::Unknown(text)) =
                self.why.borrow().get(what.strip_prefix("name ").unwrap_or(what))
        {
            return text.clone();
        }
        error.reason.to_string()
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

fn mapped(names: &[&str], cell: CellType) -> Meaning {
    let dimensions = names.iter().map(|n| Dimension::mapped(n)).collect();
    match TensorType::new(cell, dimensions) {
        Ok(kind) => Ok((kind, Rate::Document)),
        Err(error) => wrong(error.to_string()),
    }
}

/// Whether a type is that of the token ids of a text.
fn is_text(kind: &TensorType) -> bool {
    matches!(kind.dimensions(), [only] if !only.is_mapped() && &*only.name == "d0")
}

fn tokens(length: &str, name: &str) -> Meaning {
    let kind = length.parse().ok().and_then(|length| {
        let dimensions = vec![Dimension::indexed("d0", 1), Dimension::indexed("d1", length)];
        TensorType::new(CellType::Float, dimensions).ok()
    });
    match kind {
        Some(kind) => Ok((kind, Rate::Document)),
        None => wrong(format!("expected a length in {name}, found {length}")),
    }
}
