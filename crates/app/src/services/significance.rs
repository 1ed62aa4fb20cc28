//! `significance` of `search`: files that tell how many texts of a language have a word (Vespa, documentation,
//! `reference/applications/services/search.html#significance`).

use super::{ContainerCluster, Services, unknown};
use crate::package::{Located, Report};
use crate::xml::XmlElement;

/// The files that an element names: those of a package.
pub(super) fn read(element: &XmlElement, found: &mut Vec<Located<String>>, report: &mut Report) {
    for model in &element.children {
        if model.name != "model" {
            unknown(model, "significance", report);
            continue;
        }
        let text = match (model.attribute("path"), model.attribute("url")) {
            (Some(path), _) => {
                found.push(Located::new(path.to_owned(), model.place.clone()));
                continue;
            }
            (None, Some(url)) => format!("model of significance is at {url}, which is not fetched"),
            (None, None) => match model.attribute("model-id") {
                Some(id) => format!("model of significance is {id} of Vespa's cloud"),
                None => "model of significance has no path".to_owned(),
            },
        };
        let text = format!("{text}; put the file into the package and write path=\"...\"");
        report.error(&model.place, text);
    }
}

/// Tells of clusters that differ from the first that has such files: all searches have the same.
pub(super) fn check(containers: &[ContainerCluster], report: &mut Report) {
    let names = |c: &ContainerCluster| -> Vec<String> {
        c.significance.iter().map(|file| file.value.clone()).collect()
    };
    let mut with = containers.iter().filter(|c| !c.significance.is_empty());
    let Some(first) = with.next() else { return };
    for other in with.filter(|other| names(other) != names(first)) {
        let (id, first) = (&other.id, &first.id);
        let text = format!(
            "container {id} has other models of significance than {first}, which is not supported"
        );
        report.error(&other.place, text);
    }
}

impl Services {
    /// The files that tell how many texts of a language have a word, later ones before earlier ones where they speak of the same language.
    #[must_use]
    pub fn significance(&self) -> &[Located<String>] {
        let with = |c: &&ContainerCluster| !c.significance.is_empty();
        self.containers.iter().find(with).map_or(&[], |c| &c.significance)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ServicesOptions, read_services};
    use crate::package::Report;
    use crate::xml::parse_xml;

    #[test]
    fn models_are_files_of_the_package() {
        for (services, files, told) in [
            (
                "<model path='a.json'/><model path='b.json.zst' model-id='x'/>",
                vec!["a.json", "b.json.zst"],
                "",
            ),
            (
                "<model url='https://x/a.json'/>",
                vec![],
                "is at https://x/a.json, which is not fetched",
            ),
            (
                "<model model-id='significance-en-wikipedia-v1'/>",
                vec![],
                "significance-en-wikipedia-v1 of Vespa's cloud",
            ),
            ("<model/>", vec![], "has no path"),
            ("<file path='a'/>", vec![], "file of significance is not known"),
        ] {
            let text = format!(
                "<container id='c'><search><significance>{services}</significance></search></container>"
            );
            let mut report = Report::default();
            let root = parse_xml("services.xml", &text, &mut report).unwrap();
            let read = read_services(&root, ServicesOptions::default(), &mut report);
            let found: Vec<&str> =
                read.significance().iter().map(|file| file.value.as_str()).collect();
            let all = format!("{:?}", report.diagnostics());
            assert_eq!(found, files, "{services}");
            assert!(
                all.contains(told) && (!told.is_empty() || report.diagnostics().is_empty()),
                "{services}: {all}"
            );
        }
    }
}
