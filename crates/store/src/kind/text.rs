//! Indexes of the texts of a type of documents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroUsize;

use stead_app::application::{Field, Schema};
use stead_app::schema::FieldType;
use stead_text::{AddressPart, Analysis, Language, Occurrence, Unit};

use super::{DataType, DocumentType};
use crate::value::FieldValue;

/// The version of which terms values have: who makes them others by the same [`Analysis`] raises it.
const VERSION: u32 = 1;

/// `match: max-length` where nothing is said (Vespa, documentation, `reference/schemas/schemas.html`).
const MAX_LENGTH: usize = 1_000_000;

/// `match: max-occurrences`, likewise.
const MAX_OCCURRENCES: usize = 10_000;

/// `match: gram` has so many characters where nothing is said, likewise.
const GRAM: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

/// Words of an element are numbered below this: [`Occurrence`]s are written with a bit to spare.
const MAX_POSITION: usize = 1 << 30;

/// An index of the texts of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextIndex {
    /// The name that queries know it by: that of the field, or another that its script writes to; of a part of addresses
    /// with that of the part behind a dot.
    pub name: String,
    /// The number of the field.
    pub field: usize,
    /// How texts become terms.
    pub analysis: Analysis,
    /// The most characters of a text that are indexed (`max-length`).
    pub longest: usize,
    /// The most occurrences of a term in an element that are indexed (`max-occurrences`).
    pub most_occurrences: usize,
    /// Whether documents have several elements.
    pub is_many: bool,
}

impl TextIndex {
    /// The indexes of a field, by its number: of texts, and of several of them. One of addresses (`uri`) has one for each part of them too.
    pub(super) fn of(
        field: &Field,
        kind: &DataType,
        number: usize,
        schema: &Schema,
    ) -> impl Iterator<Item = TextIndex> {
        let (element, is_many) = match kind {
            DataType::Array(of) | DataType::WeightedSet(of) => (&**of, true),
            other => (other, false),
        };
        let is_text = *element == DataType::Text;
        let names = field.outputs("index").into_iter().filter(move |_| is_text);
        let index = TextIndex {
            name: String::new(),
            field: number,
            analysis: analysis(field, schema),
            longest: count(field.matching.max_length).unwrap_or(MAX_LENGTH),
            most_occurrences: count(field.matching.max_occurrences).unwrap_or(MAX_OCCURRENCES),
            is_many,
        };
        let is_address = *field.kind.element() == FieldType::Uri;
        names.flat_map(move |name| match is_address {
            true => index.of_addresses(name),
            false => vec![TextIndex { name: name.to_owned(), ..index.clone() }],
        })
    }

    /// Those of a field of addresses (Vespa, `UriHack.java`).
    fn of_addresses(&self, name: &str) -> Vec<TextIndex> {
        let of = |name: String, part: AddressPart| {
            let unit = Unit::Address(part);
            let analysis =
                Analysis { unit, is_stemmed: false, drops_accents: false, ..self.analysis };
            TextIndex { name, analysis, ..self.clone() }
        };
        let parts = AddressPart::NAMED.map(|(part, is)| of(format!("{name}.{part}"), is));
        [of(name.to_owned(), AddressPart::All)].into_iter().chain(parts).collect()
    }

    /// The terms of a value of the field and where they stand, in that order.
    pub fn terms<'v>(
        &self,
        value: &'v FieldValue,
        language: Language,
    ) -> impl Iterator<Item = (Cow<'v, str>, Occurrence)> {
        let texts: Vec<&str> = match value {
            FieldValue::Text(text) => vec![text],
            FieldValue::Array(list) => list.iter().filter_map(text).collect(),
            FieldValue::Weighted(list) => list.iter().filter_map(|(key, _)| text(key)).collect(),
            _ => Vec::new(),
        };
        let (analysis, longest, most) = (self.analysis, self.longest, self.most_occurrences);
        texts.into_iter().enumerate().flat_map(move |(element, text)| {
            let text = begin(text, longest);
            let mut seen = Occurrences { most, counts: None };
            // A text has fewer words than bytes.
            if text.len() > most {
                seen.counts = Some(HashMap::new());
            }
            let terms = analysis.terms(text, language).take(MAX_POSITION).enumerate();
            terms.filter_map(move |(position, term)| {
                let occurrence = Occurrence { element: element as u32, position: position as u32 };
                seen.is_indexed(&term.text).then_some((term.text, occurrence))
            })
        })
    }
}

impl TextIndex {
    /// What the terms of a document depend on beside its values, as a text: a stored index of other rules is made again.
    pub(crate) fn rules(&self, kind: &DocumentType) -> String {
        let TextIndex { name: _, field: number, analysis, longest, most_occurrences, is_many: _ } =
            self;
        let field = |number: usize| {
            let (name, of) = (kind.field_name(number), kind.field_kind(number));
            format!(
                "{} {}",
                name.unwrap_or_default(),
                of.map(DataType::to_string).unwrap_or_default()
            )
        };
        let language = kind.language_rules(*number, &field);
        let (own, terms) = (field(*number), analysis.rules());
        format!("{VERSION}: {own}; {longest}; {most_occurrences}; language {language}; {terms}")
    }

    /// What the elements of a value weigh, those of a weighted set; nothing where all weigh 1.
    #[must_use]
    pub fn weights(&self, value: &FieldValue) -> Vec<i32> {
        let FieldValue::Weighted(list) = value else { return Vec::new() };
        list.iter().filter(|(key, _)| text(key).is_some()).map(|(_, weight)| *weight).collect()
    }
}

/// How often terms of an element were seen, where one may be seen too often.
struct Occurrences {
    most: usize,
    counts: Option<HashMap<String, usize>>,
}

impl Occurrences {
    fn is_indexed(&mut self, term: &str) -> bool {
        let Some(counts) = &mut self.counts else { return true };
        let count = match counts.get_mut(term) {
            Some(count) => count,
            None => counts.entry(term.to_owned()).or_default(),
        };
        *count += 1;
        *count <= self.most
    }
}

fn text(value: &FieldValue) -> Option<&str> {
    match value {
        FieldValue::Text(text) => Some(text),
        _ => None,
    }
}

/// The first characters of a text.
fn begin(text: &str, characters: usize) -> &str {
    // A character has at least a byte.
    match text.len() <= characters {
        true => text,
        false => text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end]),
    }
}

fn count(number: Option<i64>) -> Option<usize> {
    usize::try_from(number?).ok()
}

/// How the texts of a field become terms, by what it says of `match`, `stemming` and `normalizing`.
fn analysis(field: &Field, schema: &Schema) -> Analysis {
    let (usual, matching) = (Analysis::default(), &field.matching);
    let unit = match matching.kind.as_deref() {
        Some("word" | "exact") => Unit::Whole,
        Some("gram") => {
            let size = count(matching.gram_size).and_then(NonZeroUsize::new);
            Unit::Gram(size.unwrap_or(GRAM))
        }
        _ => Unit::Word,
    };
    let said = [&field.index.stemming, &field.stemming, &schema.stemming];
    let stemming = said.into_iter().find_map(Option::as_deref);
    let normalizing = field.normalizing.as_deref();
    Analysis {
        unit,
        is_stemmed: stemming != Some("none"),
        drops_accents: !matches!(normalizing, Some("none" | "codepoint" | "lowercase")),
        is_cased: matching.cased,
        longest: count(matching.max_token_length).unwrap_or(usual.longest),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroUsize;

    use stead_app::application::{Application, Schema};
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;
    use stead_text::{Analysis, Language, Unit};

    use super::TextIndex;
    use crate::kind::DocumentType;
    use crate::value::FieldValue;

    /// A type with a field of some settings.
    fn of(kind: &str, settings: &str) -> DocumentType {
        DocumentType::new(&schema(kind, settings))
    }

    fn schema(kind: &str, settings: &str) -> Schema {
        let text = format!(
            "schema d {{ document d {{ field f type {kind} {{ indexing: index\n {settings} }} }} }}"
        );
        let files = PackageFiles::from_texts([("schemas/d.sd", text.as_str())]).unwrap();
        let (application, report) = Application::read(&files, ServicesOptions::default());
        assert!(report.errors().all(|e| e.text.contains("services.xml")), "{report:?}");
        application.schema("d").unwrap().clone()
    }

    #[test]
    fn fields_say_how_their_texts_are_indexed() {
        let usual = Analysis::default();
        let whole = Unit::Whole;
        let gram = |size| Unit::Gram(NonZeroUsize::new(size).unwrap());
        for (settings, expected) in [
            ("", usual),
            ("match: text", usual),
            ("stemming: none", Analysis { is_stemmed: false, ..usual }),
            ("index { stemming: none }", Analysis { is_stemmed: false, ..usual }),
            ("normalizing: none", Analysis { drops_accents: false, ..usual }),
            ("match: word", Analysis { unit: whole, ..usual }),
            ("match { exact\n cased }", Analysis { unit: whole, is_cased: true, ..usual }),
            ("match: gram", Analysis { unit: gram(2), ..usual }),
            ("match { gram\n gram-size: 3 }", Analysis { unit: gram(3), ..usual }),
            ("match { max-token-length: 7 }", Analysis { longest: 7, ..usual }),
        ] {
            let kind = of("string", settings);
            assert_eq!(kind.texts()[0].analysis, expected, "{settings}");
        }
        for (kind, is_many) in
            [("string", Some(false)), ("array<string>", Some(true)), ("int", None)]
        {
            let found = of(kind, "");
            assert_eq!(found.texts().first().map(|index| index.is_many), is_many, "{kind}");
        }
    }

    #[test]
    fn addresses_have_an_index_for_each_part() {
        let names = |kind: &str| {
            let (schema, kind) = (schema(kind, ""), of(kind, ""));
            let names: Vec<&str> = kind.texts().iter().map(|index| index.name.as_str()).collect();
            let is_known =
                |name: &&str| schema.field(name).is_some() || schema.is_address_part(name);
            assert!(names.iter().all(is_known), "{names:?}");
            names.join(" ")
        };
        let all = "f f.scheme f.host f.port f.path f.query f.fragment f.hostname";
        for (kind, expected) in
            [("uri", all), ("array<uri>", all), ("weightedset<uri>", all), ("string", "f")]
        {
            assert_eq!(names(kind), expected, "{kind}");
        }
        let unit = |at: usize| of("uri", "match: cased").texts()[at].analysis.rules();
        assert_eq!(unit(0), "2: address all; cased; 1000");
        assert_eq!(unit(2), "2: address host; cased; 1000");
    }

    #[test]
    fn rules_are_those_of_all_settings() {
        let rules = |kind: &DocumentType| kind.texts()[0].rules(kind);
        let settings =
            ["", "match: word", "match { max-length: 9 }", "match { max-occurrences: 9 }"];
        let all = settings.map(|settings| rules(&of("string", settings)));
        let all: BTreeSet<String> =
            all.into_iter().chain([rules(&of("array<string>", ""))]).collect();
        assert_eq!(all.len(), 5, "{all:?}");
        let usual = rules(&of("string", ""));
        assert_eq!(usual, rules(&of("string", "")));
        assert!(usual.starts_with("1: f string; 1000000; 10000; language ; "), "{usual}");
    }

    #[test]
    fn values_have_terms_where_they_stand() {
        let places = |index: &TextIndex, value: &FieldValue| {
            let terms = index.terms(value, Language::english());
            let place = |(term, at): (std::borrow::Cow<'_, str>, stead_text::Occurrence)| {
                format!("{term}@{}.{}", at.element, at.position)
            };
            terms.map(place).collect::<Vec<_>>().join(" ")
        };
        let text = |text: &str| FieldValue::Text(text.to_owned());
        let one = of("string", "match { max-length: 12\n max-occurrences: 2 }");
        let many = of("array<string>", "");
        for (kind, value, expected) in [
            (&one, text("Blue, blue"), "blue@0.0 blue@0.1"),
            (&one, text("a a a b a c d e"), "a@0.0 a@0.1 b@0.3 c@0.5"),
            (&one, FieldValue::Integer(1), ""),
            (
                &many,
                FieldValue::Array(vec![text("one two"), text(""), text("two")]),
                "one@0.0 two@0.1 two@2.0",
            ),
            (
                &many,
                FieldValue::Weighted(vec![(text("x"), 3), (text("y x"), 4)]),
                "x@0.0 y@1.0 x@1.1",
            ),
        ] {
            assert_eq!(places(&kind.texts()[0], &value), expected, "{value:?}");
        }
    }
}
