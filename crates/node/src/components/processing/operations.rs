//! Operations as document processors see them, and what they give for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use stead_app::application::Application;
use stead_python::Value as Plain;
use stead_store::{Action, DocumentType, FieldValue, Members, Operation, Selection, Verb};

use super::Fed;
use super::json::{json, plain};
use crate::components::plain::field::{field, read_field};
use crate::components::plain::{dict, kind};

/// An operation that came out of processors.
#[derive(Debug, PartialEq)]
pub(super) struct Came {
    /// Of which operation that was given it is; nothing if that is not known.
    pub(super) from: Option<usize>,
    pub(super) fed: Fed,
}

/// The types of documents that are stored, with their content clusters.
pub(super) struct Kinds(BTreeMap<String, (Arc<DocumentType>, String)>);

impl Kinds {
    pub(super) fn new(application: &Application) -> Kinds {
        let contents = application.services.contents.iter();
        let of = contents.flat_map(|content| {
            content.documents.iter().filter_map(|document| {
                let name = &document.kind.value;
                let kind = DocumentType::stored(application.schema(name)?);
                Some((name.clone(), (Arc::new(kind), content.id.clone())))
            })
        });
        Kinds(of.collect())
    }

    /// The content cluster of a type.
    pub(super) fn cluster(&self, name: &str) -> Option<&String> {
        self.0.get(name).map(|(_, cluster)| cluster)
    }

    /// The type of a document, by its id.
    fn of(&self, document: &str) -> Result<&DocumentType, String> {
        self.shared(document).map(|kind| &**kind)
    }

    /// The same for who keeps it.
    pub(super) fn shared(&self, document: &str) -> Result<&Arc<DocumentType>, String> {
        let name = kind_of(document);
        self.0.get(name).map(|(kind, _)| kind).ok_or_else(|| {
            let known = self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            format!("document {document} is of the type {name:?}, which is not stored here; there are {known}")
        })
    }
}

/// The type that the id of a document names; nothing if it is none.
pub(super) fn kind_of(document: &str) -> &str {
    document.strip_prefix("id:").and_then(|rest| rest.split(':').nth(1)).unwrap_or_default()
}

/// The argument of `process`.
///
/// # Errors
/// When memory is short.
pub(super) fn operations(fed: &[&Fed], kinds: &Kinds) -> Result<Plain, String> {
    let list = fed.iter().map(|fed| operation(fed, kinds)).collect::<Result<_, _>>()?;
    Ok(dict([("operations", Plain::List(list))]))
}

fn operation(fed: &Fed, kinds: &Kinds) -> Result<Plain, String> {
    let Operation { document, condition, action, .. } = &fed.operation;
    let condition = condition.as_ref().map_or(Plain::None, |of| of.text().into());
    let head = |op: &str| {
        vec![
            ("op".to_owned(), op.into()),
            ("id".to_owned(), document.as_str().into()),
            ("type".to_owned(), kind_of(document).into()),
            ("condition".to_owned(), condition.clone()),
        ]
    };
    let with = |op: &str, fields: Plain, create: bool| {
        let mut members = head(op);
        members.extend([("fields".to_owned(), fields), ("create".to_owned(), create.into())]);
        Plain::Dict(members)
    };
    Ok(match action {
        Action::Put { fields, create } => {
            let of = kinds.of(document)?;
            let mut members = Vec::with_capacity(fields.len());
            for (number, value) in fields {
                let name = of.field_name(*number).unwrap_or_default().to_owned();
                members.push((name, field(value).map_err(|e| e.to_string())?));
            }
            with("put", Plain::Dict(members), *create)
        }
        Action::Update { create, .. } => {
            let text = fed.changes.as_deref().unwrap_or("{}");
            let changes = serde_json::from_str(text).map_err(|e| e.to_string())?;
            with("update", plain(changes), *create)
        }
        Action::Remove => Plain::Dict(head("remove")),
    })
}

/// What processors gave for operations.
///
/// # Errors
/// That it is no list of operations, or one does not fit the type of its document.
pub(super) fn read_operations(
    answer: Plain,
    given: &[&Fed],
    kinds: &Kinds,
) -> Result<Vec<Came>, String> {
    let mut members = Given::of(answer)?;
    let Plain::List(list) = members.take("operations") else {
        return Err("gave no list of operations".to_owned());
    };
    list.into_iter().map(|one| read_operation(one, given, kinds)).collect()
}

fn read_operation(one: Plain, given: &[&Fed], kinds: &Kinds) -> Result<Came, String> {
    if let Plain::Int(number) = one {
        let (at, fed) = nth(number, given)?;
        return Ok(Came { from: Some(at), fed: fed.clone() });
    }
    let mut members = Given::of(one)?;
    let document = members.text("id")?;
    let of = kinds.of(&document)?;
    let wrong = |text: String| format!("gave document {document}: {text}");
    let base = match members.take("ref") {
        Plain::Int(number) => Some(nth(number, given)?),
        _ => None,
    };
    let same = || {
        let mut same = given.iter().enumerate().filter(|(_, f)| f.operation.document == document);
        same.next().filter(|_| same.next().is_none()).map(|(at, _)| at)
    };
    let from = base.map(|(at, _)| at).or_else(same);
    let create = matches!(members.take("create"), Plain::Bool(true));
    let condition = match members.take("condition") {
        Plain::None => None,
        Plain::Str(text) => Some(text),
        other => {
            return Err(wrong(format!("expected a condition as a text, found {}", kind(&other))));
        }
    };
    let op = members.text("op")?;
    let fields = members.take("fields");
    let fed = match op.as_str() {
        "update" => update(of, &document, fields, condition, create).map_err(wrong)?,
        "put" | "remove" => {
            let parsed = condition.as_deref().map(Selection::parse).transpose();
            let condition = parsed.map_err(|e| wrong(format!("condition: {e}")))?;
            let action = match op.as_str() {
                "remove" => Action::Remove,
                _ => {
                    let removed = members.take("removed");
                    let base = base.map(|(_, fed)| fed);
                    let fields = put(of, fields, removed, base, kinds).map_err(wrong)?;
                    Action::Put { fields, create }
                }
            };
            let operation = Operation { operation: 0, document, condition, action };
            Fed { operation, changes: None }
        }
        other => return Err(format!("gave an operation {other:?}")),
    };
    Ok(Came { from, fed })
}

fn nth<'g>(number: i64, given: &[&'g Fed]) -> Result<(usize, &'g Fed), String> {
    let at = usize::try_from(number).ok();
    let found = at.and_then(|at| Some((at, *given.get(at)?)));
    found.ok_or_else(|| format!("gave operation {number}, which it was not given"))
}

/// The fields of a document to put: those of another but for what was removed, and those that are new or changed.
fn put(
    of: &DocumentType,
    fields: Plain,
    removed: Plain,
    base: Option<&Fed>,
    kinds: &Kinds,
) -> Result<Vec<(usize, FieldValue)>, String> {
    let mut found = match base.map(|fed| (&fed.operation.action, &fed.operation.document)) {
        Some((Action::Put { fields, .. }, document)) => moved(kinds.of(document)?, of, fields)?,
        _ => Vec::new(),
    };
    let number = |name: &str| {
        of.field(name).ok_or_else(|| {
            let known: Vec<&str> = of.fields().collect();
            format!(
                "documents of type {} have no field {name}; they have {}",
                of.name(),
                known.join(", ")
            )
        })
    };
    if let Plain::List(names) = removed {
        for name in names {
            let Plain::Str(name) = name else {
                return Err("a name of a field that is no text".to_owned());
            };
            let (number, _) = number(&name)?;
            found.retain(|(at, _)| *at != number);
        }
    }
    let Plain::Dict(fields) = fields else { return Err("expected a dict of fields".to_owned()) };
    for (name, value) in fields {
        let (number, kind) = number(&name)?;
        found.retain(|(at, _)| *at != number);
        if value != Plain::None {
            let value = read_field(of, kind, value).map_err(|e| format!("field {name}: {e}"))?;
            found.push((number, value));
        }
    }
    Ok(found)
}

/// The fields of a document of one type as those of another, where that has them too.
fn moved(
    from: &DocumentType,
    to: &DocumentType,
    fields: &[(usize, FieldValue)],
) -> Result<Vec<(usize, FieldValue)>, String> {
    if from.name() == to.name() {
        return Ok(fields.to_vec());
    }
    let one = |(number, value): &(usize, FieldValue)| {
        let name = from.field_name(*number).unwrap_or_default();
        match to.field(name) {
            Some((at, kind)) if Some(kind) == from.field_kind(*number) => Ok((at, value.clone())),
            _ => Err(format!(
                "documents of type {} have no field {name} as those of type {}",
                to.name(),
                from.name()
            )),
        }
    };
    fields.iter().map(one).collect()
}

fn update(
    of: &DocumentType,
    document: &str,
    fields: Plain,
    condition: Option<String>,
    create: bool,
) -> Result<Fed, String> {
    let fields = json(fields)?;
    let changes: Arc<str> = fields.to_string().into();
    let mut body = json!({"fields": fields, "create": create});
    if let Some(condition) = condition {
        body["condition"] = condition.into();
    }
    let body = body.to_string();
    let members = Members::parse(body.as_bytes()).map_err(|e| e.to_string())?;
    let operation = members.operation(of, Verb::Update, document).map_err(|e| match e.field {
        Some(field) => format!("field {field}: {}", e.text),
        None => e.text,
    })?;
    Ok(Fed { operation, changes: Some(changes) })
}

/// The members of a dict that Python gave.
struct Given(Vec<(String, Plain)>);

impl Given {
    fn of(value: Plain) -> Result<Given, String> {
        match value {
            Plain::Dict(members) => Ok(Given(members)),
            other => Err(format!("gave {}, which is no operation", kind(&other))),
        }
    }

    /// A member, which is None where there is none.
    fn take(&mut self, name: &str) -> Plain {
        let at = self.0.iter().position(|(known, _)| known == name);
        at.map_or(Plain::None, |at| self.0.swap_remove(at).1)
    }

    fn text(&mut self, name: &str) -> Result<String, String> {
        match self.take(name) {
            Plain::Str(text) => Ok(text),
            other => Err(format!("gave an operation with {} for {name}", kind(&other))),
        }
    }
}

#[cfg(test)]
mod tests;
