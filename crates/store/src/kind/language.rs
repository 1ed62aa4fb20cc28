//! The languages of the texts of documents.

use stead_app::application::{LanguageTag, Schema, languages};
use stead_text::Language;

use super::DocumentType;
use crate::value::FieldValue;

/// What says the languages of the indexed texts of documents (`set_language`).
#[derive(Debug, Clone, Default)]
pub(super) struct Languages {
    /// By the number of the field of the texts: the last tag that there is holds.
    tags: Vec<Vec<LanguageTag>>,
    /// The fields whose values are tags of fields with an index, in ascending order.
    fields: Vec<usize>,
}

impl Languages {
    /// Of the texts of the fields with these numbers; fields have the numbers that they have in the schema.
    pub(super) fn of(schema: &Schema, texts: impl Iterator<Item = usize>) -> Languages {
        let (tags, mut fields) = (languages(schema), Vec::new());
        for tag in texts.filter_map(|field| tags.get(field)).flatten() {
            fields_of(tag, &mut fields);
        }
        fields.sort_unstable();
        fields.dedup();
        Languages { tags, fields }
    }

    /// What says the language of the texts of a field.
    fn tags(&self, field: usize) -> &[LanguageTag] {
        self.tags.get(field).map_or(&[], Vec::as_slice)
    }
}

fn fields_of(tag: &LanguageTag, found: &mut Vec<usize>) {
    match tag {
        LanguageTag::Text(_) => {}
        LanguageTag::Field(field) => found.push(*field),
        LanguageTag::First(tags) => tags.iter().for_each(|tag| fields_of(tag, found)),
    }
}

/// The tag for a document with these values; nothing where it has none.
fn said<'v>(
    tag: &'v LanguageTag,
    value: &impl Fn(usize) -> Option<&'v FieldValue>,
) -> Option<&'v str> {
    match tag {
        LanguageTag::Text(text) => Some(text),
        LanguageTag::Field(field) => match value(*field) {
            Some(FieldValue::Text(text)) => Some(text),
            _ => None,
        },
        LanguageTag::First(tags) => tags.iter().find_map(|tag| said(tag, value)),
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
        let tags = self.inner.languages.tags(field);
        let tag = tags.iter().rev().find_map(|tag| said(tag, &value)).map(str::trim);
        let is_one = |tag: &&str| {
            !["", "un", "unknown"].iter().any(|unknown| tag.eq_ignore_ascii_case(unknown))
        };
        tag.filter(is_one).map_or_else(Language::english, Language::of_tag)
    }

    /// What says the language of the texts of a field, in a text that is another where that is; `name` tells of a field.
    pub(super) fn language_rules(&self, field: usize, name: &impl Fn(usize) -> String) -> String {
        let tags = self.inner.languages.tags(field);
        tags.iter().map(|tag| rules(tag, name)).collect::<Vec<_>>().join(", ")
    }
}

fn rules(tag: &LanguageTag, name: &impl Fn(usize) -> String) -> String {
    match tag {
        LanguageTag::Text(text) => format!("{text:?}"),
        LanguageTag::Field(field) => name(*field),
        LanguageTag::First(tags) => {
            let all: Vec<String> = tags.iter().map(|tag| rules(tag, name)).collect();
            format!("({})", all.join(" | "))
        }
    }
}
