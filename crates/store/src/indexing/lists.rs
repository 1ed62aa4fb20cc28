//! Steps over the elements of lists, and lists in a row.

use stead_app::schema::{Statement, Step};

use super::Datum;
use super::machine::{Found, Machine, fail};
use super::spelling::spelled;
use crate::kind::DataType;
use crate::value::FieldValue;

impl<'m> Machine<'m> {
    /// Each element behind the steps; those that have no value then are left out.
    pub(super) fn for_each(
        &mut self,
        step: &Step,
        statement: &'m Statement,
        input: Datum,
    ) -> Found {
        let Datum { kind, value } = input;
        let list = |of: Option<DataType>, outer: &DataType, values: Vec<FieldValue>| {
            let of = Box::new(of.unwrap_or_else(|| outer.clone()));
            Datum { kind: DataType::Array(of), value: FieldValue::Array(values) }
        };
        match (&kind, value) {
            (DataType::Array(of), FieldValue::Array(elements)) => {
                let (mut values, mut inner) = (Vec::with_capacity(elements.len()), None);
                for value in elements {
                    let element = Datum { kind: (**of).clone(), value };
                    if let Some(found) = self.statement(statement, Some(element))? {
                        inner = Some(found.kind);
                        values.push(found.value);
                    }
                }
                Ok(Some(list(inner, of, values)))
            }
            (DataType::WeightedSet(of), FieldValue::Weighted(elements)) => {
                let mut values: Vec<(FieldValue, i32)> = Vec::with_capacity(elements.len());
                let mut inner = None;
                for (value, weight) in elements {
                    let element = Datum { kind: (**of).clone(), value };
                    if let Some(found) = self.statement(statement, Some(element))? {
                        inner = Some(found.kind);
                        values.retain(|(known, _)| *known != found.value);
                        values.push((found.value, weight));
                    }
                }
                let of = inner.unwrap_or_else(|| (**of).clone());
                let value = FieldValue::Weighted(values);
                Ok(Some(Datum { kind: DataType::WeightedSet(Box::new(of)), value }))
            }
            (DataType::Map(..), FieldValue::Map(entries)) => {
                let (mut values, mut inner) = (Vec::with_capacity(entries.len()), None);
                for entry in entries {
                    let value = FieldValue::Map(vec![entry]);
                    let entry = Datum { kind: kind.clone(), value };
                    if let Some(found) = self.statement(statement, Some(entry))? {
                        inner = Some(found.kind);
                        values.push(found.value);
                    }
                }
                Ok(Some(list(inner, &kind, values)))
            }
            (DataType::Struct(name), FieldValue::Struct(members)) => {
                let known = self.kind.find_struct(name).cloned();
                let mut values = Vec::with_capacity(members.len());
                for (member, value) in members {
                    let of = known.iter().flat_map(|k| &k.members).find(|(n, _)| *n == member);
                    let Some((_, of)) = of else { continue };
                    let element = Datum { kind: of.clone(), value };
                    if let Some(found) = self.statement(statement, Some(element))? {
                        values.push((member, found.value));
                    }
                }
                Ok(Some(Datum { value: FieldValue::Struct(values), kind }))
            }
            (kind, _) => fail(
                step,
                format!("for_each needs an array, weightedset, map or struct, found {kind}"),
            ),
        }
    }
}

/// Lists of one type in a row are a list, anything else is a text; nothing where a part of the text is missing.
pub(super) fn concatenated(parts: Vec<Option<Datum>>) -> Option<Datum> {
    let mut known = parts.iter().flatten();
    let first = known.next().map(|d| d.kind.clone());
    let is_list = matches!(first, Some(DataType::Array(_) | DataType::WeightedSet(_)))
        && known.all(|d| Some(&d.kind) == first.as_ref());
    let Some(kind) = first.filter(|_| is_list) else {
        let texts: Option<Vec<String>> =
            parts.iter().map(|part| part.as_ref().map(spelled)).collect();
        return Some(Datum::text(texts?.concat()));
    };
    let (mut list, mut set) = (Vec::new(), Vec::new());
    for part in parts.into_iter().flatten() {
        match part.value {
            FieldValue::Array(elements) => list.extend(elements),
            FieldValue::Weighted(elements) => set.extend(elements),
            _ => {}
        }
    }
    let value = match kind {
        DataType::Array(_) => FieldValue::Array(list),
        _ => FieldValue::Weighted(set),
    };
    Some(Datum { kind, value })
}
