//! A rank profile that is ready to run: what its expressions name, each once, with where its value comes from.

use std::collections::HashMap;

use stead_app::application::rank::{
    CompiledProfile, FeatureName, ModelTypes, ProfileModel, ProfileNames, SourceType, Typed,
};
use stead_app::application::{Application, InputType, Phase, RankProfile, Schema};
use stead_app::package::PackageFiles;
use stead_expr::{Compiled, Rate, TensorType, Value};
use stead_store::DocumentType;

use super::constants::constant;
use super::error::RankError;
use super::models::{ModelPlan, Taken};
use super::normalize::Normalizer;
use crate::features::{self, Call, Feature};
use crate::models::ModelFunction;

/// The hits of the first phase that keep their scores (Vespa, `keep-rank-count`).
const KEEP: usize = 10_000;

/// The hits of the second and the global phase (Vespa, `rerank-count`).
const RERANK: usize = 100;

/// The deepest that features, functions and models take values of each other.
const MAX_DEPTH: usize = 64;

/// A rank profile that is ready to run.
pub struct RankPlan {
    pub(super) profile: String,
    pub(super) documents: DocumentType,
    pub(super) nodes: Vec<Node>,
    pub(super) expressions: Vec<Expression>,
    pub(super) models: Vec<ModelPlan>,
    pub(super) first: PhasePlan,
    pub(super) second: Option<PhasePlan>,
    pub(super) global: Option<PhasePlan>,
    pub(super) match_features: Vec<(String, usize)>,
    pub(super) summary_features: Vec<(String, usize)>,
    pub(super) inputs: HashMap<String, InputPlan>,
    notes: Vec<String>,
}

/// A phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct PhasePlan {
    pub(super) expression: usize,
    pub(super) count: usize,
    pub(super) drop_limit: Option<f64>,
}

/// A value of a query.
#[derive(Debug, Clone)]
pub(super) struct InputPlan {
    pub(super) kind: TensorType,
    pub(super) default: Option<Value>,
}

/// A value that expressions know by a name.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) kind: TensorType,
    pub(super) source: Source,
}

/// Where a value comes from.
pub(super) enum Source {
    /// The query, by the name of the input.
    Input(String),
    Constant(Value),
    /// A column of the store.
    Attribute(String),
    /// Another expression.
    Expression(usize),
    /// An output of a model.
    Model {
        model: usize,
        output: usize,
    },
    /// A feature that is computed, and the expressions that are its arguments.
    Feature(Feature, Vec<usize>),
    FirstPhase,
    FirstPhaseRank,
    FirstPhaseMax,
    Relevance,
    /// Values of an expression, scaled over the hits of the global phase.
    Normalized(Vec<(Normalizer, usize)>),
}

/// An expression, and the values that it takes.
pub(super) struct Expression {
    pub(super) text: String,
    pub(super) compiled: Compiled,
    /// In the order of [`Compiled::query_names`].
    pub(super) query: Vec<usize>,
    /// In the order of [`Compiled::document_names`].
    pub(super) of_documents: Vec<usize>,
    /// Whether all that it takes of documents are columns of the store.
    pub(super) is_in_place: bool,
}

impl RankPlan {
    /// The plan of a profile. `compiled` has the expressions of the package, without errors.
    ///
    /// # Errors
    /// When there is no such profile, or it has something that does not run; the first of it is told.
    pub fn new(
        application: &Application,
        schema: &Schema,
        profile: &str,
        compiled: &[CompiledProfile],
        files: &PackageFiles,
        models: &dyn ModelTypes,
    ) -> Result<RankPlan, RankError> {
        let found = schema.profile(profile);
        let typed = compiled.iter().find(|c| c.name == profile);
        let (Some(profile), Some(typed)) = (found, typed) else {
            let known: Vec<&str> = schema.profiles.iter().map(|p| p.name.value.as_str()).collect();
            let (schema, name) = (schema.name.value.clone(), profile.to_owned());
            return Err(RankError::Profile { schema, name, known: known.join(", ") });
        };
        let declared = application.query_profiles.inputs();
        let names = ProfileNames::new(schema, profile, &declared, models);
        let properties = profile.properties.iter().map(|(k, v)| (k.clone(), v.value.clone()));
        let mut builder = Builder {
            schema,
            profile,
            files,
            names,
            properties: properties.collect(),
            documents: DocumentType::new(schema),
            nodes: Vec::new(),
            by_name: HashMap::new(),
            expressions: Vec::new(),
            models: Vec::new(),
            model_numbers: HashMap::new(),
            by_text: HashMap::new(),
            inputs: HashMap::new(),
            open: Vec::new(),
            notes: Vec::new(),
            second: None,
            phases: typed,
        };
        builder.plan()
    }

    /// The type of documents that it ranks.
    #[must_use]
    pub fn documents(&self) -> &DocumentType {
        &self.documents
    }

    /// The name of the profile.
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// What whoever ranks should know: features that have the same value for every document.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The names of match features in their order.
    #[must_use]
    pub fn match_features(&self) -> Vec<&str> {
        self.match_features.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The names of summary features in their order.
    #[must_use]
    pub fn summary_features(&self) -> Vec<&str> {
        self.summary_features.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Whether there is a second phase.
    #[must_use]
    pub fn has_second_phase(&self) -> bool {
        self.second.is_some()
    }

    /// Whether there is a global phase.
    #[must_use]
    pub fn has_global_phase(&self) -> bool {
        self.global.is_some()
    }

    /// The names of the values of queries that it takes, in order.
    #[must_use]
    pub fn inputs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.inputs.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

struct Builder<'b> {
    schema: &'b Schema,
    profile: &'b RankProfile,
    files: &'b PackageFiles,
    names: ProfileNames<'b>,
    properties: HashMap<String, String>,
    documents: DocumentType,
    nodes: Vec<Node>,
    by_name: HashMap<String, usize>,
    expressions: Vec<Expression>,
    models: Vec<ModelPlan>,
    /// From numbers among the models of the profile to those of the plan.
    model_numbers: HashMap<usize, usize>,
    by_text: HashMap<String, usize>,
    inputs: HashMap<String, InputPlan>,
    /// What is being planned, the innermost last.
    open: Vec<String>,
    notes: Vec<String>,
    second: Option<usize>,
    phases: &'b CompiledProfile,
}

fn fail<T>(what: &str, text: impl Into<String>) -> Result<T, RankError> {
    Err(RankError::Plan { what: what.to_owned(), text: text.into() })
}

impl Builder<'_> {
    fn plan(&mut self) -> Result<RankPlan, RankError> {
        let profile = self.profile;
        for input in &profile.inputs {
            self.input(&input.name.value)?;
        }
        let typed = self.phases;
        let Some(first) = &typed.first_phase else {
            return fail("first-phase", "the profile has no expression that can run");
        };
        let first = self.phase("first-phase", first, &profile.first_phase, KEEP)?;
        let second = &typed.second_phase;
        let second = self.later_phase("second-phase", second, &profile.second_phase)?;
        // What the global phase alone may name is unknown to all that is planned before it.
        let match_features = self.features("match-features", &typed.match_features)?;
        let summary_features = self.features("summary-features", &typed.summary_features)?;
        let global = &typed.global_phase;
        let global = self.later_phase("global-phase", global, &profile.global_phase)?;
        Ok(RankPlan {
            profile: profile.name.value.clone(),
            documents: self.documents.clone(),
            nodes: std::mem::take(&mut self.nodes),
            expressions: std::mem::take(&mut self.expressions),
            models: std::mem::take(&mut self.models),
            first,
            second,
            global,
            match_features,
            summary_features,
            inputs: std::mem::take(&mut self.inputs),
            notes: std::mem::take(&mut self.notes),
        })
    }

    fn later_phase(
        &mut self,
        what: &str,
        compiled: &Option<Compiled>,
        phase: &Phase,
    ) -> Result<Option<PhasePlan>, RankError> {
        match compiled {
            Some(compiled) => self.phase(what, compiled, phase, RERANK).map(Some),
            None if phase.expression.is_some() => fail(what, "the expression could not be checked"),
            None => Ok(None),
        }
    }

    fn phase(
        &mut self,
        what: &str,
        compiled: &Compiled,
        phase: &Phase,
        default: usize,
    ) -> Result<PhasePlan, RankError> {
        let text = phase.expression.as_ref().map_or("nativeRank", |e| e.value.as_str());
        self.open.push(what.to_owned());
        let expression = self.compiled(text, compiled.clone())?;
        self.open.pop();
        if what == "second-phase" {
            self.second = Some(expression);
        }
        // One node has all documents, so that what is kept of a node is what is kept of all.
        let count = phase.total_count.as_ref().or(phase.count.as_ref()).map(|c| c.value);
        let count = count.map_or(default, |count| usize::try_from(count).unwrap_or(0));
        Ok(PhasePlan { expression, count, drop_limit: phase.drop_limit })
    }

    fn features(&mut self, what: &str, list: &[Typed]) -> Result<Vec<(String, usize)>, RankError> {
        list.iter()
            .map(|feature| {
                self.open.push(what.to_owned());
                let expression = self.compiled(&feature.name, feature.compiled.clone());
                self.open.pop();
                Ok((feature.name.clone(), expression?))
            })
            .collect()
    }

    /// The number of an expression by its text.
    fn expression(&mut self, text: &str) -> Result<usize, RankError> {
        if let Some(known) = self.by_text.get(text) {
            return Ok(*known);
        }
        match self.names.compile(text) {
            Ok(compiled) => self.compiled(text, compiled),
            Err(error) => fail(text, error),
        }
    }

    fn compiled(&mut self, text: &str, compiled: Compiled) -> Result<usize, RankError> {
        if let Some(known) = self.by_text.get(text) {
            return Ok(*known);
        }
        let (mut query, mut of_documents) = (Vec::new(), Vec::new());
        for (name, kind, rate) in compiled.inputs() {
            let node = self.node(name, kind, rate)?;
            match rate {
                Rate::Document => of_documents.push(node),
                _ => query.push(node),
            }
        }
        let in_place = |node: &usize| matches!(self.nodes[*node].source, Source::Attribute(_));
        let is_in_place = of_documents.iter().all(in_place);
        let number = self.expressions.len();
        self.by_text.insert(text.to_owned(), number);
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        self.expressions.push(Expression { text, compiled, query, of_documents, is_in_place });
        Ok(number)
    }

    /// The number of a value by its name.
    fn node(&mut self, name: &str, kind: &TensorType, rate: Rate) -> Result<usize, RankError> {
        if let Some(known) = self.by_name.get(name) {
            return Ok(*known);
        }
        if self.open.len() > MAX_DEPTH {
            return fail(name, format!("more than {MAX_DEPTH} values that take each other"));
        }
        if self.open.iter().any(|open| open == name) {
            return fail(name, "takes its own value");
        }
        self.open.push(name.to_owned());
        let source = self.source(name, kind, rate);
        self.open.pop();
        let source = source?;
        let number = self.nodes.len();
        if let Source::Model { model, output } = &source {
            self.models[*model].outputs[*output] = Some(number);
        }
        self.nodes.push(Node { name: name.to_owned(), kind: kind.clone(), source });
        self.by_name.insert(name.to_owned(), number);
        Ok(number)
    }

    fn source(&mut self, name: &str, kind: &TensorType, rate: Rate) -> Result<Source, RankError> {
        let Some(parsed) = FeatureName::parse(name) else {
            return fail(name, "is no name of a feature");
        };
        if rate == Rate::Constant {
            let constant_name = if parsed.name == "constant" {
                parsed.argument(0).unwrap_or_default()
            } else {
                parsed.name
            };
            return constant(self.schema, self.profile, self.files, constant_name)
                .map(Source::Constant);
        }
        if let Some((model, output)) = self.model_of(name) {
            return Ok(Source::Model { model: self.model(model)?, output });
        }
        let first = parsed.argument(0).unwrap_or_default();
        match parsed.name {
            "query" => {
                self.input(first)?;
                Ok(Source::Input(first.to_owned()))
            }
            "firstPhase" if self.open.iter().any(|o| o == "first-phase") => {
                fail(name, "is known behind the first phase only")
            }
            "secondPhase"
                if self.open.iter().any(|o| o == "second-phase" || o == "first-phase") =>
            {
                fail(name, "is known behind the second phase only")
            }
            "firstPhaseRank" | "firstPhaseMax" if self.open.iter().any(|o| o == "first-phase") => {
                fail(name, "is known behind the first phase only")
            }
            "relevanceScore"
            | "normalize_linear"
            | "reciprocal_rank"
            | "reciprocal_rank_fusion"
                if !self.open.iter().any(|o| o == "global-phase") =>
            {
                fail(name, "is known in the global-phase only")
            }
            "firstPhase" => Ok(Source::FirstPhase),
            "firstPhaseRank" => Ok(Source::FirstPhaseRank),
            "firstPhaseMax" => Ok(Source::FirstPhaseMax),
            "relevanceScore" => Ok(Source::Relevance),
            "secondPhase" => match self.second {
                Some(expression) => Ok(Source::Expression(expression)),
                None => fail(name, "the profile has no second phase"),
            },
            "rankingExpression" => self.expression(first).map(Source::Expression),
            "normalize_linear" | "reciprocal_rank" | "reciprocal_rank_fusion" => {
                self.normalized(&parsed)
            }
            _ => self.feature(name, parsed, kind),
        }
    }

    /// The model, among those of the profile, that has an output of this name.
    fn model_of(&self, name: &str) -> Option<(usize, usize)> {
        let outputs = |(at, model): (usize, &ProfileModel)| {
            let output = model.outputs.iter().position(|o| o.feature == name)?;
            Some((at, output))
        };
        self.phases.models.iter().enumerate().find_map(outputs)
    }

    /// Loads a model, with what it takes.
    fn model(&mut self, of_profile: usize) -> Result<usize, RankError> {
        if let Some(known) = self.model_numbers.get(&of_profile) {
            return Ok(*known);
        }
        let model = &self.phases.models[of_profile];
        let function = ModelFunction::load(model, self.files).map_err(RankError::Model)?;
        let names: Vec<(String, SourceType)> =
            function.query_names().map(|(n, k)| (n.to_owned(), k.clone())).collect();
        let query = self.taken(&names)?;
        let names: Vec<(String, SourceType)> =
            function.document_names().map(|(n, k)| (n.to_owned(), k.clone())).collect();
        let of_documents = self.taken(&names)?;
        let outputs = vec![None; function.outputs().len()];
        let number = self.models.len();
        self.models.push(ModelPlan { function, query, of_documents, outputs });
        self.model_numbers.insert(of_profile, number);
        Ok(number)
    }

    fn taken(&mut self, names: &[(String, SourceType)]) -> Result<Vec<Taken>, RankError> {
        let one = |(name, kind): &(String, SourceType)| {
            if let Some(taken) = Taken::beside_expressions(name, kind) {
                return Ok(taken);
            }
            let Some((kind, rate)) = self.names.find(name) else {
                return fail(name, "has no meaning");
            };
            self.node(name, &kind, rate).map(Taken::Node)
        };
        names.iter().map(one).collect()
    }

    fn normalized(&mut self, parsed: &FeatureName<'_>) -> Result<Source, RankError> {
        let k = match (parsed.name, parsed.arguments.get(1)) {
            ("reciprocal_rank", Some(text)) => text.parse().unwrap_or(Normalizer::K),
            _ => Normalizer::K,
        };
        let (normalizer, count) = match parsed.name {
            "normalize_linear" => (Normalizer::Linear, 1),
            "reciprocal_rank" => (Normalizer::ReciprocalRank { k }, 1),
            _ => (Normalizer::ReciprocalRank { k }, parsed.arguments.len()),
        };
        let inner = parsed.arguments.iter().take(count);
        let found = inner.map(|text| Ok((normalizer, self.expression(text)?)));
        found.collect::<Result<_, _>>().map(Source::Normalized)
    }

    fn feature(
        &mut self,
        name: &str,
        parsed: FeatureName<'_>,
        kind: &TensorType,
    ) -> Result<Source, RankError> {
        let (properties, documents) = (self.properties.clone(), self.documents.clone());
        let call = Call { name: parsed, kind, properties: &properties, documents: &documents };
        if call.name.name == "attribute"
            && let Some(column) = features::in_place(&call)
        {
            return Ok(Source::Attribute(column));
        }
        let feature = match features::build(&call) {
            Ok(feature) => feature,
            Err(text) => return fail(name, text),
        };
        self.notes.extend(feature.note.iter().map(|note| format!("{name} {note}")));
        let arguments = feature.arguments.iter().map(|text| self.expression(text));
        let arguments = arguments.collect::<Result<_, _>>()?;
        Ok(Source::Feature(feature, arguments))
    }

    /// Makes the value of a query known that an expression names, declared or not.
    fn input(&mut self, name: &str) -> Result<(), RankError> {
        if self.inputs.contains_key(name) {
            return Ok(());
        }
        let full = format!("query({name})");
        let kind = self.names.find(&full).map_or_else(TensorType::double, |(kind, _)| kind);
        let declared = self.profile.inputs.iter().find(|i| i.name.value == name);
        let mut default = declared.and_then(|i| i.default.clone());
        if default.is_none()
            && let Some(text) = self.properties.get(&full)
        {
            let json = serde_json::Value::String(text.clone());
            default = Some(super::query::input_value(name, &kind, &json)?);
        }
        debug_assert!(declared.is_none_or(|i| i.kind != InputType::Text || kind.is_double()));
        self.inputs.insert(name.to_owned(), InputPlan { kind, default });
        Ok(())
    }
}
