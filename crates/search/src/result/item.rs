//! A tree of values that JSON and CBOR both have.

use serde_json::Value as Json;
use stead_expr::Value;
use stead_expr::codec::json::Form;

/// A value. Members of maps stay in their order.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names tell.
pub enum Item {
    Null,
    Bool(bool),
    Integer(i64),
    Number(f64),
    /// A number of 32 bits, which is written with as few digits as it needs.
    Float(f32),
    Text(String),
    /// A tensor in a form of JSON.
    Tensor(Value, Form),
    List(Vec<Item>),
    Map(Vec<(String, Item)>),
}

impl Item {
    /// The value as JSON. Numbers that JSON does not have are texts: `"NaN"`, `"Infinity"`, `"-Infinity"`.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        super::json::write(self, &mut out);
        out
    }

    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Item {
        Item::Text(text.into())
    }

    /// A map.
    #[must_use]
    pub fn map<const N: usize>(members: [(&str, Item); N]) -> Item {
        Item::Map(members.into_iter().map(|(name, item)| (name.to_owned(), item)).collect())
    }

    /// A count.
    #[must_use]
    pub fn count(count: usize) -> Item {
        Item::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<&str> for Item {
    fn from(text: &str) -> Item {
        Item::Text(text.to_owned())
    }
}

impl From<String> for Item {
    fn from(text: String) -> Item {
        Item::Text(text)
    }
}

impl From<f64> for Item {
    fn from(number: f64) -> Item {
        Item::Number(number)
    }
}

impl From<i64> for Item {
    fn from(number: i64) -> Item {
        Item::Integer(number)
    }
}

impl From<Json> for Item {
    fn from(json: Json) -> Item {
        match json {
            Json::Null => Item::Null,
            Json::Bool(value) => Item::Bool(value),
            Json::Number(number) => match number.as_i64() {
                Some(integer) => Item::Integer(integer),
                None => Item::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Item::Text(text),
            Json::Array(list) => Item::List(list.into_iter().map(Item::from).collect()),
            Json::Object(map) => {
                Item::Map(map.into_iter().map(|(name, json)| (name, Item::from(json))).collect())
            }
        }
    }
}
