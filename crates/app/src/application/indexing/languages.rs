//! Which languages scripts say that texts are in (facts: Vespa,
//! `config-model/src/main/java/com/yahoo/schema/derived/IndexingScript.java` and `ExecutionContext.java`).
//!
//! `set_language` holds for what runs behind it: the rest of the script, and the scripts of the fields that follow. Where one field alone has it,
//! the script of that field runs first, so that it holds for all.

use super::takes_value;
use crate::application::field::Field;
use crate::application::schema::Schema;
use crate::package::{Place, Report};
use crate::schema::{Argument, IndexingLiteral, Operation, Script, Step};

/// Where the tag of a language comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum LanguageTag {
    /// The tag itself.
    Text(String),
    /// The value of a field, by its number among all fields of the schema.
    Field(usize),
    /// The first of these that there is.
    First(Vec<LanguageTag>),
}

/// A `set_language` of a script.
struct Setting<'s> {
    place: &'s Place,
    /// Nothing where it is the result of what only runs when documents are put.
    tag: Option<LanguageTag>,
    /// Whether it holds for the index of the field itself.
    is_before_index: bool,
}

/// What says the language of the texts of each field of a schema, if it has an index: the last tag that there is does.
#[must_use]
pub fn languages(schema: &Schema) -> Vec<Vec<LanguageTag>> {
    let settings: Vec<Vec<Setting<'_>>> = schema
        .all_fields()
        .enumerate()
        .map(|(number, field)| settings(schema, number, field))
        .collect();
    let tags = |of: &[Setting<'_>], holds: fn(&Setting<'_>) -> bool| -> Vec<LanguageTag> {
        of.iter()
            .filter(|setting| holds(setting))
            .filter_map(|setting| setting.tag.clone())
            .collect()
    };
    let mut setting = settings.iter().filter(|of| !of.is_empty());
    let mut before = match (setting.next(), setting.next()) {
        // Of the field that has it alone: its script runs before all others.
        (Some(only), None) => tags(only, |_| true),
        _ => Vec::new(),
    };
    let is_alone = !before.is_empty();
    let mut found = Vec::with_capacity(settings.len());
    for own in &settings {
        let of_own = tags(own, |setting| setting.is_before_index);
        match (is_alone, own.is_empty()) {
            (true, false) => found.push(of_own),
            (true, true) => found.push(before.clone()),
            (false, _) => {
                found.push([&before[..], &of_own].concat());
                before.extend(tags(own, |_| true));
            }
        }
    }
    found
}

/// Warns of what sets the language of embeddings alone.
pub(super) fn check(schema: &Schema, field: &Field, report: &mut Report) {
    let Some(number) = number(schema, &field.name.value) else { return };
    for setting in settings(schema, number, field).iter().filter(|setting| setting.tag.is_none()) {
        let text = "set_language says the language of indexed words where it is given a text, a field, or the first of these that has a \
                    value (\"en\" | set_language; input lang || \"en\" | set_language); here that of embeddings alone";
        report.warning(setting.place, text.to_owned());
    }
}

fn number(schema: &Schema, name: &str) -> Option<usize> {
    schema.all_fields().position(|field| field.name.value == name)
}

/// Those of a field by its number; most have none.
fn settings<'s>(schema: &Schema, at: usize, field: &'s Field) -> Vec<Setting<'s>> {
    let Some(script) = field.indexing.as_ref().filter(|s| s.has("set_language")) else {
        return Vec::new();
    };
    // A field of the document has a value of its own.
    let own = (at < schema.document.fields.len()).then_some(LanguageTag::Field(at));
    let (mut found, mut is_before_index) = (Vec::new(), true);
    for steps in statements(script) {
        for (at, step) in steps.iter().enumerate() {
            match &step.operation {
                Operation::Call("index", _) => is_before_index = false,
                Operation::Call("set_language", _) => {
                    let tag = steps.get(..at).and_then(|before| tag(schema, before, own.clone()));
                    found.push(Setting { place: &step.place, tag, is_before_index });
                }
                _ => {}
            }
        }
    }
    // Others stand within steps: which of them run is known when documents are put.
    for (step, _) in script.calls("set_language") {
        if !found.iter().any(|setting| *setting.place == step.place) {
            found.push(Setting { place: &step.place, tag: None, is_before_index });
        }
    }
    found
}

/// The statements that always run, in order. They nest as deep as the text, which has a limit.
fn statements(script: &Script) -> Vec<&[Step]> {
    let each = script.statements.iter().flat_map(|statement| match &statement.steps[..] {
        [Step { operation: Operation::Guard(inner) | Operation::Script(inner), .. }] => {
            statements(inner)
        }
        steps => vec![steps],
    });
    each.collect()
}

/// What steps give to one behind them.
fn tag(schema: &Schema, steps: &[Step], own: Option<LanguageTag>) -> Option<LanguageTag> {
    let begins_anew = steps.first().is_some_and(|step| !takes_value(&step.operation));
    let mut value = if begins_anew { None } else { own.clone() };
    for step in steps {
        value = match &step.operation {
            Operation::Literal(IndexingLiteral::Text(text)) => {
                Some(LanguageTag::Text(text.clone()))
            }
            Operation::Value => value,
            Operation::Call("input", arguments) => match &arguments[..] {
                // A part of a field is none.
                [Argument::Name(name)] => Some(LanguageTag::Field(number(schema, name)?)),
                [] => own.clone(),
                _ => return None,
            },
            // Tags are the same in large letters and with blanks around.
            Operation::Call(
                "lowercase" | "trim" | "normalize" | "tokenize" | "to_string" | "attribute"
                | "index" | "summary" | "passthrough",
                _,
            ) => value,
            Operation::Choice(steps) => {
                let each =
                    steps.iter().map(|step| tag(schema, std::slice::from_ref(step), own.clone()));
                Some(LanguageTag::First(each.collect::<Option<_>>()?))
            }
            Operation::Group(statement) => tag(schema, &statement.steps, value),
            _ => return None,
        };
    }
    value
}

#[cfg(test)]
mod tests {
    use super::{LanguageTag, languages};
    use crate::application::Application;
    use crate::package::PackageFiles;
    use crate::services::ServicesOptions;

    #[test]
    fn tags_are_texts_fields_or_the_first_of_them() {
        let text = |tag: &str| LanguageTag::Text(tag.to_owned());
        let (tag, title) = (LanguageTag::Field(0), LanguageTag::Field(1));
        for (script, expected) in [
            ("\"de\" | set_language; index;", Some(text("de"))),
            ("input tag | trim | lowercase | set_language; index;", Some(tag.clone())),
            ("set_language | index", Some(title)),
            (
                "input tag || \"de\" | set_language; index;",
                Some(LanguageTag::First(vec![tag, text("de")])),
            ),
            ("guard { \"de\" | set_language; }; index;", Some(text("de"))),
            ("\"d\" . \"e\" | set_language; index;", None),
            (
                "if (input tag == \"a\") { \"de\" | set_language; } else { \"en\" | set_language; }; index;",
                None,
            ),
        ] {
            let schema = format!(
                "schema doc {{ document doc {{ field tag type string {{ }} field title type string {{ indexing {{ {script} }} }} }} }}"
            );
            let files = PackageFiles::from_texts([("schemas/doc.sd", schema.as_str())]).unwrap();
            let (application, report) = Application::read(&files, ServicesOptions::default());
            let found = languages(application.schema("doc").unwrap());
            assert_eq!(found[1].first(), expected.as_ref(), "{script}");
            let warned = format!("{report:?}").matches("set_language says").count();
            let warnings =
                if expected.is_some() { 0 } else { script.matches("set_language").count() };
            assert_eq!(warned, warnings, "{script}: {report:?}");
        }
    }
}
