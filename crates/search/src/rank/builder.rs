//! From a profile to its plan: phases, expressions, and the values that they name.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use stead_app::application::rank::{CompiledProfile, ModelTypes, ProfileNames, Typed};
use stead_app::application::{Application, Phase, RankProfile, Schema, Setting};
use stead_expr::{Compiled, Rate, TensorType};
use stead_store::DocumentType;

use super::common::common;
use super::diversity::{CUTOFF_FACTOR, Diversity};
use super::error::RankError;
use super::limit::{MAX_FILTER_COVERAGE, MatchLimit};
use super::models::ModelPlan;
use super::plan::{Expression, InputPlan, Node, PhasePlan, RankPlan, Source};
use crate::features::{Note, listed};
use crate::models::Loaded;
use crate::query::{ElementGaps, StopWords, TuningChoice};

/// The hits of the first phase that keep their scores (Vespa, `keep-rank-count`).
const KEEP: usize = 10_000;

/// The hits of the second and the global phase (Vespa, `rerank-count`).
const RERANK: usize = 100;

/// The deepest that features, functions and models take values of each other.
const MAX_DEPTH: usize = 64;

/// Whether a profile asks models of significance.
const USE_MODEL: &str = "use-model";

/// The plan of a profile.
pub(super) fn plan(
    application: &Application,
    schema: &Schema,
    profile: &RankProfile,
    typed: &CompiledProfile,
    loaded: &Loaded<'_>,
    models: &dyn ModelTypes,
) -> Result<RankPlan, RankError> {
    let declared = application.query_profiles.inputs();
    let (typed, common) = &common(typed);
    let names = || ProfileNames::new(schema, profile, &declared, models);
    let properties = profile.properties.iter().map(|(k, v)| (k.clone(), v.value.clone()));
    let properties: HashMap<String, String> = properties.collect();
    let builder = || Builder {
        schema,
        profile,
        loaded,
        names: names(),
        properties: properties.clone(),
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
        common,
    };
    let mut plan = builder().plan()?;
    let files = application.services.significance();
    plan.significance = loaded.significance(files).or_else(|text| fail("significance", text))?;
    if !profile.ignore_default_rank_features {
        let named = &plan.rank_features;
        plan.listed = builder().listed(|name| named.iter().any(|(known, _)| known == name))?;
    }
    Ok(plan)
}

/// A plan in the making.
pub(super) struct Builder<'b> {
    pub(super) schema: &'b Schema,
    pub(super) profile: &'b RankProfile,
    pub(super) loaded: &'b Loaded<'b>,
    pub(super) names: ProfileNames<'b>,
    pub(super) properties: HashMap<String, String>,
    pub(super) documents: DocumentType,
    pub(super) nodes: Vec<Node>,
    pub(super) by_name: HashMap<String, usize>,
    pub(super) expressions: Vec<Expression>,
    pub(super) models: Vec<ModelPlan>,
    /// From numbers among the models of the profile to those of the plan.
    pub(super) model_numbers: HashMap<usize, usize>,
    pub(super) by_text: HashMap<String, usize>,
    pub(super) inputs: HashMap<String, InputPlan>,
    /// What is being planned, the innermost last.
    pub(super) open: Vec<String>,
    pub(super) notes: Vec<(String, Note)>,
    pub(super) second: Option<usize>,
    pub(super) phases: &'b CompiledProfile,
    /// What phases and features have in common, by name.
    pub(super) common: &'b HashMap<String, Compiled>,
}

pub(super) fn fail<T>(what: &str, text: impl Into<String>) -> Result<T, RankError> {
    Err(RankError::Plan { what: what.to_owned(), text: text.into() })
}

/// The options of a profile that say how a content node finds matches: here all documents are.
fn without_effect(profile: &RankProfile) -> Vec<&'static str> {
    // How terms count is a matter of features that need an index, which are told one by one.
    let names = profile.settings.iter().map(|(name, _)| *name);
    let names: Vec<&'static str> = names
        .filter(|name| !["num-threads-per-search", "min-hits-per-thread"].contains(name))
        .filter(|name| !TuningChoice::is_keyword(name))
        .filter(|name| ![StopWords::LIMIT, StopWords::ALLOW_DROP_ALL, USE_MODEL].contains(name))
        .collect();
    names
}

/// What a profile says of the matches that are ranked.
fn match_limit(profile: &RankProfile) -> Option<MatchLimit> {
    let phase = profile.match_phase.as_ref()?;
    let most = phase.total_max_hits.or(phase.max_hits)?;
    Some(MatchLimit {
        attribute: phase.attribute.value.clone(),
        is_ascending: phase.ascending,
        max_hits: usize::try_from(most).ok()?,
        max_filter_coverage: phase.max_filter_coverage.unwrap_or(MAX_FILTER_COVERAGE),
        // The plan has it beside.
        diversity: None,
    })
}

/// What a profile says of groups.
fn diversity(profile: &RankProfile) -> Option<Diversity> {
    let said = profile.diversity.as_ref()?;
    Some(Diversity {
        attribute: said.attribute.value.clone(),
        min_groups: usize::try_from(said.min_groups.unwrap_or(0)).unwrap_or(0),
        cutoff_factor: said.cutoff_factor.unwrap_or(CUTOFF_FACTOR),
        is_strict: said.cutoff_strategy.as_deref() == Some("strict"),
    })
}

/// How far a profile says that elements of fields are from each other.
fn element_gaps(profile: &RankProfile) -> ElementGaps {
    let mut gaps = ElementGaps::default();
    for rank in &profile.fields {
        if let Some(gap) = rank.element_gap {
            gaps.say(&rank.field.value, ElementGaps::of_profile(gap));
        }
    }
    gaps
}

/// What a profile says of words that too many documents have.
fn stop_words(profile: &RankProfile) -> StopWords {
    let number = |setting| match setting {
        Setting::Number(number) => Some(number),
        Setting::Bool(_) => None,
    };
    StopWords {
        limit: profile.setting(StopWords::LIMIT).and_then(number),
        allow_drop_all: match profile.setting(StopWords::ALLOW_DROP_ALL) {
            Some(Setting::Bool(may)) => Some(may),
            _ => None,
        },
    }
}

/// A number of a profile that is no less than 1.
fn setting(profile: &RankProfile, name: &str) -> Option<usize> {
    match profile.setting(name)? {
        Setting::Number(number) if number >= 1.0 => Some(number as usize),
        _ => None,
    }
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
        let rank_features = self.features("rank-features", &typed.rank_features)?;
        let global = &typed.global_phase;
        let global = self.later_phase("global-phase", global, &profile.global_phase)?;
        let plan = self.plan_of(first);
        Ok(RankPlan { second, global, match_features, summary_features, rank_features, ..plan })
    }

    /// What was planned, with a first phase and without lists of features.
    fn plan_of(&mut self, first: PhasePlan) -> RankPlan {
        let profile = self.profile;
        RankPlan {
            profile: profile.name.value.clone(),
            documents: self.documents.clone(),
            nodes: std::mem::take(&mut self.nodes),
            expressions: std::mem::take(&mut self.expressions),
            models: std::mem::take(&mut self.models),
            first,
            second: None,
            global: None,
            match_features: Vec::new(),
            summary_features: Vec::new(),
            rank_features: Vec::new(),
            listed: None,
            diversity: diversity(profile),
            match_limit: match_limit(profile),
            threads: setting(profile, "num-threads-per-search"),
            min_hits_per_thread: setting(profile, "min-hits-per-thread"),
            stop_words: stop_words(profile),
            significance: Arc::default(),
            uses_significance: profile.setting(USE_MODEL) == Some(Setting::Bool(true)),
            element_gaps: element_gaps(profile),
            tuning: TuningChoice::of_profile(|keyword| match profile.setting(keyword)? {
                Setting::Number(number) => Some(number),
                Setting::Bool(_) => None,
            }),
            second_cost: AtomicU64::new(0),
            without_effect: without_effect(profile),
            inputs: std::mem::take(&mut self.inputs),
            notes: std::mem::take(&mut self.notes),
        }
    }

    /// The plan of the features that searches list beside those that are named.
    fn listed(
        mut self,
        is_named: impl Fn(&str) -> bool,
    ) -> Result<Option<Box<RankPlan>>, RankError> {
        let names = listed(&self.documents, &self.field_rankings(), &self.properties);
        let mut features = Vec::new();
        for name in names.into_iter().filter(|name| !is_named(name)) {
            let expression = self.expression(&name)?;
            features.push((name, expression));
        }
        let mut plan = self.plan_of(PhasePlan { expression: 0, count: 0, drop_limit: None });
        plan.rank_features = features;
        Ok(Some(Box::new(plan)))
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
    pub(super) fn expression(&mut self, text: &str) -> Result<usize, RankError> {
        if let Some(known) = self.by_text.get(text) {
            return Ok(*known);
        }
        match self.names.compile(text) {
            Ok(compiled) => self.compiled(text, compiled),
            Err(error) => fail(text, error),
        }
    }

    pub(super) fn compiled(&mut self, text: &str, compiled: Compiled) -> Result<usize, RankError> {
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
        // What is imported lies with the parents.
        let is_imported = |name: &str| {
            let mut attributes = self.documents.attributes().iter();
            attributes.any(|a| a.name == name && a.import.is_some())
        };
        let in_place = |node: &usize| match &self.nodes[*node].source {
            Source::Attribute(name) => !is_imported(name),
            _ => false,
        };
        let is_in_place = of_documents.iter().all(in_place);
        let number = self.expressions.len();
        self.by_text.insert(text.to_owned(), number);
        let text = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        self.expressions.push(Expression { text, compiled, query, of_documents, is_in_place });
        Ok(number)
    }

    /// The number of a value by its name.
    pub(super) fn node(
        &mut self,
        name: &str,
        kind: &TensorType,
        rate: Rate,
    ) -> Result<usize, RankError> {
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
}
