//! The token features of a rank profile.

use std::collections::BTreeSet;

use stead_app::application::rank::{CompiledProfile, FeatureName};
use stead_app::application::{OnnxModel, RankProfile, Schema};
use stead_embed::{CLS, SEP};

use crate::failure::Failure;

/// The longest row; the longest inputs of encoders have some thousand tokens.
const MAX_LENGTH: usize = 1 << 16;

const TOKEN_FEATURES: [&str; 4] =
    ["tokenInputIds", "customTokenInputIds", "tokenTypeIds", "tokenAttentionMask"];

/// The token features that the expressions of a profile and the inputs of its models name.
pub(super) fn token_features<'c>(
    schema: &Schema,
    profile: &RankProfile,
    compiled: impl Iterator<Item = &'c CompiledProfile>,
) -> BTreeSet<String> {
    let is_token_feature =
        |name: &&str| FeatureName::parse(name).is_some_and(|f| TOKEN_FEATURES.contains(&f.name));
    let mut found = BTreeSet::new();
    for compiled in compiled {
        let phases = [&compiled.first_phase, &compiled.second_phase, &compiled.global_phase];
        let lists = [&compiled.functions, &compiled.match_features, &compiled.summary_features];
        let typed = lists.into_iter().flatten().map(|t| &t.compiled);
        for expression in phases.into_iter().flatten().chain(typed) {
            let names = expression.names().iter().map(String::as_str);
            found.extend(names.filter(is_token_feature).map(str::to_owned));
        }
    }
    // What is bound to the models of the profile, and to those of the schema that it calls.
    let phases = [&profile.first_phase, &profile.second_phase, &profile.global_phase];
    let phases = phases.into_iter().filter_map(|p| p.expression.as_ref());
    let expressions: Vec<&str> = phases
        .chain(profile.functions.iter().map(|f| &f.body))
        .map(|expression| expression.value.as_str())
        .collect();
    let is_called = |model: &&OnnxModel| {
        let call = format!("({})", model.name.value);
        expressions.iter().any(|text| text.contains(&call))
    };
    let of_schema = schema.onnx_models.iter().filter(is_called);
    let inputs = profile.onnx_models.iter().chain(of_schema).flat_map(|m| &m.inputs);
    let bound = inputs.map(|(_, source)| source.value.trim()).filter(is_token_feature);
    found.extend(bound.map(spaceless));
    found
}

/// A feature as expressions know it.
fn spaceless(name: &str) -> String {
    name.split_ascii_whitespace().collect()
}

/// What all token features of a profile agree on.
pub(super) struct Joined {
    pub(super) feature: String,
    pub(super) length: usize,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) arguments: Vec<String>,
}

impl Joined {
    /// Reads the features of a profile.
    pub(super) fn new(features: &BTreeSet<String>, profile: &str) -> Result<Joined, Failure> {
        let failed = |text: String| Err(Failure::failed(format!("rank-profile {profile} {text}")));
        let ids: Vec<&String> = features.iter().filter(|f| f.contains("InputIds(")).collect();
        let [feature] = ids.as_slice() else {
            let list: Vec<&str> = ids.iter().map(|f| f.as_str()).collect();
            return failed(match list.as_slice() {
                [] => "has no tokenInputIds or customTokenInputIds".to_owned(),
                several => format!("has more than one row of tokens: {}", several.join(" and ")),
            });
        };
        let joined = Joined::parse(feature);
        let Some(joined) = joined else {
            return failed(format!("has {feature}, whose ids and length are no whole numbers"));
        };
        if joined.length > MAX_LENGTH {
            return failed(format!("has {feature}, which is longer than {MAX_LENGTH} tokens"));
        }
        // Types and masks of other texts or another length would not fit to the ids.
        let same = |other: &&String| {
            Joined::parse(other)
                .is_some_and(|o| o.length == joined.length && o.arguments == joined.arguments)
        };
        if let Some(other) = features.iter().find(|f| !same(f)) {
            return failed(format!("has {feature} and {other}, which differ in length or texts"));
        }
        Ok(joined)
    }

    fn parse(feature: &str) -> Option<Joined> {
        let parsed = FeatureName::parse(feature)?;
        let is_custom = parsed.name == "customTokenInputIds";
        let number = |at: usize| parsed.argument(at)?.parse::<i64>().ok();
        let (start, end) =
            if is_custom { (number(0)?, number(1)?) } else { (i64::from(CLS), i64::from(SEP)) };
        let first = if is_custom { 2 } else { 0 };
        Some(Joined {
            feature: feature.to_owned(),
            length: usize::try_from(number(first)?).ok()?,
            start,
            end,
            arguments: parsed.arguments.get(first + 1..)?.iter().map(|a| (*a).to_owned()).collect(),
        })
    }
}
