//! Chains of searchers and document processors.

use super::components::java;
use super::containers::{ContainerCluster, JAVA, words};
use super::native::{is_native, read as native};
use super::python::{dependencies, id_text, is_python, read as python};
use super::{ServicesOptions, id_of, significance, unknown, unused};
use crate::components::{ChainDefinition, ChainKind, ChainPart, NativeRole, Phase, PythonKind};
use crate::package::{Located, Report};
use crate::xml::XmlElement;

/// The components that stand beside the chains of a section.
#[derive(Default)]
struct Beside {
    /// Those that are run.
    run: Vec<String>,
    /// Java classes; they were told of.
    java: Vec<String>,
}

/// Reads the chains in `search` or `document-processing` and the components beside them.
pub(super) fn read(
    element: &XmlElement,
    kind: ChainKind,
    found: &mut ContainerCluster,
    options: ServicesOptions,
    report: &mut Report,
) {
    let mut beside = Beside::default();
    for inner in &element.children {
        match inner.name.as_str() {
            "chain" => {}
            name if name == kind.element() && is_python(inner) => {
                if let Some(component) = python(inner, component_kind(kind), None, report) {
                    beside.run.push(component.id.clone());
                    found.python.push(component);
                }
            }
            name if name == kind.element() && is_native(inner) => {
                if let Some(component) = native(inner, NativeRole::Chained(kind), None, report) {
                    beside.run.push(component.id.clone());
                    found.native.push(component);
                }
            }
            name if JAVA.contains(&name) => {
                let id = inner.attribute("id").unwrap_or_default().to_owned();
                beside.java.push(id.clone());
                java(inner, id, options, report);
            }
            "significance" if kind == ChainKind::Search => {
                significance::read(inner, &mut found.significance, report);
            }
            "config" | "binding" | "include" | "threadpool" => {
                unused(inner, "it configures Vespa's own processes", report);
            }
            _ => unknown(inner, kind.name(), report),
        }
    }
    for inner in element.all("chain") {
        let chain = chain(inner, kind, &beside, found, options, report);
        found.chain_definitions.push((kind, chain));
    }
}

fn component_kind(kind: ChainKind) -> PythonKind {
    match kind {
        ChainKind::Search => PythonKind::Searcher,
        ChainKind::DocumentProcessing => PythonKind::DocumentProcessor,
    }
}

fn chain(
    element: &XmlElement,
    kind: ChainKind,
    beside: &Beside,
    found: &mut ContainerCluster,
    options: ServicesOptions,
    report: &mut Report,
) -> ChainDefinition {
    let names = |attribute: &str| -> Vec<Located<String>> {
        let place = super::place_of(element, attribute);
        let words = words(element.attribute(attribute).unwrap_or_default());
        words.into_iter().map(|word| Located::new(word, place.clone())).collect()
    };
    let mut chain = ChainDefinition {
        id: id_of(element, "default"),
        place: element.place.clone(),
        inherits: names("inherits"),
        excludes: names("excludes"),
        phases: Vec::new(),
        parts: Vec::new(),
    };
    for part in &element.children {
        match part.name.as_str() {
            name if name == kind.element() => {
                component(part, kind, beside, &mut chain, found, options, report);
            }
            name if JAVA.contains(&name) => {
                let id = id_text(part).unwrap_or_default().to_owned();
                if part.attribute("idref").is_none() {
                    java(part, id, options, report);
                }
            }
            "phase" => chain.phases.extend(phase(part, report)),
            "federation" | "inherits" | "config" | "map" => {
                unused(part, "chains hold components and phases only", report);
            }
            _ => unknown(part, "chain", report),
        }
    }
    chain
}

/// A component of a chain: one that stands beside the chains, by its id, or one of the chain's own.
fn component(
    part: &XmlElement,
    kind: ChainKind,
    beside: &Beside,
    chain: &mut ChainDefinition,
    found: &mut ContainerCluster,
    options: ServicesOptions,
    report: &mut Report,
) {
    let name = id_text(part).unwrap_or_default().to_owned();
    let place = part.place.clone();
    if beside.run.contains(&name) {
        if part.attributes.len() > 1 || !part.children.is_empty() {
            let text = format!(
                "{} {name} stands beside the chains; in chain {} it has its id and nothing else",
                part.name, chain.id
            );
            report.error(&place, text);
        }
        chain.parts.push(ChainPart { id: name.clone(), name, place });
    } else if is_python(part) {
        let component = python(part, component_kind(kind), Some(&chain.id), report);
        if let Some(component) = component {
            let name = if name.is_empty() { component.class.to_string() } else { name };
            chain.parts.push(ChainPart { name, id: component.id.clone(), place });
            found.python.push(component);
        }
    } else if is_native(part) {
        let role = NativeRole::Chained(kind);
        if let Some(component) = native(part, role, Some(&chain.id), report) {
            let name = if name.is_empty() { component.what.name().to_owned() } else { name };
            chain.parts.push(ChainPart { name, id: component.id.clone(), place });
            found.native.push(component);
        }
    } else if beside.java.contains(&name) {
        // It was told of where it stands.
    } else if part.attribute("idref").is_some() {
        let known = if beside.run.is_empty() { "none".to_owned() } else { beside.run.join(", ") };
        let text = format!(
            "chain {} names {} {name}, which does not stand beside the chains; there are {known}",
            chain.id, part.name
        );
        report.error(&place, text);
    } else {
        java(part, name, options, report);
    }
}

fn phase(element: &XmlElement, report: &mut Report) -> Option<Phase> {
    let Some(name) = id_text(element) else {
        report.error(&element.place, "phase has no id");
        return None;
    };
    let of = dependencies(element);
    if !of.provides.is_empty() {
        report.error(&element.place, format!("phase {name} provides its own name and no other"));
    }
    if of.before.iter().chain(&of.after).any(|name| name == "*") {
        report
            .error(&element.place, format!("phase {name} cannot stand before or after everything"));
    }
    let (name, place) = (name.to_owned(), element.place.clone());
    Some(Phase { name, before: of.before, after: of.after, place })
}
