//! The documents that are ranked: those that are fed as they are, and those of collections, whose members become fields.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use stead_app::application::{Application, Schema};
use stead_node::Embedded;
use stead_store::Objects;

use super::judgements::user_part;
use super::mapping::{Mapping, Wanted, names};
use super::{bar, files, queries};
use crate::failure::Failure;

/// Feeds the documents of a file: objects one after the other or in an array, or lines of an id, a tab and a text. Those that come are
/// taken out of `missing`.
pub(super) fn feed(
    node: &Embedded,
    application: &Application,
    path: &Path,
    wanted: &Wanted<'_>,
    missing: &mut HashSet<&str>,
) -> Result<(), Failure> {
    let mapping = Mapping::of(application, wanted)?;
    let (bar, mut untaken) = (bar(0), Untaken::default());
    let mut one = |document: Fed| {
        node.feed_json(&document.json).map_err(|e| e.to_string())?;
        missing.remove(&*document.id);
        missing.remove(user_part(&document.id));
        bar.inc(1);
        Ok(())
    };
    let mut reader = files::open(path)?;
    if matches!(files::first(path, &mut reader)?, Some(b'{' | b'[') | None) {
        let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
        let mut objects = Objects::new(reader);
        while let Some((line, object)) = objects.next().map_err(|e| fail(&e))? {
            let fed = document(object, &mapping, &mut untaken).and_then(&mut one);
            fed.map_err(|e| Failure::failed(format!("{}:{line}: {e}", path.display())))?;
        }
    } else {
        files::lines(path, reader, |_, line| one(row(line, &mapping)?))?;
    }
    bar.finish_and_clear();
    if let Some(note) = untaken.note(path) {
        eprintln!("note: {note}");
    }
    Ok(())
}

/// A document as it is fed.
#[derive(Debug, PartialEq)]
struct Fed {
    id: String,
    json: String,
}

/// The members that became no field, with how many documents have them.
#[derive(Debug, Default)]
struct Untaken {
    documents: u64,
    members: BTreeMap<String, u64>,
}

impl Untaken {
    fn note(&self, path: &Path) -> Option<String> {
        let members: Vec<String> = self
            .members
            .iter()
            .map(|(name, count)| format!("{name} ({count} of {} documents)", self.documents))
            .collect();
        (!members.is_empty()).then(|| {
            format!(
                "{}: no field takes {}; --field MEMBER=FIELD names one",
                path.display(),
                members.join(", ")
            )
        })
    }
}

/// A document of an object: one that is fed, or one of BEIR, whose `_id` becomes that of a document of a type, and whose members become
/// its fields.
fn document(object: &[u8], mapping: &Mapping<'_>, untaken: &mut Untaken) -> Result<Fed, String> {
    let mut members: Map<String, Json> =
        serde_json::from_slice(object).map_err(|e| e.to_string())?;
    let verbs = ["put", "id", "update", "remove"];
    if let Some(id) = verbs.iter().find_map(|verb| members.get(*verb)) {
        let json = std::str::from_utf8(object).map_err(|e| e.to_string())?.to_owned();
        return Ok(Fed { id: queries::text(id), json });
    }
    let id = members.remove("_id").ok_or("expected \"put\" or \"_id\"")?;
    let schema = mapping.schema()?;
    let (mut fields, mut others) = (Map::new(), Vec::new());
    for (name, value) in &members {
        let of_member = mapping.fields_of(schema, name);
        if of_member.is_empty() && !is_empty(value) {
            others.push(name.clone());
        }
        fields.extend(of_member.into_iter().map(|field| (field, value.clone())));
    }
    // Where nothing fits, it is not the odd document that is short of something, but the mapping that is missing.
    if untaken.documents == 0 && fields.is_empty() {
        let found: Vec<&str> = members.keys().map(String::as_str).collect();
        return Err(format!(
            "no member of the document is a field: it has {}, {} has {}; --field MEMBER=FIELD says which is which",
            if found.is_empty() { "none".to_owned() } else { found.join(", ") },
            schema.name.value,
            names(schema)
        ));
    }
    untaken.documents += 1;
    for name in others {
        *untaken.members.entry(name).or_default() += 1;
    }
    Ok(fed(schema, &queries::text(&id), fields))
}

/// A document of a line of MS MARCO's `collection.tsv`.
fn row(line: &str, mapping: &Mapping<'_>) -> Result<Fed, String> {
    let (id, text) = line
        .split_once('\t')
        .ok_or("expected an object, or an id and a text with a tab between")?;
    let schema = mapping.schema()?;
    let field = mapping.text_field(schema)?;
    Ok(fed(schema, id.trim(), [(field, text.trim().into())].into_iter().collect()))
}

fn fed(schema: &Schema, name: &str, fields: Map<String, Json>) -> Fed {
    let kind = &schema.document.name.value;
    let id = format!("id:{kind}:{kind}::{name}");
    Fed { json: json!({"put": id, "fields": fields}).to_string(), id }
}

/// Nobody misses what is empty, such as the `metadata` of BEIR.
fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(list) => list.is_empty(),
        Json::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
