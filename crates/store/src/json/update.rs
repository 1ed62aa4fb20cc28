//! What updates do with fields, from JSON.

use serde_json::{Map, Value as Json};
use stead_expr::codec::json::from_json;
use stead_expr::{Dimension, TensorType};

use super::path::read_path;
use super::value::{Reader, shown};
use crate::change::{CellChange, Change, Edit, Operator, Step};
use crate::kind::{DataType, DocumentType};
use crate::value::FieldValue;

/// What an update may do.
const EDITS: &str = "assign, add, remove, increment, decrement, multiply, divide, match or modify";

/// The changes of a field or of a part of it: an object with what is done. The error has the way into the field.
pub(super) fn read_changes(
    kind: &DocumentType,
    name: &str,
    json: &Json,
) -> Result<Vec<Change>, (String, String)> {
    let at = |text: String| (name.to_owned(), text);
    let (field, path, of) = read_path(kind, name).map_err(at)?;
    let Json::Object(edits) = json else {
        return Err(at(format!("expected an object with {EDITS}, found {}", shown(json))));
    };
    let change = |(verb, json): (&String, &Json)| {
        let mut reader = Reader::new(kind, name);
        let mut path = path.clone();
        match read_edit(&mut reader, &of, verb, json, &mut path) {
            Ok(edit) => Ok(Change { field, path, edit }),
            Err(text) => Err((reader.path, text)),
        }
    };
    edits.iter().map(change).collect()
}

/// One thing that is done; a match leads one step further.
fn read_edit(
    reader: &mut Reader<'_>,
    of: &DataType,
    verb: &str,
    json: &Json,
    path: &mut Vec<Step>,
) -> Result<Edit, String> {
    let operator = match verb {
        "increment" => Some(Operator::Add),
        "decrement" => Some(Operator::Subtract),
        "multiply" => Some(Operator::Multiply),
        "divide" => Some(Operator::Divide),
        _ => None,
    };
    if let Some(operator) = operator {
        return calculate(of, verb, operator, json);
    }
    match (verb, of) {
        ("assign", _) if json.is_null() => Ok(Edit::Assign(None)),
        ("assign", of) => reader.value(of, json).map(|value| Edit::Assign(Some(value))),
        ("add", DataType::Tensor(kind)) if kind.mapped_count() > 0 => {
            Ok(Edit::Cells { operator: None, create: true, cells: cells(kind, json)? })
        }
        ("add", DataType::Array(_) | DataType::WeightedSet(_) | DataType::Map(..)) => {
            reader.value(of, json).map(Edit::Add)
        }
        ("remove", DataType::Tensor(kind)) if kind.mapped_count() > 0 => addresses(kind, json),
        ("remove", DataType::Array(_)) => match reader.value(of, json)? {
            FieldValue::Array(values) => Ok(Edit::Remove(values)),
            _ => Ok(Edit::Remove(Vec::new())),
        },
        ("remove", DataType::WeightedSet(key)) => keys(reader, key, json),
        ("remove", DataType::Map(key, _)) => keys(reader, key, json),
        // What a way leads to is taken away, whatever stands there.
        ("remove", _) if !path.is_empty() => Ok(Edit::Assign(None)),
        ("match", of) => matched(reader, of, json, path),
        ("modify", DataType::Tensor(kind)) => modify(kind, json),
        ("add" | "remove" | "modify", of) => Err(format!("there is no {verb} for a {of}")),
        (other, _) => Err(format!("expected {EDITS}, found {other:?}")),
    }
}

fn calculate(of: &DataType, verb: &str, operator: Operator, json: &Json) -> Result<Edit, String> {
    let is_number = matches!(
        of,
        DataType::Byte
            | DataType::Int
            | DataType::Long
            | DataType::Float16
            | DataType::Float
            | DataType::Double
    );
    if !is_number {
        return Err(format!("there is no {verb} for a {of}"));
    }
    let number = match json {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    match number.filter(|number| number.is_finite()) {
        Some(0.0) if operator == Operator::Divide => Err("cannot divide by 0".to_owned()),
        Some(number) => Ok(Edit::Calculate(operator, number)),
        None => Err(format!("expected a number to {verb} with, found {}", shown(json))),
    }
}

/// Elements of a list, or the keys of an object.
fn keys(reader: &mut Reader<'_>, of: &DataType, json: &Json) -> Result<Edit, String> {
    let texts: Vec<Json> = match json {
        Json::Object(object) => object.keys().map(|key| Json::String(key.clone())).collect(),
        Json::Array(list) => list.clone(),
        other => return Err(format!("expected the keys to remove, found {}", shown(other))),
    };
    let keys = texts.iter().map(|text| reader.value(of, text));
    keys.collect::<Result<_, _>>().map(Edit::Remove)
}

/// `{"element": key or place, "increment": 1}`
fn matched(
    reader: &mut Reader<'_>,
    of: &DataType,
    json: &Json,
    path: &mut Vec<Step>,
) -> Result<Edit, String> {
    let expected = || format!("expected an object with element and {EDITS}, found {}", shown(json));
    let object = json.as_object().filter(|object| object.len() == 2).ok_or_else(expected)?;
    let element = object.get("element").ok_or_else(expected)?;
    let inner = match of {
        DataType::Array(inner) => {
            let place = element.as_u64().and_then(|place| usize::try_from(place).ok());
            let place = place.ok_or_else(|| {
                format!("expected the place of an element, found {}", shown(element))
            })?;
            path.push(Step::Place(place));
            (**inner).clone()
        }
        DataType::WeightedSet(key) => {
            path.push(Step::Key(reader.value(key, &as_text(element))?));
            DataType::Int
        }
        DataType::Map(key, value) => {
            path.push(Step::Key(reader.value(key, &as_text(element))?));
            (**value).clone()
        }
        other => return Err(format!("there is no match for a {other}")),
    };
    let (verb, json) = object.iter().find(|(key, _)| *key != "element").ok_or_else(expected)?;
    read_edit(reader, &inner, verb, json, path)
}

/// Keys are texts in JSON, whatever their type.
fn as_text(json: &Json) -> Json {
    match json {
        Json::Number(number) => Json::String(number.to_string()),
        other => other.clone(),
    }
}

/// `{"operation": "replace", "cells": .., "create": true}`
fn modify(kind: &TensorType, json: &Json) -> Result<Edit, String> {
    let expected = || {
        let text = "an object with operation replace, add or multiply and cells or blocks";
        format!("expected {text}, found {}", shown(json))
    };
    let object = json.as_object().ok_or_else(expected)?;
    let operator = match object.get("operation").and_then(Json::as_str) {
        Some("replace") => None,
        Some("add") => Some(Operator::Add),
        Some("multiply") => Some(Operator::Multiply),
        _ => return Err(expected()),
    };
    let create = match object.get("create") {
        None => false,
        Some(Json::Bool(create)) => *create,
        Some(other) => {
            return Err(format!("create: expected true or false, found {}", shown(other)));
        }
    };
    Ok(Edit::Cells { operator, create, cells: cells(kind, json)? })
}

/// The cells that an object gives: single ones by their addresses, or whole blocks.
fn cells(kind: &TensorType, json: &Json) -> Result<Vec<CellChange>, String> {
    let expected = || format!("expected cells or blocks of a {kind}, found {}", shown(json));
    let object = json.as_object().ok_or_else(expected)?;
    let part = |key: &str| {
        let mut inner = Map::new();
        inner.insert(key.to_owned(), object.get(key)?.clone());
        Some(Json::Object(inner))
    };
    if let Some(blocks) = part("blocks").or_else(|| part("values")) {
        let value = from_json(kind, &blocks).map_err(|e| e.to_string())?;
        let (cells, size, width) =
            (value.cells().doubles(), kind.block_size(), kind.mapped_count());
        let change = |(at, numbers): (usize, &[f64])| {
            let labels = value.labels().get(at * width..(at + 1) * width).unwrap_or_default();
            let labels = labels.iter().map(|label| label.text()).collect();
            CellChange { labels, at: 0, numbers: numbers.to_vec() }
        };
        return Ok(cells.chunks_exact(size).enumerate().map(change).collect());
    }
    // Addresses are labels of a tensor without indexed dimensions, so that cells that are not given stay as they are.
    let dimensions = kind.dimensions().iter().map(|d| Dimension::mapped(&d.name)).collect();
    let addressed = TensorType::new(kind.cell(), dimensions).map_err(|e| e.to_string())?;
    let cells = part("cells").ok_or_else(expected)?;
    let value = from_json(&addressed, &cells).map_err(|e| e.to_string())?;
    let width = addressed.mapped_count();
    let of_cell = |(at, number): (usize, &f64)| {
        let texts = value.labels().get(at * width..(at + 1) * width).unwrap_or_default();
        let (mut labels, mut place) = (Vec::new(), 0);
        for (dimension, label) in kind.dimensions().iter().zip(texts) {
            match kind.indexed().find(|(d, _)| d.name == dimension.name) {
                None => labels.push(label.text()),
                Some((_, size)) => {
                    let index = label.as_number().map(|index| index as usize);
                    let index = index.filter(|index| *index < size).ok_or_else(|| {
                        let (name, text) = (&dimension.name, label.text());
                        format!("expected an index of {name} below {size}, found {text:.40}")
                    })?;
                    place = place * size + index;
                }
            }
        }
        Ok(CellChange { labels, at: place, numbers: vec![*number] })
    };
    value.cells().doubles().iter().enumerate().map(of_cell).collect()
}

/// `{"addresses": [{"k": "a"}]}`: labels of some or all mapped dimensions.
fn addresses(kind: &TensorType, json: &Json) -> Result<Edit, String> {
    let expected = || format!("expected an object with addresses, found {}", shown(json));
    let list = json.get("addresses").and_then(Json::as_array).ok_or_else(expected)?;
    let address = |json: &Json| {
        let object = json.as_object().filter(|object| !object.is_empty()).ok_or_else(expected)?;
        if let Some(name) = object.keys().find(|n| !kind.mapped().any(|d| *d.name == ***n)) {
            return Err(format!("{kind} has no mapped dimension {name}"));
        }
        let label = |name: &str| match object.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(Json::Number(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(format!("expected a label of {name}, found {}", shown(other))),
        };
        kind.mapped().map(|d| label(&d.name)).collect::<Result<Vec<_>, _>>()
    };
    list.iter().map(address).collect::<Result<_, _>>().map(Edit::RemoveBlocks)
}
