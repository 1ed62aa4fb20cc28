//! How the members of documents in collections become fields.

use stead_app::application::{Application, Schema};
use stead_app::schema::FieldType;

use crate::failure::Failure;

/// What becomes of the documents of a collection, as the command line says it.
pub(super) struct Wanted<'a> {
    /// Their type, where the package has several.
    pub(super) schema: Option<&'a str>,
    /// Which members become which fields.
    pub(super) fields: &'a [(String, String)],
}

/// How documents of collections become those of a type.
pub(super) struct Mapping<'a> {
    /// Nothing where the package has several and none is chosen: then documents have to say theirs.
    schema: Option<&'a Schema>,
    fields: &'a [(String, String)],
}

impl<'a> Mapping<'a> {
    pub(super) fn of(
        application: &'a Application,
        wanted: &Wanted<'a>,
    ) -> Result<Mapping<'a>, Failure> {
        let schema = match (wanted.schema, &application.schemas[..]) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(name), all) => Some(application.schema(name).ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|schema| &*schema.name.value).collect();
                Failure::failed(format!("expected --schema {}, found {name}", names.join(" or ")))
            })?),
        };
        let mapping = Mapping { schema, fields: wanted.fields };
        for (at, (member, field)) in wanted.fields.iter().enumerate() {
            if wanted.fields.iter().take(at).any(|(_, other)| other == field) {
                let text = format!("--field: expected one member for {field}, found two");
                return Err(Failure::usage(text));
            }
            if !mapping.schema().is_ok_and(|schema| has(schema, field)) {
                let why = match mapping.schema() {
                    Ok(schema) => format!("{} has {}", schema.name.value, names(schema)),
                    Err(text) => text,
                };
                return Err(Failure::failed(format!(
                    "--field {member}={field}: there is no field {field}: {why}"
                )));
            }
        }
        Ok(mapping)
    }

    pub(super) fn schema(&self) -> Result<&'a Schema, String> {
        self.schema
            .ok_or_else(|| "the package has several schemas; say which by --schema".to_owned())
    }

    /// The fields that a member becomes: those that the command line says, or that of the same name.
    pub(super) fn fields_of(&self, schema: &Schema, member: &str) -> Vec<String> {
        let said = self.fields.iter().filter(|(from, _)| from == member);
        let said: Vec<String> = said.map(|(_, field)| field.clone()).collect();
        let is_taken = || self.fields.iter().any(|(_, field)| field == member);
        match said.is_empty() && has(schema, member) && !is_taken() {
            true => vec![member.to_owned()],
            false => said,
        }
    }

    /// The field of the text of documents that have nothing else.
    pub(super) fn text_field(&self, schema: &Schema) -> Result<String, String> {
        if let Some((_, field)) = self.fields.iter().find(|(member, _)| member == "text") {
            return Ok(field.clone());
        }
        let texts = schema
            .document
            .fields
            .iter()
            .filter(|field| field.kind.value == FieldType::String && field.is_index());
        let texts: Vec<&str> = texts.map(|field| &*field.name.value).collect();
        match texts[..] {
            [only] => Ok(only.to_owned()),
            [] => Err(format!(
                "expected a field of type string with an index for the text, {} has none; --field text=NAME names another",
                schema.name.value
            )),
            _ => Err(format!(
                "the text may become {}; say which by --field text=NAME",
                texts.join(" or ")
            )),
        }
    }
}

/// Only fields of the document are fed: others are made from them.
fn has(schema: &Schema, field: &str) -> bool {
    schema.document.fields.iter().any(|of| of.name.value == field)
}

/// The fields of a document, for people.
pub(super) fn names(schema: &Schema) -> String {
    let names: Vec<&str> = schema.document.fields.iter().map(|of| &*of.name.value).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
