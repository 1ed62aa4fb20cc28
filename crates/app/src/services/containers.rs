//! Clusters that answer requests.

use super::components::{Component, java, read as component};
use super::hosts::{Nodes, read_nodes};
use super::{ServicesOptions, id_of, unknown, unused};
use crate::package::{Place, Report};
use crate::xml::XmlElement;

/// `container`
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerCluster {
    /// Its id; `container` if it has none.
    pub id: String,
    /// Where it is written.
    pub place: Place,
    /// Its nodes.
    pub nodes: Nodes,
    /// The port, 8080 if nothing is said.
    pub port: Option<u32>,
    /// Whether it answers queries.
    pub has_search: bool,
    /// Whether documents may be fed by it.
    pub has_document_api: bool,
    /// Whether documents are processed before they are written.
    pub has_document_processing: bool,
    /// The models of `model-evaluation` with settings of their own; nothing without it.
    pub model_evaluation: Option<Vec<ModelSettings>>,
    /// Embedders and other components.
    pub components: Vec<Component>,
    /// Chains of searchers and document processors.
    pub chains: Vec<Chain>,
}

/// A model of `model-evaluation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// Its name.
    pub name: String,
    /// Numbers and words by their names.
    pub settings: Vec<(String, String)>,
}

/// A chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Its id.
    pub id: String,
    /// `search`, `document-processing` or `processing`
    pub kind: String,
    /// The chains that it inherits from.
    pub inherits: Vec<String>,
    /// The ids of what is in it.
    pub components: Vec<String>,
    /// Where it is written.
    pub place: Place,
}

/// Elements that hold a Java class.
const JAVA: [&str; 9] = [
    "searcher",
    "documentprocessor",
    "processor",
    "handler",
    "renderer",
    "provider",
    "filter",
    "server",
    "client",
];

pub(super) fn read(
    cluster: &XmlElement,
    options: ServicesOptions,
    report: &mut Report,
) -> ContainerCluster {
    let mut found = ContainerCluster {
        id: id_of(cluster, "container"),
        place: cluster.place.clone(),
        nodes: Nodes::default(),
        port: None,
        has_search: false,
        has_document_api: false,
        has_document_processing: false,
        model_evaluation: None,
        components: Vec::new(),
        chains: Vec::new(),
    };
    for element in &cluster.children {
        match element.name.as_str() {
            "search" => {
                found.has_search = true;
                chains(element, "search", &mut found, options, report);
            }
            "document-api" => found.has_document_api = true,
            "document-processing" => {
                found.has_document_processing = true;
                chains(element, "document-processing", &mut found, options, report);
            }
            "processing" => chains(element, "processing", &mut found, options, report),
            "model-evaluation" => found.model_evaluation = Some(model_settings(element)),
            "component" => found.components.extend(component(element, options, report)),
            "nodes" => found.nodes = read_nodes(element, report),
            "http" => http(element, &mut found, report),
            name if JAVA.contains(&name) => {
                let id = element.attribute("id").unwrap_or_default().to_owned();
                found.components.extend(java(element, id, options, report));
            }
            "accesslog"
            | "config"
            | "include"
            | "aliases"
            | "zookeeper"
            | "environment-variables" => {
                unused(element, "it configures Vespa's own processes", report);
            }
            "clients" | "secrets" | "secret-store" | "filtering" => {
                unused(element, "access is not controlled yet", report);
            }
            _ => unknown(element, "container", report),
        }
    }
    let mut ids: Vec<&str> = Vec::new();
    for component in &found.components {
        if ids.contains(&component.id.as_str()) {
            report.error(&component.place, format!("two components have the id {}", component.id));
        }
        ids.push(&component.id);
    }
    found
}

fn http(element: &XmlElement, found: &mut ContainerCluster, report: &mut Report) {
    for inner in &element.children {
        match inner.name.as_str() {
            "server" if inner.attribute("port").is_some() => {
                found.port = found.port.or(inner.number("port", report));
            }
            "filtering" => unused(inner, "access is not controlled yet", report),
            _ => {}
        }
    }
}

/// Chains and what is in them; renderers and the like stand beside them.
fn chains(
    element: &XmlElement,
    kind: &str,
    found: &mut ContainerCluster,
    options: ServicesOptions,
    report: &mut Report,
) {
    for inner in &element.children {
        match inner.name.as_str() {
            "chain" => {
                let mut chain = Chain {
                    id: id_of(inner, "default"),
                    kind: kind.to_owned(),
                    inherits: words(inner.attribute("inherits").unwrap_or_default()),
                    components: Vec::new(),
                    place: inner.place.clone(),
                };
                for part in &inner.children {
                    match part.name.as_str() {
                        name if JAVA.contains(&name) => {
                            let id = part.attribute("id").or(part.attribute("idref"));
                            let id = id.unwrap_or_default().to_owned();
                            chain.components.push(id.clone());
                            if part.attribute("idref").is_none() {
                                java(part, id, options, report);
                            }
                        }
                        "phase" | "federation" | "inherits" | "config" => {
                            unused(part, "chains hold built-in parts only", report);
                        }
                        _ => unknown(part, "chain", report),
                    }
                }
                found.chains.push(chain);
            }
            name if JAVA.contains(&name) => {
                let id = inner.attribute("id").unwrap_or_default().to_owned();
                java(inner, id, options, report);
            }
            "config" | "binding" | "include" | "threadpool" | "significance" => {
                unused(inner, "it configures Vespa's own processes", report);
            }
            _ => unknown(inner, kind, report),
        }
    }
}

pub(super) fn words(text: &str) -> Vec<String> {
    text.split([' ', ',']).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

fn model_settings(element: &XmlElement) -> Vec<ModelSettings> {
    let models = element.child("onnx").and_then(|onnx| onnx.child("models"));
    let settings = |model: &XmlElement| ModelSettings {
        name: model.attribute("name").unwrap_or_default().to_owned(),
        settings: model.children.iter().map(|s| (s.name.clone(), s.text.clone())).collect(),
    };
    models.map(|models| models.all("model").map(settings).collect()).unwrap_or_default()
}
