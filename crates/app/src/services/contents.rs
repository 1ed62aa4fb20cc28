//! Clusters that hold documents.

use super::hosts::{Nodes, read_nodes};
use super::{id_of, place_of, unknown, unused};
use crate::package::{Located, Place, Report};
use crate::xml::XmlElement;

/// `content`
#[derive(Debug, Clone, PartialEq)]
pub struct ContentCluster {
    /// Its id; `content` if it has none.
    pub id: String,
    /// Where it is written.
    pub place: Place,
    /// Copies of each document.
    pub redundancy: Option<u32>,
    /// The least copies of each document.
    pub min_redundancy: Option<u32>,
    /// Copies that can be searched.
    pub searchable_copies: Option<u32>,
    /// The document types that it holds.
    pub documents: Vec<ContentDocument>,
    /// Which documents it holds.
    pub selection: Option<String>,
    /// Whether documents that are not selected any more are removed.
    pub has_garbage_collection: bool,
    /// Its nodes; several lists where there are groups.
    pub nodes: Vec<Nodes>,
    /// Settings of `tuning` and `engine` as paths with texts, such as `engine/proton/tuning/searchnode/requestthreads/persearch`.
    pub settings: Vec<(String, Located<String>)>,
}

/// A document type of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentDocument {
    /// The name of the document type.
    pub kind: Located<String>,
    /// How it is held.
    pub mode: IndexMode,
    /// Whether each node has all of its documents.
    pub is_global: bool,
    /// Which documents are held.
    pub selection: Option<String>,
}

/// How documents are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexMode {
    /// With indexes.
    Index,
    /// Without indexes; searched by reading.
    Streaming,
    /// Not searched.
    StoreOnly,
}

pub(super) fn read(cluster: &XmlElement, report: &mut Report) -> ContentCluster {
    let mut found = ContentCluster {
        id: id_of(cluster, "content"),
        place: cluster.place.clone(),
        redundancy: None,
        min_redundancy: None,
        searchable_copies: None,
        documents: Vec::new(),
        selection: None,
        has_garbage_collection: false,
        nodes: Vec::new(),
        settings: Vec::new(),
    };
    for element in &cluster.children {
        match element.name.as_str() {
            "redundancy" => found.redundancy = number(element, report),
            "min-redundancy" => found.min_redundancy = number(element, report),
            "documents" => documents(element, &mut found, report),
            "nodes" => found.nodes.push(read_nodes(element, report)),
            "group" => groups(element, &mut found.nodes, report),
            "engine" | "tuning" | "search" | "dispatch" | "coverage" => {
                settings(element, &mut found, report);
            }
            "config" => unused(element, "it configures Vespa's own processes", report),
            "cluster-controller" | "cluster-controllers" | "distribution" | "controllers" => {
                unused(element, "one process plays all parts", report);
            }
            _ => unknown(element, "content", report),
        }
    }
    if found.documents.is_empty() {
        let text = format!(
            "content cluster {} has no documents; expected <documents><document type=\"...\" mode=\"index\"/></documents>",
            found.id
        );
        report.error(&cluster.place, text);
    }
    found
}

/// A whole number that is the text of an element.
fn number(element: &XmlElement, report: &mut Report) -> Option<u32> {
    let number = element.text.parse().ok().filter(|n| *n >= 1);
    if number.is_none() {
        let text = format!(
            "expected a whole number above 0 in {}, found {:?}",
            element.name, element.text
        );
        report.error(&element.place, text);
    }
    number
}

fn documents(element: &XmlElement, found: &mut ContentCluster, report: &mut Report) {
    found.selection = element.attribute("selection").map(str::to_owned);
    found.has_garbage_collection = element.attribute("garbage-collection") == Some("true");
    if found.has_garbage_collection {
        let text = "garbage-collection has no effect yet: documents that no selection selects stay";
        report.warning(&place_of(element, "garbage-collection"), text.to_owned());
    }
    for document in &element.children {
        match document.name.as_str() {
            "document" => {}
            "document-processing" => {
                unused(document, "one process plays all parts", report);
                continue;
            }
            _ => {
                unknown(document, "documents", report);
                continue;
            }
        }
        let Some(kind) = document.located("type") else {
            report.error(&document.place, "document must have a type");
            continue;
        };
        let mode = match document.attribute("mode") {
            Some("index") => IndexMode::Index,
            Some("streaming") => {
                let text = format!(
                    "mode streaming of document {} is not supported; use index",
                    kind.value
                );
                report.error(&document.place, text);
                IndexMode::Streaming
            }
            Some("store-only") => IndexMode::StoreOnly,
            other => {
                let text = format!(
                    "expected mode index or store-only for document {}, found {:?}",
                    kind.value,
                    other.unwrap_or_default()
                );
                report.error(&document.place, text);
                IndexMode::Index
            }
        };
        found.documents.push(ContentDocument {
            kind: kind.clone(),
            mode,
            is_global: document.attribute("global") == Some("true"),
            selection: document.attribute("selection").map(str::to_owned),
        });
    }
}

/// Groups of nodes, which may hold groups.
fn groups(element: &XmlElement, nodes: &mut Vec<Nodes>, report: &mut Report) {
    for group in element.descendants() {
        if group.name == "group" && group.child("node").is_some() {
            nodes.push(read_nodes(group, report));
        }
    }
}

/// Every text below an element by its path.
fn settings(element: &XmlElement, found: &mut ContentCluster, report: &mut Report) {
    let mut open = vec![(element, element.name.clone())];
    while let Some((element, path)) = open.pop() {
        if path == "engine/proton/searchable-copies" {
            found.searchable_copies = number(element, report);
        }
        for (name, value) in &element.attributes {
            found.settings.push((format!("{path}/@{name}"), value.clone()));
        }
        if element.children.is_empty() {
            found.settings.push((path, Located::new(element.text.clone(), element.place.clone())));
            continue;
        }
        open.extend(element.children.iter().rev().map(|c| (c, format!("{path}/{}", c.name))));
    }
}

#[cfg(test)]
mod tests {
    use crate::application::Application;
    use crate::package::PackageFiles;
    use crate::services::ServicesOptions;

    #[test]
    fn garbage_collection_that_is_not_done_is_told() {
        for (attribute, is_told) in [
            ("garbage-collection='true'", true),
            ("garbage-collection='false'", false),
            ("selection='d.n > 1'", false),
        ] {
            let services = format!(
                "<content version='1.0' id='c'>\n<documents {attribute}>\
                 <document type='d' mode='index'/></documents></content>"
            );
            let schema = "schema d { document d { field n type int { indexing: attribute } } }";
            let files = [("services.xml", services.as_str()), ("schemas/d.sd", schema)];
            let files = PackageFiles::from_texts(files).unwrap();
            let (_, report) = Application::read(&files, ServicesOptions::default());
            let mut lines = report.diagnostics().iter().map(ToString::to_string);
            let found = lines.any(|line| {
                line.starts_with("services.xml:2:")
                    && line.contains("garbage-collection has no effect")
            });
            assert_eq!(found, is_told, "{attribute}");
        }
    }
}
