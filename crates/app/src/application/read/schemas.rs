//! Schemas and documents.

use super::fields::{field, matching, summary_field};
use super::onnx::onnx_model;
use super::profiles::profiles;
use super::{all, one, unique};
use crate::application::field::Field;
use crate::application::schema::{
    ConstantFile, Document, DocumentSummary, FieldSet, ImportedField, Member, Schema, Struct,
};
use crate::package::{Located, Report};
use crate::schema::{Element, FieldType, Name, Value};

/// Names that no field may have: words of queries and results
/// (Vespa, `config-model/src/main/java/com/yahoo/schema/Schema.java`).
const RESERVED: [&str; 16] = [
    "index",
    "index_url",
    "summary",
    "attribute",
    "select_input",
    "host",
    "documentid",
    "position",
    "split_foreach",
    "tokenize",
    "if",
    "else",
    "switch",
    "case",
    "sddocname",
    "relevancy",
];

/// The schema of a file: its only element is `schema`, `search` or a bare `document`.
pub(in crate::application) fn schema(elements: &[Element], report: &mut Report) -> Option<Schema> {
    let element = elements.first()?;
    for other in elements.iter().skip(1) {
        let text = format!("expected the end of the file after the {}", element.keyword());
        report.error(&other.place, text);
    }
    let name = element.name.clone()?;
    let is_document_only = element.keyword() == "document";
    let document = if is_document_only {
        Some(document(element, &name, report))
    } else {
        one(&element.body, "document", report).map(|e| document(e, &name, report))
    };
    let Some(document) = document else {
        // A schema that inherits has the document of its parent.
        if element.inherits.is_empty() {
            report.error(&name.place, format!("schema {} has no document", name.value));
        }
        let document = Document {
            name: name.clone(),
            inherits: Vec::new(),
            fields: Vec::new(),
            structs: Vec::new(),
        };
        return Some(with_body(name, element, document, false, report));
    };
    if document.name.value != name.value {
        let text = format!(
            "the document of schema {} must have its name, found {}",
            name.value, document.name.value
        );
        report.error(&document.name.place, text);
    }
    if !is_document_only && element.inherits.len() > 1 {
        let text = format!("schema {} inherits from more than one schema", name.value);
        report.error(&element.inherits[1].place, text);
    }
    Some(with_body(name, element, document, is_document_only, report))
}

fn with_body(
    name: Name,
    element: &Element,
    document: Document,
    is_document_only: bool,
    report: &mut Report,
) -> Schema {
    // The body of a bare document holds fields and structs, which are the document's.
    let body: &[Element] = if is_document_only { &[] } else { &element.body };
    let schema = Schema {
        inherits: if is_document_only { None } else { element.inherits.first().cloned() },
        is_document_only,
        document,
        fields: fields(body, report),
        structs: structs(body, report),
        field_sets: all(body, "fieldset").filter_map(|e| field_set(e, report)).collect(),
        imports: all(body, "import").filter_map(|e| import(e, report)).collect(),
        constants: all(body, "constant").filter_map(|e| constant(e, report)).collect(),
        onnx_models: all(body, "onnx-model").filter_map(|e| onnx_model(e, report)).collect(),
        summaries: all(body, "document-summary").filter_map(|e| summary(e, report)).collect(),
        profiles: profiles(body, report),
        stemming: one(body, "stemming", report).map(|e| e.text().to_owned()),
        raw_as_base64: one(body, "raw-as-base64-in-summary", report).is_some_and(Element::bool),
        snippets: Vec::new(),
        name,
    };
    unique("field", schema.all_fields().map(|f| &f.name), report);
    unique("fieldset", schema.field_sets.iter().map(|f| &f.name), report);
    unique("imported field", schema.imports.iter().map(|f| &f.name), report);
    unique("constant", schema.constants.iter().map(|f| &f.name), report);
    unique("onnx-model", schema.onnx_models.iter().map(|f| &f.name), report);
    unique("document-summary", schema.summaries.iter().map(|f| &f.name), report);
    unique("rank-profile", schema.profiles.iter().map(|f| &f.name), report);
    schema
}

fn document(element: &Element, schema: &Name, report: &mut Report) -> Document {
    let document = Document {
        name: element
            .name
            .clone()
            .unwrap_or_else(|| Located::new(schema.value.clone(), element.place.clone())),
        inherits: element.inherits.clone(),
        fields: fields(&element.body, report),
        structs: structs(&element.body, report),
    };
    unique("struct", document.structs.iter().map(|s| &s.name), report);
    document
}

fn fields(body: &[Element], report: &mut Report) -> Vec<Field> {
    let mut list = Vec::new();
    for element in all(body, "field") {
        if let Some(name) = &element.name {
            check_name(name, report);
        }
        list.extend(field(element, report));
    }
    list
}

fn check_name(name: &Name, report: &mut Report) {
    if RESERVED.contains(&name.value.to_lowercase().as_str()) {
        report
            .error(&name.place, format!("{} is a reserved name; no field may have it", name.value));
    } else if name.value.contains(['-', '.']) {
        let text =
            format!("the name of field {} may have letters, digits and underscores", name.value);
        report.error(&name.place, text);
    }
}

fn structs(body: &[Element], report: &mut Report) -> Vec<Struct> {
    let mut list = Vec::new();
    for element in all(body, "struct") {
        let Some(name) = element.name.clone() else { continue };
        let member = |e: &Element| Some(Member { name: e.name.clone()?, kind: e.kind.clone()? });
        let members: Vec<Member> = all(&element.body, "field").filter_map(member).collect();
        unique("field", members.iter().map(|m| &m.name), report);
        for member in &members {
            check_name(&member.name, report);
        }
        list.push(Struct { name, inherits: element.inherits.clone(), members });
    }
    list
}

fn field_set(element: &Element, report: &mut Report) -> Option<FieldSet> {
    let fields: Vec<Name> =
        all(&element.body, "fields").flat_map(Element::names).cloned().collect();
    if fields.is_empty() {
        let text = format!("fieldset {} has no fields; expected fields: a, b", element.name());
        report.error(&element.place, text);
    }
    let command = |e: &Element| match &e.value {
        Some(Value::Text(text)) => Some(text.clone()),
        _ => None,
    };
    Some(FieldSet {
        name: element.name.clone()?,
        fields,
        query_commands: all(&element.body, "query-command").filter_map(command).collect(),
        matching: matching(&element.body, report),
    })
}

fn import(element: &Element, report: &mut Report) -> Option<ImportedField> {
    let Some(Value::Text(from)) = &element.value else { return None };
    let Some((reference, field)) = from.value.split_once('.').filter(|(_, f)| !f.contains('.'))
    else {
        let text = format!("expected reference.field, found {:?}", from.value);
        report.error(&from.place, text);
        return None;
    };
    Some(ImportedField {
        name: element.name.clone()?,
        reference: reference.to_owned(),
        field: field.to_owned(),
        place: from.place.clone(),
        kind: None,
    })
}

/// A constant of a file.
pub(super) fn constant(element: &Element, report: &mut Report) -> Option<ConstantFile> {
    let kind = match one(&element.body, "type", report).and_then(|e| e.value.clone()) {
        Some(Value::Type(kind))
            if kind.tensor().is_none_or(stead_expr::TensorType::is_bound)
                && matches!(*kind, FieldType::Tensor(_) | FieldType::Double) =>
        {
            Some(kind)
        }
        Some(Value::Type(kind)) => {
            let text =
                format!("a constant is a tensor whose sizes are known, found type {}", *kind);
            report.error(&kind.place, text);
            return None;
        }
        _ => None,
    };
    let file = match one(&element.body, "file", report).and_then(|e| e.value.clone()) {
        Some(Value::Text(file)) => Some(file),
        _ => None,
    };
    let (Some(kind), Some(file)) = (kind, file) else {
        let text = format!("constant {} must have a file and a type", element.name());
        report.error(&element.place, text);
        return None;
    };
    Some(ConstantFile { name: element.name.clone()?, kind, file })
}

fn summary(element: &Element, report: &mut Report) -> Option<DocumentSummary> {
    let name = element.name.clone()?;
    let mut fields = Vec::new();
    for field in all(&element.body, "summary") {
        if field.name.is_none() {
            let text = format!("expected the name of a field after summary in {}", name.value);
            report.error(&field.place, text);
            continue;
        }
        fields.push(summary_field(field, &name, report));
    }
    Some(DocumentSummary {
        name,
        inherits: element.inherits.clone(),
        fields,
        from_disk: all(&element.body, "from-disk").next().is_some(),
        omit_summary_features: all(&element.body, "omit-summary-features").next().is_some(),
    })
}
