//! Components that are built in or of the program: elements with the attribute `type` or `native`.

use super::python::{binding, dependencies, id_text};
use super::{place_of, unknown};
use crate::components::{
    Dependencies, NativeComponent, NativeKind, NativeRole, Parameters, Settings,
};
use crate::package::Report;
use crate::xml::XmlElement;

/// The elements that say where a component stands.
const ORDER: [&str; 3] = ["provides", "before", "after"];

/// Whether an element is a handler of the program.
pub(super) fn is_native_handler(element: &XmlElement) -> bool {
    element.attribute("native").is_some()
}

/// Whether an element of a chain is such a component.
pub(super) fn is_native(element: &XmlElement) -> bool {
    ["type", "native"].into_iter().any(|name| element.attribute(name).is_some())
}

/// Reads a component; `within` is the chain that it is declared in.
pub(super) fn read(
    element: &XmlElement,
    role: NativeRole,
    within: Option<&str>,
    report: &mut Report,
) -> Option<NativeComponent> {
    let is_chained = role != NativeRole::Handler;
    let has_type = is_chained && element.attribute("type").is_some();
    let attribute = if has_type { "type" } else { "native" };
    let called = element.attribute(attribute).unwrap_or_default();
    let other = ["native", "type", "python", "class", "bundle"]
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
            let rows = role.built_in();
            let Some(row) = rows.iter().find(|row| row.name == called) else {
                let known: Vec<&str> = rows.iter().map(|row| row.name).collect();
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
        _ => NativeKind::Registered(called.to_owned(), settings(element, role, &whose, report)),
    };
    let mut dependencies: Dependencies = dependencies(element);
    for name in [name.as_str(), what.name()] {
        if !dependencies.provides.iter().any(|known| known == name) {
            dependencies.provides.push(name.to_owned());
        }
    }
    let mut bindings = Vec::new();
    if role == NativeRole::Handler {
        bindings.extend(element.all("binding").filter_map(|inner| binding(inner, report)));
        if element.child("binding").is_none() {
            let text = format!("{whose} has no binding, so that no request reaches it");
            report.warning(&element.place, text);
        }
    }
    Some(NativeComponent { id, role, what, bindings, dependencies, place: element.place.clone() })
}

/// The `config`s of a component of the program.
fn settings(
    element: &XmlElement,
    role: NativeRole,
    whose: &str,
    report: &mut Report,
) -> Vec<Settings> {
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
            "binding" if role == NativeRole::Handler => {}
            name if ORDER.contains(&name) && role != NativeRole::Handler => {}
            _ => unknown(inner, whose, report),
        }
    }
    found
}
