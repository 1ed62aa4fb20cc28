//! Changes of parts of documents, as updates of Vespa's document API have them.

use std::collections::BTreeMap;

use stead_expr::{Cells, Labels, TensorType, Value};

use crate::kind::{DataType, DocumentType};
use crate::value::FieldValue;

/// A change of a field, or of a part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The number of the field.
    pub field: usize,
    /// The way from the value of the field to the part; empty for the whole.
    pub path: Vec<Step>,
    /// What is done there.
    pub edit: Edit,
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The value of a key of a map, or the weight of an element of a weighted set.
    Key(FieldValue),
    /// The element of an array at a place. There is nothing behind the last.
    Place(usize),
    /// The member of a struct.
    Member(String),
}

/// What is done with a value. Where there is none, only [`Edit::Assign`], [`Edit::Add`] and cells that may be created make one.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    /// Another value in its place; nothing takes it away.
    Assign(Option<FieldValue>),
    /// Elements behind those of an array, or into a weighted set or map, in the place of those with the same key.
    Add(FieldValue),
    /// Takes elements with these keys or of these values away.
    Remove(Vec<FieldValue>),
    /// Arithmetic with a number. What the type does not hold becomes the nearest that it does.
    Calculate(Operator, f64),
    /// Changes of cells of a tensor.
    Cells {
        /// What is done with each cell; nothing puts the number in its place.
        operator: Option<Operator>,
        /// Whether blocks that are not there are made: of zeros, or of ones to be multiplied.
        create: bool,
        /// The cells.
        cells: Vec<CellChange>,
    },
    /// Takes the blocks of a tensor away that have these labels; nothing stands for any label.
    RemoveBlocks(Vec<Vec<Option<String>>>),
}

/// Numbers for some cells of a block that stand one behind the other.
#[derive(Debug, Clone, PartialEq)]
pub struct CellChange {
    /// The labels of the block, in the order of the mapped dimensions.
    pub labels: Vec<String>,
    /// The place of the first cell in the block.
    pub at: usize,
    /// The numbers.
    pub numbers: Vec<f64>,
}

/// Arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names tell.
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Operator {
    fn of(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
        }
    }
}

/// Changes a document: its fields are those that it has behind the changes.
pub(crate) fn apply(
    kind: &DocumentType,
    fields: &mut Vec<(usize, FieldValue)>,
    changes: &[Change],
) {
    for change in changes {
        let Some(of) = kind.field_kind(change.field) else { continue };
        let at = fields.iter().position(|(field, _)| *field == change.field);
        let value = at.map(|at| fields.swap_remove(at).1);
        let changed = changed((kind, change.field), of, value, &change.path, &change.edit);
        fields.extend(changed.map(|value| (change.field, value)));
    }
    fields.sort_by_key(|(field, _)| *field);
}

/// The value behind a change of a part of it. Ways are as long as texts say, and JSON bounds these.
fn changed(
    (kind, field): (&DocumentType, usize),
    of: &DataType,
    value: Option<FieldValue>,
    path: &[Step],
    edit: &Edit,
) -> Option<FieldValue> {
    let Some((step, rest)) = path.split_first() else { return edited(of, value, edit) };
    match (of, step) {
        (DataType::Array(of), Step::Place(at)) => {
            let Some(FieldValue::Array(mut list)) = value else { return value };
            if *at < list.len() {
                let element = list.remove(*at);
                if let Some(element) = changed((kind, field), of, Some(element), rest, edit) {
                    list.insert(*at, element);
                }
            }
            Some(FieldValue::Array(list))
        }
        (DataType::Map(_, of), Step::Key(key)) => {
            let mut pairs = match value {
                Some(FieldValue::Map(pairs)) => pairs,
                _ => Vec::new(),
            };
            with_key(&mut pairs, key, |value| changed((kind, field), of, value, rest, edit));
            (!pairs.is_empty()).then_some(FieldValue::Map(pairs))
        }
        (DataType::WeightedSet(_), Step::Key(key)) => {
            let mut pairs = match value {
                Some(FieldValue::Weighted(pairs)) => pairs,
                _ => Vec::new(),
            };
            with_key(&mut pairs, key, |weight| {
                let weight = weight.map(|weight| FieldValue::Integer(i64::from(weight)));
                let weights = kind.weights(field);
                let zero = weights.creates.then_some(FieldValue::Integer(0));
                match changed((kind, field), &DataType::Int, weight.or(zero), rest, edit) {
                    Some(FieldValue::Integer(0)) if weights.removes => None,
                    Some(FieldValue::Integer(weight)) => Some(weight as i32),
                    _ => None,
                }
            });
            (!pairs.is_empty()).then_some(FieldValue::Weighted(pairs))
        }
        (DataType::Struct(name), Step::Member(member)) => {
            let mut members = match value {
                Some(FieldValue::Struct(members)) => members,
                _ => Vec::new(),
            };
            let known = kind.find_struct(name)?.members.iter().find(|(n, _)| n == member);
            let (_, of) = known?;
            with_key(&mut members, member, |value| changed((kind, field), of, value, rest, edit));
            // As JSON has them.
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            (!members.is_empty()).then_some(FieldValue::Struct(members))
        }
        _ => value,
    }
}

/// Changes the value that a key has, if any, to another or none.
fn with_key<K: PartialEq + Clone, V>(
    pairs: &mut Vec<(K, V)>,
    key: &K,
    change: impl FnOnce(Option<V>) -> Option<V>,
) {
    let at = pairs.iter().position(|(k, _)| k == key);
    let value = at.map(|at| pairs.remove(at).1);
    if let Some(value) = change(value) {
        pairs.insert(at.unwrap_or(pairs.len()), (key.clone(), value));
    }
}

/// A value behind what is done with the whole of it.
fn edited(of: &DataType, value: Option<FieldValue>, edit: &Edit) -> Option<FieldValue> {
    match (edit, value) {
        (Edit::Assign(value), _) => value.clone(),
        (Edit::Add(more), None) => Some(more.clone()),
        (Edit::Add(more), Some(value)) => Some(added(value, more)),
        (Edit::Remove(keys), Some(value)) => {
            let is_kept = |key: &FieldValue| !keys.contains(key);
            match value {
                FieldValue::Array(mut list) => {
                    list.retain(is_kept);
                    Some(FieldValue::Array(list))
                }
                FieldValue::Weighted(mut pairs) => {
                    pairs.retain(|(key, _)| is_kept(key));
                    Some(FieldValue::Weighted(pairs))
                }
                FieldValue::Map(mut pairs) => {
                    pairs.retain(|(key, _)| is_kept(key));
                    Some(FieldValue::Map(pairs))
                }
                other => Some(other),
            }
        }
        (Edit::Calculate(operator, number), Some(value)) => match value {
            FieldValue::Integer(value) => {
                Some(FieldValue::Integer(whole(of, *operator, value, *number)))
            }
            FieldValue::Number(value) => {
                Some(FieldValue::Number(of.rounded(operator.of(value, *number))))
            }
            other => Some(other),
        },
        (Edit::Cells { operator, create, cells }, value) => {
            let DataType::Tensor(kind) = of else { return value };
            let tensor = match value {
                Some(FieldValue::Tensor(tensor)) => Some(tensor),
                _ => None,
            };
            if tensor.is_none() && !create {
                return None;
            }
            let mut blocks = Blocks::of(kind, tensor.as_ref());
            cells.iter().for_each(|change| blocks.change(*operator, *create, change));
            blocks.tensor().map(FieldValue::Tensor)
        }
        (Edit::RemoveBlocks(addresses), Some(FieldValue::Tensor(tensor))) => {
            let mut blocks = Blocks::of(tensor.kind(), Some(&tensor));
            for address in addresses {
                let is_it = |labels: &[String]| {
                    let fits = |(label, wanted): (&String, &Option<String>)| {
                        wanted.as_ref().is_none_or(|wanted| wanted == label)
                    };
                    labels.iter().zip(address).all(fits)
                };
                blocks.blocks.retain(|labels, _| !is_it(labels));
            }
            blocks.tensor().map(FieldValue::Tensor)
        }
        (_, value) => value,
    }
}

/// Elements with more of them.
fn added(value: FieldValue, more: &FieldValue) -> FieldValue {
    match (value, more) {
        (FieldValue::Array(mut list), FieldValue::Array(more)) => {
            list.extend(more.iter().cloned());
            FieldValue::Array(list)
        }
        (FieldValue::Weighted(mut pairs), FieldValue::Weighted(more)) => {
            more.iter().for_each(|(key, weight)| with_key(&mut pairs, key, |_| Some(*weight)));
            FieldValue::Weighted(pairs)
        }
        (FieldValue::Map(mut pairs), FieldValue::Map(more)) => {
            more.iter().for_each(|(key, value)| with_key(&mut pairs, key, |_| Some(value.clone())));
            FieldValue::Map(pairs)
        }
        (value, _) => value,
    }
}

/// Arithmetic with a whole number: exact where the operand is whole too.
fn whole(of: &DataType, operator: Operator, value: i64, number: f64) -> i64 {
    let (least, most) = of.integers();
    let exact = number as i64;
    let found = match operator {
        _ if exact as f64 != number => None,
        Operator::Add => value.checked_add(exact),
        Operator::Subtract => value.checked_sub(exact),
        Operator::Multiply => value.checked_mul(exact),
        Operator::Divide => value.checked_div(exact),
    };
    found.unwrap_or_else(|| operator.of(value as f64, number) as i64).clamp(least, most)
}

/// The blocks of a tensor by their labels.
struct Blocks<'k> {
    kind: &'k TensorType,
    blocks: BTreeMap<Vec<String>, Vec<f64>>,
}

impl Blocks<'_> {
    fn of<'k>(kind: &'k TensorType, tensor: Option<&Value>) -> Blocks<'k> {
        let (mut blocks, size) = (BTreeMap::new(), kind.block_size());
        if kind.is_dense() && tensor.is_none() {
            blocks.insert(Vec::new(), vec![0.0; size]);
        }
        if let Some(tensor) = tensor {
            let (cells, width) = (tensor.cells().doubles(), kind.mapped_count());
            for (at, block) in cells.chunks_exact(size).enumerate() {
                let labels = tensor.labels().get(at * width..(at + 1) * width);
                let labels = labels.unwrap_or_default().iter().map(|label| label.text());
                blocks.insert(labels.collect(), block.to_vec());
            }
        }
        Blocks { kind, blocks }
    }

    fn change(&mut self, operator: Option<Operator>, create: bool, change: &CellChange) {
        if create && !self.blocks.contains_key(&change.labels) {
            let fill = if operator == Some(Operator::Multiply) { 1.0 } else { 0.0 };
            self.blocks.insert(change.labels.clone(), vec![fill; self.kind.block_size()]);
        }
        let Some(block) = self.blocks.get_mut(&change.labels) else { return };
        for (cell, number) in block.iter_mut().skip(change.at).zip(&change.numbers) {
            *cell = operator.map_or(*number, |operator| operator.of(*cell, *number));
        }
    }

    fn tensor(self) -> Option<Value> {
        let mut labels = Labels::default();
        self.blocks.keys().flatten().for_each(|label| labels.push(label));
        let cells: Vec<f64> = self.blocks.values().flatten().copied().collect();
        let cells = Cells::from_numbers(self.kind.cell(), &cells);
        Value::new(self.kind.clone(), labels, cells).ok()
    }
}
