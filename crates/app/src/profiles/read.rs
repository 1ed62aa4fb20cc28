//! Files to query profiles.

use stead_expr::parse_type;

use super::resolve::resolve;
use super::types::{FieldKind, ProfileField, QueryProfile, QueryProfileType, QueryProfiles};
use crate::package::{Located, PackageFiles, Place, Report};
use crate::xml::{XmlElement, parse_xml};

const FOLDER: &str = "search/query-profiles";

/// Reads `search/query-profiles/*.xml` and `search/query-profiles/types/*.xml`.
pub fn read_query_profiles(files: &PackageFiles, report: &mut Report) -> QueryProfiles {
    let mut found = QueryProfiles::default();
    for path in files.below(FOLDER).filter(|path| path.ends_with(".xml")) {
        let text = match files.text(path) {
            Ok(text) => text,
            Err(error) => {
                report.error(&Place::file(path), error.to_string());
                continue;
            }
        };
        let Some(root) = parse_xml(path, &text, report) else { continue };
        let is_type = path[FOLDER.len() + 1..].starts_with("types/");
        let expected = if is_type { "query-profile-type" } else { "query-profile" };
        if root.name != expected {
            report.error(&root.place, format!("expected {expected}, found {}", root.name));
            continue;
        }
        let Some(id) = root.located("id").cloned() else {
            report.error(&root.place, format!("{expected} must have an id"));
            continue;
        };
        // A slash in an id is an underscore in the name of its file; a version stands behind a colon.
        let stem = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".xml");
        let plain = id.value.split(':').next().unwrap_or_default().replace('/', "_");
        if stem.split(['-', ':']).next() != plain.split('-').next() && stem != plain {
            let text = format!("expected the id to be the name of the file, found {}", id.value);
            report.error(&id.place, text);
        }
        if is_type {
            found.types.push(profile_type(&root, id, report));
        } else {
            found.profiles.push(profile(&root, id, report));
        }
    }
    resolve(&mut found, report);
    found
}

fn names(root: &XmlElement, attribute: &str) -> Vec<Located<String>> {
    let Some(value) = root.located(attribute) else { return Vec::new() };
    let words = value.split_ascii_whitespace();
    words.map(|word| Located::new(word.to_owned(), value.place.clone())).collect()
}

fn profile(root: &XmlElement, id: Located<String>, report: &mut Report) -> QueryProfile {
    let mut found = QueryProfile {
        id,
        inherits: names(root, "inherits"),
        kind: root.located("type").cloned(),
        fields: Vec::new(),
        references: Vec::new(),
    };
    for element in &root.children {
        match element.name.as_str() {
            "field" => {
                let Some(name) = element.located("name").cloned() else {
                    report.error(&element.place, "field must have a name");
                    continue;
                };
                if let Some(reference) = element.child("ref") {
                    let to = Located::new(reference.text.clone(), reference.place.clone());
                    found.references.push((name.value, to));
                    continue;
                }
                let overridable = element.attribute("overridable") != Some("false");
                found.fields.push((name, element.text.clone(), overridable));
            }
            "description" => {}
            "dimensions" | "query-profile" => {
                let text =
                    "variants of query profiles are not supported; write profiles of their own";
                report.error(&element.place, text);
            }
            name => {
                report
                    .error(&element.place, format!("expected field or description, found {name}"));
            }
        }
    }
    found
}

fn profile_type(root: &XmlElement, id: Located<String>, report: &mut Report) -> QueryProfileType {
    let mut found = QueryProfileType {
        id,
        inherits: names(root, "inherits"),
        is_strict: root.child("strict").is_some(),
        matches_paths: root.child("match").is_some_and(|m| m.attribute("path") == Some("true")),
        fields: Vec::new(),
    };
    for element in root.all("field") {
        let Some(name) = element.located("name").cloned() else {
            report.error(&element.place, "field must have a name");
            continue;
        };
        let Some(kind) = kind(element, report) else { continue };
        found.fields.push(ProfileField {
            name,
            kind,
            is_mandatory: element.attribute("mandatory") == Some("true"),
            is_overridable: element.attribute("overridable") != Some("false"),
            aliases: names(element, "alias").into_iter().map(|a| a.value).collect(),
            place: element.place.clone(),
        });
    }
    for element in &root.children {
        if !["field", "strict", "match", "description"].contains(&element.name.as_str()) {
            let text = format!(
                "expected one of field, strict, match, description, found {}",
                element.name
            );
            report.error(&element.place, text);
        }
    }
    found
}

fn kind(element: &XmlElement, report: &mut Report) -> Option<FieldKind> {
    let Some(kind) = element.located("type") else {
        report.error(&element.place, "field must have a type");
        return None;
    };
    let text = kind.value.trim();
    Some(match text {
        "string" => FieldKind::String,
        "integer" => FieldKind::Integer,
        "long" => FieldKind::Long,
        "float" => FieldKind::Float,
        "double" => FieldKind::Double,
        "boolean" => FieldKind::Boolean,
        "query" => FieldKind::Query,
        "query-profile" => FieldKind::Profile(None),
        _ if text.starts_with("query-profile:") => {
            FieldKind::Profile(text.strip_prefix("query-profile:").map(str::to_owned))
        }
        _ if text.starts_with("tensor") => match parse_type(text) {
            Ok(kind) => FieldKind::Tensor(kind),
            Err(error) => {
                report.error(&kind.place, error.to_string());
                return None;
            }
        },
        _ => {
            let text = format!(
                "expected one of string, integer, long, float, double, boolean, query, query-profile, tensor(...), found {text}"
            );
            report.error(&kind.place, text);
            return None;
        }
    })
}
