//! Text to a tree.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::XmlElement;
use crate::package::{Located, Place, Report};

/// The longest file in bytes; those of published packages stay below 100 kB.
pub const MAX_XML: usize = 1 << 20;

/// The most elements within each other, and the most of a file.
const MAX_DEPTH: usize = 64;
const MAX_ELEMENTS: usize = 50_000;

/// Where the bytes of a text are.
struct Places<'t> {
    file: std::sync::Arc<str>,
    text: &'t str,
    /// The last byte that was asked for with its line and column: places are asked for in order.
    last: (usize, u32, u32),
}

impl Places<'_> {
    fn at(&mut self, at: usize) -> Place {
        let at = at.min(self.text.len());
        let (from, mut line, mut column) = if self.last.0 <= at { self.last } else { (0, 1, 1) };
        for byte in &self.text.as_bytes()[from..at] {
            match byte {
                b'\n' => (line, column) = (line + 1, 1),
                b if b & 0xc0 != 0x80 => column += 1,
                _ => {}
            }
        }
        self.last = (at, line, column);
        Place { file: self.file.clone(), line, column }
    }
}

/// The root of a file, or nothing if it cannot be read; then an error says why.
pub fn parse_xml(file: &str, text: &str, report: &mut Report) -> Option<XmlElement> {
    let mut places = Places { file: file.into(), text, last: (0, 1, 1) };
    if text.len() > MAX_XML {
        let message = format!("the file has {} bytes; {MAX_XML} is the most", text.len());
        report.error(&Place::file(file), message);
        return None;
    }
    match read(text, &mut places) {
        Ok(root) => Some(root),
        Err((at, message)) => {
            report.error(&places.at(at), message);
            None
        }
    }
}

type Fault = (usize, String);

fn read(text: &str, places: &mut Places<'_>) -> Result<XmlElement, Fault> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<XmlElement> = Vec::new();
    let (mut root, mut count) = (None, 0_usize);
    loop {
        let at = reader.buffer_position() as usize;
        let event =
            reader.read_event().map_err(|e| (reader.error_position() as usize, e.to_string()))?;
        match event {
            Event::Start(ref start) | Event::Empty(ref start) => {
                count += 1;
                if open.len() >= MAX_DEPTH {
                    return Err((at, format!("more than {MAX_DEPTH} elements within each other")));
                }
                if count > MAX_ELEMENTS {
                    return Err((at, format!("more than {MAX_ELEMENTS} elements in a file")));
                }
                if open.is_empty() && root.is_some() {
                    return Err((
                        at,
                        "expected the end of the file, found another element".to_owned(),
                    ));
                }
                let element = element(start, at, places)?;
                if matches!(event, Event::Empty(_)) {
                    close(element, &mut open, &mut root);
                } else {
                    open.push(element);
                }
            }
            Event::End(_) => {
                if let Some(element) = open.pop() {
                    close(element, &mut open, &mut root);
                }
            }
            Event::Text(part) => {
                let part = part.decode().map_err(|e| (at, e.to_string()))?;
                match open.last_mut() {
                    Some(element) => element.text.push_str(&part),
                    None if part.trim_matches(['\u{feff}', ' ', '\n', '\r', '\t']).is_empty() => {}
                    None => return Err((at, "expected an element, found text".to_owned())),
                }
            }
            Event::CData(part) => {
                let part = part.decode().map_err(|e| (at, e.to_string()))?;
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&part);
                }
            }
            Event::GeneralRef(name) => {
                let number = name.resolve_char_ref().map_err(|e| (at, e.to_string()))?;
                let name = name.decode().map_err(|e| (at, e.to_string()))?;
                let text = match number {
                    Some(c) => c.to_string(),
                    None => quick_xml::escape::resolve_predefined_entity(&name)
                        .ok_or_else(|| (at, format!("the entity &{name}; is not known; XML has lt, gt, amp, apos and quot")))?
                        .to_owned(),
                };
                if let Some(element) = open.last_mut() {
                    element.text.push_str(&text);
                }
            }
            Event::DocType(_) => {
                return Err((
                    at,
                    "document types and entities are not read; leave DOCTYPE out".to_owned(),
                ));
            }
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof => {
                if let Some(element) = open.last() {
                    return Err((
                        at,
                        format!("expected </{}>, found the end of the file", element.name),
                    ));
                }
                return root.ok_or_else(|| {
                    (at, "expected an element, found the end of the file".to_owned())
                });
            }
        }
    }
}

fn close(mut element: XmlElement, open: &mut [XmlElement], root: &mut Option<XmlElement>) {
    // What stands before texts of embedders may end in a space.
    let keeps = open.last().is_some_and(|parent| parent.name == "prepend");
    // What stands between texts may be nothing but spaces.
    let is_blanks = element.name == "separator" && element.children.is_empty();
    if !is_blanks && (!keeps || element.text.trim().is_empty()) {
        element.text = element.text.trim().to_owned();
    }
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn element(
    start: &BytesStart<'_>,
    at: usize,
    places: &mut Places<'_>,
) -> Result<XmlElement, Fault> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let place = places.at(at);
    let mut attributes: Vec<(String, Located<String>)> = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| (at, e.to_string()))?;
        let value = attribute.unescape_value().map_err(|e| (at, e.to_string()))?;
        let name = text(attribute.key.as_ref());
        attributes.push((name, Located::new(value.into_owned(), place.clone())));
    }
    let name = text(start.name().as_ref());
    Ok(XmlElement { name, place, attributes, children: Vec::new(), text: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        let mut report = Report::default();
        parse_xml("services.xml", text, &mut report);
        report.errors().map(ToString::to_string).collect()
    }

    #[test]
    fn elements_have_attributes_texts_and_places() {
        let text = "<?xml version=\"1.0\"?>\n<!-- c -->\n<a x='1 &lt; 2'>\n  <b> t&amp;&#65;<![CDATA[<]]> </b>\n  <c/>\n</a>\n";
        let mut report = Report::default();
        let root = parse_xml("s.xml", text, &mut report).unwrap();
        assert_eq!(root.attribute("x"), Some("1 < 2"));
        assert_eq!(root.child("b").map(|b| b.text.as_str()), Some("t&A<"));
        assert_eq!(root.child("c").map(|c| c.place.to_string()), Some("s.xml:5:3".to_owned()));
        assert_eq!(report, Report::default());
    }

    #[test]
    fn what_is_no_xml_or_hostile_is_refused() {
        let deep = "<a>".repeat(100_000);
        let laughs = "<!DOCTYPE a [<!ENTITY b \"b\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        let many = format!("<a>{}</a>", "<b/>".repeat(60_000));
        for (label, text, message) in [
            ("empty", "", "services.xml:1:1: expected an element, found the end of the file"),
            ("text", "x", "services.xml:1:1: expected an element, found text"),
            ("open", "<a>\n<b>", "services.xml:2:4: expected </b>, found the end of the file"),
            (
                "two",
                "<a/>\n<b/>",
                "services.xml:2:1: expected the end of the file, found another element",
            ),
            (
                "entities",
                laughs,
                "services.xml:1:1: document types and entities are not read; leave DOCTYPE out",
            ),
            (
                "entity",
                "<a>&b;</a>",
                "services.xml:1:4: the entity &b; is not known; XML has lt, gt, amp, apos and quot",
            ),
            ("deep", &deep, "services.xml:1:193: more than 64 elements within each other"),
            ("many", &many, "services.xml:1:200000: more than 50000 elements in a file"),
        ] {
            assert_eq!(errors(text), [message], "{label}");
        }
        assert_eq!(errors("<a></b>").len(), 1);
        assert_eq!(errors("<a b=1/>").len(), 1);
        assert_eq!(errors("<a b='&c;'/>").len(), 1);
    }
}
