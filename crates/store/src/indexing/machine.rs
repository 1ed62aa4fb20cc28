//! Runs scripts step by step.

use std::collections::HashMap;

use regex::Regex;
use stead_app::application::{EmbedTarget, embed_target, takes_value};
use stead_app::schema::{Argument, IndexingLiteral, Operation, Script, Statement, Step};

use super::lists::concatenated;
use super::sources::id_part;
use super::spelling::spelled;
use super::{Datum, ScriptContext, numbers, texts, words};
use crate::kind::{DataType, DocumentType};
use crate::value::FieldValue;

/// Why a script ends early.
pub(super) enum Stop {
    /// A step does not run here.
    Missing,
    /// A step cannot take its value.
    Failed(String),
}

/// The values of a document while its scripts run.
pub(super) struct Machine<'m> {
    pub(super) kind: &'m DocumentType,
    pub(super) id: &'m str,
    pub(super) given: &'m [(usize, FieldValue)],
    pub(super) cx: &'m ScriptContext<'m>,
    /// Kept from script to script.
    pub(super) variables: HashMap<String, Option<Datum>>,
    /// The tag of the language that a script has set, for those behind it too.
    pub(super) language: Option<String>,
    pub(super) written: Vec<(usize, FieldValue)>,
    /// The field whose script runs.
    pub(super) field: usize,
    /// Where the value of the `embed` goes that runs now.
    pub(super) target: EmbedTarget<'m>,
    pub(super) drawn: u64,
    pub(super) patterns: HashMap<String, Regex>,
}

pub(super) type Found = Result<Option<Datum>, Stop>;

pub(super) fn fail<T>(step: &Step, text: impl std::fmt::Display) -> Result<T, Stop> {
    let word = match &step.operation {
        Operation::Call(word, _) => format!("{word}: "),
        _ => String::new(),
    };
    Err(Stop::Failed(format!("{}: {word}{text}", step.place)))
}

impl<'m> Machine<'m> {
    pub(super) fn new(
        kind: &'m DocumentType,
        id: &'m str,
        given: &'m [(usize, FieldValue)],
        cx: &'m ScriptContext<'m>,
    ) -> Machine<'m> {
        let (variables, written, patterns) = (HashMap::new(), Vec::new(), HashMap::new());
        let target = embed_target(&[]);
        let (field, drawn, language) = (0, 0, None);
        Machine {
            kind,
            id,
            given,
            cx,
            variables,
            language,
            written,
            field,
            target,
            drawn,
            patterns,
        }
    }

    /// What scripts have written.
    pub(super) fn written(self) -> Vec<(usize, FieldValue)> {
        self.written
    }

    /// Runs the script of a field.
    pub(super) fn script(
        &mut self,
        field: usize,
        script: &'m Script,
        is_inside: bool,
    ) -> Result<(), Stop> {
        self.field = field;
        let before = self.written.len();
        for statement in &script.statements {
            let takes = statement.steps.first().is_some_and(|s| takes_value(&s.operation));
            let input = if takes && is_inside { self.given(field) } else { None };
            if let Err(stop) = self.statement(statement, input) {
                self.written.truncate(before);
                return Err(stop);
            }
        }
        Ok(())
    }

    /// Steps nest as deep as the text, which has a limit.
    pub(super) fn statement(
        &mut self,
        statement: &'m Statement,
        mut value: Option<Datum>,
    ) -> Found {
        for (at, step) in statement.steps.iter().enumerate() {
            self.target = embed_target(statement.steps.get(at + 1..).unwrap_or_default());
            value = self.step(step, value)?;
        }
        Ok(value)
    }

    fn statements(&mut self, script: &'m Script, input: &Option<Datum>) -> Found {
        let mut last = None;
        for statement in &script.statements {
            last = self.statement(statement, input.clone())?;
        }
        Ok(last)
    }

    fn step(&mut self, step: &'m Step, input: Option<Datum>) -> Found {
        if input.is_none() && takes_value(&step.operation) {
            return Ok(None);
        }
        match &step.operation {
            Operation::Literal(literal) => Ok(Some(of_literal(literal))),
            Operation::Value => Ok(input),
            Operation::Call(word, arguments) => self.call(step, word, arguments, input),
            Operation::Choice(steps) => {
                for one in steps {
                    if let Some(found) = self.step(one, input.clone())? {
                        return Ok(Some(found));
                    }
                }
                Ok(None)
            }
            Operation::Concat(steps) => {
                let parts = steps.iter().map(|one| self.step(one, input.clone()));
                Ok(concatenated(parts.collect::<Result<_, _>>()?))
            }
            Operation::Arithmetic(left, operator, right) => {
                let left = self.step(left, input.clone())?;
                let right = self.step(right, input)?;
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                match numbers::arithmetic(&left, *operator, &right) {
                    Ok(found) => Ok(Some(found)),
                    Err(text) => fail(step, text),
                }
            }
            Operation::If { left, comparison, right, then, otherwise } => {
                let left = self.step(left, input.clone())?;
                let right = self.step(right, input.clone())?;
                let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
                match (numbers::holds(&left, *comparison, &right), otherwise) {
                    (true, _) => self.statements(then, &input),
                    (false, Some(otherwise)) => self.statements(otherwise, &input),
                    (false, None) => Ok(input),
                }
            }
            Operation::ForEach(statement) => match input {
                Some(input) => self.for_each(step, statement, input),
                None => Ok(None),
            },
            Operation::Switch { cases, default } => {
                let text = input.as_ref().map(spelled);
                let case = cases.iter().find(|(name, _)| Some(name) == text.as_ref());
                if let Some(case) = case.map(|(_, case)| case).or(default.as_ref()) {
                    self.statement(case, input.clone())?;
                }
                Ok(input)
            }
            Operation::SelectInput(cases) => {
                for (name, case) in cases {
                    if let Some(value) = self.input(name) {
                        self.statement(case, Some(value))?;
                        break;
                    }
                }
                Ok(input)
            }
            Operation::Guard(script) | Operation::Script(script) => {
                self.statements(script, &input)?;
                Ok(input)
            }
            Operation::Group(statement) => self.statement(statement, input),
        }
    }

    fn call(
        &mut self,
        step: &Step,
        word: &str,
        arguments: &[Argument],
        input: Option<Datum>,
    ) -> Found {
        let name = match arguments.first() {
            Some(Argument::Name(name)) => Some(name.as_str()),
            _ => None,
        };
        match word {
            "input" => {
                return Ok(match name {
                    Some(name) => self.input(name),
                    None => self.given(self.field),
                });
            }
            "get_var" => {
                return Ok(self.variables.get(name.unwrap_or_default()).cloned().flatten());
            }
            "clear_state" => {
                self.variables.clear();
                return Ok(None);
            }
            "now" => return Ok(Some(Datum::long(self.cx.now))),
            "documentid" => {
                return match id_part(self.id, name) {
                    Some(text) => Ok(Some(Datum::text(text))),
                    None => fail(step, format!("{} has no such part", self.id)),
                };
            }
            "random" => return self.random(step, arguments, input).map(Some),
            // None is known otherwise before texts are analysed.
            "get_language" => {
                return Ok(Some(Datum::text(self.language.as_deref().unwrap_or("en"))));
            }
            "hostname" | "chunk" | "generate" => return Err(Stop::Missing),
            _ => {}
        }
        let Some(input) = input else { return Ok(None) };
        match word {
            "attribute" | "index" | "summary" | "passthrough" => {
                let field = name.and_then(|name| self.kind.field(name)).map(|(at, _)| at);
                self.write(step, field.unwrap_or(self.field), input.clone())?;
                Ok(Some(input))
            }
            "set_var" => {
                self.variables.insert(name.unwrap_or_default().to_owned(), Some(input.clone()));
                Ok(Some(input))
            }
            "set_language" => {
                let tag = spelled(&input).trim().to_ascii_lowercase().replace('_', "-");
                self.language = Some(tag);
                Ok(Some(input))
            }
            "get_field" => Ok(self.member(&input, name.unwrap_or_default())),
            "embed" => self.embed(step, arguments, &input),
            "split" => {
                let pattern = self.pattern(step, arguments)?.clone();
                let text = spelled(&input);
                let parts = texts::split(&text, &pattern);
                let list = parts.into_iter().map(|p| FieldValue::Text(p.to_owned())).collect();
                let kind = DataType::Array(Box::new(DataType::Text));
                Ok(Some(Datum { kind, value: FieldValue::Array(list) }))
            }
            "hash" => Ok(Some(self.hash(&spelled(&input)))),
            _ => match words::call(word, arguments, input) {
                Ok(found) => Ok(found),
                Err(text) => fail(step, text),
            },
        }
    }
}

fn of_literal(literal: &IndexingLiteral) -> Datum {
    match literal {
        IndexingLiteral::Text(text) => Datum::text(text),
        IndexingLiteral::Bool(value) => {
            Datum { kind: DataType::Bool, value: FieldValue::Bool(*value) }
        }
        IndexingLiteral::Integer(number) => {
            let kind = if i32::try_from(*number).is_ok() { DataType::Int } else { DataType::Long };
            Datum { kind, value: FieldValue::Integer(*number) }
        }
        IndexingLiteral::Number(number) => {
            Datum { kind: DataType::Double, value: FieldValue::Number(*number) }
        }
    }
}
