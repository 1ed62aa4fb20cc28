//! Text to a tree of elements. What cannot be read is reported, and reading goes on behind it.

use super::element::{Element, Value};
use super::grammar::{Form, Holds, Spec, Status};
use super::indexing::read_script;
use super::reader::{Ends, Fault, Reader};
use crate::package::{Located, Report};

/// The longest schema in bytes; those of published packages stay below 100 kB.
pub const MAX_SCHEMA: usize = 1 << 20;

/// The most elements within each other. Vespa's grammar needs six, struct fields and inner profiles aside.
pub const MAX_NESTING: usize = 32;

/// The most elements of a file, so that a short text does not become a large tree.
pub const MAX_ELEMENTS: usize = 100_000;

/// Reads a file that holds these elements.
#[must_use]
pub fn parse(file: &str, text: &str, holds: Holds) -> (Vec<Element>, Report) {
    let (reader, report) = (Reader::new(file, text), Report::default());
    let mut parser = Parser { reader, report, elements: 0, is_unclosed: false };
    if text.len() > MAX_SCHEMA {
        let place = parser.reader.here();
        let text = format!("the file has {} bytes; {MAX_SCHEMA} is the most", text.len());
        parser.report.error(&place, text);
        return (Vec::new(), parser.report);
    }
    let mut elements = Vec::new();
    loop {
        elements.append(&mut parser.elements(holds, 0));
        if parser.reader.byte().is_none() {
            return (elements, parser.report);
        }
        let place = parser.reader.here();
        parser.report.error(&place, "unexpected \"}\", which closes nothing");
        parser.reader.at += 1;
    }
}

pub(super) struct Parser<'t> {
    pub(super) reader: Reader<'t>,
    pub(super) report: Report,
    elements: usize,
    /// Whether a brace is missing at the end.
    is_unclosed: bool,
}

impl Parser<'_> {
    /// Elements up to a closing brace or the end of the file.
    fn elements(&mut self, holds: Holds, depth: usize) -> Vec<Element> {
        let mut list = Vec::new();
        while !matches!(self.reader.peek(), None | Some(b'}')) {
            let from = self.reader.at;
            match self.element(holds, depth) {
                Ok(element) => list.push(element),
                Err(fault) => {
                    let place = self.reader.place(fault.at);
                    self.report.error(&place, fault.text);
                    self.reader.recover(from);
                }
            }
            self.elements += 1;
            if self.elements == MAX_ELEMENTS {
                let place = self.reader.here();
                self.report.error(&place, format!("more than {MAX_ELEMENTS} elements in a file"));
            }
            if self.report.is_full() || self.elements >= MAX_ELEMENTS {
                self.reader.at = self.reader.text.len();
                self.is_unclosed = true;
            }
        }
        list
    }

    fn element(&mut self, holds: Holds, depth: usize) -> Result<Element, Fault> {
        if depth > MAX_NESTING {
            let text = format!("more than {MAX_NESTING} elements within each other");
            return Err(Fault { at: self.reader.at, text });
        }
        let place = self.reader.here();
        let known = |reader: &mut Reader<'_>| {
            let words: Vec<&str> = holds.specs().iter().map(|s| s.keyword).collect();
            reader.unexpected(&match words.as_slice() {
                [] => "}".to_owned(),
                [word] => (*word).to_owned(),
                _ => format!("one of {}", words.join(", ")),
            })
        };
        let Some(word) = self.reader.word() else {
            return Err(known(&mut self.reader));
        };
        let Some(spec) = holds.find(word.value) else {
            self.reader.at -= word.value.len();
            return Err(known(&mut self.reader));
        };
        let mut element = Element::new(spec, place);
        self.head(&mut element)?;
        self.form(&mut element, depth)?;
        match spec.status {
            Status::Used => {}
            Status::Ignored(why) => {
                let text = format!("{} has no effect: {why}", spec.keyword);
                self.report.warning(&element.place, text);
            }
            Status::Refused(why) => {
                let text = format!("{} is not supported: {why}", spec.keyword);
                self.report.error(&element.place, text);
            }
        }
        Ok(element)
    }

    fn form(&mut self, element: &mut Element, depth: usize) -> Result<(), Fault> {
        let keyword = element.keyword();
        match element.spec.form {
            Form::Flag => {}
            Form::Body(holds) => element.body = self.body(keyword, holds, depth)?,
            Form::MayHaveBody(holds) => {
                let before = self.reader.at;
                if self.reader.peek() == Some(b'{') {
                    element.body = self.body(keyword, holds, depth)?;
                } else {
                    self.reader.at = before;
                }
            }
            Form::Setting(holds) if self.reader.take(":") => loop {
                self.reader.spaces();
                element.body.push(self.element(holds, depth + 1)?);
                if !self.reader.take(",") {
                    break;
                }
            },
            Form::Setting(holds) => element.body = self.body(keyword, holds, depth)?,
            Form::WordOrBody(holds) if self.reader.peek() == Some(b'{') => {
                element.body = self.body(keyword, holds, depth)?;
            }
            Form::Inputs | Form::Constants => self.constants(element)?,
            Form::Properties => self.properties(element)?,
            Form::Expression | Form::Features | Form::Mutation => {
                let raw = if self.reader.take(":") {
                    self.reader.raw(Ends::AtLine)
                } else {
                    self.open(keyword, ": or {")?;
                    let raw = self.reader.raw(Ends::AtBrace);
                    self.close(keyword)?;
                    raw
                };
                if raw.value.is_empty() && element.spec.form == Form::Expression {
                    return Err(Fault {
                        at: self.reader.at,
                        text: format!("expected an expression after {keyword}, found nothing"),
                    });
                }
                element.value = Some(Value::Raw(raw));
            }
            Form::Script => {
                let is_line = self.reader.take(":");
                if !is_line && self.reader.peek() != Some(b'{') {
                    return Err(self.reader.unexpected(": or { after indexing"));
                }
                element.value = Some(Value::Script(read_script(&mut self.reader, is_line)?));
            }
            Form::FlagOrBool if !self.reader.take(":") => {}
            Form::FlagOrBool => element.value = Some(self.bool()?),
            form => {
                self.reader.expect(":", &format!(": after {keyword}"))?;
                element.value = Some(self.value(form, keyword)?);
            }
        }
        Ok(())
    }

    /// A value behind a colon.
    fn value(&mut self, form: Form, keyword: &str) -> Result<Value, Fault> {
        let reader = &mut self.reader;
        match form {
            Form::Integer => {
                let expected = format!("a whole number for {keyword}");
                let before = reader.at;
                let token = reader.token().and_then(|t| t.value.trim_end_matches('L').parse().ok());
                reader.at = if token.is_none() { before } else { reader.at };
                token.map(Value::Integer).ok_or_else(|| reader.unexpected(&expected))
            }
            Form::Gap | Form::Number => {
                let expected = match form {
                    Form::Gap => format!("a whole number or infinity for {keyword}"),
                    _ => format!("a number for {keyword}"),
                };
                let before = reader.at;
                let token = reader.token().map_or("", |t| t.value);
                let number = match token {
                    "infinity" if form == Form::Gap => Some(Value::Number(f64::INFINITY)),
                    // What Rust reads beside numbers (inf, nan) Vespa does not.
                    _ if token.ends_with(|c: char| c.is_ascii_digit() || c == '.') => {
                        token.parse().ok().map(Value::Number)
                    }
                    _ => None,
                };
                reader.at = if number.is_none() { before } else { reader.at };
                number.ok_or_else(|| reader.unexpected(&expected))
            }
            Form::Bool => self.bool(),
            Form::Choice(words) => {
                let before = reader.at;
                let word = reader.word().filter(|w| words.contains(&w.value));
                let Some(word) = word else {
                    reader.at = before;
                    return Err(reader.unexpected(&format!("one of {}", words.join(", "))));
                };
                Ok(Value::Text(Located::new(word.value.to_owned(), word.place)))
            }
            Form::Word | Form::WordOrBody(_) => {
                Ok(Value::Text(self.name(&format!("a name for {keyword}"))?))
            }
            Form::Text => Ok(Value::Text(match reader.quoted()? {
                Some(text) => Located::new(text.value.to_owned(), text.place),
                None => self.name(&format!("a word or a text in quotes for {keyword}"))?,
            })),
            Form::Names => Ok(Value::Names(self.names("the name of a field")?)),
            Form::Path => match reader.token() {
                Some(path) => Ok(Value::Text(Located::new(path.value.to_owned(), path.place))),
                None => Err(reader.unexpected("the path of a file")),
            },
            Form::Type => Ok(Value::Type(self.kind()?)),
            _ => {
                let raw = reader.raw(Ends::AtLine);
                if raw.value.is_empty() {
                    return Err(reader.unexpected(&format!("a value for {keyword}")));
                }
                Ok(Value::Raw(raw))
            }
        }
    }

    fn bool(&mut self) -> Result<Value, Fault> {
        let before = self.reader.at;
        match self.reader.word().map_or("", |w| w.value) {
            "true" | "on" => Ok(Value::Bool(true)),
            "false" | "off" => Ok(Value::Bool(false)),
            _ => {
                self.reader.at = before;
                Err(self.reader.unexpected("true or false"))
            }
        }
    }

    pub(super) fn open(&mut self, keyword: &str, expected: &str) -> Result<(), Fault> {
        self.reader.blank();
        self.reader.expect("{", &format!("{expected} after {keyword}"))
    }

    pub(super) fn close(&mut self, keyword: &str) -> Result<(), Fault> {
        self.reader.blank();
        self.reader.expect("}", &format!("}} of {keyword}"))
    }

    /// `{ elements }`
    fn body(&mut self, keyword: &str, holds: Holds, depth: usize) -> Result<Vec<Element>, Fault> {
        self.open(keyword, "{")?;
        let opened = self.reader.at - 1;
        let body = self.elements(holds, depth + 1);
        if self.reader.byte().is_none() {
            // Said once, of the innermost.
            if !std::mem::replace(&mut self.is_unclosed, true) {
                let place = self.reader.place(opened);
                self.report
                    .error(&place, format!("expected }} of {keyword}, found the end of the file"));
            }
            return Ok(body);
        }
        self.reader.at += 1;
        Ok(body)
    }
}

/// A specification that has no table of its own.
pub(super) fn entry() -> &'static Spec {
    &super::grammar::ENTRY
}
