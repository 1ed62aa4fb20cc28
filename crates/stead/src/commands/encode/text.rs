//! The text that a field's indexing gives to its tokenizer.

use std::collections::BTreeMap;

use stead_app::application::Field;
use stead_app::schema::{Argument, IndexingLiteral, Operation, Statement, Step};

/// The fields of a document that have a text.
pub(super) type Texts = BTreeMap<String, String>;

/// How the text is made of the fields of a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TextSource {
    /// A field.
    Input(String),
    /// The same for every document.
    Literal(String),
    /// All of them in a row; nothing if one is missing.
    Concat(Vec<TextSource>),
    /// The first that is there.
    Choice(Vec<TextSource>),
    /// In lower case.
    Lower(Box<TextSource>),
    /// Without blanks at both ends.
    Trim(Box<TextSource>),
}

impl TextSource {
    /// Follows the indexing of a field to `embed`: the text, and the id of the component, which is empty if none is
    /// named.
    pub(super) fn of_field(field: &Field) -> Result<(TextSource, String), String> {
        let name = &field.name.value;
        let statements = field.indexing.iter().flat_map(|script| &script.statements);
        let embeds = |s: &&Statement| s.steps.iter().any(|step| call(step, "embed").is_some());
        let Some(statement) = statements.clone().find(embeds) else {
            return Err(format!(
                "the indexing of field {name} must be input FIELD | embed TOKENIZER | attribute"
            ));
        };
        let (mut source, mut id) = (None, None);
        for step in &statement.steps {
            if let Some(arguments) = call(step, "embed").filter(|_| id.is_none()) {
                id = Some(match arguments.first() {
                    Some(Argument::Name(id) | Argument::Literal(IndexingLiteral::Text(id))) => {
                        id.clone()
                    }
                    _ => String::new(),
                });
            } else if id.is_none() {
                source = Some(step_of(name, step, source)?);
            } else if !is_output(step) {
                return Err(unknown(name, step));
            }
        }
        match (source, id) {
            (Some(source), Some(id)) => Ok((source, id)),
            _ => Err(format!("the indexing of field {name} embeds no input")),
        }
    }

    /// The text of a document; nothing where its fields are missing.
    pub(super) fn text(&self, document: &Texts) -> Option<String> {
        // As deep as the script nests, which has a limit.
        match self {
            TextSource::Input(name) => document.get(name).cloned(),
            TextSource::Literal(text) => Some(text.clone()),
            TextSource::Concat(parts) => parts.iter().map(|p| p.text(document)).collect(),
            TextSource::Choice(parts) => parts.iter().find_map(|p| p.text(document)),
            TextSource::Lower(inner) => Some(inner.text(document)?.to_lowercase()),
            TextSource::Trim(inner) => {
                Some(inner.text(document)?.trim_matches(|c| c <= ' ').to_owned())
            }
        }
    }

    /// The fields that it reads.
    pub(super) fn inputs<'s>(&'s self, found: &mut Vec<&'s str>) {
        match self {
            TextSource::Input(name) => found.push(name),
            TextSource::Literal(_) => {}
            TextSource::Concat(parts) | TextSource::Choice(parts) => {
                parts.iter().for_each(|p| p.inputs(found));
            }
            TextSource::Lower(inner) | TextSource::Trim(inner) => inner.inputs(found),
        }
    }
}

/// What stands behind a word, if the step is of it.
fn call<'s>(step: &'s Step, word: &str) -> Option<&'s [Argument]> {
    match &step.operation {
        Operation::Call(name, arguments) if *name == word => Some(arguments),
        _ => None,
    }
}

fn is_output(step: &Step) -> bool {
    ["attribute", "index", "summary"].iter().any(|word| call(step, word).is_some())
}

fn unknown(field: &str, step: &Step) -> String {
    let word = match &step.operation {
        Operation::Call(name, _) => *name,
        _ => "a step",
    };
    format!(
        "{}: {word} in the indexing of field {field} is not followed; known are input, texts, ., ||, lowercase, trim and embed",
        step.place
    )
}

fn step_of(field: &str, step: &Step, before: Option<TextSource>) -> Result<TextSource, String> {
    let all = |steps: &[Step]| -> Result<Vec<TextSource>, String> {
        steps.iter().map(|s| step_of(field, s, None)).collect()
    };
    match (&step.operation, before) {
        (Operation::Call("input", arguments), None) => {
            Ok(TextSource::Input(match arguments.first() {
                Some(Argument::Name(name)) => name.clone(),
                _ => field.to_owned(),
            }))
        }
        (Operation::Literal(IndexingLiteral::Text(text)), None) => {
            Ok(TextSource::Literal(text.clone()))
        }
        (Operation::Concat(steps), None) => Ok(TextSource::Concat(all(steps)?)),
        (Operation::Choice(steps), None) => Ok(TextSource::Choice(all(steps)?)),
        (Operation::Group(statement), None) => {
            let mut source = None;
            for step in &statement.steps {
                source = Some(step_of(field, step, source)?);
            }
            source.ok_or_else(|| unknown(field, step))
        }
        (Operation::Call("lowercase", _), Some(before)) => Ok(TextSource::Lower(Box::new(before))),
        (Operation::Call("trim", _), Some(before)) => Ok(TextSource::Trim(Box::new(before))),
        _ => Err(unknown(field, step)),
    }
}
