//! Where the values come from that expressions name.

use std::collections::HashMap;

use stead_app::application::InputType;
use stead_app::application::rank::{FeatureName, ProfileModel, SourceType};
use stead_expr::{Rate, TensorType};

use super::builder::{Builder, fail};
use super::constants::constant;
use super::error::RankError;
use super::models::{ModelPlan, Taken};
use super::normalize::Normalizer;
use super::plan::{InputPlan, Source};
use crate::features::{self, Call, FieldRanking};
use crate::query::ElementGaps;

impl Builder<'_> {
    /// Where a value comes from, by its name.
    pub(super) fn source(
        &mut self,
        name: &str,
        kind: &TensorType,
        rate: Rate,
    ) -> Result<Source, RankError> {
        if let Some(common) = self.common.get(name) {
            return self.compiled(name, common.clone()).map(Source::Expression);
        }
        let Some(parsed) = FeatureName::parse(name) else {
            return fail(name, "is no name of a feature");
        };
        if rate == Rate::Constant {
            let constant_name = if parsed.name == "constant" {
                parsed.argument(0).unwrap_or_default()
            } else {
                parsed.name
            };
            return constant(self.schema, self.profile, self.loaded.files(), constant_name)
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
        let function = self.loaded.function(model).map_err(RankError::Model)?;
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
        let fields = self.field_rankings();
        let call = Call {
            name: parsed,
            kind,
            properties: &properties,
            documents: &documents,
            fields: &fields,
        };
        if call.name.name == "attribute"
            && let Some(column) = features::in_place(&call)
        {
            return Ok(Source::Attribute(column));
        }
        let feature = match features::build(&call) {
            Ok(feature) => feature,
            Err(text) => return fail(name, text),
        };
        self.notes.extend(feature.note.iter().map(|note| (name.to_owned(), note.clone())));
        let arguments = feature.arguments.iter().map(|text| self.expression(text));
        let arguments = arguments.collect::<Result<_, _>>()?;
        Ok(Source::Feature(feature, arguments))
    }

    /// How the profile ranks fields: what it says itself goes before what the schema says.
    pub(super) fn field_rankings(&self) -> HashMap<String, FieldRanking> {
        let usual = FieldRanking::default();
        let of_schema = self.schema.all_fields().map(|field| {
            let ranking = FieldRanking {
                weight: field.weight.unwrap_or(usual.weight),
                is_filter: field.is_filter,
                element_gap: None,
                rank_type: field.rank_type.clone(),
            };
            (field.name.value.clone(), ranking)
        });
        let mut all: HashMap<String, FieldRanking> = of_schema.collect();
        for rank in &self.profile.fields {
            let ranking = all.entry(rank.field.value.clone()).or_default();
            ranking.weight = rank.weight.unwrap_or(ranking.weight);
            ranking.is_filter |= rank.is_filter;
            ranking.element_gap = rank.element_gap.and_then(ElementGaps::of_profile);
            if rank.rank_type.is_some() {
                ranking.rank_type.clone_from(&rank.rank_type);
            }
        }
        all
    }

    /// Makes the value of a query known that an expression names, declared or not.
    pub(super) fn input(&mut self, name: &str) -> Result<(), RankError> {
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
