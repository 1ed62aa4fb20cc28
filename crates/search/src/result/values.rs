//! Values of documents in results.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use stead_expr::codec::json::Form;
use stead_store::{DataType, DocumentType, FieldValue, Position};

use super::item::Item;

fn position(place: Position) -> Item {
    let degrees = |micro: i32| Item::Number(f64::from(micro) / 1e6);
    Item::map([("lat", degrees(place.latitude)), ("lng", degrees(place.longitude))])
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

/// A value of a type; nothing if it is empty, as in Vespa: NaN, texts and lists without anything. Structs are those of `documents`.
#[must_use]
pub fn item_of(
    value: &FieldValue,
    kind: &DataType,
    documents: &DocumentType,
    form: Form,
) -> Option<Item> {
    // Values nest as deep as the types of fields.
    let inner = |value: &FieldValue, kind: &DataType| {
        item_of(value, kind, documents, form).unwrap_or(Item::Null)
    };
    match (value, kind) {
        (FieldValue::Bool(value), _) => Some(Item::Bool(*value)),
        (FieldValue::Integer(number), _) => Some(Item::Integer(*number)),
        (FieldValue::Number(number), _) if number.is_nan() => None,
        (FieldValue::Number(number), DataType::Float16 | DataType::Float) => {
            Some(Item::Float(*number as f32))
        }
        (FieldValue::Number(number), _) => Some(Item::Number(*number)),
        (FieldValue::Text(value), _) => (!value.is_empty()).then(|| Item::text(value)),
        (FieldValue::Bytes(value), _) => {
            (!value.is_empty()).then(|| Item::Text(STANDARD.encode(value)))
        }
        (FieldValue::Position(place), _) => Some(position(*place)),
        (FieldValue::Tensor(value), _) => Some(Item::Tensor(value.clone(), form)),
        (FieldValue::Array(list), DataType::Array(of)) if !list.is_empty() => {
            Some(Item::List(list.iter().map(|value| inner(value, of)).collect()))
        }
        (FieldValue::Weighted(list), DataType::WeightedSet(of)) if !list.is_empty() => {
            let pair = |(value, weight): &(FieldValue, i32)| {
                (key(&inner(value, of)), Item::Integer(i64::from(*weight)))
            };
            Some(Item::Map(list.iter().map(pair).collect()))
        }
        (FieldValue::Map(list), DataType::Map(of_keys, of)) if !list.is_empty() => {
            let pair = |(k, v): &(FieldValue, FieldValue)| (key(&inner(k, of_keys)), inner(v, of));
            Some(Item::Map(list.iter().map(pair).collect()))
        }
        (FieldValue::Struct(members), DataType::Struct(name)) => {
            let found = documents.find_struct(name)?;
            let member = |(name, value): &(String, FieldValue)| {
                let (_, kind) = found.members.iter().find(|(n, _)| n == name)?;
                Some((name.clone(), item_of(value, kind, documents, form)?))
            };
            Some(Item::Map(members.iter().filter_map(member).collect()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use stead_app::application::Application;
    use stead_app::package::PackageFiles;
    use stead_app::services::ServicesOptions;
    use stead_expr::codec::json::Form;
    use stead_store::{DataType, DocumentType, FieldValue, Position};

    use super::{Item, item_of};

    #[test]
    fn values_are_items() {
        let schema =
            "schema d { document d { struct s { field a type string {} field b type bool {} } } }";
        let files = PackageFiles::from_texts([("schemas/d.sd", schema)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let documents = DocumentType::new(application.schema("d").unwrap());
        let text = |t: &str| FieldValue::Text(t.to_owned());
        let of = Box::new;
        for (value, kind, expected) in [
            (FieldValue::Integer(-7), DataType::Int, Some(Item::Integer(-7))),
            (FieldValue::Number(f64::NAN), DataType::Double, None),
            (FieldValue::Number(0.1), DataType::Double, Some(Item::Number(0.1))),
            (FieldValue::Number(f64::from(0.1_f32)), DataType::Float, Some(Item::Float(0.1))),
            (text(""), DataType::Text, None),
            (FieldValue::Bytes(vec![1, 2, 3]), DataType::Raw, Some(Item::text("AQID"))),
            (FieldValue::Array(vec![]), DataType::Array(of(DataType::Text)), None),
            (
                FieldValue::Array(vec![text("a"), text("")]),
                DataType::Array(of(DataType::Text)),
                Some(Item::List(vec![Item::text("a"), Item::Null])),
            ),
            (
                FieldValue::Weighted(vec![(text("a"), 2)]),
                DataType::WeightedSet(of(DataType::Text)),
                Some(Item::map([("a", Item::Integer(2))])),
            ),
            (
                FieldValue::Map(vec![(FieldValue::Integer(1), text("x"))]),
                DataType::Map(of(DataType::Int), of(DataType::Text)),
                Some(Item::map([("1", Item::text("x"))])),
            ),
            (
                FieldValue::Struct(vec![
                    ("a".to_owned(), text("")),
                    ("b".to_owned(), FieldValue::Bool(true)),
                ]),
                DataType::Struct("s".to_owned()),
                Some(Item::map([("b", Item::Bool(true))])),
            ),
            (
                FieldValue::Position(Position { latitude: 1_500_000, longitude: -2 }),
                DataType::Position,
                Some(Item::map([("lat", Item::Number(1.5)), ("lng", Item::Number(-0.000_002))])),
            ),
        ] {
            assert_eq!(item_of(&value, &kind, &documents, Form::Short), expected, "{value:?}");
        }
    }
}
