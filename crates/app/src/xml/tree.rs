//! The tree of an XML file.

use crate::package::{Located, Place, Report};

/// An element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlElement {
    /// Its name with its prefix, such as `deploy:environment`.
    pub name: String,
    /// Where it begins.
    pub place: Place,
    /// Its attributes in the order in which they are written.
    pub attributes: Vec<(String, Located<String>)>,
    /// The elements within it.
    pub children: Vec<XmlElement>,
    /// The text within it, without the spaces around it.
    pub text: String,
}

impl XmlElement {
    /// The value of an attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v.value.as_str())
    }

    /// The value of an attribute with its place.
    #[must_use]
    pub fn located(&self, name: &str) -> Option<&Located<String>> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The first element of a name within it.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&XmlElement> {
        self.children.iter().find(|c| c.name == name)
    }

    /// The elements of a name within it.
    pub fn all<'e>(&'e self, name: &'e str) -> impl Iterator<Item = &'e XmlElement> {
        self.children.iter().filter(move |c| c.name == name)
    }

    /// A whole number that is an attribute; an error if it is none.
    pub(crate) fn number(&self, name: &str, report: &mut Report) -> Option<u32> {
        let value = self.located(name)?;
        // Vespa lets a range stand for what its cloud may choose; one machine takes the least.
        let text = value.trim().trim_start_matches('[').split(',').next().unwrap_or_default();
        match text.trim().trim_end_matches(']').parse() {
            Ok(number) => Some(number),
            Err(_) => {
                let text = format!(
                    "expected a whole number for {name} of {}, found {:?}",
                    self.name, value.value
                );
                report.error(&value.place, text);
                None
            }
        }
    }

    /// Every element within it, itself first, those within others too.
    #[must_use]
    pub fn descendants(&self) -> Vec<&XmlElement> {
        let (mut found, mut open) = (Vec::new(), vec![self]);
        while let Some(element) = open.pop() {
            found.push(element);
            open.extend(element.children.iter().rev());
        }
        found
    }
}
