//! `services.xml` and `hosts.xml`: clusters, components and nodes
//! (Vespa, documentation, `reference/applications/services`).

mod chains;
mod components;
mod containers;
mod contents;
mod embedders;
mod hosts;
mod images;
mod native;
mod processing;
mod python;
mod server_toml;
mod significance;
mod snippets;
mod tokenizers;

pub use components::{Component, ComponentKind, Parameter};
pub use containers::{ContainerCluster, ModelSettings as ContainerModel};
pub use contents::{ContentCluster, ContentDocument, ContentProcessing, IndexMode};
pub use embedders::{EmbedderForm, EmbedderModel, EmbedderSettings, PoolingStrategy};
pub use hosts::{Host, NodeOfHost, Nodes, read_hosts};
pub use images::ImageSettings;
pub use processing::{ClusterChains, ProcessingChains};
pub use server_toml::{SERVER_TOML, is_server_toml, read_server_toml, server_toml_markdown};
pub use snippets::{SnippetSettings, Snippets};
pub use tokenizers::{SpecialTokens, TokenizerForm, TokenizerSettings};

use crate::package::{Place, Report};
use crate::xml::XmlElement;

/// What a package runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Services {
    /// Clusters that answer requests.
    pub containers: Vec<ContainerCluster>,
    /// Clusters that hold documents.
    pub contents: Vec<ContentCluster>,
}

/// What becomes of components that stead does not run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServicesOptions {
    /// Leave them out with a warning; an error otherwise.
    pub ignore_components: bool,
}

/// Reads the root of `services.xml`; a root that is a single cluster is all that the package has.
pub fn read_services(root: &XmlElement, options: ServicesOptions, report: &mut Report) -> Services {
    let mut services = Services::default();
    let clusters: Vec<&XmlElement> = match root.name.as_str() {
        "services" => root.children.iter().collect(),
        "container" | "jdisc" | "content" => vec![root],
        name => {
            report.error(&root.place, format!("expected services, found {name}"));
            return services;
        }
    };
    // What stands beside the clusters holds for all of them.
    let mut snippets = Snippets::default();
    for cluster in clusters.iter().filter(|cluster| cluster.name == "config") {
        if !snippets.read(cluster, report) {
            unused(cluster, "one process plays all parts", report);
        }
    }
    for cluster in clusters {
        match cluster.name.as_str() {
            "config" => {}
            "container" | "jdisc" => {
                services.containers.push(containers::read(cluster, options, report));
            }
            "content" => services.contents.push(contents::read(cluster, snippets.clone(), report)),
            "admin" | "routing" | "legacy" | "identity" => {
                unused(cluster, "one process plays all parts", report);
            }
            name => {
                let text = format!("expected one of container, content, admin, found {name}");
                report.error(&cluster.place, text);
            }
        }
    }
    significance::check(&services.containers, report);
    let ids = services.containers.iter().map(|c| (&c.id, &c.place));
    let ids = ids.chain(services.contents.iter().map(|c| (&c.id, &c.place)));
    let mut seen: Vec<&str> = Vec::new();
    for (id, place) in ids {
        if seen.contains(&id.as_str()) {
            report.error(place, format!("two clusters have the id {id}"));
        }
        seen.push(id);
    }
    services
}

/// Tells that an element is read and has no effect.
fn unused(element: &XmlElement, why: &str, report: &mut Report) {
    report.warning(&element.place, format!("{} has no effect: {why}", element.name));
}

/// Tells that an element is not known.
fn unknown(element: &XmlElement, within: &str, report: &mut Report) {
    let text = format!("{} of {within} is not known and has no effect", element.name);
    report.warning(&element.place, text);
}

/// The id of a cluster, or its name if it has none.
fn id_of(element: &XmlElement, default: &str) -> String {
    element.attribute("id").unwrap_or(default).to_owned()
}

/// The place of an element or of one of its attributes.
fn place_of(element: &XmlElement, attribute: &str) -> Place {
    element.located(attribute).map_or_else(|| element.place.clone(), |v| v.place.clone())
}
