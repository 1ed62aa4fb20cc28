//! What the names in the expressions of a profile mean, and their types.

use std::cell::RefCell;
use std::collections::HashMap;

use stead_expr::{
    CellType, Compiled, Dimension, ExprError, Function, Rate, Reason, Scope, TensorType, compile,
};

use super::compile::{ModelTypes, Why};
use super::feature::{Count, FeatureName, RankFeature, Takes};
use super::named_models::Used;
use super::options::RankOptions;
use super::table::RANK_FEATURES;
use crate::application::profile::{InputType, RankProfile};
use crate::application::schema::{AttributeType, Schema};
use crate::schema::FieldType;

/// The most keys of a tensor from structs, as in Vespa.
const MAX_KEYS: usize = 5;

/// The most features within each other.
const MAX_NESTING: usize = 32;

/// The names of a profile.
pub(super) struct ProfileScope<'p> {
    pub(super) schema: &'p Schema,
    pub(super) profile: &'p RankProfile,
    pub(super) functions: HashMap<String, Function>,
    pub(super) models: &'p dyn ModelTypes,
    pub(super) options: RankOptions,
    /// Tensor types of inputs that query profile types declare.
    pub(super) inputs: &'p HashMap<String, TensorType>,
    /// Why names have no meaning, by name.
    why: RefCell<HashMap<String, Why>>,
    /// The models whose inputs are looked up, the innermost last.
    pub(super) open_models: RefCell<Vec<String>>,
    /// The outputs of models that have been named.
    pub(super) used: RefCell<Vec<Used>>,
}

impl Scope for ProfileScope<'_> {
    fn find(&self, name: &str) -> Option<(TensorType, Rate)> {
        match self.meaning(name) {
            Ok(found) => Some(found),
            Err(why) => {
                self.blame(name, why);
                None
            }
        }
    }

    fn is_rounded(&self) -> bool {
        self.options.is_rounded
    }

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.get(name)
    }
}

pub(super) type Meaning = Result<(TensorType, Rate), Why>;

pub(super) fn wrong<T>(text: String) -> Result<T, Why> {
    Err(Why::Wrong(text))
}

impl<'p> ProfileScope<'p> {
    /// The names of a profile; `inputs` are the types of `query(name)` that query profile types declare.
    pub(super) fn new(
        schema: &'p Schema,
        profile: &'p RankProfile,
        functions: HashMap<String, Function>,
        inputs: &'p HashMap<String, TensorType>,
        models: &'p dyn ModelTypes,
    ) -> ProfileScope<'p> {
        let (why, open_models, used) = (RefCell::default(), RefCell::default(), RefCell::default());
        let (options, _) = RankOptions::read(profile);
        ProfileScope { schema, profile, functions, models, options, inputs, why, open_models, used }
    }

    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it; [`ProfileScope::why`] may know more.
    pub(super) fn compile(&self, text: &str) -> Result<Compiled, ExprError> {
        self.why.borrow_mut().clear();
        compile(text, self)
    }

    /// Why a name has no meaning, if that is what is wrong with an expression.
    pub(super) fn why(&self, error: &ExprError) -> Option<Why> {
        let mut reason = &error.reason;
        while let Reason::Function { error, .. } = reason {
            reason = &error.reason;
        }
        let Reason::Unknown(what) = reason else { return None };
        self.why.borrow().get(what.strip_prefix("name ").unwrap_or(what)).cloned()
    }

    /// Notes why a name has no meaning.
    pub(super) fn blame(&self, name: &str, why: Why) {
        self.why.borrow_mut().insert(name.to_owned(), why);
    }
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
            || self.schema.is_address_part(name)
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
