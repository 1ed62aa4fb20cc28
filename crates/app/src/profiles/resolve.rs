//! Names of query profiles looked up, and what is inherited put in its place.

use super::types::{FieldKind, QueryProfile, QueryProfileType, QueryProfiles};
use crate::order::order;
use crate::package::{Located, Report};

/// Types and profiles that Vespa brings with it.
const BUILT_IN: [&str; 2] = ["native", "root"];

pub(super) fn resolve(found: &mut QueryProfiles, report: &mut Report) {
    let types: Vec<QueryProfileType> = found.types.clone();
    let links = types.iter().map(|t| (&t.id, t.inherits.as_slice()));
    for (at, parents) in sorted("query-profile-type", links.collect(), report) {
        for parent in parents {
            let parent = found.types[parent].clone();
            let own = &mut found.types[at];
            own.is_strict |= parent.is_strict;
            own.matches_paths |= parent.matches_paths;
            for field in parent.fields {
                if !own.fields.iter().any(|f| f.name.value == field.name.value) {
                    own.fields.push(field);
                }
            }
        }
    }
    let profiles: Vec<QueryProfile> = found.profiles.clone();
    let links = profiles.iter().map(|p| (&p.id, p.inherits.as_slice()));
    for (at, parents) in sorted("query-profile", links.collect(), report) {
        for parent in parents {
            let parent = found.profiles[parent].clone();
            let own = &mut found.profiles[at];
            if own.kind.is_none() {
                own.kind = parent.kind;
            }
            for field in parent.fields {
                if !own.fields.iter().any(|f| f.0.value == field.0.value) {
                    own.fields.push(field);
                }
            }
            for reference in parent.references {
                if !own.references.iter().any(|r| r.0 == reference.0) {
                    own.references.push(reference);
                }
            }
        }
    }
    for profile in &found.profiles {
        for (_, to) in
            profile.references.iter().filter(|(_, to)| found.profile(&to.value).is_none())
        {
            report.error(&to.place, format!("there is no query-profile {}", to.value));
        }
        if let Some(kind) = &profile.kind {
            match found.types.iter().find(|t| t.id.value == kind.value) {
                Some(kind) => check(profile, kind, report),
                None if BUILT_IN.contains(&kind.value.as_str()) => {}
                None => report
                    .error(&kind.place, format!("there is no query-profile-type {}", kind.value)),
            }
        }
    }
    for field in found.types.iter().flat_map(|t| &t.fields) {
        if let FieldKind::Profile(Some(kind)) = &field.kind
            && !found.types.iter().any(|t| t.id.value == *kind)
            && !BUILT_IN.contains(&kind.as_str())
        {
            report.error(&field.place, format!("there is no query-profile-type {kind}"));
        }
    }
}

/// The numbers of things with those of their parents, parents first.
fn sorted(
    what: &str,
    links: Vec<(&Located<String>, &[Located<String>])>,
    report: &mut Report,
) -> Vec<(usize, Vec<usize>)> {
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for (at, (id, inherits)) in links.iter().enumerate() {
        if let Some((first, _)) = links[..at].iter().find(|(other, _)| other.value == id.value) {
            report.error(
                &id.place,
                format!("{what} {} stands twice, first at {}", id.value, first.place),
            );
        }
        let mut list = Vec::new();
        for name in *inherits {
            match links.iter().position(|(id, _)| id.value == name.value) {
                Some(parent) => list.push(parent),
                None if BUILT_IN.contains(&name.value.as_str()) => {}
                None => report.error(&name.place, format!("there is no {what} {}", name.value)),
            }
        }
        parents.push(list);
    }
    let (sorted, cyclic) = order(&parents);
    for at in cyclic {
        let id = links[at].0;
        report.error(
            &id.place,
            format!("{what} {} inherits from itself, by way of others or at once", id.value),
        );
    }
    sorted.into_iter().map(|at| (at, std::mem::take(&mut parents[at]))).collect()
}

/// Whether the values of a profile have the types of its type.
fn check(profile: &QueryProfile, kind: &QueryProfileType, report: &mut Report) {
    for (name, value, _) in &profile.fields {
        let Some(field) = kind.fields.iter().find(|f| f.name.value == name.value) else {
            let first = name.value.split('.').next().unwrap_or_default();
            if kind.is_strict && !kind.fields.iter().any(|f| f.name.value == first) {
                let text = format!(
                    "query-profile-type {} is strict and has no field {}",
                    kind.id.value, name.value
                );
                report.error(&name.place, text);
            }
            continue;
        };
        // Values with %{...} take others in when a query comes.
        if value.contains("%{") {
            continue;
        }
        let (is_right, expected) = match field.kind {
            FieldKind::Integer => (value.parse::<i32>().is_ok(), "a whole number of 32 bits"),
            FieldKind::Long => (value.parse::<i64>().is_ok(), "a whole number"),
            FieldKind::Float | FieldKind::Double => (value.parse::<f64>().is_ok(), "a number"),
            FieldKind::Boolean => (matches!(value.as_str(), "true" | "false"), "true or false"),
            _ => (true, ""),
        };
        if !is_right {
            let text = format!("expected {expected} for {}, found {value:?}", name.value);
            report.error(&name.place, text);
        }
    }
}
