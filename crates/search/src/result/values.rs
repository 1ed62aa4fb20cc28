//! Values of documents in results.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stead_expr::codec::json::{Form, to_json};
use stead_store::{Column, DataType, Elements, FieldValue, ManyColumn, NumberList, Position};

use super::item::Item;
use crate::columns::value;

/// The value of a document in a column whose attribute has a type; nothing if it has none. Empty texts and lists are none, as in Vespa.
#[must_use]
pub fn column_value(column: &Column, kind: &DataType, row: usize, form: Form) -> Option<Item> {
    match column {
        Column::Numbers(numbers) => number(numbers.list(), kind, row),
        Column::Texts(texts) => text(texts.get(row)?),
        Column::Raw(raw) => bytes(raw.get(row)?),
        Column::Many(many) => elements(many, kind, row),
        Column::Tensors(_) => {
            let DataType::Tensor(kind) = kind else { return None };
            Some(Item::from(to_json(&value(&column.attribute()?, kind, row)?, form)))
        }
    }
}

fn number(list: &NumberList, kind: &DataType, at: usize) -> Option<Item> {
    match (list, kind) {
        (NumberList::Bool(list), _) => Some(Item::Bool(*list.get(at)? == 1)),
        (NumberList::F32(list), _) => {
            Some(Item::Float(*list.get(at)?)).filter(|n| !matches!(n, Item::Float(n) if n.is_nan()))
        }
        (NumberList::F64(list), _) => {
            Some(*list.get(at)?).filter(|n| !n.is_nan()).map(Item::Number)
        }
        (NumberList::I8(list), _) if list.get(at) == Some(&i8::MIN) => None,
        (NumberList::I32(list), _) if list.get(at) == Some(&i32::MIN) => None,
        (NumberList::I64(list), _) if list.get(at) == Some(&i64::MIN) => None,
        (whole, DataType::Position) => Some(position(Position::from_curve(whole.integer(at)?))),
        (whole, _) => whole.integer(at).map(Item::Integer),
    }
}

fn position(place: Position) -> Item {
    let degrees = |micro: i32| Item::Number(f64::from(micro) / 1e6);
    Item::map([("lat", degrees(place.latitude)), ("lng", degrees(place.longitude))])
}

fn text(text: &str) -> Option<Item> {
    (!text.is_empty()).then(|| Item::text(text))
}

fn bytes(bytes: &[u8]) -> Option<Item> {
    (!bytes.is_empty()).then(|| Item::Text(STANDARD.encode(bytes)))
}

/// A list; of a weighted set a map of weights.
fn elements(many: &ManyColumn, kind: &DataType, row: usize) -> Option<Item> {
    let of = match kind {
        DataType::Array(of) | DataType::WeightedSet(of) => &**of,
        _ => return None,
    };
    let one = |at: usize| match many.elements() {
        Elements::Numbers(list) => number(list, of, at).unwrap_or(Item::Null),
        Elements::Texts(texts) => Item::text(texts.get(at).unwrap_or_default()),
    };
    let places = many.places(row);
    if places.is_empty() {
        return None;
    }
    Some(match many.is_weighted() {
        true => Item::Map(
            places.map(|at| (key(&one(at)), Item::Integer(i64::from(many.weight(at))))).collect(),
        ),
        false => Item::List(places.map(one).collect()),
    })
}

/// A value as the name of a member.
fn key(item: &Item) -> String {
    match item {
        Item::Text(text) => text.clone(),
        Item::Integer(number) => number.to_string(),
        Item::Bool(value) => value.to_string(),
        Item::Number(number) => format!("{number:?}"),
        Item::Float(number) => format!("{number:?}"),
        _ => String::new(),
    }
}

/// A value of a field; nothing if it is empty.
#[must_use]
pub fn item_of(value: &FieldValue, form: Form) -> Option<Item> {
    // Values nest as deep as the types of fields.
    let inner = |value: &FieldValue| item_of(value, form).unwrap_or(Item::Null);
    match value {
        FieldValue::Bool(value) => Some(Item::Bool(*value)),
        FieldValue::Integer(number) => Some(Item::Integer(*number)),
        FieldValue::Number(number) => Some(*number).filter(|n| !n.is_nan()).map(Item::Number),
        FieldValue::Text(value) => text(value),
        FieldValue::Bytes(value) => bytes(value),
        FieldValue::Position(place) => Some(position(*place)),
        FieldValue::Tensor(value) => Some(Item::from(to_json(value, form))),
        FieldValue::Array(list) if list.is_empty() => None,
        FieldValue::Array(list) => Some(Item::List(list.iter().map(inner).collect())),
        FieldValue::Weighted(list) if list.is_empty() => None,
        FieldValue::Weighted(list) => {
            let pair = |(value, weight): &(FieldValue, i32)| {
                (key(&inner(value)), Item::Integer(i64::from(*weight)))
            };
            Some(Item::Map(list.iter().map(pair).collect()))
        }
        FieldValue::Map(list) if list.is_empty() => None,
        FieldValue::Map(list) => {
            Some(Item::Map(list.iter().map(|(k, v)| (key(&inner(k)), inner(v))).collect()))
        }
        FieldValue::Struct(members) => {
            let member =
                |(name, value): &(String, FieldValue)| Some((name.clone(), item_of(value, form)?));
            Some(Item::Map(members.iter().filter_map(member).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use stead_expr::codec::json::Form;
    use stead_store::{FieldValue, Position};

    use super::{Item, item_of};

    #[test]
    fn values_are_items() {
        let text = |t: &str| FieldValue::Text(t.to_owned());
        for (value, expected) in [
            (FieldValue::Integer(-7), Some(Item::Integer(-7))),
            (FieldValue::Number(f64::NAN), None),
            (text(""), None),
            (FieldValue::Bytes(vec![1, 2, 3]), Some(Item::text("AQID"))),
            (FieldValue::Array(vec![]), None),
            (FieldValue::Array(vec![text("a")]), Some(Item::List(vec![Item::text("a")]))),
            (
                FieldValue::Weighted(vec![(text("a"), 2)]),
                Some(Item::map([("a", Item::Integer(2))])),
            ),
            (
                FieldValue::Map(vec![(FieldValue::Integer(1), text("x"))]),
                Some(Item::map([("1", Item::text("x"))])),
            ),
            (
                FieldValue::Struct(vec![
                    ("a".to_owned(), text("")),
                    ("b".to_owned(), FieldValue::Bool(true)),
                ]),
                Some(Item::map([("b", Item::Bool(true))])),
            ),
            (
                FieldValue::Position(Position { latitude: 1_500_000, longitude: -2 }),
                Some(Item::map([("lat", Item::Number(1.5)), ("lng", Item::Number(-0.000_002))])),
            ),
        ] {
            assert_eq!(item_of(&value, Form::Short), expected, "{value:?}");
        }
    }
}
