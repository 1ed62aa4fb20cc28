//! A rank profile that is ready to run: what its expressions name, each once, with where its value comes from.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use stead_app::application::rank::{CompiledProfile, FeatureName, ModelTypes};
use stead_app::application::{Application, Schema};
use stead_expr::{Compiled, TensorType, Value};
use stead_store::DocumentType;

use super::builder;
use super::diversity::Diversity;
use super::error::RankError;
use super::limit::MatchLimit;
use super::models::ModelPlan;
use super::normalize::Normalizer;
use super::query::RankQuery;
use crate::features::{Feature, Note};
use crate::models::Loaded;
use crate::query::{ElementGaps, SignificanceModels, StopWords, TuningChoice};

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
    /// `rank-features`, for queries that ask for them.
    pub(super) rank_features: Vec<(String, usize)>,
    /// The features that searches list beside these, as a plan of nothing else: all other queries would carry their values about.
    pub(super) listed: Option<Box<RankPlan>>,
    pub(super) diversity: Option<Diversity>,
    pub(super) match_limit: Option<MatchLimit>,
    /// `num-threads-per-search`
    pub(super) threads: Option<usize>,
    /// `min-hits-per-thread`
    pub(super) min_hits_per_thread: Option<usize>,
    /// How graphs of vectors are searched.
    pub(crate) tuning: TuningChoice,
    /// What `weakAnd` leaves out.
    pub(crate) stop_words: StopWords,
    /// How rare words are in other texts.
    pub(crate) significance: Arc<SignificanceModels>,
    /// Whether that is asked where a request says nothing.
    pub(crate) uses_significance: bool,
    /// How far elements of fields are from each other.
    pub(crate) element_gaps: ElementGaps,
    /// What a document of the second phase took last, in nanoseconds; 0 if that is not known.
    pub(super) second_cost: AtomicU64,
    /// Options of the profile that have no effect here.
    pub(super) without_effect: Vec<&'static str>,
    pub(super) inputs: HashMap<String, InputPlan>,
    /// Features by their names.
    pub(super) notes: Vec<(String, Note)>,
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
        loaded: &Loaded<'_>,
        models: &dyn ModelTypes,
    ) -> Result<RankPlan, RankError> {
        let found = schema.profile(profile);
        let typed = compiled.iter().find(|c| c.name == profile);
        let (Some(profile), Some(typed)) = (found, typed) else {
            let known: Vec<&str> = schema.profiles.iter().map(|p| p.name.value.as_str()).collect();
            let (schema, name) = (schema.name.value.clone(), profile.to_owned());
            return Err(RankError::Profile { schema, name, known: known.join(", ") });
        };
        builder::plan(application, schema, profile, typed, loaded, models)
    }

    /// Whether an expression names a value from such a source.
    pub(super) fn names(&self, is_it: impl Fn(&Source) -> bool) -> bool {
        self.nodes.iter().any(|node| is_it(&node.source))
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

    /// What whoever ranks by this query should know: features that have the same value for every document.
    #[must_use]
    pub fn notes(&self, query: &RankQuery) -> Vec<String> {
        let concerns = |note: &Note| query.neighbors.is_empty() || !note.without_neighbors;
        let notes = self.notes.iter().filter(|(_, note)| concerns(note));
        let notes = notes.map(|(name, note)| format!("{name} {}", note.text)).collect();
        let mut notes = self.with_options(notes);
        if query.list_features && self.listed.is_some() {
            notes.push(
                "listFeatures shows the rank-features of the profile only: those that Vespa adds need an index"
                    .to_owned(),
            );
        }
        notes
    }

    /// The same for a search, in which most of these features are computed.
    #[must_use]
    pub fn notes_of_search(&self) -> Vec<String> {
        self.with_options(self.not_computed().collect())
    }

    /// What there is to say of each feature that searches do not compute, whatever they search.
    pub fn not_computed(&self) -> impl Iterator<Item = String> {
        let notes = self.notes.iter().filter(|(_, note)| note.in_searches);
        let text = "is not computed: it has the value that Vespa gives where a query has no terms";
        notes.map(move |(name, _)| format!("{name} {text}"))
    }

    /// Notes, and what there is to say of options of the profile.
    fn with_options(&self, mut notes: Vec<String>) -> Vec<String> {
        if !self.without_effect.is_empty() {
            let names = self.without_effect.join(", ");
            notes.push(format!("without effect here, where every document is ranked: {names}"));
        }
        notes
    }

    /// The attributes that it reads.
    #[must_use]
    pub fn attributes(&self) -> Vec<&str> {
        let mut found = Vec::new();
        let mut add = |parsed: &FeatureName<'_>| {
            let name = parsed.argument(0).filter(|_| parsed.name == "attribute");
            let known = self.documents.attributes().iter().find(|a| Some(a.name.as_str()) == name);
            found.extend(known.map(|a| a.name.as_str()));
        };
        for parsed in self.nodes.iter().filter_map(|node| FeatureName::parse(&node.name)) {
            add(&parsed);
            parsed.arguments.iter().filter_map(|a| FeatureName::parse(a)).for_each(|a| add(&a));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The names of match features in their order.
    #[must_use]
    pub fn match_features(&self) -> Vec<&str> {
        self.match_features.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The names of rank features in their order.
    #[must_use]
    pub fn rank_features(&self) -> Vec<&str> {
        self.rank_features.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The names of the features that a search lists, in the order of their values: the rank features, and those that Vespa adds.
    #[must_use]
    pub fn listed_features(&self) -> Vec<&str> {
        let mut names = self.rank_features();
        names.extend(self.listed.iter().flat_map(|listed| listed.rank_features()));
        names
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

    /// The type of a value of queries that the profile knows.
    #[must_use]
    pub fn input_kind(&self, name: &str) -> Option<&TensorType> {
        self.inputs.get(name).map(|input| &input.kind)
    }

    /// The names of the values of queries that it takes, in order.
    #[must_use]
    pub fn inputs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.inputs.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}
