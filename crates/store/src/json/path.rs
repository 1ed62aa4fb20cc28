//! Ways into fields: `prices{eur}`, `stock{"a b"}.count`, `tracks[3]`, `owner.name`.

use serde_json::Value as Json;

use super::value::Reader;
use crate::change::Step;
use crate::kind::{DataType, DocumentType};

/// The field that a way begins with, the steps from its value, and the type of what is there.
pub(super) fn read_path<'k>(
    kind: &'k DocumentType,
    text: &str,
) -> Result<(usize, Vec<Step>, DataType), String> {
    let end = text.find(['{', '[', '.']).unwrap_or(text.len());
    let (name, mut rest) = text.split_at(end);
    let Some((field, of)) = kind.field(name) else {
        let known: Vec<&'k str> = kind.fields().collect();
        return Err(format!(
            "document {} has no such field; it has {}",
            kind.name(),
            known.join(", ")
        ));
    };
    let (mut of, mut steps) = (of.clone(), Vec::new());
    while let Some(first) = rest.chars().next() {
        let behind = &rest[first.len_utf8()..];
        let (step, inner, left) = match (first, of) {
            ('{', DataType::Map(key, value)) => {
                let (text, left) = key_text(behind)?;
                (Step::Key(Reader::key(kind, name, &key, text)?), *value, left)
            }
            ('{', DataType::WeightedSet(key)) => {
                let (text, left) = key_text(behind)?;
                (Step::Key(Reader::key(kind, name, &key, text)?), DataType::Int, left)
            }
            ('[', DataType::Array(element)) => {
                let (digits, left) = behind.split_once(']').ok_or("expected ] behind a place")?;
                let place = digits.trim().parse();
                let place = place.map_err(|_| format!("expected a place, found {digits:.40}"))?;
                (Step::Place(place), *element, left)
            }
            ('.', DataType::Struct(name)) => {
                let end = behind.find(['{', '[', '.']).unwrap_or(behind.len());
                let (member, left) = behind.split_at(end);
                let found = kind.find_struct(&name);
                let found = found.and_then(|s| s.members.iter().find(|(n, _)| n == member));
                let (_, of) =
                    found.ok_or_else(|| format!("struct {name} has no member {member}"))?;
                (Step::Member(member.to_owned()), of.clone(), left)
            }
            (_, of) => return Err(format!("{first} leads nowhere in a {of}")),
        };
        steps.push(step);
        (of, rest) = (inner, left);
    }
    Ok((field, steps, of))
}

/// A key in braces, in quotes or not, and what follows.
fn key_text(text: &str) -> Result<(String, &str), String> {
    const END: &str = "expected } behind a key";
    let Some(quoted) = text.strip_prefix('"') else {
        let (key, rest) = text.split_once('}').ok_or(END)?;
        return Ok((key.to_owned(), rest));
    };
    let mut key = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let rest = quoted[at + 1..].strip_prefix('}').ok_or(END)?;
                return Ok((key, rest));
            }
            '\\' => key.extend(characters.next().map(|(_, escaped)| escaped)),
            other => key.push(other),
        }
    }
    Err(END.to_owned())
}

impl<'k> Reader<'k> {
    /// A key of a map or element of a weighted set from its text.
    pub(super) fn key(
        kind: &'k DocumentType,
        field: &str,
        of: &DataType,
        text: String,
    ) -> Result<crate::value::FieldValue, String> {
        Reader::new(kind, field).value(of, &Json::String(text))
    }
}
