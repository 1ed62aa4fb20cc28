//! Values of expressions for documents.

use std::time::{Duration, Instant};

use stead_store::{Column, Cursor, Elements, NumberColumn, StoreError, View};

use super::code::{Code, KeyCode, SCOPES, Typed, Wait};
use super::function::{apply, each, fixed, interpolated, predefined};
use super::plan::FilterCode;
use super::syntax::Function;
use super::value::{Kind, Value};
use crate::features::{kilometres, places};

/// A document that is grouped.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) lid: u32,
    pub(super) relevance: f64,
    /// The element of each scope that it is about, or [`ALL`].
    pub(super) at: [u32; SCOPES],
}

/// The most that is slept between two looks at the clock.
const NAP: Duration = Duration::from_millis(1);

/// All elements of a map or array.
pub(super) const ALL: u32 = u32::MAX;

/// The attributes of documents.
pub(super) struct Evaluator<'v> {
    view: &'v View,
    cursors: Vec<Option<Cursor<'v>>>,
    /// Whether there is no time left: nothing is waited for then.
    is_late: &'v dyn Fn() -> bool,
    /// Whether it ended while something waited.
    pub(super) ran_out: bool,
}

impl<'v> Evaluator<'v> {
    pub(super) fn new(
        view: &'v View,
        attributes: &[String],
        is_late: &'v dyn Fn() -> bool,
    ) -> Evaluator<'v> {
        let cursor = |name: &String| view.attribute(name).map(|values| values.cursor());
        Evaluator {
            view,
            cursors: attributes.iter().map(cursor).collect(),
            is_late,
            ran_out: false,
        }
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, typed: &Typed, row: &Row) -> Result<Value, StoreError> {
        Ok(match &typed.code {
            Code::Constant(value) => value.clone(),
            Code::Attribute { slot, scope } => {
                let value = self.attribute(*slot, typed, row)?;
                match (scope.and_then(|scope| row.at.get(scope)), value) {
                    (Some(at), Value::List(list)) if *at != ALL => {
                        list.into_iter().nth(*at as usize).unwrap_or_else(|| empty(typed.kind))
                    }
                    (_, value) => value,
                }
            }
            Code::Map { keys, values, key } => {
                let key = match key {
                    KeyCode::Constant(value) => value.clone(),
                    KeyCode::Attribute(slot) => self.attribute(*slot, typed, row)?,
                };
                let keys = self.attribute(*keys, typed, row)?;
                let at = keys.elements().iter().position(|known| *known == key);
                let values = self.attribute(*values, typed, row)?;
                let found = at.and_then(|at| values.elements().get(at).cloned());
                found.unwrap_or_else(|| empty(typed.kind))
            }
            // Of groups only.
            Code::Aggregate(_) => Value::Null,
            Code::Call(Function::Relevance, _) => Value::Double(row.relevance),
            Code::Call(Function::DocIdSpecific, _) => {
                let id = self.view.id(row.lid).unwrap_or_default();
                // `id:namespace:type:pairs:specific`
                Value::Text(id.splitn(5, ':').nth(4).unwrap_or_default().to_owned())
            }
            Code::Call(function, arguments) => {
                let values = arguments.iter().map(|argument| self.value(argument, row));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                apply(*function, typed, arguments, values)
            }
            Code::FixedWidth(value, width) => {
                each(self.value(value, row)?, &|value| fixed(value, *width))
            }
            Code::Predefined(value, buckets) => {
                each(self.value(value, row)?, &|value| predefined(value, buckets))
            }
            Code::ArrayAt(slot, index) => {
                let index = self.value(index, row)?.long();
                let values = self.attribute(*slot, typed, row)?;
                let last = values.elements().len().saturating_sub(1);
                let at = usize::try_from(index.max(0)).unwrap_or(usize::MAX).min(last);
                values.elements().get(at).cloned().unwrap_or_else(|| empty(typed.kind))
            }
            Code::Interpolated(slot, value) => {
                let number = self.value(value, row)?.double();
                let sorted = self.attribute(*slot, typed, row)?;
                Value::Double(interpolated(sorted.elements(), number))
            }
            Code::Uca(value, collation) => {
                each(self.value(value, row)?, &|value| Value::Raw(collation.key(&value.text())))
            }
            Code::Wait(value, how) => {
                self.wait(how);
                self.value(value, row)?
            }
            Code::Distance { slot, from, unit } => {
                let cursor = self.cursors.get_mut(*slot).and_then(Option::as_mut);
                let found = cursor.map_or(Ok(None), |cursor| cursor.at(row.lid))?;
                let ways = places(found).into_iter().map(|place| kilometres(*from, place) / unit);
                // Nowhere is no number, as other doubles without a value are.
                Value::Double(ways.reduce(f64::min).unwrap_or(f64::NAN))
            }
        })
    }

    /// Lets some time go by, as long as there is any.
    fn wait(&mut self, how: &Wait) {
        let begin = Instant::now();
        while let Some(left) = how.time.checked_sub(begin.elapsed()) {
            self.ran_out |= (self.is_late)();
            if self.ran_out {
                break;
            }
            match how.is_busy {
                true => std::hint::spin_loop(),
                false => std::thread::sleep(left.min(NAP)),
            }
        }
    }

    /// Whether a document passes a filter: of a list, whether one of its elements does.
    pub(super) fn passes(&mut self, filter: &FilterCode, row: &Row) -> Result<bool, StoreError> {
        Ok(match filter {
            FilterCode::And(all) => {
                for one in all {
                    if !self.passes(one, row)? {
                        return Ok(false);
                    }
                }
                true
            }
            FilterCode::Or(all) => {
                for one in all {
                    if self.passes(one, row)? {
                        return Ok(true);
                    }
                }
                false
            }
            FilterCode::Not(one) => !self.passes(one, row)?,
            FilterCode::Regex(regex, value) => {
                let value = self.value(value, row)?;
                value.elements().iter().any(|value| regex.is_match(&value.text()))
            }
            FilterCode::IsTrue(value) => {
                let value = self.value(value, row)?;
                value.elements().contains(&Value::Bool(true))
            }
            FilterCode::Range { ends: (low, high), within, value } => {
                let value = self.value(value, row)?;
                value.elements().iter().any(|value| {
                    let number = value.double();
                    let above = *low < number || within.0 && *low == number;
                    above && (number < *high || within.1 && *high == number)
                })
            }
        })
    }

    /// The value of the attribute of a number, as it is stored: what is missing is the least number, not a number or an empty text, as
    /// in Vespa.
    fn attribute(&mut self, slot: usize, typed: &Typed, row: &Row) -> Result<Value, StoreError> {
        let cursor = self.cursors.get_mut(slot).and_then(Option::as_mut);
        let place = cursor.map_or(Ok(None), |cursor| cursor.at(row.lid))?;
        let Some((column, row)) = place else { return Ok(empty(typed.kind)) };
        Ok(match column {
            Column::Numbers(numbers) => number(numbers, row),
            Column::Texts(texts) => Value::Text(texts.get(row).unwrap_or_default().to_owned()),
            Column::Raw(raw) => Value::Raw(raw.get(row).unwrap_or_default().to_vec()),
            Column::Many(many) => {
                let element = |at: usize| match many.elements() {
                    Elements::Texts(texts) => {
                        Value::Text(texts.get(at).unwrap_or_default().to_owned())
                    }
                    Elements::Numbers(list) if list.is_whole() => {
                        Value::Long(list.integer(at).unwrap_or(0))
                    }
                    Elements::Numbers(list) => Value::Double(list.get(at).unwrap_or(f64::NAN)),
                };
                Value::List(many.places(row).map(element).collect())
            }
            Column::Tensors(_) => Value::Null,
        })
    }
}

fn number(numbers: &NumberColumn, row: usize) -> Value {
    let list = numbers.list();
    match list {
        stead_store::NumberList::Bool(_) => Value::Bool(list.get(row) == Some(1.0)),
        _ if list.is_whole() => Value::Long(list.integer(row).unwrap_or(0)),
        _ => Value::Double(list.get(row).unwrap_or(f64::NAN)),
    }
}

/// The value of a type that is nothing.
fn empty(kind: Kind) -> Value {
    match kind {
        Kind::Bool => Value::Bool(false),
        Kind::Long => Value::Long(0),
        Kind::Double => Value::Double(0.0),
        Kind::Text => Value::Text(String::new()),
        Kind::Raw => Value::Raw(Vec::new()),
        Kind::Bucket => Value::Null,
    }
}
