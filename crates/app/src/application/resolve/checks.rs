//! Whether what a schema names is there and fits.

use std::collections::HashSet;

use crate::application::field::Field;
use crate::application::indexing;
use crate::application::schema::{AttributeType, Schema};
use crate::package::Report;
use crate::schema::{Argument, FieldType, Name, Operation};

/// Checks the fields, sets, summaries and profiles of a schema. `documents` are the names of all documents.
pub(in crate::application) fn check(
    schema: &Schema,
    documents: &HashSet<String>,
    report: &mut Report,
) {
    for field in &schema.document.fields {
        // Those that are inherited are checked where they are written.
        if field.from.is_none() {
            check_field(schema, field, documents, report);
            indexing::check(schema, field, true, report);
        }
    }
    for field in &schema.fields {
        check_field(schema, field, documents, report);
        indexing::check(schema, field, false, report);
        check_begin(field, report);
    }
    for one in schema.document.structs.iter().chain(&schema.structs) {
        for member in &one.members {
            check_type(schema, &member.kind, &member.kind.place, documents, report);
        }
    }
    let has = |name: &str| {
        let first = name.split('.').next().unwrap_or(name);
        schema.field(first).is_some() || schema.attribute(name).is_some()
    };
    let missing = |what: &str, name: &Name, report: &mut Report| {
        let text =
            format!("{what} names {}, which schema {} has not", name.value, schema.name.value);
        report.error(&name.place, text);
    };
    for set in &schema.field_sets {
        for name in set.fields.iter().filter(|n| !has(&n.value)) {
            missing(&format!("fieldset {}", set.name.value), name, report);
        }
    }
    for summary in &schema.summaries {
        for field in &summary.fields {
            let what = format!("document-summary {}", summary.name.value);
            for source in field.sources.iter().filter(|n| !has(&n.value) && n.value != "documentid")
            {
                missing(&what, source, report);
            }
            let is_known = |f: &Field| f.summaries.iter().any(|s| s.name.value == field.name.value);
            let known = ["documentid", "sddocname"];
            if field.sources.is_empty()
                && !has(&field.name.value)
                && !known.contains(&field.name.value.as_str())
                && !schema.all_fields().any(is_known)
            {
                missing(&what, &field.name, report);
            }
        }
    }
    for profile in &schema.profiles {
        for rank in profile.fields.iter().filter(|r| !has(&r.field.value)) {
            // Vespa does not look, and profiles are inherited by schemas with other fields.
            let text = format!(
                "rank-profile {} names {}, which schema {} has not; it has no effect",
                profile.name.value, rank.field.value, schema.name.value
            );
            report.warning(&rank.field.place, text);
        }
        if let Some(phase) = &profile.match_phase {
            match schema.attribute(&phase.attribute.value) {
                Some(AttributeType::Of(kind)) if kind.is_number() => {
                    let field = schema.field(&phase.attribute.value);
                    if field.is_some_and(|f| !f.attribute.fast_search) {
                        let text = format!(
                            "match-phase needs attribute {} to have fast-search",
                            phase.attribute.value
                        );
                        report.error(&phase.attribute.place, text);
                    }
                }
                Some(_) => {
                    let text = format!(
                        "match-phase needs attribute {} to be a single number",
                        phase.attribute.value
                    );
                    report.error(&phase.attribute.place, text);
                }
                None => missing("match-phase", &phase.attribute, report),
            }
        }
        if let Some(diversity) = &profile.diversity {
            let name = &diversity.attribute;
            match schema.attribute(&name.value) {
                Some(AttributeType::Of(kind))
                    if kind.is_number() || matches!(kind, FieldType::String) => {}
                Some(_) => {
                    let text = format!(
                        "diversity needs attribute {} to be a single number or string",
                        name.value
                    );
                    report.error(&name.place, text);
                }
                None => missing("diversity", name, report),
            }
            if profile.match_phase.is_none() && profile.second_phase.expression.is_none() {
                let text = format!(
                    "the diversity of rank-profile {} needs match-phase or second-phase",
                    profile.name.value
                );
                report.error(&name.place, text);
            }
        }
    }
}

/// Checks that a type is made of types that are there.
fn check_type(
    schema: &Schema,
    kind: &FieldType,
    place: &crate::package::Place,
    documents: &HashSet<String>,
    report: &mut Report,
) {
    let mut open = vec![kind];
    while let Some(kind) = open.pop() {
        match kind {
            FieldType::Array(of) | FieldType::WeightedSet(of) => open.push(of),
            FieldType::Map(key, value) => open.extend([&**key, &**value]),
            FieldType::Reference(name) if !documents.contains(name) => {
                let text = format!("reference<{name}> names no document of this package");
                report.error(place, text);
            }
            FieldType::Named(name) if schema.find_struct(name).is_none() && !name.is_empty() => {
                let text = if documents.contains(name) {
                    format!("a field may not hold documents; use reference<{name}>")
                } else {
                    format!(
                        "unknown type {name}; expected a built-in type or a struct of the document"
                    )
                };
                report.error(place, text);
            }
            FieldType::Tensor(tensor) if !tensor.is_bound() => {
                let text = format!(
                    "a field may not be a {tensor}: all its tensors have one size, as in {}",
                    sized(tensor)
                );
                report.error(place, text);
            }
            _ => {}
        }
        if let FieldType::WeightedSet(of) = kind
            && !matches!(
                **of,
                FieldType::Byte
                    | FieldType::Int
                    | FieldType::Long
                    | FieldType::String
                    | FieldType::Uri
            )
        {
            let text =
                format!("expected weightedset<byte|int|long|string>, found weightedset<{of}>");
            report.error(place, text);
        }
    }
}

fn check_field(schema: &Schema, field: &Field, documents: &HashSet<String>, report: &mut Report) {
    let (name, kind) = (&field.name.value, &*field.kind);
    check_type(schema, kind, &field.kind.place, documents, report);
    check_script(schema, field, report);
    let place = &field.name.place;
    if let Some(tensor) = kind.tensor() {
        let indexed = tensor.indexed().count();
        if field.is_index() && indexed != 1 {
            let text = format!(
                "an index of neighbours needs a tensor with one indexed dimension, found {kind} of field {name}"
            );
            report.error(&field.kind.place, text);
        }
        if field.index.has_bm25 {
            report.error(place, format!("field {name} is a tensor, which has no bm25"));
        }
    } else {
        if field.index.hnsw.is_some() {
            report.error(place, format!("hnsw needs a tensor, found field {name} of type {kind}"));
        }
        let is_position = *kind.element() == FieldType::Position;
        if field.attribute.distance_metric.is_some() && !is_position {
            let text = format!("distance-metric needs a tensor, found field {name} of type {kind}");
            report.error(place, text);
        }
    }
    check_paged(field, report);
    if *kind == FieldType::Predicate && field.is_attribute() && field.index.arity.is_none() {
        report.error(
            place,
            format!("predicate field {name} must say its arity: index {{ arity: 8 }}"),
        );
    }
    if let FieldType::Reference(_) = kind
        && !field.is_attribute()
    {
        report.error(place, format!("reference field {name} must be an attribute"));
    }
}

/// Whether an attribute may lie on disk (Vespa, `PagedAttributeValidator`).
fn check_paged(field: &Field, report: &mut Report) {
    // Struct fields stand in the schema, which nests them as deep as it may be nested itself.
    field.struct_fields.iter().for_each(|part| check_paged(part, report));
    if !field.attribute.paged {
        return;
    }
    let (name, is_tensor) = (&field.name, field.kind.tensor().is_some());
    if is_tensor && field.attribute.fast_rank || *field.kind == FieldType::Predicate {
        let text = format!(
            "field {}: the 'paged' attribute setting is not supported for fast-rank tensor and predicate types",
            name.value
        );
        report.error(&name.place, text);
    }
}

/// A field outside the document has no value of its own.
fn check_begin(field: &Field, report: &mut Report) {
    let Some(script) = &field.indexing else { return };
    for statement in &script.statements {
        let Some(first) = statement.steps.first() else { continue };
        if let Operation::Call("attribute" | "index" | "summary", _) = &first.operation {
            let text = format!(
                "field {} is outside the document; its script must begin with a value such as input f",
                field.name.value
            );
            report.error(&first.place, text);
        }
    }
}

/// Whether the fields that a script reads are there.
fn check_script(schema: &Schema, field: &Field, report: &mut Report) {
    let Some(script) = &field.indexing else { return };
    for (step, arguments) in script.calls("input") {
        let Some(Argument::Name(name)) = arguments.first() else { continue };
        let first = name.split('.').next().unwrap_or(name);
        if schema.document.fields.iter().all(|f| f.name.value != first) {
            let text =
                format!("input {name} names no field of document {}", schema.document.name.value);
            report.error(&step.place, text);
        }
    }
}
/// The type with a size in place of each that is open.
fn sized(tensor: &stead_expr::TensorType) -> String {
    tensor.to_string().replace("[]", "[128]")
}
