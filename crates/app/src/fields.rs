//! Taking an object apart, with places for error messages.

use crate::ConfigError;
use serde_json::{Map, Value};

/// An object whose keys are taken one by one; what is left at the end is unknown.
pub(crate) struct Fields<'a> {
    map: &'a Map<String, Value>,
    pointer: String,
    known: &'static [&'static str],
}

impl<'a> Fields<'a> {
    /// The fields of an object with these known keys.
    pub(crate) fn new(
        value: &'a Value,
        pointer: &str,
        known: &'static [&'static str],
    ) -> Result<Fields<'a>, ConfigError> {
        let map = value.as_object().ok_or_else(|| bad(pointer, "an object", value))?;
        if let Some(key) = map.keys().find(|k| !known.contains(&k.as_str())) {
            return Err(ConfigError::UnknownKey {
                pointer: join(pointer, key),
                known: known.join(", "),
            });
        }
        Ok(Fields { map, pointer: pointer.to_owned(), known })
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        debug_assert!(self.known.contains(&key));
        self.map.get(key)
    }

    /// The value of a key and its place.
    pub(crate) fn require(&self, key: &str) -> Result<(&'a Value, String), ConfigError> {
        let pointer = self.at(key);
        match self.get(key) {
            Some(value) => Ok((value, pointer)),
            None => Err(ConfigError::Missing { pointer }),
        }
    }

    /// The place of a key.
    pub(crate) fn at(&self, key: &str) -> String {
        join(&self.pointer, key)
    }
}

/// A pointer to `key` below `pointer` (RFC 6901).
pub(crate) fn join(pointer: &str, key: &str) -> String {
    let key: String = key.chars().take(64).collect();
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// An error about a value.
pub(crate) fn bad(pointer: &str, expected: &str, actual: &Value) -> ConfigError {
    let mut text = actual.to_string();
    // Values come from outside: show enough to find them, not all.
    if let Some((cut, _)) = text.char_indices().nth(60) {
        text.truncate(cut);
        text.push_str("...");
    }
    ConfigError::BadValue {
        pointer: pointer.to_owned(),
        expected: expected.to_owned(),
        actual: text,
    }
}

/// A string.
pub(crate) fn string<'a>(value: &'a Value, pointer: &str) -> Result<&'a str, ConfigError> {
    value.as_str().ok_or_else(|| bad(pointer, "a string", value))
}

/// A truth value.
pub(crate) fn boolean(value: &Value, pointer: &str) -> Result<bool, ConfigError> {
    value.as_bool().ok_or_else(|| bad(pointer, "true or false", value))
}

/// An array.
pub(crate) fn array<'a>(value: &'a Value, pointer: &str) -> Result<&'a [Value], ConfigError> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| bad(pointer, "an array", value))
}

/// An integer from `min` to `max`, or a string that holds one.
pub(crate) fn integer(
    value: &Value,
    pointer: &str,
    min: u64,
    max: u64,
) -> Result<u64, ConfigError> {
    let number = match value {
        Value::String(s) => s.trim().parse().ok(),
        v => v.as_u64(),
    };
    number
        .filter(|n| (min..=max).contains(n))
        .ok_or_else(|| bad(pointer, &format!("an integer from {min} to {max}"), value))
}
