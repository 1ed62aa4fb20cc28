//! Nodes and hosts. One process plays all of them; they are kept for what clients ask about them.

use std::collections::HashSet;

use crate::package::{Place, Report};
use crate::xml::XmlElement;

/// The nodes of a cluster or group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nodes {
    /// How many there are to be, where it is said.
    pub count: Option<u32>,
    /// How many groups they are in.
    pub groups: Option<u32>,
    /// The name of the group that these are, where groups are written out.
    pub group: Option<String>,
    /// Those that are named.
    pub nodes: Vec<NodeOfHost>,
}

/// A node on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeOfHost {
    /// The alias of the host.
    pub host: String,
    /// Its number among those that hold documents.
    pub distribution_key: Option<u32>,
    /// Where it is written.
    pub place: Place,
}

/// A host of `hosts.xml`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// The names by which `services.xml` knows it.
    pub aliases: Vec<String>,
}

impl Nodes {
    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count.map_or(self.nodes.len(), |n| n as usize).max(1)
    }

    /// There is always one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}

pub(super) fn read_nodes(element: &XmlElement, report: &mut Report) -> Nodes {
    let mut nodes = Nodes {
        count: element.number("count", report),
        groups: element.number("groups", report),
        group: (element.name == "group")
            .then(|| element.attribute("name").unwrap_or_default().to_owned()),
        nodes: Vec::new(),
    };
    let mut keys = HashSet::new();
    for node in element.all("node") {
        let distribution_key = node.number("distribution-key", report);
        if let Some(key) = distribution_key
            && !keys.insert(key)
        {
            report.error(&node.place, format!("two nodes have the distribution-key {key}"));
        }
        let host = node.attribute("hostalias").unwrap_or_default().to_owned();
        nodes.nodes.push(NodeOfHost { host, distribution_key, place: node.place.clone() });
    }
    nodes
}

/// Reads the root of `hosts.xml`.
pub fn read_hosts(root: &XmlElement, report: &mut Report) -> Vec<Host> {
    if root.name != "hosts" {
        report.error(&root.place, format!("expected hosts, found {}", root.name));
    }
    let mut hosts = Vec::new();
    for element in root.all("host") {
        let Some(name) = element.attribute("name") else {
            report.error(&element.place, "host must have a name");
            continue;
        };
        let aliases = element.all("alias").map(|a| a.text.clone()).collect();
        hosts.push(Host { name: name.to_owned(), aliases });
    }
    hosts
}
