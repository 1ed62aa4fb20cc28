//! Clusters that hold documents.

use super::hosts::{Nodes, read_nodes};
use super::snippets::Snippets;
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
    pub selection: Option<Located<String>>,
    /// Seconds after which documents are looked for again that are not selected any more, to be removed; nothing if they stay.
    pub garbage_collection: Option<u32>,
    /// The chain that operations on its documents go through.
    pub processing: Option<ContentProcessing>,
    /// Its nodes; several lists where there are groups.
    pub nodes: Vec<Nodes>,
    /// Settings of `tuning` and `engine` as paths with texts, such as `engine/proton/tuning/searchnode/requestthreads/persearch`.
    pub settings: Vec<(String, Located<String>)>,
    /// How its dynamic summaries show texts.
    pub snippets: Snippets,
}

/// `document-processing` of the documents of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentProcessing {
    /// The container cluster that has the chain.
    pub cluster: Option<Located<String>>,
    /// The chain; `indexing` without it.
    pub chain: Option<Located<String>>,
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
    pub selection: Option<Located<String>>,
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

/// Reads a cluster; `snippets` is what holds for all of them.
pub(super) fn read(
    cluster: &XmlElement,
    snippets: Snippets,
    report: &mut Report,
) -> ContentCluster {
    let mut found = ContentCluster {
        id: id_of(cluster, "content"),
        place: cluster.place.clone(),
        redundancy: None,
        min_redundancy: None,
        searchable_copies: None,
        documents: Vec::new(),
        selection: None,
        garbage_collection: None,
        processing: None,
        nodes: Vec::new(),
        settings: Vec::new(),
        snippets,
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
            "config" if found.snippets.read(element, report) => {}
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

/// Seconds between two cycles of garbage collection where nothing else is said (Vespa, `DistributorCluster`).
const COLLECTION_SECONDS: u32 = 3600;

fn garbage_collection(element: &XmlElement, report: &mut Report) -> Option<u32> {
    const INTERVAL: &str = "garbage-collection-interval";
    let seconds = match element.attribute(INTERVAL) {
        None => COLLECTION_SECONDS,
        Some(text) => text.parse().ok().filter(|n| *n >= 1).unwrap_or_else(|| {
            let text = format!("expected whole seconds above 0 in {INTERVAL}, found {text:?}");
            report.error(&place_of(element, INTERVAL), text);
            COLLECTION_SECONDS
        }),
    };
    match element.attribute("garbage-collection") {
        Some("true") => Some(seconds),
        None | Some("false") => {
            if element.located(INTERVAL).is_some() {
                let text = format!("{INTERVAL} has no effect without garbage-collection=\"true\"");
                report.warning(&place_of(element, INTERVAL), text);
            }
            None
        }
        Some(other) => {
            let text = format!("expected true or false in garbage-collection, found {other:?}");
            report.error(&place_of(element, "garbage-collection"), text);
            None
        }
    }
}

fn documents(element: &XmlElement, found: &mut ContentCluster, report: &mut Report) {
    found.selection = element.located("selection").cloned();
    found.garbage_collection = garbage_collection(element, report);
    for document in &element.children {
        match document.name.as_str() {
            "document" => {}
            "document-processing" => {
                let given = |name: &str| {
                    document.located(name).filter(|text| !text.value.trim().is_empty()).cloned()
                };
                let (cluster, chain) = (given("cluster"), given("chain"));
                found.processing = Some(ContentProcessing { cluster, chain });
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
            Some("streaming") => IndexMode::Streaming,
            Some("store-only") => IndexMode::StoreOnly,
            other => {
                let text = format!(
                    "expected mode index, streaming or store-only for document {}, found {:?}",
                    kind.value,
                    other.unwrap_or_default()
                );
                report.error(&document.place, text);
                IndexMode::Index
            }
        };
        let is_global = document.attribute("global") == Some("true");
        if is_global && mode == IndexMode::Streaming {
            let text = format!("document {} cannot be global and streaming", kind.value);
            report.error(&document.place, text);
        }
        found.documents.push(ContentDocument {
            kind: kind.clone(),
            mode,
            is_global,
            selection: document.located("selection").cloned(),
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
    fn garbage_collection_is_read_and_what_is_wrong_with_it_is_told() {
        for (attributes, interval, told) in [
            ("garbage-collection='true'", Some(3600), None),
            ("garbage-collection='true' garbage-collection-interval='60'", Some(60), None),
            ("garbage-collection='false'", None, None),
            ("selection='true'", None, None),
            (
                "garbage-collection-interval='60'",
                None,
                Some(
                    "garbage-collection-interval has no effect without garbage-collection=\"true\"",
                ),
            ),
            (
                "garbage-collection='true' garbage-collection-interval='0'",
                Some(3600),
                Some("expected whole seconds above 0 in garbage-collection-interval, found \"0\""),
            ),
            (
                "garbage-collection='true' garbage-collection-interval='1h'",
                Some(3600),
                Some("expected whole seconds above 0 in garbage-collection-interval, found \"1h\""),
            ),
            (
                "garbage-collection='yes'",
                None,
                Some("expected true or false in garbage-collection, found \"yes\""),
            ),
        ] {
            let services = format!(
                "<content version='1.0' id='c'>\n<documents {attributes}>\
                 <document type='d' mode='index'/></documents></content>"
            );
            let schema = "schema d { document d { field n type int { indexing: attribute } } }";
            let files = [("services.xml", services.as_str()), ("schemas/d.sd", schema)];
            let files = PackageFiles::from_texts(files).unwrap();
            let (application, report) = Application::read(&files, ServicesOptions::default());
            let found = application.services.contents[0].garbage_collection;
            assert_eq!(found, interval, "{attributes}");
            let lines = report.diagnostics().iter().map(ToString::to_string);
            let lines: Vec<String> =
                lines.filter(|line| line.contains("garbage-collection")).collect();
            match told {
                None => assert!(lines.is_empty(), "{attributes}: {lines:?}"),
                Some(text) => {
                    assert_eq!(lines.len(), 1, "{attributes}: {lines:?}");
                    assert!(lines[0].starts_with("services.xml:2:"), "{attributes}: {lines:?}");
                    assert!(lines[0].contains(text), "{attributes}: {lines:?}");
                }
            }
        }
    }
}
