//! The text of an `.xml` file as a tree.

use crate::error::{FormatError, check_limit};
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use stead_onnx::Limits;

/// An element.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    /// What stands in it, without that of its children.
    pub text: String,
}

/// Levels of elements for each body in a body: layers, layer, body.
const LEVELS_PER_BODY: usize = 3;

/// Memory of an element or attribute beside its texts, for the limit.
const OVERHEAD: usize = 96;

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.name == name)
    }

    /// The children of the child of this name; none if there is none.
    pub fn within(&self, name: &str) -> &[Element] {
        self.child(name).map_or(&[], |c| c.children.as_slice())
    }
}

pub(super) fn malformed(reason: impl ToString) -> FormatError {
    FormatError::Malformed { expected: "OpenVINO IR", reason: reason.to_string() }
}

/// The root of a text. What `rt_info` holds is skipped.
///
/// # Errors
/// Text that is no XML, is nested too deep, or larger than the limits allow.
pub(super) fn parse(text: &str, limits: &Limits) -> Result<Element, FormatError> {
    let mut reader = Reader::from_str(text);
    let depth = LEVELS_PER_BODY.saturating_mul(limits.depth.saturating_add(2));
    let (mut open, mut root): (Vec<Element>, Option<Element>) = (Vec::new(), None);
    let mut decoded = 0_usize;
    // How many elements within `rt_info` are open, itself included.
    let mut skipped = 0_usize;
    loop {
        let event = reader.read_event().map_err(malformed)?;
        match event {
            Event::Start(_) if skipped > 0 => skipped += 1,
            Event::Empty(_) if skipped > 0 => {}
            Event::End(_) if skipped > 0 => skipped -= 1,
            Event::Start(ref start) if start.name().as_ref() == b"rt_info" => skipped = 1,
            Event::Start(ref start) | Event::Empty(ref start) => {
                if open.len() >= depth {
                    return Err(malformed(format!("more than {depth} elements in each other")));
                }
                if open.is_empty() && root.is_some() {
                    return Err(malformed("more than one element at the top"));
                }
                let element = element(start)?;
                decoded = decoded.saturating_add(element.bytes());
                check_limit("the .xml file, decoded", decoded as u64, limits.decoded_bytes)?;
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
            Event::Text(part) if skipped == 0 => {
                add(&mut open, &part.decode().map_err(malformed)?);
            }
            Event::CData(part) if skipped == 0 => {
                add(&mut open, &part.decode().map_err(malformed)?);
            }
            Event::GeneralRef(reference) if skipped == 0 => {
                add(&mut open, &referred(&reference)?);
            }
            Event::DocType(_) => return Err(malformed("it has a document type")),
            Event::Eof if open.is_empty() && skipped == 0 => {
                return root.ok_or_else(|| malformed("it has no element"));
            }
            Event::Eof => return Err(malformed("it ends within an element")),
            _ => {}
        }
    }
}

/// Adds text to the innermost element.
fn add(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// What a reference such as `&amp;` or `&#65;` stands for.
fn referred(reference: &BytesRef<'_>) -> Result<String, FormatError> {
    if let Some(letter) = reference.resolve_char_ref().map_err(malformed)? {
        return Ok(letter.to_string());
    }
    let name = reference.decode().map_err(malformed)?;
    let known = resolve_xml_entity(&name);
    known.map(str::to_owned).ok_or_else(|| malformed(format!("&{name}; is not known")))
}

fn close(mut element: Element, open: &mut [Element], root: &mut Option<Element>) {
    // Spaces around a text are layout.
    element.text = element.text.trim().to_owned();
    match open.last_mut() {
        Some(parent) => parent.children.push(element),
        None => *root = Some(element),
    }
}

fn element(start: &BytesStart<'_>) -> Result<Element, FormatError> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut element = Element { name: text(start.name().as_ref()), ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(malformed)?;
        let value = attribute.unescape_value().map_err(malformed)?.into_owned();
        element.attributes.push((text(attribute.key.as_ref()), value));
    }
    Ok(element)
}

impl Element {
    fn bytes(&self) -> usize {
        let texts = |(name, value): &(String, String)| name.len() + value.len() + OVERHEAD;
        self.attributes.iter().map(texts).sum::<usize>() + self.name.len() + OVERHEAD
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_stands_in_an_element() {
        let cases = [
            ("plain", "<a> 3 </a>", Ok("3")),
            ("references", "<a>x &amp; y &lt;&#49;&#x32;</a>", Ok("x & y <12")),
            ("marked", "<a><![CDATA[1 < 2 &amp;]]></a>", Ok("1 < 2 &amp;")),
            ("in parts", "<a>4<b/>2<!-- no text --></a>", Ok("42")),
            ("skipped", "<a>1<rt_info>&unknown;<![CDATA[2]]></rt_info></a>", Ok("1")),
            ("unknown", "<a>&unknown;</a>", Err("&unknown; is not known")),
            ("no letter", "<a>&#xd800;</a>", Err("not well-formed")),
        ];
        for (label, text, expected) in cases {
            let parsed = parse(text, &Limits::default());
            match (parsed, expected) {
                (Ok(element), Ok(expected)) => assert_eq!(element.text, expected, "{label}"),
                (Err(error), Err(part)) => {
                    let known = part == "not well-formed" || error.to_string().contains(part);
                    assert!(known, "{label}: {error}");
                }
                (parsed, _) => panic!("{label}: {parsed:?}"),
            }
        }
    }
}
