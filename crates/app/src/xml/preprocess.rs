//! `preprocess:` and `deploy:`: properties, included files, and elements for some environments only
//! (Vespa, documentation, `reference/applications/deployment.html`).

use std::collections::BTreeMap;

use super::{XmlElement, parse_xml};
use crate::package::{PackageFiles, Report};

/// The longest value that a property may have.
const MAX_VALUE: usize = 4096;

/// The most files within each other, and the most of them together.
const MAX_DEPTH: usize = 8;
const MAX_INCLUDES: usize = 100;

/// Where a package runs: there is one environment, with Vespa's names for the first.
const HERE: [(&str, &str); 5] = [
    ("deploy:environment", "prod"),
    ("deploy:region", "default"),
    ("deploy:instance", "default"),
    ("deploy:tags", ""),
    ("deploy:cloud", ""),
];

/// Puts included files and properties in their places and leaves out what is for other environments.
pub fn preprocess(root: XmlElement, files: &PackageFiles, report: &mut Report) -> XmlElement {
    let mut properties = BTreeMap::new();
    let mut root = root;
    include(&mut root, files, 0, &mut 0, report);
    collect(&mut root, &mut properties);
    // The elements of a tree are at most so deep as a file may be, times the files within each other.
    let mut open = vec![&mut root];
    while let Some(element) = open.pop() {
        for (_, value) in &mut element.attributes {
            value.value = filled(&value.value, &properties);
        }
        element.text = filled(&element.text, &properties);
        choose(element, report);
        open.extend(&mut element.children);
    }
    root
}

/// Puts the elements of files where they are included.
fn include(
    root: &mut XmlElement,
    files: &PackageFiles,
    depth: usize,
    count: &mut usize,
    report: &mut Report,
) {
    let mut open = vec![root];
    while let Some(element) = open.pop() {
        let mut children = Vec::new();
        for child in std::mem::take(&mut element.children) {
            if child.name != "preprocess:include" {
                children.push(child);
                continue;
            }
            let Some(path) = child.attribute("file") else {
                report.error(&child.place, "preprocess:include must have a file");
                continue;
            };
            *count += 1;
            if depth == MAX_DEPTH || *count > MAX_INCLUDES {
                let text = if depth == MAX_DEPTH {
                    format!("more than {MAX_DEPTH} files within each other")
                } else {
                    format!("more than {MAX_INCLUDES} included files")
                };
                report.error(&child.place, text);
                continue;
            }
            let is_required = child.attribute("required") != Some("false");
            match files.text(path) {
                Ok(text) => {
                    if let Some(mut root) = parse_xml(path, &text, report) {
                        include(&mut root, files, depth + 1, count, report);
                        children.append(&mut root.children);
                    }
                }
                Err(_) if !is_required => {}
                Err(error) => report.error(&child.place, error.to_string()),
            }
        }
        element.children = children;
        open.extend(&mut element.children);
    }
}

/// Takes the properties out of the tree.
fn collect(root: &mut XmlElement, properties: &mut BTreeMap<String, String>) {
    root.children.retain(|child| {
        if child.name == "preprocess:properties" {
            let here = child.children.iter().filter(|p| is_here(p));
            properties.extend(here.map(|p| (p.name.clone(), p.text.clone())));
        }
        child.name != "preprocess:properties"
    });
}

/// A text with the values of properties where it has `${name}`.
fn filled(text: &str, properties: &BTreeMap<String, String>) -> String {
    let (mut result, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("${") {
        let Some(end) = rest[at..].find('}').map(|end| at + end) else { break };
        result.push_str(&rest[..at]);
        match properties.get(&rest[at + 2..end]) {
            Some(value) if result.len() + value.len() <= MAX_VALUE => result.push_str(value),
            _ => result.push_str(&rest[at..=end]),
        }
        rest = &rest[end + 1..];
    }
    result + rest
}

fn conditions(element: &XmlElement) -> impl Iterator<Item = (&str, &str)> {
    let condition = |name: &str| name.starts_with("deploy:");
    let all = element.attributes.iter().filter(move |(name, _)| condition(name));
    all.map(|(name, value)| (name.as_str(), value.value.as_str()))
}

fn is_here(element: &XmlElement) -> bool {
    conditions(element).all(|(name, value)| {
        let here = HERE.iter().find(|(n, _)| *n == name).map_or("", |(_, h)| h);
        value.split([' ', ',']).any(|v| v == here)
    })
}

/// Leaves out elements of other environments, and those that a more special one takes the place of.
fn choose(element: &mut XmlElement, report: &mut Report) {
    let special = |c: &XmlElement| conditions(c).next().is_some();
    for child in element.children.iter().filter(|c| special(c) && !is_here(c)) {
        let text = format!("{} is for another environment than prod and is left out", child.name);
        report.warning(&child.place, text);
    }
    element.children.retain(is_here);
    let id = |c: &XmlElement| (c.name.clone(), c.attribute("id").map(str::to_owned));
    let chosen: Vec<_> = element.children.iter().filter(|c| special(c)).map(id).collect();
    element.children.retain(|c| special(c) || !chosen.contains(&id(c)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_files_and_environments_are_put_in_place() {
        let services = "<services xmlns:preprocess='properties'>
            <preprocess:properties><size>3</size><size deploy:environment='dev'>9</size></preprocess:properties>
            <preprocess:include file='more.xml'/>
            <nodes count='${size}' other='${none}'/>
            <x id='a'>1</x><x id='a' deploy:environment='prod'>2</x>
            <x id='a' deploy:environment='dev test'>3</x>
            <preprocess:include file='none.xml' required='false'/>
        </services>";
        let files =
            PackageFiles::from_texts([("more.xml", "<services><y z='${size}'/></services>")])
                .unwrap();
        let mut report = Report::default();
        let root = parse_xml("services.xml", services, &mut report).unwrap();
        let root = preprocess(root, &files, &mut report);
        assert_eq!(root.child("y").and_then(|y| y.attribute("z")), Some("3"));
        assert_eq!(root.child("nodes").and_then(|n| n.attribute("other")), Some("${none}"));
        assert_eq!(root.all("x").map(|x| x.text.as_str()).collect::<Vec<_>>(), ["2"]);
        assert!(!report.has_errors(), "{report:?}");
        assert_eq!(report.warnings().count(), 1);
    }

    #[test]
    fn files_that_include_themselves_end() {
        let text = "<a><preprocess:include file='a.xml'/><b/></a>";
        let files = PackageFiles::from_texts([("a.xml", text)]).unwrap();
        let mut report = Report::default();
        let root = parse_xml("a.xml", text, &mut report).unwrap();
        preprocess(root, &files, &mut report);
        let errors: Vec<String> = report.errors().map(ToString::to_string).collect();
        assert_eq!(errors, ["a.xml:1:4: more than 8 files within each other"]);
    }
}
