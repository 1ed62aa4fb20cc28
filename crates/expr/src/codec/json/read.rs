//! JSON to tensor.

use half::{bf16, f16};
use serde_json::{Map, Value as Json};

use super::blocks::Blocks;
use super::sizes::sized;
use crate::run::MAX_CELLS;
use crate::types::{CellType, TensorType, TypeError, parse_type};
use crate::value::{Inexact, MAX_LABEL, Number, Value, ValueError};

/// Why JSON is not a tensor of the type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Something else stands where cells should.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What should stand there.
        expected: String,
        /// What does.
        found: String,
    },
    /// The wrong number of cells.
    #[error("{of} needs {expected} {what} in a block, got {found}")]
    Count {
        /// The type.
        of: TensorType,
        /// Cells or digits.
        what: &'static str,
        /// As a block has.
        expected: usize,
        /// As there are.
        found: usize,
    },
    /// A text that is no number of base 16.
    #[error("{0:?} is no hexadecimal number")]
    Hex(String),
    /// An index that is not there.
    #[error("{text:?} is no index below {size} along dimension {dimension}")]
    Index {
        /// What stands there.
        text: String,
        /// The dimension.
        dimension: String,
        /// Its size.
        size: usize,
    },
    /// A dimension that the type does not have.
    #[error("{of} has no dimension {dimension}")]
    Dimension {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
    },
    /// An address with too few dimensions.
    #[error("an address without dimension {0}")]
    Address(String),
    /// Labels where there must be addresses.
    #[error("labels alone need one mapped dimension, which {0} has not")]
    Labels(TensorType),
    /// A cell or block that stands twice.
    #[error("the cell {0} stands twice")]
    Twice(String),
    /// A block without its cells.
    #[error("a block without values")]
    NoValues,
    /// A label that is too long.
    #[error("a label of {0} bytes; {MAX_LABEL} is the most")]
    Long(usize),
    /// More cells than a value may have.
    #[error("more than {MAX_CELLS} cells")]
    TooLarge,
    /// A size that the type leaves open and that is not in the cells.
    #[error("the size of dimension {dimension} of {of} is in no cell")]
    Size {
        /// The type.
        of: TensorType,
        /// The name.
        dimension: String,
    },
    /// Sizes that no type has.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// Parts that do not make a value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A text that cannot be read as JSON, as its reader says it.
    #[error("{0}")]
    Text(String),
    /// A number that the type of the cells does not have.
    #[error(transparent)]
    Inexact(#[from] Inexact),
}

/// A tensor of this type from JSON in any of its forms. Cells of a block that are not given are 0. Sizes that the type leaves
/// open are those of the first block.
///
/// # Errors
/// When the JSON does not fit the type, with what was found and what was expected.
pub fn from_json(kind: &TensorType, json: &Json) -> Result<Value, JsonError> {
    if !kind.is_bound() {
        return from_json(&sized(kind, json)?, json);
    }
    let mut blocks = Blocks::new(kind);
    if let Json::Object(object) = json
        && is_wrapper(object)
        && let Some(Json::String(found)) = object.get("type")
    {
        same_dimensions(kind, found)?;
    }
    wrapped(json).try_for_each(|part| blocks.part(part))?;
    blocks.finish()
}

/// What is within the object that stands around the cells, or all if there is none.
pub(super) fn wrapped(json: &Json) -> impl Iterator<Item = &Json> {
    const KEYS: [&str; 3] = ["cells", "values", "blocks"];
    let object = json.as_object().filter(|object| is_wrapper(object));
    let parts = KEYS.into_iter().filter_map(move |key| object?.get(key));
    parts.chain(object.is_none().then_some(json))
}

/// Whether an object is what stands around the cells, and not labels with cells.
fn is_wrapper(object: &Map<String, Json>) -> bool {
    let is_part =
        |key: &str| object.get(key).is_some_and(|v| v.is_array() || v.is_object() || v.is_string());
    object.get("type").is_some_and(Json::is_string)
        || ["cells", "values", "blocks"].iter().any(|k| is_part(k))
}

/// A type in the JSON itself may differ in the cells, which are converted.
fn same_dimensions(kind: &TensorType, found: &str) -> Result<(), JsonError> {
    match parse_type(found) {
        Ok(other) if other.with_cell(kind.cell()).takes(kind) => Ok(()),
        _ => Err(JsonError::Unexpected {
            expected: format!("a {kind}"),
            found: format!("a {found}"),
        }),
    }
}

/// What each form says of blocks.
impl Blocks<'_> {
    /// What `cells`, `values` or `blocks` have, or what stands there without any of these words.
    fn part(&mut self, json: &Json) -> Result<(), JsonError> {
        match json {
            Json::Array(list) if list.first().is_some_and(Json::is_object) => {
                list.iter().try_for_each(|item| self.addressed(item))
            }
            Json::Array(list) if !self.kind.is_dense() && list.is_empty() => Ok(()),
            Json::Array(_) | Json::String(_) if self.kind.is_dense() => self.block(&[], json),
            Json::Number(_) if self.kind.is_double() => {
                self.block(&[], &Json::Array(vec![json.clone()]))
            }
            Json::Object(object) => self.labelled(object),
            other => Err(self.unexpected(other)),
        }
    }

    /// `{"a":1,"b":2}` or `{"a":[1,2]}`.
    fn labelled(&mut self, object: &Map<String, Json>) -> Result<(), JsonError> {
        let dimensions = self.kind.dimensions();
        for (label, json) in object {
            match (self.kind.mapped_count(), dimensions) {
                (1, _) if self.kind.indexed().next().is_none() => {
                    let cell = number(json, self.kind.cell())?;
                    self.cell(std::slice::from_ref(label), 0, cell)?;
                }
                (1, _) => self.block(std::slice::from_ref(label), json)?,
                (0, [only]) => {
                    let offset = index(label, &only.name, self.size)?;
                    let cell = number(json, self.kind.cell())?;
                    self.cell(&[], offset, cell)?;
                }
                _ => return Err(JsonError::Labels(self.kind.clone())),
            }
        }
        Ok(())
    }

    /// `{"address":{..},"value":1}` or `{"address":{..},"values":[..]}`.
    fn addressed(&mut self, json: &Json) -> Result<(), JsonError> {
        let empty = Map::new();
        let address = json.get("address").and_then(Json::as_object).unwrap_or(&empty);
        if let Some(name) = address.keys().find(|name| self.kind.dimension(name).is_none()) {
            return Err(JsonError::Dimension { of: self.kind.clone(), dimension: name.clone() });
        }
        let place = |name: &str| match address.get(name) {
            Some(Json::String(text)) => Ok(text.clone()),
            Some(other) => Ok(other.to_string()),
            None => Err(JsonError::Address(name.to_owned())),
        };
        let labels = self.kind.mapped().map(|d| place(&d.name)).collect::<Result<Vec<_>, _>>()?;
        if let Some(values) = json.get("values") {
            return self.block(&labels, values);
        }
        let Some(value) = json.get("value") else { return Err(JsonError::NoValues) };
        let mut offset = 0;
        for (dimension, size) in self.kind.indexed() {
            offset = offset * size + index(&place(&dimension.name)?, &dimension.name, size)?;
        }
        self.cell(&labels, offset, number(value, self.kind.cell())?)
    }

    /// All cells of a block: nested or flat arrays, or hexadecimal digits.
    fn block(&mut self, labels: &[String], json: &Json) -> Result<(), JsonError> {
        let cells = match json {
            Json::String(digits) => self.digits(digits)?,
            Json::Array(_) => {
                let mut cells = Vec::with_capacity(self.size);
                flatten(json, &mut cells, self.kind.indexed().count().max(1), self.kind.cell())?;
                cells
            }
            other => return Err(self.unexpected(other)),
        };
        if cells.len() != self.size {
            let of = self.kind.clone();
            return Err(JsonError::Count {
                of,
                what: "cells",
                expected: self.size,
                found: cells.len(),
            });
        }
        let block = self.place(labels)?;
        for (offset, cell) in cells.into_iter().enumerate() {
            self.set(block, offset, cell, labels)?;
        }
        Ok(())
    }

    pub(in crate::codec) fn digits(&self, digits: &str) -> Result<Vec<Number>, JsonError> {
        let cell = self.kind.cell();
        let width = cell.size() * 2;
        if digits.len() != width * self.size {
            let (of, expected, found) = (self.kind.clone(), width * self.size, digits.len());
            return Err(JsonError::Count { of, what: "hexadecimal digits", expected, found });
        }
        let bad = || JsonError::Hex(digits.chars().take(20).collect());
        let number = |text: &[u8]| {
            let text =
                std::str::from_utf8(text).ok().filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()));
            let bits = text.and_then(|t| u64::from_str_radix(t, 16).ok()).ok_or_else(bad)?;
            Ok(match cell {
                CellType::Double => f64::from_bits(bits).into(),
                CellType::Float => f32::from_bits(bits as u32).into(),
                CellType::BFloat16 => bf16::from_bits(bits as u16).into(),
                CellType::Int8 => (bits as i8).into(),
                CellType::Float16 => f16::from_bits(bits as u16).into(),
                CellType::Int16 => (bits as i16).into(),
                CellType::Int32 => (bits as i32).into(),
                CellType::Int64 => (bits as i64).into(),
                CellType::UInt8 | CellType::Bool => (bits as u8).into(),
            })
        };
        digits.as_bytes().chunks_exact(width).map(number).collect()
    }

    fn unexpected(&self, found: &Json) -> JsonError {
        JsonError::Unexpected {
            expected: format!("the cells of {}", self.kind),
            found: short(found),
        }
    }
}

/// The numbers of nested arrays, no deeper than a block has dimensions.
fn flatten(
    json: &Json,
    cells: &mut Vec<Number>,
    depth: usize,
    cell: CellType,
) -> Result<(), JsonError> {
    match json {
        Json::Array(list) if depth > 0 => {
            list.iter().try_for_each(|j| flatten(j, cells, depth - 1, cell))
        }
        other => {
            cells.push(number(other, cell)?);
            Ok(())
        }
    }
}

/// A number of whichever form; whole ones of 64 bits with every digit, and true and false where there are bits.
fn number(json: &Json, cell: CellType) -> Result<Number, JsonError> {
    let named = |text: &str| match text {
        "NaN" | "nan" => Some(f64::NAN),
        "Infinity" | "inf" | "+Infinity" | "+inf" => Some(f64::INFINITY),
        "-Infinity" | "-inf" => Some(f64::NEG_INFINITY),
        other => other.parse().ok(),
    };
    let found = match json {
        Json::Null => Some(Number::Float(f64::NAN)),
        Json::Number(n) => n.as_i64().map(Number::Whole).or_else(|| n.as_f64().map(Number::Float)),
        Json::String(text) => match text.parse() {
            Ok(whole) => Some(Number::Whole(whole)),
            Err(_) => named(text).map(Number::Float),
        },
        Json::Bool(is_set) if cell == CellType::Bool => Some(Number::Whole(i64::from(*is_set))),
        _ => None,
    };
    found.ok_or_else(|| JsonError::Unexpected {
        expected: "a number".to_owned(),
        found: short(json),
    })
}

fn index(text: &str, dimension: &str, size: usize) -> Result<usize, JsonError> {
    text.parse().ok().filter(|i| *i < size).ok_or_else(|| JsonError::Index {
        text: text.to_owned(),
        dimension: dimension.to_owned(),
        size,
    })
}

fn short(json: &Json) -> String {
    match json {
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        other => other.to_string().chars().take(40).collect(),
    }
}
