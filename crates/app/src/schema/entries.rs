//! What stands between the braces of `inputs`, `constants` and `rank-properties`: entries without keywords.

use super::element::{Element, Value};
use super::grammar::Form;
use super::parser::{Parser, entry};
use super::reader::{Ends, Fault};
use crate::package::Located;

impl Parser<'_> {
    /// Entries between braces; one that cannot be read is reported, and reading goes on behind it.
    fn entries(
        &mut self,
        element: &mut Element,
        mut read: impl FnMut(&mut Self) -> Result<Element, Fault>,
    ) -> Result<(), Fault> {
        let keyword = element.keyword();
        self.open(keyword, "{")?;
        while !matches!(self.reader.peek(), Some(b'}') | None) {
            let from = self.reader.at;
            match read(self) {
                Ok(entry) => element.body.push(entry),
                Err(fault) => {
                    let place = self.reader.place(fault.at);
                    self.report.error(&place, fault.text);
                    self.reader.recover(from);
                }
            }
            if self.report.is_full() {
                self.reader.at = self.reader.text.len();
            }
        }
        self.close(keyword)
    }

    /// `{ query(name) type: value ... }` and `{ constant(name) type: value ... }`; types and the values of inputs may
    /// be left out.
    pub(super) fn constants(&mut self, element: &mut Element) -> Result<(), Fault> {
        let is_input = element.spec.form == Form::Inputs;
        let function = if is_input { "query" } else { "constant" };
        self.entries(element, |parser| parser.constant(function, is_input))
    }

    fn constant(&mut self, function: &str, is_input: bool) -> Result<Element, Fault> {
        let expected = format!("{function}(name) or a name");
        let mut name = self.reader.expect_word(&expected)?;
        if name.value == function && self.reader.take("(") {
            name = self.reader.expect_word("a name")?;
            self.reader.expect(")", &format!(") of {function}(name)"))?;
        }
        let mut result = Element::new(entry(), name.place.clone());
        result.name = Some(Located::new(name.value.to_owned(), name.place));
        self.reader.spaces();
        if self.reader.byte().is_some_and(|b| b.is_ascii_alphabetic()) {
            result.kind = Some(self.kind()?);
        }
        if self.reader.take(":") {
            result.value = Some(self.constant_value()?);
        } else if !is_input && self.reader.peek() == Some(b'{') {
            self.old_constant(&mut result)?;
        } else if !is_input {
            return Err(self.reader.unexpected(": and the value of the constant"));
        }
        Ok(result)
    }

    /// A tensor or number as it is written, or `file: path`.
    fn constant_value(&mut self) -> Result<Value, Fault> {
        self.reader.blank();
        if self.reader.rest().starts_with("file:") {
            self.reader.at += "file:".len();
            let path = self.reader.token();
            let path = path.ok_or_else(|| self.reader.unexpected("the path of a file"))?;
            return Ok(Value::Text(Located::new(path.value.to_owned(), path.place)));
        }
        Ok(Value::Raw(self.reader.literal("a number or a tensor")?))
    }

    /// `{ type: tensor(x[2]) value: {...} }`, the form of Vespa 7.
    fn old_constant(&mut self, result: &mut Element) -> Result<(), Fault> {
        self.open("the constant", "{")?;
        while self.reader.peek() != Some(b'}') {
            let word = self.reader.expect_word("type, value or file")?;
            match word.value {
                "type" => {
                    self.reader.expect(":", ": after type")?;
                    result.kind = Some(self.kind()?);
                }
                "file" => {
                    self.reader.at -= "file".len();
                    result.value = Some(self.constant_value()?);
                }
                "value" if self.reader.take(":") => result.value = Some(self.constant_value()?),
                "value" => {
                    self.open("value", "{")?;
                    result.value = Some(Value::Raw(self.reader.raw(Ends::AtBrace)));
                    self.close("value")?;
                }
                _ => {
                    self.reader.at -= word.value.len();
                    return Err(self.reader.unexpected("type, value or file"));
                }
            }
        }
        self.close("the constant")
    }

    /// `{ key: value ... }`, one on each line; quotes may stand around either.
    pub(super) fn properties(&mut self, element: &mut Element) -> Result<(), Fault> {
        self.entries(element, Parser::property)
    }

    fn property(&mut self) -> Result<Element, Fault> {
        let place = self.reader.here();
        let mut key = String::new();
        loop {
            self.reader.spaces();
            if let Some(text) = self.reader.quoted()? {
                key.push_str(text.value);
                continue;
            }
            match self.reader.byte() {
                Some(b':') if !key.is_empty() => break,
                Some(b) if b.is_ascii_alphanumeric() || b"_-.,()$@".contains(&b) => {
                    key.push(char::from(b));
                    self.reader.at += 1;
                }
                _ if key.is_empty() => {
                    return Err(self.reader.unexpected("the name of a property"));
                }
                _ => return Err(self.reader.unexpected(&format!(": after the property {key}"))),
            }
        }
        self.reader.at += 1;
        let mut value = self.reader.raw(Ends::AtLine);
        if value.value.is_empty() {
            return Err(self.reader.unexpected(&format!("a value for the property {key}")));
        }
        let inner = value.value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        if let Some(inner) = inner {
            value.value = inner.to_owned();
        }
        let mut result = Element::new(entry(), place.clone());
        result.name = Some(Located::new(key, place));
        result.value = Some(Value::Raw(value));
        Ok(result)
    }
}
