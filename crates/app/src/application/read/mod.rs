//! Elements of schemas to typed schemas and profiles. Names are not looked up here.

mod fields;
mod literal;
mod onnx;
mod profiles;
mod schemas;

pub(super) use literal::tensor;
pub(super) use profiles::profiles;
pub(super) use schemas::schema;

use crate::package::Report;
use crate::schema::{Element, Name};

/// Reports names that stand twice in one place.
fn unique<'n>(what: &str, names: impl IntoIterator<Item = &'n Name>, report: &mut Report) {
    let mut seen: std::collections::HashMap<&str, &Name> = std::collections::HashMap::new();
    for name in names {
        if let Some(first) = seen.get(name.value.as_str()) {
            let text = format!("{what} {} stands twice, first at {}", name.value, first.place);
            report.error(&name.place, text);
        } else {
            seen.insert(&name.value, name);
        }
    }
}

/// The elements of a keyword.
fn all<'e>(body: &'e [Element], keyword: &'static str) -> impl Iterator<Item = &'e Element> {
    body.iter().filter(move |e| e.keyword() == keyword)
}

/// The last element of a keyword; a warning where it stands more than once.
fn one<'e>(body: &'e [Element], keyword: &'static str, report: &mut Report) -> Option<&'e Element> {
    let mut found: Option<&Element> = None;
    for element in all(body, keyword) {
        if let Some(first) = found {
            let text = format!("{keyword} stands twice, first at {}; this one counts", first.place);
            report.warning(&element.place, text);
        }
        found = Some(element);
    }
    found
}
