//! Components that are built in or of the program: elements with the attribute `type` or `native`.

use super::python::{dependencies, id_text};
use super::{place_of, unknown};
use crate::components::{
    BuiltIn, ChainKind, Dependencies, NativeComponent, NativeKind, Parameters, Settings,
};
use crate::package::Report;
use crate::xml::XmlElement;

/// The elements that say where a component stands.
const ORDER: [&str; 3] = ["provides", "before", "after"];

/// Whether an element is such a component.
pub(super) fn is_native(element: &XmlElement) -> bool {
    ["type", "native"].into_iter().any(|name| element.attribute(name).is_some())
}

/// Reads a component; `within` is the chain that it is declared in.
pub(super) fn read(
    element: &XmlElement,
    kind: ChainKind,
    within: Option<&str>,
    report: &mut Report,
) -> Option<NativeComponent> {
    let attribute = if element.attribute("type").is_some() { "type" } else { "native" };
    let called = element.attribute(attribute).unwrap_or_default();
    let other = ["native", "class", "bundle"]
        .into_iter()
        .find(|other| *other != attribute && element.attribute(other).is_some());
    if let Some(other) = other {
        let text = format!("{} has both {attribute} and {other}; it is one of them", element.name);
        report.error(&place_of(element, other), text);
        return None;
    }
    let name = id_text(element).unwrap_or(called).to_owned();
    let id = within.map_or_else(|| name.clone(), |chain| format!("{name}@{chain}"));
    let whose = format!("{} {name}", element.name);
    let what = match attribute {
        "type" => {
            let Some(row) = BuiltIn::find(kind, called) else {
                let known: Vec<&str> = BuiltIn::of(kind).iter().map(|row| row.name).collect();
                let text =
                    format!("{whose} is of the type {called}; there are {}", known.join(", "));
                report.error(&place_of(element, "type"), text);
                return None;
            };
            let parameters = Parameters::read(element, row.parameters, &ORDER, &whose, report);
            NativeKind::BuiltIn(row, parameters)
        }
        _ if called.trim().is_empty() => {
            report.error(&place_of(element, "native"), format!("{whose} has an empty native"));
            return None;
        }
        _ => NativeKind::Registered(called.to_owned(), settings(element, &whose, report)),
    };
    let mut dependencies: Dependencies = dependencies(element);
    for name in [name.as_str(), what.name()] {
        if !dependencies.provides.iter().any(|known| known == name) {
            dependencies.provides.push(name.to_owned());
        }
    }
    Some(NativeComponent { id, kind, what, dependencies, place: element.place.clone() })
}

/// The `config`s of a component of the program.
fn settings(element: &XmlElement, whose: &str, report: &mut Report) -> Vec<Settings> {
    let mut found: Vec<Settings> = Vec::new();
    for inner in &element.children {
        match inner.name.as_str() {
            "config" => {
                let Some(settings) = Settings::read(inner, report) else { continue };
                if found.iter().any(|other| other.name == settings.name) {
                    let text = format!("{whose} has config {} twice", settings.name);
                    report.error(&inner.place, text);
                }
                found.push(settings);
            }
            name if ORDER.contains(&name) => {}
            _ => unknown(inner, whose, report),
        }
    }
    found
}
