//! The parameters of built-in components: elements by the table of their kind.

use std::fmt;

use crate::package::{PackageFiles, Place, Report};
use crate::xml::XmlElement;

/// A parameter: an element within the component.
#[derive(Debug, PartialEq)]
pub struct BuiltInParameter {
    /// The name of the element.
    pub name: &'static str,
    /// What it holds.
    pub kind: ParameterKind,
    /// Its text where it is not written: nothing if it must be, an empty text if there is none then.
    pub default: Option<&'static str>,
    /// What it says.
    pub about: &'static str,
}

/// What a parameter holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ParameterKind {
    /// A text.
    Text,
    /// A whole number from 0.
    Count,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A file of the package: the attribute `path`.
    File,
    /// Texts: an `item` for each, or one text.
    List,
    /// Texts by names: `<item key="name">`.
    Map,
    /// Several of these together: an `item` for each, with these within.
    Rules(&'static [BuiltInParameter]),
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The names are those of the kinds.
pub enum ParameterValue {
    Text(String),
    Count(u64),
    Number(f64),
    Bool(bool),
    List(Vec<String>),
    Map(Vec<(String, String)>),
    Rules(Vec<Parameters>),
}

/// The parameters of a component, defaults too.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters {
    values: Vec<(&'static str, ParameterValue)>,
    /// Files that must be there, with the places where they are named.
    files: Vec<(String, Place)>,
}

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterKind::Text => f.write_str("a text"),
            ParameterKind::Count => f.write_str("a whole number"),
            ParameterKind::Number => f.write_str("a number"),
            ParameterKind::Bool => f.write_str("true or false"),
            ParameterKind::Choice(words) => f.write_str(&words.join(" or ")),
            ParameterKind::File => f.write_str("a file of the package: path=\"...\""),
            ParameterKind::List => f.write_str("an item for each text"),
            ParameterKind::Map => f.write_str("items with keys"),
            ParameterKind::Rules(rows) => {
                let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
                write!(f, "items with {}", names.join(", "))
            }
        }
    }
}

impl Parameters {
    /// Reads the elements within an element by a table. `others` are elements that are no parameters; `whose` is what messages call it.
    pub(crate) fn read(
        element: &XmlElement,
        rows: &'static [BuiltInParameter],
        others: &[&str],
        whose: &str,
        report: &mut Report,
    ) -> Parameters {
        let mut found = Parameters::default();
        for child in &element.children {
            let name = child.name.as_str();
            if others.contains(&name) {
                continue;
            }
            let Some(row) = rows.iter().find(|row| row.name == name) else {
                let names: Vec<&str> = rows.iter().map(|row| row.name).collect();
                let text = match names.is_empty() {
                    true => format!("{whose} has no parameter {name}; it has none"),
                    false => {
                        format!("{whose} has no parameter {name}; it has {}", names.join(", "))
                    }
                };
                report.error(&child.place, text);
                continue;
            };
            if found.get(name).is_some() {
                report.error(&child.place, format!("{whose} has the parameter {name} twice"));
                continue;
            }
            if let Some(value) = found.value(child, row, whose, report) {
                found.values.push((row.name, value));
            }
        }
        for row in rows {
            // One that was written wrong was told of.
            if element.child(row.name).is_some() {
                continue;
            }
            match row.default {
                None => {
                    let text = format!(
                        "{whose} needs the parameter {}: {}; expected {}",
                        row.name, row.about, row.kind
                    );
                    report.error(&element.place, text);
                }
                Some("") => {}
                Some(text) => {
                    found.values.extend(of_text(text, row.kind).map(|value| (row.name, value)));
                }
            }
        }
        found
    }

    fn value(
        &mut self,
        element: &XmlElement,
        row: &'static BuiltInParameter,
        whose: &str,
        report: &mut Report,
    ) -> Option<ParameterValue> {
        let items: Vec<&XmlElement> = element.all("item").collect();
        let only_items = items.len() == element.children.len();
        let keys: Option<Vec<&str>> = items.iter().map(|item| item.attribute("key")).collect();
        let value = match row.kind {
            ParameterKind::File => element.attribute("path").map(|path| {
                self.files.push((path.to_owned(), element.place.clone()));
                ParameterValue::Text(path.to_owned())
            }),
            ParameterKind::List if only_items && !items.is_empty() => {
                let flat = items.iter().all(|item| item.children.is_empty());
                let texts = || items.iter().map(|item| item.text.clone()).collect();
                flat.then(|| ParameterValue::List(texts()))
            }
            ParameterKind::Map => match keys {
                Some(keys) if only_items && !keys.is_empty() => {
                    let twice = keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key));
                    let pairs = keys.iter().zip(&items);
                    let pairs = pairs.map(|(key, item)| ((*key).to_owned(), item.text.clone()));
                    (!twice).then(|| ParameterValue::Map(pairs.collect()))
                }
                _ => None,
            },
            ParameterKind::Rules(rows) if only_items && !items.is_empty() => {
                let whose = format!("{} of {whose}", row.name);
                let read = |item: &&XmlElement| Parameters::read(item, rows, &[], &whose, report);
                let rules: Vec<Parameters> = items.iter().map(read).collect();
                Some(ParameterValue::Rules(rules))
            }
            kind if element.children.is_empty() => of_text(&element.text, kind),
            _ => None,
        };
        if value.is_none() {
            let found =
                if element.children.is_empty() { element.text.as_str() } else { "elements" };
            let text = format!("{} of {whose} must be {}, found {found:.60}", row.name, row.kind);
            report.error(&element.place, text);
        }
        value
    }

    /// Reports files that the package does not have.
    pub(crate) fn check_files(&self, whose: &str, files: &PackageFiles, report: &mut Report) {
        for (path, place) in &self.files {
            if !files.has(path) {
                report.error(place, format!("{whose}: the package has no file {path}"));
            }
        }
    }

    fn get(&self, name: &str) -> Option<&ParameterValue> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// A text, a word of a choice, or the path of a file.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(ParameterValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// A whole number, which is there or has a default.
    #[must_use]
    pub fn count(&self, name: &str) -> usize {
        match self.get(name) {
            Some(ParameterValue::Count(count)) => usize::try_from(*count).unwrap_or(usize::MAX),
            _ => 0,
        }
    }

    /// A number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(ParameterValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Whether it is true.
    #[must_use]
    pub fn bool(&self, name: &str) -> bool {
        matches!(self.get(name), Some(ParameterValue::Bool(true)))
    }

    /// Texts.
    #[must_use]
    pub fn list(&self, name: &str) -> &[String] {
        match self.get(name) {
            Some(ParameterValue::List(list)) => list,
            _ => &[],
        }
    }

    /// Texts by names.
    #[must_use]
    pub fn map(&self, name: &str) -> &[(String, String)] {
        match self.get(name) {
            Some(ParameterValue::Map(map)) => map,
            _ => &[],
        }
    }

    /// Several together.
    #[must_use]
    pub fn rules(&self, name: &str) -> &[Parameters] {
        match self.get(name) {
            Some(ParameterValue::Rules(rules)) => rules,
            _ => &[],
        }
    }
}

pub(super) fn of_text(text: &str, kind: ParameterKind) -> Option<ParameterValue> {
    let trimmed = text.trim();
    match kind {
        ParameterKind::Text if text.is_empty() => None,
        ParameterKind::Text => Some(ParameterValue::Text(text.to_owned())),
        ParameterKind::Count => trimmed.parse().ok().map(ParameterValue::Count),
        ParameterKind::Number => {
            let number: Option<f64> = trimmed.parse().ok().filter(|n: &f64| n.is_finite());
            number.map(ParameterValue::Number)
        }
        ParameterKind::Bool => trimmed.parse().ok().map(ParameterValue::Bool),
        ParameterKind::Choice(words) => {
            let word = words.iter().find(|word| **word == trimmed);
            word.map(|word| ParameterValue::Text((*word).to_owned()))
        }
        ParameterKind::List if !text.is_empty() => {
            Some(ParameterValue::List(vec![text.to_owned()]))
        }
        ParameterKind::List
        | ParameterKind::File
        | ParameterKind::Map
        | ParameterKind::Rules(_) => None,
    }
}
