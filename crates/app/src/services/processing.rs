//! Which chains of document processors operations go through (Vespa, `DocumentProtocol` and `Content` of the config model).

use std::collections::BTreeMap;

use super::{ContentCluster, Services};
use crate::components::{Chain, ChainKind};
use crate::package::Report;

/// The chain that all operations go through.
const DEFAULT: &str = "default";

/// The chain of a content cluster that names none: the scripts of fields and nothing else.
const INDEXING: &str = "indexing";

/// The chains of a container cluster, by the id of the cluster.
pub type ClusterChains = (String, Vec<Chain>);

/// The chains of document processors that operations go through: the default one, then that of the content cluster which has the type of
/// the document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessingChains<'c> {
    /// The chain `default` of a container cluster.
    pub first: Option<&'c Chain>,
    /// By the ids of content clusters.
    pub of_cluster: BTreeMap<String, &'c Chain>,
    /// Those that no operation goes through.
    pub unused: Vec<&'c Chain>,
}

impl Services {
    /// The chains that operations go through, of all that there are.
    #[must_use]
    pub fn processing_chains<'c>(
        &self,
        chains: &'c [ClusterChains],
        report: &mut Report,
    ) -> ProcessingChains<'c> {
        let mut found = ProcessingChains::default();
        let all = || {
            let of = |(_, chains): &'c ClusterChains| chains.iter();
            chains.iter().flat_map(of).filter(|c| c.kind == ChainKind::DocumentProcessing)
        };
        for chain in all().filter(|chain| chain.id == DEFAULT) {
            if found.first.is_some() {
                let text = "two container clusters have a document-processing chain default, and operations go through one";
                report.error(&chain.place, text);
            }
            found.first = Some(chain);
        }
        for chain in all().filter(|chain| chain.id == INDEXING) {
            let text = "a document-processing chain cannot have the id indexing, which is that of the chain of scripts";
            report.error(&chain.place, text);
        }
        for content in &self.contents {
            if let Some(chain) = self.chain_of(content, chains, report) {
                found.of_cluster.insert(content.id.clone(), chain);
            }
        }
        let used: Vec<&Chain> =
            found.first.iter().chain(found.of_cluster.values()).copied().collect();
        let is_used = |chain: &&Chain| used.iter().any(|used| std::ptr::eq(*used, *chain));
        for chain in all().filter(is_used) {
            for id in chain.components.iter().skip(chain.before_work) {
                let text = format!(
                    "documentprocessor {id} of chain {} stands behind the scripts of fields, where none is run; put it before indexingStart",
                    chain.id
                );
                report.error(&chain.place, text);
            }
        }
        found.unused = all().filter(|chain| !is_used(chain)).collect();
        found
    }

    /// The chain that a content cluster names.
    fn chain_of<'c>(
        &self,
        content: &ContentCluster,
        chains: &'c [ClusterChains],
        report: &mut Report,
    ) -> Option<&'c Chain> {
        let processing = content.processing.as_ref()?;
        let cluster = match &processing.cluster {
            Some(name) => {
                let found = self.containers.iter().find(|c| c.id == name.value);
                if found.is_none() {
                    let text = format!(
                        "content cluster {} names the container cluster {} for document processing, which is not there",
                        content.id, name.value
                    );
                    report.error(&name.place, text);
                }
                found
            }
            None => {
                let containers = || self.containers.iter();
                let processes = containers().find(|c| c.has_document_processing);
                processes.or_else(|| containers().find(|c| c.has_search)).or(containers().next())
            }
        };
        let name = processing.chain.as_ref().filter(|name| name.value != INDEXING)?;
        let cluster = cluster?;
        let (_, chains) = chains.iter().find(|(id, _)| *id == cluster.id)?;
        let is_it = |c: &&Chain| c.kind == ChainKind::DocumentProcessing && c.id == name.value;
        let refusal = match chains.iter().find(is_it) {
            _ if name.value == DEFAULT => {
                "all operations go through the chain default before; give this one another id"
            }
            // One that could not be put in order was told of.
            None if cluster.chain_definitions.iter().any(|(_, c)| c.id == name.value) => {
                return None;
            }
            None => "which container cluster does not have",
            Some(chain) if !chain.indexes => "which must inherit from indexing",
            Some(chain) => return Some(chain),
        };
        let refusal = refusal
            .replace("which container cluster", &format!("which container cluster {}", cluster.id));
        let text = format!(
            "content cluster {} names the document-processing chain {}: {refusal}",
            content.id, name.value
        );
        report.error(&name.place, text);
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use crate::package::Report;
    use crate::services::{ServicesOptions, read_services};
    use crate::xml::parse_xml;

    /// The chain of all operations, that of the content cluster, those that are not used, and what is wrong.
    fn chains(containers: &str, processing: &str) -> (String, Vec<String>) {
        let text = format!(
            "<services>{containers}<content id='c'><documents>{processing}<document type='d' mode='index'/></documents></content></services>"
        );
        let mut report = Report::default();
        let root = parse_xml("services.xml", &text, &mut report).unwrap();
        let services = read_services(&root, ServicesOptions::default(), &mut report);
        let mut told = Report::default();
        let chains: Vec<_> = services
            .containers
            .iter()
            .map(|c| (c.id.clone(), c.chains(&HashMap::new(), &mut told)))
            .collect();
        let mut report = Report::default();
        let found = services.processing_chains(&chains, &mut report);
        let first = found.first.map_or("-", |chain| chain.id.as_str());
        let of_cluster = found.of_cluster.get("c").map_or("-", |chain| chain.id.as_str());
        let unused: Vec<&str> = found.unused.iter().map(|chain| chain.id.as_str()).collect();
        let told = report.errors().map(|d| d.text.clone()).collect();
        (format!("{first} {of_cluster} {}", unused.join(",")), told)
    }

    fn container(id: &str, chains: &str) -> String {
        format!(
            "<container id='{id}'><document-processing>{chains}</document-processing></container>"
        )
    }

    #[test]
    fn operations_go_through_the_default_chain_and_that_of_their_cluster() {
        let of = |name: &str, inherits: &str| {
            format!(
                "<chain id='{name}' inherits='{inherits}'><documentprocessor id='p{name}' python='shop:P'/></chain>"
            )
        };
        let own = container("a", &(of("default", "") + &of("own", "indexing") + &of("plain", "")));
        let names = |chain: &str| format!("<document-processing cluster='a' chain='{chain}'/>");
        for (label, containers, processing, expected, error) in [
            ("none", container("a", ""), String::new(), "- - ", ""),
            ("the default one", own.clone(), String::new(), "default - own,plain", ""),
            ("both", own.clone(), names("own"), "default own plain", ""),
            ("indexing", own.clone(), names("indexing"), "default - own,plain", ""),
            (
                "of the first that has some",
                container("a", &of("own", "indexing")) + "<container id='b'/>",
                "<document-processing chain='own'/>".to_owned(),
                "- own ",
                "",
            ),
            (
                "by way of another",
                container("a", &(of("own", "indexing") + &of("more", "own"))),
                names("more"),
                "- more own",
                "",
            ),
            (
                "no scripts",
                own.clone(),
                names("plain"),
                "default - own,plain",
                "content cluster c names the document-processing chain plain: which must inherit from indexing",
            ),
            (
                "twice",
                own.clone(),
                names("default"),
                "default - own,plain",
                "content cluster c names the document-processing chain default: all operations go through the chain default before; give this one another id",
            ),
            (
                "no such chain",
                own.clone(),
                names("other"),
                "default - own,plain",
                "content cluster c names the document-processing chain other: which container cluster a does not have",
            ),
            (
                "no such cluster",
                own.clone(),
                "<document-processing cluster='x' chain='own'/>".to_owned(),
                "default - own,plain",
                "content cluster c names the container cluster x for document processing, which is not there",
            ),
            (
                "a reserved id",
                container("a", &of("indexing", "")),
                String::new(),
                "- - indexing",
                "a document-processing chain cannot have the id indexing, which is that of the chain of scripts",
            ),
            (
                "behind the scripts",
                container(
                    "a",
                    &of("own", "indexing")
                        .replace("<documentprocessor", "<documentprocessor after='indexingEnd'"),
                ),
                names("own"),
                "- own ",
                "documentprocessor pown@own of chain own stands behind the scripts of fields, where none is run; put it before indexingStart",
            ),
            (
                "two default ones",
                own.clone() + &container("b", &of("default", "").replace("pdefault", "q")),
                String::new(),
                "default - default,own,plain",
                "two container clusters have a document-processing chain default, and operations go through one",
            ),
        ] {
            let (found, told) = chains(&containers, &processing);
            assert_eq!(found, expected, "{label}");
            assert_eq!(told.join("\n"), error, "{label}");
        }
    }
}
