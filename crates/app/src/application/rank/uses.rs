//! The models that the expressions of a profile use, and what their inputs take.

use std::fmt;

use stead_expr::{Compiled, Rate, TensorType, Value};

use crate::application::profile::OnnxModel;
use crate::schema::FieldType;

/// A model that expressions of a profile use.
#[derive(Debug, Clone)]
pub struct ProfileModel {
    /// What it is.
    pub kind: ModelKind,
    /// Its inputs in the order of its file.
    pub inputs: Vec<ModelInput>,
    /// Its outputs that expressions name.
    pub outputs: Vec<ModelOutput>,
    /// What the rank properties of the profile say of it.
    pub options: ModelOptions,
    /// [`Rate::Query`] if no input takes anything of documents.
    pub rate: Rate,
}

/// A kind of model.
#[derive(Debug, Clone)]
pub enum ModelKind {
    /// An ONNX model of the profile or its schema.
    Onnx(OnnxModel),
    /// A file of trees in `models/`.
    Trees {
        /// The library that fitted it.
        library: TreeLibrary,
        /// The file, from `models/`.
        file: String,
    },
    /// A function of a `.model` file in `models/`.
    Function {
        /// The file, from `models/`.
        file: String,
        /// The function, whose names are the inputs and constants.
        body: Compiled,
        /// The constants of the file.
        constants: Vec<(String, Value)>,
    },
}

/// A library of tree models, by the name of its rank feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeLibrary {
    /// `xgboost`
    XgBoost,
    /// `lightgbm`
    LightGbm,
}

/// An input of a model.
#[derive(Debug, Clone)]
pub struct ModelInput {
    /// Its name in the file.
    pub name: String,
    /// What it takes.
    pub source: Source,
}

/// What an input of a model takes.
#[derive(Debug, Clone)]
pub enum Source {
    /// The value of an expression.
    Expression(Compiled),
    /// A field that is no tensor, as it is stored.
    Attribute {
        /// The name of the attribute.
        name: String,
        /// Its type.
        kind: FieldType,
    },
    /// `query(name)`, a text.
    Text(String),
    /// Nothing: a feature of trees that no split asks for.
    Nothing,
}

/// An output of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOutput {
    /// What expressions call it, such as `onnx(ranker).score`.
    pub feature: String,
    /// Its name in the file; empty for trees.
    pub name: String,
    /// Its type in expressions.
    pub kind: TensorType,
}

/// What rank properties say of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModelOptions {
    /// `xgboost(file).mode: exact`: the library's own predictions instead of those that Vespa gives.
    pub is_exact: bool,
    /// `onnx(name).conversion: nearest`: elements that do not fit exactly are rounded.
    pub is_rounded: bool,
    /// `onnx(name).cells: own`: outputs have the type of their elements and not the one that Vespa has for these.
    pub has_own_cells: bool,
    /// `onnx(name).kept-values`: what is kept of documents for queries that come.
    pub kept: KeptOption,
}

/// What a model keeps of values that depend on documents alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeptOption {
    /// As much as there is room for.
    #[default]
    Usual,
    /// `off`: nothing.
    Off,
    /// The room is so many MiB for all models of the application; the most that any of them says counts.
    Megabytes(u32),
}

/// The type of what an input takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceType {
    /// That of an expression.
    Tensor(TensorType),
    /// That of a field that is no tensor.
    Field(FieldType),
    /// A text that comes with the query.
    Text,
}

impl ModelInput {
    /// How often its value changes.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.source.rate()
    }
}

impl Source {
    /// How often the value changes; what is constant counts as part of the query.
    #[must_use]
    pub fn rate(&self) -> Rate {
        match self {
            Source::Expression(compiled) => compiled
                .inputs()
                .map(|(_, _, rate)| rate)
                .max()
                .unwrap_or(Rate::Query)
                .max(Rate::Query),
            Source::Attribute { .. } => Rate::Document,
            Source::Text(_) | Source::Nothing => Rate::Query,
        }
    }

    /// Its type.
    #[must_use]
    pub fn kind(&self) -> SourceType {
        match self {
            Source::Expression(compiled) => SourceType::Tensor(compiled.kind().clone()),
            Source::Attribute { kind, .. } => SourceType::Field(kind.clone()),
            Source::Text(_) => SourceType::Text,
            Source::Nothing => SourceType::Tensor(TensorType::double()),
        }
    }
}

impl SourceType {
    /// Whether it is made of texts.
    pub(super) fn is_text(&self) -> bool {
        match self {
            SourceType::Tensor(_) => false,
            SourceType::Field(kind) => matches!(kind.element(), FieldType::String),
            SourceType::Text => true,
        }
    }

    /// The dimensions with their sizes, `None` for those that differ from value to value; nothing at all if more
    /// than one is mapped.
    pub(super) fn dimensions(&self) -> Option<Vec<(String, Option<usize>)>> {
        match self {
            SourceType::Tensor(kind) if kind.mapped_count() > 1 => None,
            SourceType::Tensor(kind) => {
                Some(kind.dimensions().iter().map(|d| (d.name.to_string(), d.size())).collect())
            }
            SourceType::Field(FieldType::Array(_)) => Some(vec![(String::new(), None)]),
            SourceType::Field(_) | SourceType::Text => Some(Vec::new()),
        }
    }
}

impl fmt::Display for SourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceType::Tensor(kind) => kind.fmt(f),
            SourceType::Field(kind) => kind.fmt(f),
            SourceType::Text => f.write_str("string"),
        }
    }
}

impl TreeLibrary {
    /// The library of a rank feature.
    #[must_use]
    pub fn of_feature(name: &str) -> Option<TreeLibrary> {
        [TreeLibrary::XgBoost, TreeLibrary::LightGbm].into_iter().find(|l| l.to_string() == name)
    }

    /// The name of the library.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            TreeLibrary::XgBoost => "XGBoost",
            TreeLibrary::LightGbm => "LightGBM",
        }
    }
}

impl fmt::Display for TreeLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TreeLibrary::XgBoost => "xgboost",
            TreeLibrary::LightGbm => "lightgbm",
        })
    }
}
