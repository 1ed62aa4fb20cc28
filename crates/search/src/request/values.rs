//! The values of parameters by their names.

use std::collections::BTreeMap;

use super::table::find;
use crate::query::SearchError;

/// The longest that a value becomes by what is put into it.
const MAX_VALUE: usize = 1 << 20;

/// The most values that are put into a value, one of another counted too.
const MAX_SUBSTITUTIONS: usize = 64;

/// Values of parameters: those of the [table](super::PARAMETERS) by the names that they have there, others by their own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    by_name: BTreeMap<String, String>,
}

impl Values {
    /// Sets a value; of several the last counts.
    pub fn set(&mut self, name: &str, value: String) {
        let name = find(name).map_or_else(|| name.to_owned(), |(_, canonical)| canonical);
        self.by_name.insert(name, value);
    }

    /// Sets a value if there is none.
    pub fn set_default(&mut self, name: &str, value: String) {
        let name = find(name).map_or_else(|| name.to_owned(), |(_, canonical)| canonical);
        self.by_name.entry(name).or_insert(value);
    }

    /// Takes a value away.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        let name = find(name).map_or_else(|| name.to_owned(), |(_, canonical)| canonical);
        self.by_name.remove(&name)
    }

    /// A value by a name of the table, or another.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        if let Some(value) = self.by_name.get(name) {
            return Some(value);
        }
        self.by_name.get(&find(name)?.1).map(String::as_str)
    }

    /// All values in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A value with `%{name}` replaced by the values of those names; a name without a value becomes nothing.
///
/// # Errors
/// When a name has no end, or values take each other without end.
pub fn substitute(text: &str, values: &Values) -> Result<String, SearchError> {
    let (mut found, mut rest, mut count) = (String::new(), text.to_owned(), 0);
    while let Some(at) = rest.find("%{") {
        found.push_str(&rest[..at]);
        let behind = &rest[at + 2..];
        let Some((name, tail)) = behind.split_once('}') else {
            let text = format!("expected }} behind %{{{behind:.40}");
            return Err(SearchError::parameter(text));
        };
        count += 1;
        let next = values.get(name.trim()).unwrap_or_default().to_owned() + tail;
        if count > MAX_SUBSTITUTIONS || found.len() + next.len() > MAX_VALUE {
            let text = format!("%{{{name:.40}}} takes too many other values, or itself");
            return Err(SearchError::parameter(text));
        }
        rest = next;
    }
    Ok(found + &rest)
}

#[cfg(test)]
mod tests {
    use super::{Values, substitute};

    #[test]
    fn values_are_put_into_values() {
        let mut values = Values::default();
        for (name, value) in [("a", "1"), ("b", "<%{a}>"), ("count", "7"), ("loop", "%{loop}")] {
            values.set(name, value.to_owned());
        }
        for (text, expected) in
            [("x%{a}y%{b}", "x1y<1>"), ("%{ hits }", "7"), ("%{none}.", "."), ("%a", "%a")]
        {
            assert_eq!(substitute(text, &values).as_deref(), Ok(expected), "{text}");
        }
        for text in ["%{loop}", "%{a"] {
            assert!(substitute(text, &values).is_err(), "{text}");
        }
    }
}
