//! Tensor to JSON.

use serde_json::{Map, Value as Json, json};

use crate::types::CellType;
use crate::value::{Label, Number, Value};

/// How a tensor is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// As little as the type allows, beside the type.
    Short,
    /// A list of cells with addresses, beside the type.
    Long,
    /// As `Short`, with the cells of a block as hexadecimal digits.
    Hex,
    /// As `Short` without the type.
    ShortValue,
    /// As `Long` without the type.
    LongValue,
    /// As `Hex` without the type.
    HexValue,
}

impl Form {
    /// The form of a value of the parameter `presentation.format.tensors` of Vespa's APIs.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Form> {
        Some(match name {
            "short" => Form::Short,
            "long" => Form::Long,
            "hex" => Form::Hex,
            "short-value" => Form::ShortValue,
            "long-value" => Form::LongValue,
            "hex-value" => Form::HexValue,
            _ => return None,
        })
    }
}

/// A tensor as JSON. A number is a tensor without dimensions; NaN and the infinities are texts.
#[must_use]
pub fn to_json(value: &Value, form: Form) -> Json {
    let kind = value.kind();
    let key = named(value, form);
    let cells = match form {
        Form::Long | Form::LongValue => addressed_cells(value),
        _ => short(value, matches!(form, Form::Hex | Form::HexValue)),
    };
    if matches!(form, Form::ShortValue | Form::LongValue | Form::HexValue) {
        return cells;
    }
    let name = if kind.is_double() { "tensor()".to_owned() } else { kind.to_string() };
    json!({"type": name, key: cells})
}

/// The word for the form of a tensor.
pub(super) fn named(value: &Value, form: Form) -> &'static str {
    let is_mixed = value.kind().indexed().next().is_some();
    match (form, value.kind().mapped_count()) {
        (Form::Long | Form::LongValue, _) => "cells",
        (_, 0) => "values",
        (_, _) if is_mixed => "blocks",
        _ => "cells",
    }
}

/// The shortest form.
fn short(value: &Value, is_hex: bool) -> Json {
    let kind = value.kind();
    let mapped = kind.mapped_count();
    let is_mixed = kind.indexed().next().is_some();
    let cells = |at: usize| if is_hex { digits(value, at).into() } else { block(value, at) };
    if mapped == 0 {
        return cells(0);
    }
    let label = |at: usize| value.labels()[at].text();
    match (mapped, is_mixed) {
        (1, false) => value
            .in_order_of_texts()
            .into_iter()
            .map(|at| (label(at), cell(value, at)))
            .collect::<Map<_, _>>()
            .into(),
        (1, true) => value
            .in_order_of_texts()
            .into_iter()
            .map(|at| (label(at), cells(at)))
            .collect::<Map<_, _>>()
            .into(),
        (_, false) => addressed_cells(value),
        (_, true) => {
            let place = |at: usize| object(address(value, at, None));
            let one = |at: usize| json!({"address": place(at), "values": cells(at)});
            value.in_order_of_texts().into_iter().map(one).collect::<Vec<_>>().into()
        }
    }
}

/// A cell; whole where the type is.
fn cell(value: &Value, at: usize) -> Json {
    let number = match value.cells().number(at) {
        Some(Number::Whole(whole)) => return json!(whole),
        Some(Number::Float(float)) => float,
        None => 0.0,
    };
    match value.kind().cell() {
        _ if number.is_nan() => json!("NaN"),
        _ if number.is_infinite() => json!(if number > 0.0 { "inf" } else { "-inf" }),
        // The shortest digits that give the same float again, not those of the double next to it.
        CellType::Float | CellType::BFloat16 | CellType::Float16 => {
            let digits = (number as f32).to_string();
            digits.parse::<f64>().map_or(json!(number), |n| json!(n))
        }
        _ => json!(number),
    }
}

/// The cells of a block as nested arrays.
fn block(value: &Value, at: usize) -> Json {
    let size = value.kind().block_size();
    let mut list: Vec<Json> = (at * size..(at + 1) * size).map(|c| cell(value, c)).collect();
    let sizes: Vec<usize> = value.kind().indexed().map(|(_, s)| s).collect();
    for inner in sizes.iter().skip(1).rev() {
        list = list.chunks(*inner).map(|c| Json::Array(c.to_vec())).collect();
    }
    list.into()
}

/// The cells of a block as hexadecimal digits.
pub(super) fn digits(value: &Value, at: usize) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let size = value.kind().block_size();
    let mut text = String::with_capacity(size * value.kind().cell().size() * 2);
    crate::each_cell!(value.cells(), cells => for cell in &cells[at * size..][..size] {
        for byte in cell.to_be_bytes() {
            // Vectors of many hits are most of an answer: no formatting for each byte.
            text.push(DIGITS[usize::from(byte >> 4)]);
            text.push(DIGITS[usize::from(byte & 15)]);
        }
    });
    text
}

fn addressed_cells(value: &Value) -> Json {
    let size = value.kind().block_size();
    let place = |at: usize| object(address(value, at / size, Some(at % size)));
    let one = |at: usize| json!({"address": place(at), "value": cell(value, at)});
    let cells = |block: usize| block * size..(block + 1) * size;
    value.in_order_of_texts().into_iter().flat_map(cells).map(one).collect::<Vec<_>>().into()
}

fn object(address: Vec<(&str, String)>) -> Json {
    address
        .into_iter()
        .map(|(name, place)| (name.to_owned(), place.into()))
        .collect::<Map<_, _>>()
        .into()
}

/// The labels of a block, and the indices of a cell in it, by the names of the dimensions.
pub(super) fn address(value: &Value, block: usize, cell: Option<usize>) -> Vec<(&str, String)> {
    let kind = value.kind();
    let mut labels = value.labels()[block * kind.mapped_count()..].iter().copied().map(Label::text);
    let mut strides = kind.strides().into_iter();
    let mut places = Vec::new();
    for dimension in kind.dimensions() {
        let place = match dimension.size() {
            None => labels.next(),
            Some(size) => {
                let stride = strides.next().unwrap_or(1);
                cell.map(|c| (c / stride % size).to_string())
            }
        };
        if let Some(place) = place {
            places.push((&*dimension.name, place));
        }
    }
    places
}
