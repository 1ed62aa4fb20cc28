//! What stands between the keyword of an element and its value.

use super::element::{Element, Name, Value};
use super::grammar::Head;
use super::parser::Parser;
use super::reader::Fault;
use super::types::{FieldType, read_type};
use crate::package::Located;

impl Parser<'_> {
    /// What stands between the keyword and the value.
    pub(super) fn head(&mut self, element: &mut Element) -> Result<(), Fault> {
        let what = format!("the name of the {}", element.keyword());
        match element.spec.head {
            Head::Bare => {}
            Head::Named => element.name = Some(self.name(&what)?),
            Head::MayBeNamed => element.name = self.any_name(),
            Head::Inherits => {
                element.name = Some(self.name(&what)?);
                element.inherits = self.inherits()?;
            }
            Head::MayInherit => {
                let before = self.reader.at;
                element.name = self.any_name();
                if element.name() == "inherits" {
                    element.name = None;
                    self.reader.at = before;
                }
                element.inherits = self.inherits()?;
            }
            Head::OnlyInherits => element.inherits = self.inherits()?,
            Head::Typed => {
                element.name = Some(self.name(&what)?);
                if self.reader.word().is_none_or(|w| w.value != "type") {
                    return Err(self.reader.unexpected("type and the type of the field"));
                }
                self.reader.spaces();
                let may_be_tag = self.reader.rest().starts_with("tag");
                let kind = self.kind()?;
                element.is_tag = may_be_tag && matches!(*kind, FieldType::WeightedSet(_));
                element.kind = Some(kind);
            }
            Head::MayBeTyped => {
                element.name = self.any_name();
                let before = self.reader.at;
                if element.name.is_some() && self.reader.word().is_some_and(|w| w.value == "type") {
                    element.kind = Some(self.kind()?);
                } else {
                    self.reader.at = before;
                }
            }
            Head::Import => {
                self.keyword("field")?;
                let from = self.name("the field as reference.field")?;
                self.keyword("as")?;
                element.name = Some(self.name("the name of the imported field")?);
                element.value = Some(Value::Text(from));
            }
            Head::Function => self.function(element)?,
            Head::Quoted => {
                element.name = Some(match self.reader.quoted()? {
                    Some(text) => Located::new(text.value.to_owned(), text.place),
                    None => self.name(&what)?,
                });
            }
        }
        Ok(())
    }

    pub(super) fn keyword(&mut self, word: &str) -> Result<(), Fault> {
        let before = self.reader.at;
        if self.reader.word().is_some_and(|w| w.value == word) {
            return Ok(());
        }
        self.reader.at = before;
        Err(self.reader.unexpected(word))
    }

    /// A name, whose parts may have dots between them.
    pub(super) fn any_name(&mut self) -> Option<Name> {
        let first = self.reader.word()?;
        let mut name = Located::new(first.value.to_owned(), first.place);
        while self.reader.rest().starts_with('.') {
            let before = self.reader.at;
            self.reader.at += 1;
            let part = match self.reader.byte() {
                Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.reader.word(),
                _ => None,
            };
            let Some(part) = part else {
                self.reader.at = before;
                break;
            };
            name.value.push('.');
            name.value.push_str(part.value);
        }
        Some(name)
    }

    pub(super) fn name(&mut self, expected: &str) -> Result<Name, Fault> {
        self.any_name().ok_or_else(|| self.reader.unexpected(expected))
    }

    pub(super) fn kind(&mut self) -> Result<Located<FieldType>, Fault> {
        self.reader.spaces();
        let place = self.reader.here();
        Ok(Located::new(read_type(&mut self.reader)?, place))
    }

    /// Names with commas between them.
    pub(super) fn names(&mut self, expected: &str) -> Result<Vec<Name>, Fault> {
        let mut list = vec![self.name(expected)?];
        while self.reader.take(",") {
            self.reader.blank();
            list.push(self.name(expected)?);
        }
        Ok(list)
    }

    /// `inherits a, b`, or nothing.
    pub(super) fn inherits(&mut self) -> Result<Vec<Name>, Fault> {
        let before = self.reader.at;
        self.reader.blank();
        if self.reader.word().is_some_and(|w| w.value == "inherits") {
            return self.names("a name to inherit from");
        }
        self.reader.at = before;
        Ok(Vec::new())
    }

    /// `inline name(a, b)`; the name may end in `$`.
    pub(super) fn function(&mut self, element: &mut Element) -> Result<(), Fault> {
        let mut name = self.name("the name of the function")?;
        if name.value == "inline" && self.reader.peek() != Some(b'(') {
            element.is_inline = true;
            name = self.name("the name of the function")?;
        }
        if self.reader.rest().starts_with('$') {
            self.reader.at += 1;
            name.value.push('$');
            if let Some(rest) = self.any_name() {
                name.value.push_str(&rest.value);
            }
        }
        element.name = Some(name);
        self.reader.expect("(", "( and the parameters of the function")?;
        self.reader.blank();
        if self.reader.byte() != Some(b')') {
            element.parameters = self.names("the name of a parameter")?;
            self.reader.blank();
        }
        self.reader.expect(")", ", or ) after a parameter")
    }
}
