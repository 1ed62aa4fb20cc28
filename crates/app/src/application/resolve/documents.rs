//! Documents with what they inherit, and structs.

use super::{Budget, by_name};
use crate::application::field::Field;
use crate::application::schema::{Schema, Struct};
use crate::order::order;
use crate::package::Report;
use crate::schema::{FieldType, Name};

/// Puts the fields and structs of parents before those of each document, and the types of members into struct fields.
pub(in crate::application) fn documents(schemas: &mut [Schema], report: &mut Report) {
    let names = by_name(schemas);
    let parents: Vec<Vec<usize>> = schemas
        .iter()
        .map(|schema| {
            let known = |name: &Name| {
                let found = names.get(&name.value).copied();
                // What all documents inherit from in Vespa.
                if found.is_none() && name.value != "document" {
                    let text = format!(
                        "document {} inherits from {}, which is no document of this package",
                        schema.document.name.value, name.value
                    );
                    return Err((name.place.clone(), text));
                }
                Ok(found)
            };
            schema.document.inherits.iter().map(known).collect::<Vec<_>>()
        })
        .map(|found| {
            let mut list = Vec::new();
            for parent in found {
                match parent {
                    Ok(parent) => list.extend(parent),
                    Err((place, text)) => report.error(&place, text),
                }
            }
            list
        })
        .collect();
    let (sorted, cyclic) = order(&parents);
    for at in cyclic {
        let name = &schemas[at].document.name;
        let text =
            format!("document {} inherits from itself, by way of others or at once", name.value);
        report.error(&name.place, text);
    }
    let mut budget = Budget::new();
    for at in sorted {
        let size =
            |p: &usize| schemas[*p].document.fields.len() + schemas[*p].document.structs.len();
        let count = parents[at].iter().map(size).sum();
        let place = schemas[at].document.name.place.clone();
        if !budget.takes(count, "documents", &place, report) {
            continue;
        }
        let (mut fields, mut structs): (Vec<Field>, Vec<Struct>) = (Vec::new(), Vec::new());
        for parent in &parents[at] {
            let parent = &schemas[*parent];
            for field in &parent.document.fields {
                let from = parent.document.name.value.clone();
                inherit_field(&mut fields, field, from, &schemas[at], report);
            }
            let inherited = parent.document.structs.iter().chain(&parent.structs);
            for inherited in inherited {
                if !structs.iter().any(|s| s.name.value == inherited.name.value) {
                    structs.push(inherited.clone());
                }
            }
        }
        let schema = &mut schemas[at];
        for own in &schema.document.fields {
            if let Some(first) = fields.iter().find(|f| f.name.value == own.name.value) {
                if *first.kind != *own.kind {
                    let text = format!(
                        "field {} is a {} here and a {} in document {}",
                        own.name.value,
                        *own.kind,
                        *first.kind,
                        first.from.as_deref().unwrap_or_default()
                    );
                    report.error(&own.name.place, text);
                }
                fields.retain(|f| f.name.value != own.name.value);
            }
        }
        structs.retain(|s| !schema.document.structs.iter().any(|o| o.name.value == s.name.value));
        fields.append(&mut schema.document.fields);
        structs.append(&mut schema.document.structs);
        schema.document.fields = fields;
        schema.document.structs = structs;
        inherit_members(schema, report);
        struct_fields(schema, report);
    }
}

fn inherit_field(
    fields: &mut Vec<Field>,
    field: &Field,
    from: String,
    child: &Schema,
    report: &mut Report,
) {
    let from = field.from.clone().unwrap_or(from);
    match fields.iter().find(|f| f.name.value == field.name.value) {
        None => fields.push(Field { from: Some(from), ..field.clone() }),
        Some(first) if first.from.as_ref() == Some(&from) || *first.kind == *field.kind => {}
        Some(first) => {
            let text = format!(
                "document {} inherits field {} from {} as {} and from {from} as {}",
                child.document.name.value,
                field.name.value,
                first.from.as_deref().unwrap_or_default(),
                *first.kind,
                *field.kind
            );
            report.error(&child.document.name.place, text);
        }
    }
}

/// Puts the members of the structs that a struct inherits from before its own.
fn inherit_members(schema: &mut Schema, report: &mut Report) {
    let inside = schema.document.structs.len();
    let mut all: Vec<Struct> =
        schema.document.structs.iter().chain(&schema.structs).cloned().collect();
    let mut parents: Vec<Vec<usize>> = Vec::new();
    for one in &all {
        let mut list = Vec::new();
        for name in &one.inherits {
            match all.iter().position(|s| s.name.value == name.value) {
                Some(at) => list.push(at),
                None => {
                    let text = format!(
                        "struct {} inherits from {}, which is no struct of document {}",
                        one.name.value, name.value, schema.document.name.value
                    );
                    report.error(&name.place, text);
                }
            }
        }
        parents.push(list);
    }
    let (sorted, cyclic) = order(&parents);
    for at in cyclic {
        let name = &all[at].name;
        let text =
            format!("struct {} inherits from itself, by way of others or at once", name.value);
        report.error(&name.place, text);
    }
    for at in sorted {
        let mut members = Vec::new();
        for parent in &parents[at] {
            for member in &all[*parent].members {
                let same =
                    |m: &&crate::application::schema::Member| m.name.value == member.name.value;
                if members.iter().find(same).is_none() {
                    members.push(member.clone());
                }
            }
        }
        let own = &all[at].members;
        members.retain(|m| !own.iter().any(|o| o.name.value == m.name.value));
        members.extend(own.iter().cloned());
        all[at].members = members;
    }
    schema.structs = all.split_off(inside);
    schema.document.structs = all;
}

/// Gives struct fields the types of the members that they name.
fn struct_fields(schema: &mut Schema, report: &mut Report) {
    let mut fields = std::mem::take(&mut schema.document.fields);
    let mut outside = std::mem::take(&mut schema.fields);
    for field in fields.iter_mut().chain(&mut outside) {
        // Struct fields are as deep as the text nests, which has a limit.
        let mut open: Vec<&mut Field> = vec![field];
        while let Some(field) = open.pop() {
            let kind = field.kind.value.clone();
            for inner in &mut field.struct_fields {
                match member(schema, &kind, &inner.name.value) {
                    Some(member) => inner.kind.value = member,
                    None => {
                        let text =
                            format!("struct-field {} is no part of type {kind}", inner.name.value);
                        report.error(&inner.name.place, text);
                    }
                }
            }
            open.extend(&mut field.struct_fields);
        }
    }
    schema.document.fields = fields;
    schema.fields = outside;
}

/// The type of a part of a value: of a struct, of each struct of an array, of the keys and values of a map.
fn member(schema: &Schema, kind: &FieldType, name: &str) -> Option<FieldType> {
    if let FieldType::Map(key, value) = kind {
        return match name.split_once('.') {
            None if name == "key" => Some((**key).clone()),
            None if name == "value" => Some((**value).clone()),
            Some(("value", rest)) => member(schema, value, rest),
            _ => None,
        };
    }
    match kind.element() {
        FieldType::Named(of) => {
            let found = schema.find_struct(of)?;
            let (first, rest) = name.split_once('.').unwrap_or((name, ""));
            let found = found.members.iter().find(|m| m.name.value == first)?;
            if rest.is_empty() {
                return Some(found.kind.value.clone());
            }
            member(schema, &found.kind, rest)
        }
        FieldType::Position if matches!(name, "x" | "y") => Some(FieldType::Int),
        _ => None,
    }
}
