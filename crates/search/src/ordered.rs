//! JSON whose members stay in the order in which they are written: groupings mean something by it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::{Error, Number};

/// A value.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names tell.
pub(crate) enum Ordered {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Ordered>),
    Object(Vec<(String, Ordered)>),
}

impl Ordered {
    /// A text as Vespa's readers take it: single quotes stand for double ones, and control characters may be in texts. It nests to 128
    /// levels.
    pub(crate) fn read(text: &str) -> Result<Ordered, Error> {
        serde_json::from_str(&strict(text))
    }

    /// What it is, for whoever wanted something else.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Ordered::Null => "null",
            Ordered::Bool(_) => "true or false",
            Ordered::Number(_) => "a number",
            Ordered::Text(_) => "a text",
            Ordered::List(_) => "a list",
            Ordered::Object(_) => "an object",
        }
    }
}

/// As strict JSON.
impl fmt::Display for Ordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Ordered::Null => to.serialize_unit(),
            Ordered::Bool(value) => to.serialize_bool(*value),
            Ordered::Number(number) => number.serialize(to),
            Ordered::Text(text) => to.serialize_str(text),
            Ordered::List(list) => to.collect_seq(list),
            Ordered::Object(members) => to.collect_map(members.iter().map(|(k, v)| (k, v))),
        }
    }
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Ordered, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Ordered;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value of JSON")
            }

            fn visit_unit<E>(self) -> Result<Ordered, E> {
                Ok(Ordered::Null)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Ordered, E> {
                Ok(Ordered::Bool(value))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Ordered, E> {
                Ok(Ordered::Number(number.into()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Ordered, E> {
                Ok(Ordered::Number(number.into()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Ordered, E> {
                // JSON has no others than finite ones.
                Ok(Number::from_f64(number).map_or(Ordered::Null, Ordered::Number))
            }

            fn visit_str<E>(self, text: &str) -> Result<Ordered, E> {
                Ok(Ordered::Text(text.to_owned()))
            }

            fn visit_string<E>(self, text: String) -> Result<Ordered, E> {
                Ok(Ordered::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut of: A) -> Result<Ordered, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = of.next_element()? {
                    list.push(element);
                }
                Ok(Ordered::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut of: A) -> Result<Ordered, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = of.next_entry()? {
                    members.push(member);
                }
                Ok(Ordered::Object(members))
            }
        }

        from.deserialize_any(Any)
    }
}

/// The same JSON without what only lenient readers take: texts in single quotes, and control characters within texts.
fn strict(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let (mut quote, mut is_escaped) = (None, false);
    for letter in text.chars() {
        match (quote, letter) {
            (None, '\'' | '"') => {
                quote = Some(letter);
                found.push('"');
            }
            (None, _) => found.push(letter),
            (Some(_), '\'') if is_escaped => {
                // No escape in strict JSON.
                found.pop();
                found.push('\'');
            }
            (Some(open), _) if !is_escaped && letter == open => {
                quote = None;
                found.push('"');
            }
            (Some('\''), '"') if !is_escaped => found.push_str("\\\""),
            (Some(_), _) if letter.is_control() && (letter as u32) < 0x20 => {
                found.push_str(&format!("\\u{:04x}", letter as u32));
            }
            (Some(_), _) => found.push(letter),
        }
        is_escaped = quote.is_some() && letter == '\\' && !is_escaped;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::Ordered;

    #[test]
    fn members_stay_in_their_order() {
        for text in [
            r#"{"b":1,"a":[true,null,"x\n",{"d":{},"c":[]}]}"#,
            "[18446744073709551615,-9223372036854775808,0.5,1.5e-9]",
            r#""""#,
        ] {
            assert_eq!(Ordered::read(text).unwrap().to_string(), text);
        }
        assert_eq!(Ordered::read("{'a\"': 'b\t'}").unwrap().to_string(), r#"{"a\"":"b\t"}"#);
    }

    #[test]
    fn depth_has_a_limit() {
        assert!(Ordered::read(&"[".repeat(100_000)).is_err());
        assert!(Ordered::read("1 2").is_err());
        assert!(Ordered::read("[1e999]").is_err());
    }
}
