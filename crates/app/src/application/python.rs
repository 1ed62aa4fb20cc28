//! Components and the files of a package fit together.

use std::collections::HashMap;

use super::Application;
use crate::components::{Chain, ChainKind, NativeKind, PythonSource, python_packages};
use crate::package::{PackageFiles, Place, Report};
use crate::services::{ClusterChains, ContainerCluster};

/// Their packages and files are there, and the chains that documents go through.
pub(super) fn check(application: &Application, files: &PackageFiles, report: &mut Report) {
    // What is wrong with the chains themselves was told where they were read.
    let mut told = Report::default();
    let containers = &application.services.containers;
    let chains: Vec<ClusterChains> =
        containers.iter().map(|c| (c.id.clone(), c.chains(&HashMap::new(), &mut told))).collect();
    for chain in application.services.processing_chains(&chains, report).unused {
        let text = format!(
            "no operation goes through the document-processing chain {}: it is neither default nor named by document-processing of a content cluster",
            chain.id
        );
        report.warning(&chain.place, text);
    }
    one_of_each(&chains, application, report);
    for component in containers.iter().flat_map(|container| &container.native) {
        let whose = format!("{} {}", component.role.element(), component.id);
        match &component.what {
            NativeKind::BuiltIn(_, parameters) => parameters.check_files(&whose, files, report),
            NativeKind::Registered(_, settings) => {
                settings.iter().for_each(|settings| settings.check_files(files, report));
            }
        }
    }
    let packages = python_packages(files);
    for container in &application.services.containers {
        for component in &container.python {
            let (id, element, place) = (&component.id, component.kind.element(), &component.place);
            for settings in &component.settings {
                settings.check_files(files, report);
            }
            let name = component.class.package();
            match packages.get(name).map(Vec::as_slice) {
                None => {
                    let text = format!(
                        "{element} {id} is of the Python package {name}, and there is no python/{name}.pkg, python/{name}/ or python/{name}.py"
                    );
                    report.error(place, text);
                }
                Some([PythonSource::Sources(paths)]) => {
                    let module = component.class.module.replace('.', "/");
                    let [file, folder] =
                        [format!("python/{module}.py"), format!("python/{module}/__init__.py")];
                    if !paths.contains(&file) && !paths.contains(&folder) {
                        let text = format!("{element} {id}: there is neither {file} nor {folder}");
                        report.error(place, text);
                    }
                }
                Some([PythonSource::Archive(_)]) => {}
                Some(_) => {
                    let text = format!(
                        "the Python package {name} is there twice; keep one of python/{name}.pkg, python/{name}/ and python/{name}.py"
                    );
                    report.error(place, text);
                }
            }
        }
        for package in &container.python_options.packages {
            if !packages.contains_key(&package.name) {
                let text = format!("the folder python has no package {}", package.name);
                report.error(&package.place, text);
            }
        }
    }
}

/// The ids of the components of a cluster that are run.
fn ids(cluster: &ContainerCluster) -> impl Iterator<Item = (&str, &Place)> {
    let python = cluster.python.iter().map(|c| (c.id.as_str(), &c.place));
    python.chain(cluster.native.iter().map(|c| (c.id.as_str(), &c.place)))
}

/// This server is all container clusters, so that components and chains of searchers have their ids to themselves.
fn one_of_each(chains: &[ClusterChains], application: &Application, report: &mut Report) {
    let mut seen: Vec<&str> = Vec::new();
    let all = application.services.containers.iter();
    for (id, place) in all.flat_map(ids) {
        // Two of one cluster were told of.
        let of = |c: &&ContainerCluster| ids(c).any(|(other, _)| other == id);
        let clusters = application.services.containers.iter().filter(of).count();
        if clusters > 1 && seen.contains(&id) {
            let text = format!(
                "components of two container clusters have the id {id}; give one of them another"
            );
            report.error(place, text);
        }
        seen.push(id);
    }
    let all =
        || chains.iter().flat_map(|(_, chains)| chains).filter(|c| c.kind == ChainKind::Search);
    for (at, chain) in all().enumerate() {
        let is_it = |other: &&Chain| {
            other.id == chain.id && !(other.components.is_empty() && chain.components.is_empty())
        };
        if all().take(at).any(|other| is_it(&other)) {
            let text = format!(
                "two container clusters have a search chain {}, and this server is both; give one of them another id",
                chain.id
            );
            report.error(&chain.place, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::application::Application;
    use crate::package::PackageFiles;
    use crate::services::ServicesOptions;

    /// What is told of a container with these elements.
    fn told(inner: &str) -> Vec<String> {
        let services =
            format!("<services><container id='c' version='1.0'>\n{inner}\n</container></services>");
        let files = [
            ("services.xml", services.as_str()),
            ("python/shop.py", ""),
            ("python/deep/__init__.py", ""),
            ("python/deep/rank.py", ""),
            ("python/packed.pkg", ""),
            ("python/twice.pkg", ""),
            ("python/twice.py", ""),
            ("models/a.onnx", ""),
        ];
        let files = PackageFiles::from_texts(files).unwrap();
        let (_, report) = Application::read(&files, ServicesOptions::default());
        report.errors().map(|d| d.text.clone()).collect()
    }

    #[test]
    fn clusters_share_no_ids() {
        let search = |of: &str| {
            format!("<search><chain id='{of}'><searcher id='s' python='shop:S'/></chain></search>")
        };
        let handler = "<handler id='h' python='shop:H'/>".to_owned();
        let next = "</container><container id='d' version='1.0'>";
        for (label, one, two, expected) in [
            ("others", search("a"), search("b"), ""),
            (
                "none",
                "<search><chain id='a'/></search>".to_owned(),
                "<search><chain id='a'/></search>".to_owned(),
                "",
            ),
            (
                "a chain",
                search("a"),
                "<search><chain id='a'/></search>".to_owned(),
                "two container clusters have a search chain a, and this server is both; give one of them another id",
            ),
            (
                "a component",
                handler.clone(),
                handler,
                "components of two container clusters have the id h; give one of them another",
            ),
        ] {
            let found = told(&format!("{one}{next}{two}"));
            assert_eq!(found.join("\n"), expected, "{label}");
        }
    }

    #[test]
    fn the_code_of_components_is_there() {
        for (class, expected) in [
            ("shop:A", None),
            ("deep:A", None),
            ("deep.rank:A", None),
            ("packed.any.where:A", None),
            (
                "shops:A",
                Some(
                    "component x is of the Python package shops, and there is no python/shops.pkg, python/shops/ or python/shops.py",
                ),
            ),
            (
                "deep.ranks:A",
                Some(
                    "component x: there is neither python/deep/ranks.py nor python/deep/ranks/__init__.py",
                ),
            ),
            (
                "twice:A",
                Some(
                    "the Python package twice is there twice; keep one of python/twice.pkg, python/twice/ and python/twice.py",
                ),
            ),
        ] {
            let found = told(&format!("<component id='x' python='{class}'/>"));
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{class}");
        }
        let package = told("<python><package name='shops'/></python>");
        assert_eq!(package, ["the folder python has no package shops"]);
        for (path, expected) in [
            ("models/a.onnx", None),
            ("models/b.onnx", Some("config c: the package has no file models/b.onnx")),
        ] {
            let config =
                format!("<config name='c'><l><item><m path='{path}'/></item></l></config>");
            let found = told(&format!("<component id='x' python='shop:A'>{config}</component>"));
            assert_eq!(found, expected.into_iter().collect::<Vec<_>>(), "{path}");
        }
    }
}
