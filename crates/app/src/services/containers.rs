//! Clusters that answer requests.

use std::collections::HashMap;

use super::chains::read as chains;
use super::components::{Component, java, read as component};
use super::hosts::{Nodes, read_nodes};
use super::{ServicesOptions, id_of, native, python, unknown, unused};
use crate::components::{
    Chain as ComponentChain, ChainDefinition, ChainKind, Dependencies, NativeComponent, NativeRole,
    PythonComponent, PythonKind, PythonOptions, resolve_chains,
};
use crate::package::{Located, Place, Report};
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
    /// Components in Python, those of chains too.
    pub python: Vec<PythonComponent>,
    /// Components that are built in or of the program, those of chains too.
    pub native: Vec<NativeComponent>,
    /// How Python is run.
    pub python_options: PythonOptions,
    /// The files of `significance` in `search`, from the root of the package.
    pub significance: Vec<Located<String>>,
    /// Chains of searchers and document processors as they are declared.
    pub chain_definitions: Vec<(ChainKind, ChainDefinition)>,
}

/// A model of `model-evaluation`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// Its name.
    pub name: String,
    /// Numbers and words by their names.
    pub settings: Vec<(String, String)>,
}

/// Elements that hold a Java class.
pub(super) const JAVA: [&str; 9] = [
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
        python: Vec::new(),
        native: Vec::new(),
        python_options: PythonOptions::default(),
        significance: Vec::new(),
        chain_definitions: Vec::new(),
    };
    for element in &cluster.children {
        match element.name.as_str() {
            "search" => {
                found.has_search = true;
                chains(element, ChainKind::Search, &mut found, options, report);
            }
            "document-api" => found.has_document_api = true,
            "document-processing" => {
                found.has_document_processing = true;
                let kind = ChainKind::DocumentProcessing;
                chains(element, kind, &mut found, options, report);
            }
            "processing" => processing(element, options, report),
            "python" => python::options(element, &mut found, report),
            "handler" if native::is_native_handler(element) => {
                found.native.extend(native::read(element, NativeRole::Handler, None, report));
            }
            name @ ("component" | "handler") if python::is_python(element) => {
                let kind = match name {
                    "handler" => PythonKind::Handler,
                    _ => PythonKind::Component,
                };
                found.python.extend(python::read(element, kind, None, report));
            }
            "model-evaluation" => found.model_evaluation = Some(model_settings(element)),
            "component" => found.components.extend(component(element, options, report)),
            "nodes" => found.nodes = read_nodes(element, report),
            "http" => http(element, &mut found, report),
            name if JAVA.contains(&name) && python::is_python(element) => {
                let text = format!(
                    "{name} in Python is not run; component, handler, searcher and documentprocessor are"
                );
                report.error(&element.place, text);
            }
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
    let python = found.python.iter().map(|c| (c.id.as_str(), &c.place));
    let native = found.native.iter().map(|c| (c.id.as_str(), &c.place));
    let others = found.components.iter().map(|c| (c.id.as_str(), &c.place));
    for (id, place) in others.chain(python).chain(native) {
        if ids.contains(&id) {
            report.error(place, format!("two components have the id {id}"));
        }
        ids.push(id);
    }
    python::check_bindings(&found, report);
    // For what is wrong with them; classes may say more of where they stand.
    let _ = found.chains(&HashMap::new(), report);
    found
}

impl ContainerCluster {
    /// The chains with all their components, in order. `more` is what the classes of components say of where they stand,
    /// by the ids of the components.
    #[must_use]
    pub fn chains(
        &self,
        more: &HashMap<String, Dependencies>,
        report: &mut Report,
    ) -> Vec<ComponentChain> {
        let native = self.native.iter().map(|c| (c.id.clone(), c.dependencies.clone()));
        let mut dependencies: HashMap<String, Dependencies> = native.collect();
        for component in &self.python {
            let mut all = component.dependencies.clone();
            if let Some(more) = more.get(&component.id) {
                for (names, more) in [
                    (&mut all.provides, &more.provides),
                    (&mut all.before, &more.before),
                    (&mut all.after, &more.after),
                ] {
                    names.extend(
                        more.iter()
                            .filter(|name| !names.contains(name))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                }
            }
            dependencies.insert(component.id.clone(), all);
        }
        let mut found = Vec::new();
        for kind in [ChainKind::Search, ChainKind::DocumentProcessing] {
            let definitions: Vec<ChainDefinition> = self
                .chain_definitions
                .iter()
                .filter(|(of, _)| *of == kind)
                .map(|(_, definition)| definition.clone())
                .collect();
            found.extend(resolve_chains(kind, &definitions, &dependencies, report));
        }
        found
    }
}

/// Chains of processors: their requests would come by a handler of Vespa's own.
fn processing(element: &XmlElement, options: ServicesOptions, report: &mut Report) {
    for inner in element.descendants() {
        if python::is_python(inner) {
            let text = format!(
                "{} in Python is not run; write a handler, or a searcher or documentprocessor in a chain",
                inner.name
            );
            report.error(&inner.place, text);
        } else if JAVA.contains(&inner.name.as_str()) && inner.attribute("idref").is_none() {
            java(inner, inner.attribute("id").unwrap_or_default().to_owned(), options, report);
        }
    }
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
