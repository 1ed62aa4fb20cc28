//! Types of the scripts of fields: what each step takes and gives, checked when the package is read
//! (facts: Vespa, `indexinglanguage/src/main/java/com/yahoo/vespa/indexinglanguage/expressions`).
//!
//! Types go from the first step to the last. Where a type follows from what stands behind only, as that of a hash or an
//! embedding, nothing is known and nothing is refused.

mod assign;
mod embed;
mod languages;
mod words;

use std::collections::HashMap;

use assign::{fits, joined};
pub use embed::{EmbedTarget, embed_dimension, embed_misfit, embed_of_element, embed_target};
pub use languages::{LanguageTag, languages};
use words::Gives;

use crate::application::field::Field;
use crate::application::schema::Schema;
use crate::package::{Place, Report};
use crate::schema::{Argument, FieldType, IndexingLiteral, Operation, Script, Statement, Step};

/// What is known of the value that a step is given.
#[derive(Debug, Clone, PartialEq)]
enum Flow {
    /// There is none.
    Nothing,
    /// There is one of a type that is not known here.
    Some,
    /// There is one of this type.
    Of(FieldType),
}

/// Checks the types of the script of a field; `is_inside` says whether it is a field of the document.
pub(super) fn check(schema: &Schema, field: &Field, is_inside: bool, report: &mut Report) {
    let Some(script) = &field.indexing else { return };
    languages::check(schema, field, report);
    let input = match is_inside {
        true => Flow::Of(field.kind.value.clone()),
        false => Flow::Nothing,
    };
    let mut checker = Checker { schema, field, variables: HashMap::new(), report };
    for statement in &script.statements {
        // The value of the field itself stands at the beginning where nothing else does.
        let begin = match statement.steps.first() {
            Some(step) if takes_value(&step.operation) => input.clone(),
            _ => Flow::Nothing,
        };
        checker.statement(statement, begin);
    }
}

/// Whether a step needs the value of the one before it.
#[must_use]
pub fn takes_value(operation: &Operation) -> bool {
    match operation {
        Operation::Literal(_)
        | Operation::Arithmetic(..)
        | Operation::Concat(_)
        | Operation::SelectInput(_) => false,
        Operation::Call("random", arguments) => arguments.is_empty(),
        Operation::Call(word, _) => words::find(word).is_none_or(|w| !w.is_source),
        Operation::Choice(steps) => steps.first().is_some_and(|s| takes_value(&s.operation)),
        Operation::If { left, right, .. } => {
            takes_value(&left.operation) || takes_value(&right.operation)
        }
        Operation::Group(statement) => {
            statement.steps.first().is_some_and(|s| takes_value(&s.operation))
        }
        Operation::Guard(script) | Operation::Script(script) => {
            let mut first = script.statements.iter().filter_map(|s| s.steps.first());
            first.any(|s| takes_value(&s.operation))
        }
        Operation::Value | Operation::ForEach(_) | Operation::Switch { .. } => true,
    }
}

struct Checker<'c> {
    schema: &'c Schema,
    field: &'c Field,
    variables: HashMap<String, Flow>,
    report: &'c mut Report,
}

impl Checker<'_> {
    fn script(&mut self, script: &Script, input: &Flow) -> Flow {
        let mut last = Flow::Nothing;
        for statement in &script.statements {
            last = self.statement(statement, input.clone());
        }
        last
    }

    /// The type behind the last step. Steps nest as deep as the text, which has a limit.
    fn statement(&mut self, statement: &Statement, mut flow: Flow) -> Flow {
        for (at, step) in statement.steps.iter().enumerate() {
            if let Operation::Call("embed", arguments) = &step.operation {
                let behind = statement.steps.get(at + 1..).unwrap_or_default();
                self.embed(arguments, &step.place, &flow, behind);
            }
            flow = self.step(step, flow);
        }
        flow
    }

    /// Whether a tensor for the field that an `embed` goes to can be made of what it is given.
    fn embed(&mut self, arguments: &[Argument], place: &Place, input: &Flow, behind: &[Step]) {
        let target = embed_target(behind);
        let of = |name| self.schema.field(name).map(|field| &*field.kind);
        let field = target.field.map_or(Some(&*self.field.kind), of);
        // That other fields take no tensor is told where it goes to them.
        let Some(kind) = field.and_then(FieldType::tensor) else { return };
        let input = match input {
            Flow::Of(kind) => Some(kind),
            _ => None,
        };
        if let Some(text) = embed::wrong(input, &target.kind(kind), arguments) {
            self.report.error(place, format!("embed: {text}"));
        }
    }

    fn step(&mut self, step: &Step, input: Flow) -> Flow {
        let place = &step.place;
        match &step.operation {
            Operation::Literal(IndexingLiteral::Text(_)) => Flow::Of(FieldType::String),
            Operation::Literal(IndexingLiteral::Bool(_)) => Flow::Of(FieldType::Bool),
            // How wide a number is that is written out, follows from where it goes.
            Operation::Literal(_) => Flow::Some,
            Operation::Value => input,
            Operation::Call(word, arguments) => self.call(word, arguments, place, input),
            Operation::Choice(steps) => {
                let kinds: Vec<Flow> = steps.iter().map(|s| self.step(s, input.clone())).collect();
                self.joined(kinds, place)
            }
            Operation::Concat(steps) => {
                let kinds: Vec<Flow> = steps.iter().map(|s| self.step(s, input.clone())).collect();
                concatenated(&kinds)
            }
            Operation::Arithmetic(left, _, right) => {
                let left = self.step(left, input.clone());
                let right = self.step(right, input);
                self.arithmetic(&left, &right, place)
            }
            Operation::If { left, right, then, otherwise, .. } => {
                self.step(left, input.clone());
                self.step(right, input.clone());
                let mut kinds = vec![self.script(then, &input)];
                kinds.extend(otherwise.iter().map(|script| self.script(script, &input)));
                self.joined(kinds, place)
            }
            Operation::ForEach(statement) => self.for_each(statement, input, place),
            Operation::Switch { cases, default } => {
                self.needs(&input, &[FieldType::String], "switch", place);
                for (_, case) in cases {
                    self.statement(case, input.clone());
                }
                if let Some(case) = default {
                    self.statement(case, input.clone());
                }
                input
            }
            Operation::SelectInput(cases) => {
                for (name, case) in cases {
                    let kind = self.input(name, place);
                    self.statement(case, kind);
                }
                input
            }
            Operation::Guard(script) | Operation::Script(script) => {
                self.script(script, &input);
                input
            }
            Operation::Group(statement) => self.statement(statement, input),
        }
    }

    fn call(&mut self, word: &str, arguments: &[Argument], place: &Place, input: Flow) -> Flow {
        let name = match arguments.first() {
            Some(Argument::Name(name)) => name.as_str(),
            _ => self.field.name.value.as_str(),
        };
        match word {
            "input" => return self.input(name, place),
            "attribute" | "index" | "summary" | "passthrough" => {
                self.output(word, name, &input, place);
                return input;
            }
            "set_var" => {
                self.variables.insert(name.to_owned(), input.clone());
                return input;
            }
            "get_var" => return self.variables.get(name).cloned().unwrap_or(Flow::Some),
            "get_field" => return self.member(name, &input, place),
            _ => {}
        }
        let Some(known) = words::find(word) else { return Flow::Some };
        if !known.is_source && input == Flow::Nothing {
            self.report.error(place, format!("{word} needs a value; begin with input f"));
            return Flow::Some;
        }
        self.needs(&input, known.takes, word, place);
        match (known.gives, input) {
            (Gives::Type(kind), _) => Flow::Of(kind.clone()),
            (Gives::Same, input) => input,
            (Gives::Unknown, _) => Flow::Some,
            (Gives::ArrayOf, Flow::Of(kind)) => Flow::Of(FieldType::Array(Box::new(kind))),
            (Gives::SetOf, Flow::Of(kind)) => Flow::Of(FieldType::WeightedSet(Box::new(kind))),
            (Gives::ArrayOf | Gives::SetOf, _) => Flow::Some,
            (Gives::Texts, _) => Flow::Of(FieldType::Array(Box::new(FieldType::String))),
            (Gives::Joined, Flow::Of(kind)) => {
                if !matches!(kind, FieldType::Array(_)) {
                    self.report.error(place, format!("{word} needs an array, found {}", a(&kind)));
                }
                Flow::Of(FieldType::String)
            }
            (Gives::Joined, _) => Flow::Of(FieldType::String),
            (Gives::Entry, Flow::Of(FieldType::Map(_, value))) => Flow::Of(*value),
            (Gives::Entry, Flow::Of(kind)) => {
                self.report.error(place, format!("{word} needs a map, found {}", a(&kind)));
                Flow::Some
            }
            (Gives::Packed, Flow::Of(kind)) => self.packed(&kind, place),
            (Gives::Tensor, Flow::Of(kind)) => {
                if kind.tensor().is_none() {
                    self.report.error(place, format!("{word} needs a tensor, found {}", a(&kind)));
                    return Flow::Some;
                }
                Flow::Of(kind)
            }
            (Gives::Entry | Gives::Packed | Gives::Tensor, _) => Flow::Some,
        }
    }

    fn input(&mut self, name: &str, place: &Place) -> Flow {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let fields = &self.schema.document.fields;
        // A name that is none is told where names are checked.
        let Some(field) = fields.iter().find(|f| f.name.value == first) else {
            return Flow::Some;
        };
        let mut kind = Flow::Of(field.kind.value.clone());
        for part in rest.split('.').filter(|p| !p.is_empty()) {
            kind = self.member(part, &kind, place);
        }
        kind
    }

    /// A member of a struct, or a part of a map's entry.
    fn member(&mut self, name: &str, of: &Flow, place: &Place) -> Flow {
        let mut kind = match of {
            Flow::Of(kind) => kind,
            other => return other.clone(),
        };
        if let FieldType::Map(key, value) = kind {
            match name {
                "$key" => return Flow::Of((**key).clone()),
                "$value" => return Flow::Of((**value).clone()),
                _ => kind = value,
            }
        }
        let found = match kind.element() {
            FieldType::Position if matches!(name, "x" | "y") => return Flow::Of(FieldType::Int),
            FieldType::Named(of) => self.schema.find_struct(of),
            _ => {
                let text = format!("{name} is no part of {}", a(kind));
                self.report.error(place, text);
                return Flow::Some;
            }
        };
        // A struct that is not there is told where types are checked.
        let Some(found) = found else { return Flow::Some };
        match found.members.iter().find(|m| m.name.value == name) {
            Some(member) => Flow::Of(member.kind.value.clone()),
            None => {
                let text = format!("struct {} has no member {name}", found.name.value);
                self.report.error(place, text);
                Flow::Some
            }
        }
    }

    fn output(&mut self, word: &str, name: &str, input: &Flow, place: &Place) {
        let Some(field) = self.schema.field(name) else { return };
        let Flow::Of(found) = input else { return };
        let expected = &*field.kind;
        if fits(found, expected) {
            return;
        }
        let hint = words::conversion(expected);
        let hint = hint.map(|to| format!("; {to} makes one")).unwrap_or_default();
        let text = format!("{word}: field {name} is {}, found {}{hint}", a(expected), a(found));
        self.report.error(place, text);
    }

    fn needs(&mut self, input: &Flow, takes: &[FieldType], word: &str, place: &Place) {
        let Flow::Of(found) = input else { return };
        if takes.is_empty() || takes.iter().any(|expected| fits(found, expected)) {
            return;
        }
        let expected: Vec<String> = takes.iter().map(a).collect();
        let text = format!("{word} needs {}, found {}", expected.join(" or "), a(found));
        self.report.error(place, text);
    }

    fn joined(&mut self, kinds: Vec<Flow>, place: &Place) -> Flow {
        let mut whole = Flow::Nothing;
        for kind in kinds {
            whole = match (whole, kind) {
                (Flow::Nothing, kind) => kind,
                (Flow::Of(one), Flow::Of(other)) => match joined(&one, &other) {
                    Some(kind) => Flow::Of(kind),
                    None => {
                        let text =
                            format!("the value is {} or {}; expected one type", a(&one), a(&other));
                        self.report.error(place, text);
                        return Flow::Some;
                    }
                },
                _ => Flow::Some,
            };
        }
        whole
    }

    fn arithmetic(&mut self, left: &Flow, right: &Flow, place: &Place) -> Flow {
        for side in [left, right] {
            if let Flow::Of(kind) = side
                && !words::is_arithmetic(kind)
            {
                self.report.error(place, format!("expected a number, found {}", a(kind)));
                return Flow::Some;
            }
        }
        match (left, right) {
            (Flow::Of(left), Flow::Of(right)) => Flow::Of(words::wider(left, right)),
            _ => Flow::Some,
        }
    }

    fn for_each(&mut self, statement: &Statement, input: Flow, place: &Place) -> Flow {
        let Flow::Of(kind) = input else {
            self.statement(statement, input);
            return Flow::Some;
        };
        match kind {
            FieldType::Array(of) => match self.statement(statement, Flow::Of(*of)) {
                Flow::Of(kind) => Flow::Of(FieldType::Array(Box::new(kind))),
                other => other,
            },
            FieldType::WeightedSet(of) => match self.statement(statement, Flow::Of(*of)) {
                Flow::Of(kind) => Flow::Of(FieldType::WeightedSet(Box::new(kind))),
                other => other,
            },
            // The entries of a map are an array.
            FieldType::Map(..) => match self.statement(statement, Flow::Of(kind)) {
                Flow::Of(kind) => Flow::Of(FieldType::Array(Box::new(kind))),
                other => other,
            },
            FieldType::Named(_) => {
                self.statement(statement, Flow::Some);
                Flow::Of(kind)
            }
            other => {
                let text = format!(
                    "for_each needs an array, weightedset, map or struct, found {}",
                    a(&other)
                );
                self.report.error(place, text);
                Flow::Some
            }
        }
    }

    /// Eight cells of the one indexed dimension become one.
    fn packed(&mut self, kind: &FieldType, place: &Place) -> Flow {
        let found = kind.tensor().filter(|t| t.indexed().count() == 1);
        match found {
            Some(tensor) => words::packed(tensor).map_or(Flow::Some, Flow::Of),
            None => {
                let text = format!(
                    "pack_bits needs a tensor with one indexed dimension, found {}",
                    a(kind)
                );
                self.report.error(place, text);
                Flow::Some
            }
        }
    }
}

/// Arrays in a row are an array, anything else is a text.
fn concatenated(kinds: &[Flow]) -> Flow {
    let is_list =
        |kind: &Flow| matches!(kind, Flow::Of(FieldType::Array(_) | FieldType::WeightedSet(_)));
    match kinds {
        [first @ Flow::Of(_), rest @ ..] if is_list(first) && rest.iter().all(|k| k == first) => {
            first.clone()
        }
        kinds if kinds.iter().any(|k| matches!(k, Flow::Some)) => Flow::Some,
        _ => Flow::Of(FieldType::String),
    }
}

/// A type with its article.
fn a(kind: &FieldType) -> String {
    let text = kind.to_string();
    match text.as_bytes().first() {
        Some(b'a' | b'e' | b'i' | b'o' | b'u') => format!("an {text}"),
        _ => format!("a {text}"),
    }
}
