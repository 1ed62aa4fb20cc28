//! Schemas with what they inherit from other schemas, and fields that are imported.

use std::collections::HashSet;

use super::{Budget, by_name};
use crate::application::field::Field;
use crate::application::schema::{DocumentSummary, Schema};
use crate::order::order;
use crate::package::Report;
use crate::schema::{FieldType, Name};

/// Puts what the parent of each schema has before what it has itself, profiles aside.
pub(in crate::application) fn schemas(schemas: &mut [Schema], report: &mut Report) {
    let names = by_name(schemas);
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for schema in schemas.iter() {
        let mut list = Vec::new();
        if let Some(name) = &schema.inherits {
            match names.get(&name.value) {
                Some(at) => list.push(*at),
                None => {
                    let text = format!(
                        "schema {} inherits from {}, which is no schema of this package",
                        schema.name.value, name.value
                    );
                    report.error(&name.place, text);
                }
            }
        }
        parents.push(list);
    }
    let (sorted, cyclic) = order(&parents);
    for at in cyclic {
        let name = &schemas[at].name;
        let text =
            format!("schema {} inherits from itself, by way of others or at once", name.value);
        report.error(&name.place, text);
    }
    let mut budget = Budget::new();
    for at in sorted {
        if let Some(parent) = parents[at].first() {
            let parent = schemas[*parent].clone();
            let count =
                parent.all_fields().count() + parent.summaries.len() + parent.field_sets.len();
            if !budget.takes(count, "schemas", &schemas[at].name.place.clone(), report) {
                continue;
            }
            inherit(&mut schemas[at], &parent);
        }
        inherit_summaries(&mut schemas[at], &mut budget, report);
    }
    imports(schemas, report);
}

/// Puts what is not there by its name before what is there.
fn before<T: Clone>(own: &mut Vec<T>, inherited: &[T], name: fn(&T) -> &Name) {
    let mine: HashSet<&str> = own.iter().map(|o| name(o).value.as_str()).collect();
    let is_new = |t: &&T| !mine.contains(name(t).value.as_str());
    let mut list: Vec<T> = inherited.iter().filter(is_new).cloned().collect();
    list.append(own);
    *own = list;
}

fn inherit(schema: &mut Schema, parent: &Schema) {
    if schema.document.fields.is_empty() && schema.document.inherits.is_empty() {
        schema.document.fields.clone_from(&parent.document.fields);
        schema.document.structs.clone_from(&parent.document.structs);
    }
    before(&mut schema.fields, &parent.fields, |f| &f.name);
    before(&mut schema.structs, &parent.structs, |s| &s.name);
    before(&mut schema.field_sets, &parent.field_sets, |s| &s.name);
    before(&mut schema.imports, &parent.imports, |i| &i.name);
    before(&mut schema.constants, &parent.constants, |c| &c.name);
    before(&mut schema.onnx_models, &parent.onnx_models, |m| &m.name);
    before(&mut schema.summaries, &parent.summaries, |s| &s.name);
    if schema.stemming.is_none() {
        schema.stemming.clone_from(&parent.stemming);
    }
    schema.raw_as_base64 |= parent.raw_as_base64;
}

fn inherit_summaries(schema: &mut Schema, budget: &mut Budget, report: &mut Report) {
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for summary in &schema.summaries {
        let mut list = Vec::new();
        for name in &summary.inherits {
            match schema.summaries.iter().position(|s| s.name.value == name.value) {
                Some(at) => list.push(at),
                // The summary of all fields is there without being written.
                None if name.value == "default" => {}
                None => {
                    let text = format!(
                        "document-summary {} inherits from {}, which schema {} has not",
                        summary.name.value, name.value, schema.name.value
                    );
                    report.error(&name.place, text);
                }
            }
        }
        parents.push(list);
    }
    let (sorted, cyclic) = order(&parents);
    for at in cyclic {
        let name = &schema.summaries[at].name;
        let text = format!("document-summary {} inherits from itself", name.value);
        report.error(&name.place, text);
    }
    for at in sorted {
        let count = parents[at].iter().map(|p| schema.summaries[*p].fields.len()).sum();
        let place = schema.summaries[at].name.place.clone();
        if !budget.takes(count, "document summaries", &place, report) {
            continue;
        }
        let inherited: Vec<DocumentSummary> =
            parents[at].iter().map(|p| schema.summaries[*p].clone()).collect();
        for parent in inherited {
            before(&mut schema.summaries[at].fields, &parent.fields, |f| &f.name);
        }
    }
}

/// Finds the types of imported fields.
fn imports(schemas: &mut [Schema], report: &mut Report) {
    let names = by_name(schemas);
    for at in 0..schemas.len() {
        for import in 0..schemas[at].imports.len() {
            match imported(schemas, &names, at, import) {
                Ok(kind) => schemas[at].imports[import].kind = Some(kind),
                Err(text) => report.error(&schemas[at].imports[import].place, text),
            }
        }
    }
}

fn imported(
    schemas: &[Schema],
    names: &std::collections::HashMap<String, usize>,
    at: usize,
    import: usize,
) -> Result<FieldType, String> {
    // An imported field may be one of a parent that imports it from its own.
    let (mut at, mut import) = (at, import);
    for _ in 0..schemas.len() {
        let schema = &schemas[at];
        let of = &schema.imports[import];
        let Some(field) = schema.field(&of.reference) else {
            return Err(format!("schema {} has no field {}", schema.name.value, of.reference));
        };
        let FieldType::Reference(parent) = &*field.kind else {
            let kind = &*field.kind;
            return Err(format!(
                "expected a field of type reference<...>, found {} of type {kind}",
                of.reference
            ));
        };
        if !field.is_attribute() {
            return Err(format!("the reference field {} must be an attribute", of.reference));
        }
        let Some(parent_at) = names.get(parent) else {
            return Err(format!("{parent} is no document of this package"));
        };
        let parent = &schemas[*parent_at];
        if let Some(found) = parent.field(&of.field) {
            // Of a map or an array of structs the parts may be attributes.
            if !found.is_attribute() && !found.struct_fields.iter().any(Field::is_attribute) {
                let name = &parent.name.value;
                return Err(format!(
                    "field {} of {name} must be an attribute to be imported",
                    of.field
                ));
            }
            return Ok(found.kind.value.clone());
        }
        match parent.imports.iter().position(|i| i.name.value == of.field) {
            Some(next) => (at, import) = (*parent_at, next),
            None => {
                return Err(format!("document {} has no field {}", parent.name.value, of.field));
            }
        }
    }
    Err("the field is imported from itself".to_owned())
}
