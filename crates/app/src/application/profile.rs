//! Rank profiles: how documents are scored.

use stead_expr::{TensorType, Value};
use stead_tensor::Precision;

use crate::BackendKind;
use crate::package::{Located, Place};
use crate::schema::{Expression, Name};

/// A rank profile with all that it inherits.
#[derive(Debug, Clone, PartialEq)]
pub struct RankProfile {
    /// Its name; that of an inner profile has the name of the outer one before a dot.
    pub name: Name,
    /// The profiles that it inherits from.
    pub inherits: Vec<Name>,
    /// Values that come with a query.
    pub inputs: Vec<Input>,
    /// Values that never change.
    pub constants: Vec<Constant>,
    /// Functions that expressions may call.
    pub functions: Vec<Function>,
    /// The score of every match.
    pub first_phase: Phase,
    /// The score of the best on each node.
    pub second_phase: Phase,
    /// The score of the best of all nodes.
    pub global_phase: Phase,
    /// Features that come with each hit from the first phases on.
    pub match_features: Option<Features>,
    /// Features that come with each hit of the result.
    pub summary_features: Option<Features>,
    /// Features that come with each hit where a query asks for all.
    pub rank_features: Option<Features>,
    /// Whether only the features named here come then.
    pub ignore_default_rank_features: bool,
    /// `rank-properties`
    pub properties: Vec<(String, Expression)>,
    /// How much is matched where there is more than enough.
    pub match_phase: Option<MatchPhase>,
    /// How different the hits are.
    pub diversity: Option<Diversity>,
    /// ONNX models of the profile.
    pub onnx_models: Vec<OnnxModel>,
    /// That of the models which it uses and which say none themselves.
    pub precision: Option<Precision>,
    /// How fields are ranked.
    pub fields: Vec<FieldRank>,
    /// Numbers such as `num-threads-per-search`, by their keywords.
    pub settings: Vec<(&'static str, Setting)>,
}

/// A number or choice of a rank profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Setting {
    /// A number.
    Number(f64),
    /// Yes or no.
    Bool(bool),
}

/// A value that comes with a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name, that of `query(name)`.
    pub name: Name,
    /// Its type.
    pub kind: InputType,
    /// What it is where a query does not say.
    pub default: Option<Value>,
}

/// The type of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputType {
    /// A number or tensor.
    Tensor(TensorType),
    /// A text, which expressions know by its hash.
    Text,
}

/// A value that never changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub kind: TensorType,
    /// Its value.
    pub value: ConstantValue,
}

/// Where the value of a constant is.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstantValue {
    /// In the schema.
    Here(Value),
    /// In a file of the package.
    File(Name),
}

/// A function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// The names of its parameters.
    pub parameters: Vec<String>,
    /// Whether it is `inline`.
    pub is_inline: bool,
    /// Its body.
    pub body: Expression,
}

/// A phase of ranking.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Phase {
    /// The score; `nativeRank` in the first phase if nothing is said, no phase otherwise.
    pub expression: Option<Expression>,
    /// `keep-rank-count` of the first phase, `rerank-count` of the others: of each node.
    pub count: Option<Located<i64>>,
    /// `total-keep-rank-count`, `total-rerank-count`: of all nodes together.
    pub total_count: Option<Located<i64>>,
    /// Hits at or below this score are dropped.
    pub drop_limit: Option<f64>,
}

/// A list of features.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Features {
    /// The profiles whose lists come first.
    pub inherits: Vec<Name>,
    /// The features, inherited ones first.
    pub list: Vec<Expression>,
}

/// `match-phase { ... }`
#[derive(Debug, Clone, PartialEq)]
pub struct MatchPhase {
    /// Where it begins.
    pub place: Place,
    /// The attribute by which matches are chosen.
    pub attribute: Name,
    /// From the smallest.
    pub ascending: bool,
    /// The hits that are enough, on each node.
    pub max_hits: Option<i64>,
    /// The hits that are enough, on all nodes together.
    pub total_max_hits: Option<i64>,
    /// All matches are ranked unless the limit is less than this part of them.
    pub max_filter_coverage: Option<f64>,
}

/// `diversity { ... }`
#[derive(Debug, Clone, PartialEq)]
pub struct Diversity {
    /// The attribute whose values should differ.
    pub attribute: Name,
    /// How many different values there should be.
    pub min_groups: Option<i64>,
    /// How many times as many `match-phase` looks at before it takes what comes.
    pub cutoff_factor: Option<f64>,
    /// `strict` or `loose`
    pub cutoff_strategy: Option<String>,
}

/// How a profile ranks a field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldRank {
    /// The field.
    pub field: Name,
    /// `rank f: filter`
    pub is_filter: bool,
    /// `filter-threshold`
    pub filter_threshold: Option<f64>,
    /// `element-gap`; infinite if elements have nothing to do with each other.
    pub element_gap: Option<f64>,
    /// `rank-type`
    pub rank_type: Option<String>,
    /// `weight`
    pub weight: Option<i64>,
}

/// An ONNX model with what is bound to its inputs and outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct OnnxModel {
    /// Its name, that of `onnx(name)`.
    pub name: Name,
    /// The path of the file.
    pub file: Name,
    /// Names of inputs with the features that are bound to them.
    pub inputs: Vec<(Name, Expression)>,
    /// Names of outputs with those by which expressions know them.
    pub outputs: Vec<(Name, Expression)>,
    /// Numbers such as `intraop-threads`, by their keywords.
    pub settings: Vec<(&'static str, i64)>,
    /// Whether nodes of the model run beside each other.
    pub is_parallel: bool,
    /// How products by its weights are computed, if it says so; a model of
    /// [`ModelKind::Onnx`](super::rank::ModelKind::Onnx) has that of the profile where it does not.
    pub precision: Option<Precision>,
    /// What evaluates it.
    pub backend: BackendKind,
}

impl OnnxModel {
    /// A number such as `intraop-threads` by its keyword.
    #[must_use]
    pub fn setting(&self, keyword: &str) -> Option<i64> {
        self.settings.iter().find(|(known, _)| *known == keyword).map(|(_, number)| *number)
    }
}

impl RankProfile {
    /// A profile without anything.
    pub(crate) fn new(name: Name) -> RankProfile {
        RankProfile {
            name,
            inherits: Vec::new(),
            inputs: Vec::new(),
            constants: Vec::new(),
            functions: Vec::new(),
            first_phase: Phase::default(),
            second_phase: Phase::default(),
            global_phase: Phase::default(),
            match_features: None,
            summary_features: None,
            rank_features: None,
            ignore_default_rank_features: false,
            properties: Vec::new(),
            match_phase: None,
            diversity: None,
            onnx_models: Vec::new(),
            precision: None,
            fields: Vec::new(),
            settings: Vec::new(),
        }
    }

    /// A number such as `num-threads-per-search` by its keyword.
    #[must_use]
    pub fn setting(&self, keyword: &str) -> Option<Setting> {
        self.settings.iter().find(|(k, _)| *k == keyword).map(|(_, s)| *s)
    }
}
