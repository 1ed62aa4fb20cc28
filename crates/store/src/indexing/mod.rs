//! Scripts of fields: what becomes of the values of a document when it is written
//! (facts: Vespa, `indexinglanguage/src/main/java/com/yahoo/vespa/indexinglanguage`).
//!
//! A field gets what its script writes; a field without one keeps the value that the document came with. Nothing here knows a
//! clock or chance: who writes says what time it is, and who replays what was written does not run scripts again.

mod answers;
mod decimal;
mod fields;
mod lists;
mod machine;
mod numbers;
mod sources;
mod spelling;
mod targets;
mod tensors;
mod texts;
mod time;
mod update;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use stead_app::application::{Schema, embed_dimension, embed_of_element};
use stead_app::schema::{Argument, IndexingLiteral, Operation, Script};
use stead_expr::{TensorType, Value};

pub use answers::{Answers, TextCall};
pub use tensors::stacked;

use crate::kind::{DataType, DocumentType};
use crate::value::FieldValue;
use machine::{Machine, Stop};

/// Makes tensors of texts: the components that `embed` names.
pub trait Embedder {
    /// The tensor of a text, of this type; of texts whose language was set its tag is known. Nothing if there is no such component here; its
    /// id is empty for the only one there is.
    fn embed(
        &self,
        id: &str,
        text: &str,
        kind: &TensorType,
        language: Option<&str>,
    ) -> Option<Result<Value, String>>;

    /// Whether there is such a component.
    fn has(&self, id: &str) -> bool;

    /// What it was asked and did not know: what scripts have made since then is worth nothing.
    fn missing(&self) -> Vec<TextCall> {
        Vec::new()
    }
}

/// No component at all.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEmbedder;

impl Embedder for NoEmbedder {
    fn embed(
        &self,
        _: &str,
        _: &str,
        _: &TensorType,
        _: Option<&str>,
    ) -> Option<Result<Value, String>> {
        None
    }

    fn has(&self, _: &str) -> bool {
        false
    }
}

/// What scripts know beside the document.
#[derive(Clone, Copy)]
pub struct ScriptContext<'c> {
    /// Seconds since 1970: `now`.
    pub now: i64,
    /// Where the chance of `random` begins.
    pub seed: u64,
    /// The components of `embed`.
    pub embedder: &'c dyn Embedder,
}

/// A script that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// The field whose script it is.
    pub field: String,
    /// Where in the schema, what was found and what was expected.
    pub text: String,
}

/// The scripts of a type of documents.
#[derive(Debug, Clone)]
pub struct Scripts {
    kind: DocumentType,
    scripts: Vec<FieldScript>,
}

/// The script of a field.
#[derive(Debug, Clone)]
struct FieldScript {
    field: usize,
    name: String,
    /// Whether it is a field of the document: its own value stands before the first step.
    is_inside: bool,
    script: Script,
    /// The fields that it reads.
    inputs: Vec<usize>,
    /// The fields that it writes.
    outputs: Vec<usize>,
}

/// A field that a script cannot fill here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// The field.
    pub field: String,
    /// The step, such as `embed tokenizer`.
    pub step: String,
}

/// What a component is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Embedding {
    /// The field.
    pub field: String,
    /// The component; empty for the only one there is.
    pub component: String,
    /// The types of tensors: that of a text, and that of each text of an array.
    pub kinds: Vec<TensorType>,
}

impl Scripts {
    /// The scripts of a schema, for documents of its type.
    #[must_use]
    pub fn new(schema: &Schema, kind: &DocumentType) -> Scripts {
        let inside = schema.document.fields.iter().map(|f| (f, true));
        let outside = schema.fields.iter().map(|f| (f, false));
        let script = |(field, is_inside): (&stead_app::application::Field, bool)| {
            let outputs = ["attribute", "index", "summary", "passthrough"];
            let outputs = outputs.iter().flat_map(|word| field.outputs(word));
            let mut outputs: Vec<usize> =
                outputs.filter_map(|name| kind.field(name)).map(|(at, _)| at).collect();
            outputs.sort_unstable();
            outputs.dedup();
            let (number, _) = kind.field(&field.name.value)?;
            let script = field.indexing.clone()?;
            if is_inside && keeps(&script, &field.name.value) {
                return None;
            }
            let name = field.name.value.clone();
            let inputs = update::inputs(&script, kind, number, is_inside);
            Some(FieldScript { field: number, name, is_inside, script, inputs, outputs })
        };
        let mut scripts: Vec<FieldScript> = inside.chain(outside).filter_map(script).collect();
        // The language that one field alone sets is that of all fields, so that it runs first, as in Vespa.
        let mut setting = (0..).zip(&scripts).filter(|(_, of)| of.script.has("set_language"));
        if let (Some((at, _)), None) = (setting.next(), setting.next()) {
            scripts[..=at].rotate_right(1);
        }
        Scripts { kind: kind.clone(), scripts }
    }

    /// The type of the documents.
    #[must_use]
    pub fn kind(&self) -> &DocumentType {
        &self.kind
    }

    /// The fields that they read, in the order of their numbers.
    #[must_use]
    pub fn inputs(&self) -> Vec<&str> {
        let numbers: BTreeSet<usize> = self.scripts.iter().flat_map(|s| s.inputs.clone()).collect();
        numbers.into_iter().filter_map(|number| self.kind.field_name(number)).collect()
    }

    /// Those of some fields alone.
    #[must_use]
    pub fn of_fields(mut self, is_one: impl Fn(&str) -> bool) -> Scripts {
        self.scripts.retain(|script| is_one(&script.name));
        self
    }

    /// Whether any of them asks a component for tensors of texts.
    #[must_use]
    pub fn embeds(&self) -> bool {
        self.scripts.iter().any(|script| script.script.calls("embed").next().is_some())
    }

    /// What components are asked for, as far as types are known before there are documents.
    #[must_use]
    pub fn embeddings(&self) -> Vec<Embedding> {
        let mut found = Vec::new();
        for script in &self.scripts {
            for (arguments, target) in targets::of_script(&script.script) {
                let field = target.field.and_then(|name| self.kind.field(name)).map(|(at, _)| at);
                let Some(DataType::Tensor(kind)) =
                    self.kind.field_kind(field.unwrap_or(script.field))
                else {
                    continue;
                };
                let whole = target.kind(kind);
                let of_element = embed_of_element(&whole, embed_dimension(arguments));
                found.push(Embedding {
                    field: script.name.clone(),
                    component: component(arguments).to_owned(),
                    kinds: [Some(whole), of_element].into_iter().flatten().collect(),
                });
            }
        }
        found
    }

    /// The fields that scripts cannot fill here, each with the step that does not run.
    #[must_use]
    pub fn unfilled(&self, embedder: &dyn Embedder) -> Vec<Unfilled> {
        let step = |script: &FieldScript| {
            let mut steps = script.script.steps().into_iter();
            let step = steps.find_map(|step| missing(&step.operation, embedder))?;
            Some(Unfilled { field: script.name.clone(), step })
        };
        self.scripts.iter().filter_map(step).collect()
    }

    /// The values of a document behind its scripts. A field outside the document that came with a value keeps it, and so does one
    /// whose script has a step that does not run here.
    ///
    /// # Errors
    /// When a step is given a value that it cannot take.
    pub fn run(
        &self,
        id: &str,
        given: Vec<(usize, FieldValue)>,
        cx: &ScriptContext<'_>,
    ) -> Result<Vec<(usize, FieldValue)>, ScriptError> {
        let value = |field: usize| given.iter().find(|(at, _)| *at == field).map(|(_, v)| v);
        let mut machine = Machine::new(&self.kind, id, &given, cx);
        let mut is_written: Vec<usize> = Vec::new();
        for script in &self.scripts {
            if !script.is_inside && value(script.field).is_some() {
                continue;
            }
            match machine.script(script.field, &script.script, script.is_inside) {
                Ok(()) => is_written.extend(&script.outputs),
                Err(Stop::Missing) => {}
                Err(Stop::Failed(text)) => {
                    return Err(ScriptError { field: script.name.clone(), text });
                }
            }
        }
        let written = machine.written();
        let mut result: Vec<(usize, FieldValue)> = Vec::with_capacity(given.len());
        result.extend(given.into_iter().filter(|(at, _)| !is_written.contains(at)));
        for (field, value) in written {
            if !result.iter().any(|(at, _)| *at == field) {
                result.push((field, value));
            }
        }
        result.sort_by_key(|(at, _)| *at);
        Ok(result)
    }
}

/// Whether a script does nothing but write the value of its field to the field, as most do.
fn keeps(script: &Script, field: &str) -> bool {
    script.steps().iter().all(|step| match &step.operation {
        Operation::Call("attribute" | "index" | "summary", arguments) => match arguments.first() {
            Some(Argument::Name(name)) => name == field,
            _ => true,
        },
        _ => false,
    })
}

/// The step that does not run here, if it is one.
fn missing(operation: &Operation, embedder: &dyn Embedder) -> Option<String> {
    let Operation::Call(word, arguments) = operation else { return None };
    match *word {
        "embed" if embedder.has(component(arguments)) => None,
        "embed" | "chunk" | "generate" => {
            Some(format!("{word} {}", component(arguments)).trim_end().to_owned())
        }
        // What it gives differs from machine to machine.
        "hostname" => Some((*word).to_owned()),
        _ => None,
    }
}

/// The id of a component; empty for the only one there is.
fn component(arguments: &[Argument]) -> &str {
    match arguments.first() {
        Some(Argument::Name(id) | Argument::Literal(IndexingLiteral::Text(id))) => id,
        _ => "",
    }
}

/// A value with its type: what a sum of numbers is depends on the types of both.
#[derive(Debug, Clone, PartialEq)]
struct Datum {
    kind: DataType,
    value: FieldValue,
}

impl Datum {
    fn text(text: impl Into<String>) -> Datum {
        Datum { kind: DataType::Text, value: FieldValue::Text(text.into()) }
    }

    fn long(number: i64) -> Datum {
        Datum { kind: DataType::Long, value: FieldValue::Integer(number) }
    }
}
