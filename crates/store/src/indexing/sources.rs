//! Values that come from beside the document: chance, hashes for the field they go to, components.

use regex::Regex;
use stead_app::application::{embed_dimension, embed_of_element};
use stead_app::schema::{Argument, IndexingLiteral, Step};
use stead_expr::{TensorType, Value};

use super::machine::{Found, Machine, Stop, fail};
use super::spelling::spelled;
use super::{Datum, component, tensors, texts};
use crate::kind::DataType;
use crate::value::FieldValue;

impl Machine<'_> {
    pub(super) fn random(
        &mut self,
        step: &Step,
        arguments: &[Argument],
        input: Option<Datum>,
    ) -> Result<Datum, Stop> {
        let most = match (arguments.first(), input) {
            (Some(Argument::Literal(IndexingLiteral::Integer(most))), _) => Some(*most),
            (_, Some(input)) => spelled(&input).parse().ok(),
            _ => None,
        };
        let Some(most) = most.and_then(|m| u64::try_from(m).ok()).filter(|m| *m > 0) else {
            return fail(step, "expected a number above 0 that numbers are below");
        };
        self.drawn += 1;
        // A hash of where it stands is as good as chance, and the same when it is asked again.
        let text = format!("{} {} {} {}", self.cx.seed, self.id, self.field, self.drawn);
        let value = FieldValue::Integer((texts::hash(&text) % most) as i64);
        Ok(Datum { kind: DataType::Int, value })
    }

    /// An int or a long, as the field is whose script it is.
    pub(super) fn hash(&self, text: &str) -> Datum {
        let hash = texts::hash(text);
        let kind = self.kind.field_kind(self.field);
        let element = match kind {
            Some(DataType::Array(of) | DataType::WeightedSet(of)) => Some(&**of),
            kind => kind,
        };
        match element {
            Some(DataType::Int) => {
                let value = FieldValue::Integer(i64::from(hash as i32));
                Datum { kind: DataType::Int, value }
            }
            _ => Datum::long(hash as i64),
        }
    }

    pub(super) fn pattern(&mut self, step: &Step, arguments: &[Argument]) -> Result<&Regex, Stop> {
        let text = match arguments.first() {
            Some(Argument::Literal(IndexingLiteral::Text(text))) => text.as_str(),
            _ => "",
        };
        if !self.patterns.contains_key(text) {
            let Ok(pattern) = Regex::new(text) else {
                return fail(step, format!("{text:?} is no regular expression"));
            };
            self.patterns.insert(text.to_owned(), pattern);
        }
        match self.patterns.get(text) {
            Some(pattern) => Ok(pattern),
            None => Err(Stop::Missing),
        }
    }

    pub(super) fn embed(&mut self, step: &Step, arguments: &[Argument], input: &Datum) -> Found {
        let id = component(arguments);
        if !self.cx.embedder.has(id) {
            return Err(Stop::Missing);
        }
        let field = self.target.field.and_then(|name| self.kind.field(name)).map(|(at, _)| at);
        let Some(DataType::Tensor(kind)) = self.kind.field_kind(field.unwrap_or(self.field)) else {
            return fail(step, "the field is no tensor");
        };
        let kind = &self.target.kind(kind);
        let (embedder, language) = (self.cx.embedder, self.language.clone());
        let one = |text: &str, kind: &TensorType| -> Result<Option<Value>, Stop> {
            if text.trim().is_empty() {
                return Ok(None);
            }
            match embedder.embed(id, text, kind, language.as_deref()) {
                None => Err(Stop::Missing),
                Some(Ok(value)) => Ok(Some(value)),
                Some(Err(text)) => fail(step, text),
            }
        };
        let value = match &input.value {
            FieldValue::Text(text) => one(text, kind)?,
            FieldValue::Array(list) => {
                let outer = embed_dimension(arguments);
                let Some(of_element) = embed_of_element(kind, outer) else {
                    return fail(step, format!("texts become no {kind}"));
                };
                let mut values = Vec::new();
                for (number, element) in list.iter().enumerate() {
                    let FieldValue::Text(text) = element else { continue };
                    values.extend(one(text, &of_element)?.map(|value| (number, value)));
                }
                match tensors::stacked(&values, kind, outer) {
                    Some(value) => Some(value),
                    None => return fail(step, format!("the tensors of the texts are no {kind}")),
                }
            }
            _ => return fail(step, format!("expected a text, found {}", spelled(input))),
        };
        Ok(value.map(|value| Datum {
            kind: DataType::Tensor(kind.clone()),
            value: FieldValue::Tensor(value),
        }))
    }
}

/// A part of a document id `id:namespace:type:n=1:specific`, or all of it.
pub(super) fn id_part<'i>(id: &'i str, part: Option<&str>) -> Option<&'i str> {
    let Some(part) = part else { return Some(id) };
    let mut parts = id.strip_prefix("id:")?.splitn(4, ':');
    let (namespace, kind, pairs, specific) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(match part {
        "namespace" => namespace,
        "documenttype" => kind,
        "group" => pairs.strip_prefix("g=").unwrap_or_default(),
        "number" => pairs.strip_prefix("n=").unwrap_or_default(),
        "specific" => specific,
        _ => return None,
    })
}
