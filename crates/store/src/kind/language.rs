//! The languages of the texts of documents.

use stead_app::application::{LanguageTag, Schema, languages_of};
use stead_text::Language;

use super::DocumentType;
use crate::value::FieldValue;

/// Where the tag of a language comes from, by the numbers of fields.
#[derive(Debug, Clone, PartialEq)]
enum Tag {
    Text(String),
    Field(usize),
    /// The first of these that there is.
    First(Vec<Tag>),
}

/// What says the languages of the indexed texts of documents (`set_language`).
#[derive(Debug, Clone, Default)]
pub(super) struct Languages {
    /// By the number of the field of the texts, those that anything says the language of: the last tag that there is holds.
    tags: Vec<(usize, Vec<Tag>)>,
    /// The fields whose values are tags, in ascending order.
    fields: Vec<usize>,
}

impl Languages {
    /// Of the fields with these numbers; all fields are those of the schema in its order.
    pub(super) fn of(schema: &Schema, texts: impl Iterator<Item = usize>) -> Languages {
        let names: Vec<&str> = schema.all_fields().map(|field| &*field.name.value).collect();
        let mut found = Languages::default();
        for field in texts {
            let tags = names.get(field).map(|name| languages_of(schema, name));
            let tags: Vec<Tag> =
                tags.into_iter().flatten().filter_map(|tag| numbered(tag, &names)).collect();
            tags.iter().for_each(|tag| fields_of(tag, &mut found.fields));
            if !tags.is_empty() && found.tags.iter().all(|(known, _)| *known != field) {
                found.tags.push((field, tags));
            }
        }
        found.fields.sort_unstable();
        found.fields.dedup();
        found
    }
}

fn numbered(tag: LanguageTag, names: &[&str]) -> Option<Tag> {
    Some(match tag {
        LanguageTag::Text(text) => Tag::Text(text),
        LanguageTag::Field(name) => Tag::Field(names.iter().position(|known| *known == name)?),
        LanguageTag::First(tags) => {
            Tag::First(tags.into_iter().filter_map(|tag| numbered(tag, names)).collect())
        }
    })
}

fn fields_of(tag: &Tag, found: &mut Vec<usize>) {
    match tag {
        Tag::Text(_) => {}
        Tag::Field(field) => found.push(*field),
        Tag::First(tags) => tags.iter().for_each(|tag| fields_of(tag, found)),
    }
}

/// The tag for a document with these values; nothing where it has none.
fn said<'v>(tag: &'v Tag, value: &impl Fn(usize) -> Option<&'v FieldValue>) -> Option<&'v str> {
    match tag {
        Tag::Text(text) => Some(text),
        Tag::Field(field) => match value(*field) {
            Some(FieldValue::Text(text)) => Some(text),
            _ => None,
        },
        Tag::First(tags) => tags.iter().find_map(|tag| said(tag, value)),
    }
}

impl DocumentType {
    /// The numbers of the fields whose values say languages of texts, in ascending order.
    #[must_use]
    pub fn language_fields(&self) -> &[usize] {
        &self.inner.languages.fields
    }

    /// The language of the texts of a field of a document with these values: English where nothing says another.
    pub fn language<'v>(
        &'v self,
        field: usize,
        value: impl Fn(usize) -> Option<&'v FieldValue>,
    ) -> Language {
        let tags = self.inner.languages.tags.iter().find(|(of, _)| *of == field);
        let tags = tags.map_or(&[][..], |(_, tags)| tags);
        let tag = tags.iter().rev().find_map(|tag| said(tag, &value)).map(str::trim);
        let is_one = |tag: &&str| {
            !["", "un", "unknown"].iter().any(|unknown| tag.eq_ignore_ascii_case(unknown))
        };
        tag.filter(is_one).map_or_else(Language::english, Language::of_tag)
    }

    /// What says the language of the texts of a field, in a text that is another where that is; `name` tells of a field.
    pub(super) fn language_rules(&self, field: usize, name: &impl Fn(usize) -> String) -> String {
        let tags = self.inner.languages.tags.iter().find(|(of, _)| *of == field);
        let tags = tags.map_or(&[][..], |(_, tags)| tags);
        tags.iter().map(|tag| rules(tag, name)).collect::<Vec<_>>().join(", ")
    }
}

fn rules(tag: &Tag, name: &impl Fn(usize) -> String) -> String {
    match tag {
        Tag::Text(text) => format!("{text:?}"),
        Tag::Field(field) => name(*field),
        Tag::First(tags) => {
            let all: Vec<String> = tags.iter().map(|tag| rules(tag, name)).collect();
            format!("({})", all.join(" | "))
        }
    }
}
