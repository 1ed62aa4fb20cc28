//! Defaults from query profiles (Vespa, documentation, `reference/querying/query-profiles.html`).

use stead_app::profiles::{FieldKind, QueryProfile, QueryProfileType, QueryProfiles};

use super::table::find;
use super::values::{Values, substitute};
use crate::query::SearchError;

/// The deepest that profiles name others as their values.
const MAX_DEPTH: usize = 8;

/// Fills the values that a request does not say from its query profile, and checks them by the profile's type.
///
/// # Errors
/// When there is no such profile, or a value is missing or does not fit the type.
pub(super) fn apply(
    values: &mut Values,
    profiles: &QueryProfiles,
    warnings: &mut Vec<String>,
) -> Result<(), SearchError> {
    let asked = values.get("queryProfile").map(str::to_owned);
    let id = asked.as_deref().unwrap_or("default");
    let Some(profile) = profiles.profile(id) else {
        return match asked.as_deref() {
            None | Some("default") => Ok(()),
            Some(id) => {
                Err(SearchError::illegal(format!("Could not resolve query profile '{id:.60}'")))
            }
        };
    };
    let kind = profile.kind.as_ref();
    let kind = kind.and_then(|kind| profiles.types.iter().find(|t| t.id.value == kind.value));
    if let Some(kind) = kind {
        rename(values, kind);
        check_names(values, kind)?;
    }
    let mut found = Vec::new();
    collect(profiles, profile, "", 0, &mut found)?;
    let mut written = Vec::new();
    for (name, value, is_overridable) in found {
        // What an outer profile says goes before what an inner one does.
        if is_overridable {
            if values.get(&name).is_none() {
                values.set(&name, value);
                written.push(name);
            }
        } else {
            if values.get(&name).is_some_and(|asked| asked != value) {
                warnings.push(format!(
                    "{name} has no effect: query profile {id} does not let requests change it"
                ));
            }
            values.set(&name, value);
            written.push(name);
        }
    }
    for name in written {
        let value = substitute(values.get(&name).unwrap_or_default(), values)?;
        values.set(&name, value);
    }
    kind.map_or(Ok(()), |kind| check(values, kind, id))
}

/// The values of a profile and of those that it names, the outer first.
fn collect(
    profiles: &QueryProfiles,
    profile: &QueryProfile,
    prefix: &str,
    depth: usize,
    found: &mut Vec<(String, String, bool)>,
) -> Result<(), SearchError> {
    if depth == MAX_DEPTH {
        let text = format!("query profile {}: profiles name each other too deep", profile.id.value);
        return Err(SearchError::parameter(text));
    }
    for (name, value, is_overridable) in &profile.fields {
        found.push((format!("{prefix}{}", name.value), value.clone(), *is_overridable));
    }
    for (name, to) in &profile.references {
        if let Some(inner) = profiles.profile(&to.value) {
            collect(profiles, inner, &format!("{prefix}{name}."), depth + 1, found)?;
        }
    }
    Ok(())
}

/// Gives the values of aliases to the fields that they mean.
fn rename(values: &mut Values, kind: &QueryProfileType) {
    for field in &kind.fields {
        let alias = field.aliases.iter().find_map(|alias| values.get(alias).map(str::to_owned));
        if let Some(value) = alias {
            values.set_default(&field.name.value, value);
        }
    }
}

/// Whether a strict type has all names that a request says.
fn check_names(values: &Values, kind: &QueryProfileType) -> Result<(), SearchError> {
    if !kind.is_strict {
        return Ok(());
    }
    for (name, value) in values.iter() {
        let first = name.split('.').next().unwrap_or_default();
        let is_field = |field: &str| field == name || field == first;
        let is_known = find(name).is_some()
            || kind
                .fields
                .iter()
                .any(|f| is_field(&f.name.value) || f.aliases.iter().any(|alias| is_field(alias)));
        if !is_known {
            return Err(SearchError::parameter(format!(
                "Could not set '{name:.60}' to '{value:.60}': '{name:.60}' is not declared in query profile type '{}', and the type is strict",
                kind.id.value
            )));
        }
    }
    Ok(())
}

fn check(values: &Values, kind: &QueryProfileType, id: &str) -> Result<(), SearchError> {
    for field in &kind.fields {
        let name = &field.name.value;
        let Some(value) = values.get(name) else {
            if field.is_mandatory {
                return Err(SearchError::parameter(format!(
                    "Incomplete query: Parameter '{name}' is mandatory in query profile '{id}' of type '{}' but is not set",
                    kind.id.value
                )));
            }
            continue;
        };
        let (fits, expected) = match field.kind {
            FieldKind::Integer => (value.parse::<i32>().is_ok(), "an integer"),
            FieldKind::Long => (value.parse::<i64>().is_ok(), "a long"),
            FieldKind::Float | FieldKind::Double => (value.parse::<f64>().is_ok(), "a number"),
            FieldKind::Boolean => (matches!(value, "true" | "false"), "a boolean"),
            _ => (true, ""),
        };
        if !fits {
            return Err(SearchError::parameter(format!(
                "Could not set '{name}' to '{value:.60}': '{value:.60}' is not {expected}"
            )));
        }
    }
    Ok(())
}
