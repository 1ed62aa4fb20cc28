//! Rank profiles with what they inherit.

use std::collections::{HashMap, HashSet};

use super::merge::Heir;
use super::{Budget, by_name};
use crate::application::profile::{Diversity, Features, FieldRank, Phase, RankProfile};
use crate::application::schema::Schema;
use crate::order::order;
use crate::package::{Located, Report};
use crate::schema::{Expression, Name};

/// The profiles that every schema has.
pub(in crate::application) const BUILT_IN: [&str; 2] = ["default", "unranked"];

/// A profile by its schema and its number there.
type Key = (usize, usize);

/// Gives each schema the built-in profiles and those of the schema that it inherits from, and each profile what it inherits.
pub(in crate::application) fn profiles(schemas: &mut [Schema], report: &mut Report) {
    for schema in schemas.iter_mut() {
        for name in BUILT_IN {
            if schema.profile(name).is_none() && !schema.is_document_only {
                schema.profiles.push(built_in(name, schema));
            }
        }
    }
    let names = by_name(schemas);
    let keys: Vec<Key> = schemas
        .iter()
        .enumerate()
        .flat_map(|(at, s)| (0..s.profiles.len()).map(move |p| (at, p)))
        .collect();
    let numbers: HashMap<Key, usize> = keys.iter().enumerate().map(|(n, key)| (*key, n)).collect();
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for key in &keys {
        let profile = &schemas[key.0].profiles[key.1];
        let mut list: Vec<usize> = Vec::new();
        for name in &profile.inherits {
            match find(schemas, &names, key.0, &name.value, Some(*key)) {
                Some(parent) => list.push(numbers[&parent]),
                // A profile that takes the place of a built-in one may inherit from it.
                None if BUILT_IN.contains(&name.value.as_str()) => {}
                None => {
                    let text = format!(
                        "rank-profile {} inherits from {}, which schema {} has not",
                        profile.name.value, name.value, schemas[key.0].name.value
                    );
                    report.error(&name.place, text);
                }
            }
        }
        parents.push(list);
    }
    let (sorted, cyclic) = order(&parents);
    for number in cyclic {
        let (schema, profile) = keys[number];
        let name = &schemas[schema].profiles[profile].name;
        let text = format!(
            "rank-profile {} inherits from itself, by way of others or at once",
            name.value
        );
        report.error(&name.place, text);
    }
    let mut budget = Budget::new();
    for number in sorted {
        let (schema, profile) = keys[number];
        let size = |p: &usize| size(&schemas[keys[*p].0].profiles[keys[*p].1]);
        let count = parents[number].iter().map(size).sum();
        let place = schemas[schema].profiles[profile].name.place.clone();
        if !budget.takes(count, "rank profiles", &place, report) {
            continue;
        }
        let mut inherited: Vec<RankProfile> = parents[number]
            .iter()
            .map(|p| schemas[keys[*p].0].profiles[keys[*p].1].clone())
            .collect();
        let own = schemas[schema].profiles[profile].clone();
        if inherited.is_empty()
            && let Some(name) = own.inherits.first()
        {
            inherited.push(built_in(&name.value, &schemas[schema]));
        }
        schemas[schema].profiles[profile] = merged(own, &inherited, report);
    }
    below(schemas, &names, &mut budget, report);
}

/// How much there is to inherit from a profile.
fn size(profile: &RankProfile) -> usize {
    let features = [&profile.match_features, &profile.summary_features, &profile.rank_features];
    let features: usize = features.into_iter().flatten().map(|f| f.list.len()).sum();
    1 + profile.functions.len()
        + profile.inputs.len()
        + profile.constants.len()
        + profile.properties.len()
        + profile.fields.len()
        + features
}

fn built_in(name: &str, schema: &Schema) -> RankProfile {
    let place = schema.name.place.clone();
    let expression = if name == "default" { "nativeRank" } else { "0" };
    let mut profile = RankProfile::new(Located::new(name.to_owned(), place.clone()));
    profile.first_phase.expression = Some(Located::new(expression.to_owned(), place));
    profile
}

/// A profile by its name: of a schema, else of the schemas that it or its document inherits from, the nearest first.
fn find(
    schemas: &[Schema],
    names: &HashMap<String, usize>,
    schema: usize,
    name: &str,
    not: Option<Key>,
) -> Option<Key> {
    let (mut open, mut seen) = (std::collections::VecDeque::from([schema]), vec![schema]);
    let mut built_in = None;
    while let Some(at) = open.pop_front() {
        let schema = &schemas[at];
        let found = schema.profiles.iter().position(|p| p.name.value == name);
        if let Some(found) = found.filter(|found| Some((at, *found)) != not) {
            // A profile that is written somewhere comes before one that is built in.
            if schema.profiles[found].name.place != schema.name.place {
                return Some((at, found));
            }
            built_in = built_in.or(Some((at, found)));
        }
        let parents = schema.inherits.iter().chain(&schema.document.inherits);
        for parent in parents.filter_map(|p| names.get(&p.value)) {
            if !seen.contains(parent) {
                seen.push(*parent);
                open.push_back(*parent);
            }
        }
    }
    built_in
}

/// Gives schemas the profiles of those that they inherit from.
fn below(
    schemas: &mut [Schema],
    names: &HashMap<String, usize>,
    budget: &mut Budget,
    report: &mut Report,
) {
    for at in 0..schemas.len() {
        let (mut next, mut steps) = (schemas[at].inherits.clone(), 0);
        while let Some(parent) = next.as_ref().and_then(|n| names.get(&n.value)).copied() {
            let count = schemas[parent].profiles.iter().map(size).sum();
            if !budget.takes(count, "rank profiles", &schemas[at].name.place.clone(), report) {
                return;
            }
            for profile in schemas[parent].profiles.clone() {
                if schemas[at].profile(&profile.name.value).is_none() {
                    schemas[at].profiles.push(profile);
                }
            }
            next = schemas[parent].inherits.clone();
            steps += 1;
            if steps > schemas.len() {
                break;
            }
        }
    }
}

fn merged(own: RankProfile, parents: &[RankProfile], report: &mut Report) -> RankProfile {
    let name = own.name.clone();
    let heir = Heir { profile: &name.value, place: &name.place };
    macro_rules! each {
        ($field:ident) => {
            parents.iter().map(|p| (p.name.value.as_str(), p.$field.as_slice())).collect::<Vec<_>>()
        };
    }
    macro_rules! each_one {
        ($($field:tt)+) => {
            parents.iter().map(|p| (p.name.value.as_str(), p.$($field)+.as_ref())).collect::<Vec<_>>()
        };
    }
    let phase = |what: &str, own: Phase, of: fn(&RankProfile) -> &Phase, report: &mut Report| {
        let each = || parents.iter().map(|p| (p.name.value.as_str(), of(p)));
        let expressions: Vec<_> = each().map(|(n, p)| (n, p.expression.as_ref())).collect();
        let counts: Vec<_> = each().map(|(n, p)| (n, p.count.as_ref())).collect();
        let totals: Vec<_> = each().map(|(n, p)| (n, p.total_count.as_ref())).collect();
        let limits: Vec<_> = each().map(|(n, p)| (n, p.drop_limit.as_ref())).collect();
        Phase {
            expression: heir.one(
                what,
                own.expression,
                &expressions,
                |a, b| a.value == b.value,
                report,
            ),
            count: heir.one(
                &format!("the count of {what}"),
                own.count,
                &counts,
                |a, b| a.value == b.value,
                report,
            ),
            total_count: heir.one(
                &format!("the total count of {what}"),
                own.total_count,
                &totals,
                |a, b| a.value == b.value,
                report,
            ),
            drop_limit: heir.one(
                &format!("the drop limit of {what}"),
                own.drop_limit,
                &limits,
                |a, b| a == b,
                report,
            ),
        }
    };
    let mut properties: Vec<(String, Expression)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let own_properties = joined_tables(own.properties);
    let inherited = parents.iter().flat_map(|p| &p.properties).chain(&own_properties);
    for (key, value) in inherited {
        match places.get(key.as_str()) {
            Some(at) => properties[*at].1.clone_from(value),
            None => {
                places.insert(key, properties.len());
                properties.push((key.clone(), value.clone()));
            }
        }
    }
    let mut settings = own.settings;
    for (key, setting) in parents.iter().flat_map(|p| &p.settings) {
        if !settings.iter().any(|(k, _)| k == key) {
            settings.push((*key, *setting));
        }
    }
    RankProfile {
        inherits: own.inherits.clone(),
        inputs: heir.list(
            "input",
            own.inputs,
            &each!(inputs),
            |i| &i.name,
            |a, b| a.kind == b.kind && a.default == b.default,
            report,
        ),
        constants: heir.list(
            "constant",
            own.constants,
            &each!(constants),
            |c| &c.name,
            same_constant,
            report,
        ),
        functions: heir.list(
            "function",
            own.functions,
            &each!(functions),
            |f| &f.name,
            |a, b| a.parameters == b.parameters && a.body.value == b.body.value,
            report,
        ),
        first_phase: phase("first-phase", own.first_phase, |p| &p.first_phase, report),
        second_phase: phase("second-phase", own.second_phase, |p| &p.second_phase, report),
        global_phase: phase("global-phase", own.global_phase, |p| &p.global_phase, report),
        match_features: features(
            "match-features",
            &heir,
            own.match_features,
            parents,
            |p| p.match_features.as_ref(),
            report,
        ),
        summary_features: features(
            "summary-features",
            &heir,
            own.summary_features,
            parents,
            |p| p.summary_features.as_ref(),
            report,
        ),
        rank_features: features(
            "rank-features",
            &heir,
            own.rank_features,
            parents,
            |p| p.rank_features.as_ref(),
            report,
        ),
        ignore_default_rank_features: own.ignore_default_rank_features
            || parents.iter().any(|p| p.ignore_default_rank_features),
        properties,
        match_phase: heir.one(
            "match-phase",
            own.match_phase,
            &each_one!(match_phase),
            |a, b| {
                a.attribute.value == b.attribute.value
                    && a.max_hits == b.max_hits
                    && a.max_filter_coverage == b.max_filter_coverage
            },
            report,
        ),
        diversity: heir.one(
            "diversity",
            own.diversity,
            &each_one!(diversity),
            |a, b| {
                let of = |d: &Diversity| (d.min_groups, d.cutoff_factor);
                a.attribute.value == b.attribute.value
                    && of(a) == of(b)
                    && a.cutoff_strategy == b.cutoff_strategy
            },
            report,
        ),
        onnx_models: heir.list(
            "onnx-model",
            own.onnx_models,
            &each!(onnx_models),
            |m| &m.name,
            |a, b| {
                a.file.value == b.file.value && (a.precision, a.backend) == (b.precision, b.backend)
            },
            report,
        ),
        precision: heir.one(
            "precision",
            own.precision,
            &each_one!(precision),
            |a, b| a == b,
            report,
        ),
        fields: field_ranks(own.fields, parents),
        settings,
        name: own.name,
    }
}

/// Properties of a profile, of which a table of numbers stands once: each of its numbers has a line of its own. Of other properties the last
/// line holds.
fn joined_tables(own: Vec<(String, Expression)>) -> Vec<(String, Expression)> {
    let mut properties: Vec<(String, Expression)> = Vec::new();
    for (key, value) in own {
        let is_table = key.ends_with(".proximityTable");
        match properties.iter_mut().find(|(known, _)| is_table && *known == key) {
            Some((_, numbers)) => {
                numbers.value.push(' ');
                numbers.value.push_str(&value.value);
            }
            None => properties.push((key, value)),
        }
    }
    properties
}

fn same_constant(
    a: &crate::application::profile::Constant,
    b: &crate::application::profile::Constant,
) -> bool {
    use crate::application::profile::ConstantValue;
    let is_same = match (&a.value, &b.value) {
        (ConstantValue::Here(a), ConstantValue::Here(b)) => a == b,
        (ConstantValue::File(a), ConstantValue::File(b)) => a.value == b.value,
        _ => false,
    };
    is_same && a.kind == b.kind
}

/// A list of its own, behind those that it names; without one, that of its parents.
fn features(
    what: &str,
    heir: &Heir<'_>,
    own: Option<Features>,
    parents: &[RankProfile],
    of: fn(&RankProfile) -> Option<&Features>,
    report: &mut Report,
) -> Option<Features> {
    let same = |a: &Features, b: &Features| {
        a.list.len() == b.list.len() && a.list.iter().zip(&b.list).all(|(a, b)| a.value == b.value)
    };
    let each: Vec<_> = parents.iter().map(|p| (p.name.value.as_str(), of(p))).collect();
    // Those of a parent have theirs in them already.
    let names: Vec<Name> = own.as_ref().map(|f| f.inherits.clone()).unwrap_or_default();
    let mut found = heir.one(what, own, &each, same, report)?;
    let mut list = Vec::new();
    for name in &names {
        match parents.iter().find(|p| p.name.value == name.value) {
            Some(parent) => list.extend(of(parent).map(|f| f.list.clone()).unwrap_or_default()),
            None => {
                let text = format!(
                    "{what} inherits from {}, which rank-profile {} does not inherit",
                    name.value, heir.profile
                );
                report.error(&name.place, text);
            }
        }
    }
    list.append(&mut found.list);
    let mut seen = HashSet::new();
    list.retain(|feature| seen.insert(feature.value.clone()));
    Some(Features { inherits: names, list })
}

fn field_ranks(own: Vec<FieldRank>, parents: &[RankProfile]) -> Vec<FieldRank> {
    let mut list = own;
    for inherited in parents.iter().flat_map(|p| &p.fields) {
        match list.iter_mut().find(|f| f.field.value == inherited.field.value) {
            Some(rank) => {
                rank.is_filter |= inherited.is_filter;
                rank.filter_threshold = rank.filter_threshold.or(inherited.filter_threshold);
                rank.element_gap = rank.element_gap.or(inherited.element_gap);
                rank.rank_type = rank.rank_type.take().or_else(|| inherited.rank_type.clone());
                rank.weight = rank.weight.or(inherited.weight);
            }
            None => list.push(inherited.clone()),
        }
    }
    list
}
