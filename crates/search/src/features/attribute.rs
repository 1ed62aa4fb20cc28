//! `attribute(name)` where it is not simply a column: elements, counts, weights
//! (Vespa, `searchlib/src/vespa/searchlib/features/attributefeature.cpp`).

use stead_expr::text_number;
use stead_store::{Column, DataType, Elements, ManyColumn};

use super::{Call, Feature};

/// What is asked of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Value,
    Count,
    Weight,
    Contains,
}

/// The key behind the name of the attribute.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    None,
    /// The place of an element of an array.
    Place(usize),
    /// An element of a weighted set.
    Text(String),
    Integer(i64),
    Number(f64),
}

/// The column itself, if that is what is asked for.
pub(crate) fn in_place(call: &Call<'_>) -> Option<String> {
    let name = call.argument(0);
    let found = call.documents.attributes().iter().find(|a| a.name == name)?;
    let is_single =
        !matches!(found.kind, DataType::Array(_) | DataType::WeightedSet(_) | DataType::Raw);
    let is_alone = call.name.arguments.len() == 1 && call.name.output.is_empty();
    (is_single && is_alone && has_column(&found.kind)).then(|| name.to_owned())
}

fn has_column(kind: &DataType) -> bool {
    !matches!(kind, DataType::Map(..) | DataType::Struct(_))
}

pub(super) fn build(call: &Call<'_>) -> Result<Feature, String> {
    let name = call.argument(0).to_owned();
    let Some(found) = call.documents.attributes().iter().find(|a| a.name == name) else {
        return Err(format!("document {} has no attribute {name}", call.documents.name()));
    };
    let kind = found.kind.clone();
    if kind == DataType::Raw || !has_column(&kind) {
        return Err(format!("an attribute of type {kind} is no number; rank by its parts"));
    }
    let wanted = match call.name.output {
        "" => Wanted::Value,
        "count" => Wanted::Count,
        "weight" => Wanted::Weight,
        _ => Wanted::Contains,
    };
    let key = match (&kind, call.name.argument(1)) {
        (_, None) => Key::None,
        (DataType::WeightedSet(of), Some(text)) => match **of {
            DataType::Text => Key::Text(text.to_owned()),
            DataType::Float16 | DataType::Float | DataType::Double => {
                Key::Number(text.parse().map_err(|_| expected("a number", text))?)
            }
            _ => Key::Integer(text.parse().map_err(|_| expected("a whole number", text))?),
        },
        (_, Some(text)) => {
            Key::Place(text.parse().map_err(|_| expected("the place of an element", text))?)
        }
    };
    Ok(Feature::documents(move |cx| {
        let column = cx.column(&name)?;
        cx.numbers_of(column, |place| match place {
            Some((Column::Many(many), row)) => of_many(many, row, &key, wanted),
            Some((single, row)) => of_single(single, row, &key, wanted),
            None => f64::NAN,
        })
    }))
}

fn expected(what: &str, found: &str) -> String {
    format!("expected {what} as the key, found {found}")
}

/// An attribute with one value: it has one element, which is not weighted.
fn of_single(column: &Column, row: usize, key: &Key, wanted: Wanted) -> f64 {
    let is_there = matches!(key, Key::None | Key::Place(0));
    match (wanted, column) {
        (Wanted::Count, _) => 1.0,
        (Wanted::Value, Column::Numbers(numbers)) if is_there => {
            numbers.get(row).unwrap_or(f64::NAN)
        }
        (Wanted::Value, Column::Texts(texts)) if is_there => {
            texts.hashes().get(row).copied().unwrap_or(f64::NAN)
        }
        _ => 0.0,
    }
}

fn of_many(many: &ManyColumn, row: usize, key: &Key, wanted: Wanted) -> f64 {
    let places = many.places(row);
    let found = match key {
        // Vespa tells the count only where there is no key, and 0 where there is one.
        Key::None => return if wanted == Wanted::Count { places.len() as f64 } else { 0.0 },
        Key::Place(at) => {
            let place = places.start.saturating_add(*at);
            (wanted == Wanted::Value && places.contains(&place)).then_some(place)
        }
        Key::Text(key) => places.into_iter().find(|at| match many.elements() {
            Elements::Texts(texts) => texts.get(*at) == Some(key),
            Elements::Numbers(_) => false,
        }),
        Key::Integer(key) => places.into_iter().find(|at| match many.elements() {
            Elements::Numbers(list) => list.integer(*at) == Some(*key),
            Elements::Texts(_) => false,
        }),
        Key::Number(key) => places.into_iter().find(|at| many.elements().number(*at) == Some(*key)),
    };
    let Some(at) = found else { return 0.0 };
    match (wanted, key) {
        (Wanted::Value, Key::Text(key)) => text_number(key),
        (Wanted::Value, _) => many.elements().number(at).unwrap_or(0.0),
        (Wanted::Weight, _) => f64::from(many.weight(at)),
        (Wanted::Contains, _) => 1.0,
        (Wanted::Count, _) => 0.0,
    }
}
