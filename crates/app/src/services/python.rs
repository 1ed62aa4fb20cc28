//! Components in Python: elements with the attribute `python`, and the element `python`.

use std::time::Duration;

use super::containers::{ContainerCluster, words};
use super::{place_of, unknown};
use crate::components::{
    BindingPattern, Dependencies, Isolation, PythonClass, PythonComponent, PythonKind,
    PythonPackage, Settings, hidden_route,
};
use crate::package::{Located, Report};
use crate::xml::XmlElement;

/// The longest time that may be set: an hour.
const MAX_TIMEOUT: f64 = 3600.0;

/// Whether an element is a component in Python.
pub(super) fn is_python(element: &XmlElement) -> bool {
    element.attribute("python").is_some()
}

/// The id of an element, by any of the attributes that Vespa takes.
pub(super) fn id_text(element: &XmlElement) -> Option<&str> {
    let ids = ["id", "idref", "ident"].into_iter().filter_map(|name| element.attribute(name));
    ids.map(str::trim).find(|id| !id.is_empty())
}

/// Reads a component; `within` is the chain that it is declared in.
pub(super) fn read(
    element: &XmlElement,
    kind: PythonKind,
    within: Option<&str>,
    report: &mut Report,
) -> Option<PythonComponent> {
    let text = element.attribute("python").unwrap_or_default();
    let class = PythonClass::parse(text)
        .map_err(|error| report.error(&place_of(element, "python"), error.to_string()))
        .ok()?;
    let others = ["class", "bundle", "native", "type"];
    if let Some(other) = others.into_iter().find(|name| element.attribute(name).is_some()) {
        let text =
            format!("{} has both python and {other}; it is a class of one language", element.name);
        report.error(&place_of(element, other), text);
    }
    let name = id_text(element).map_or_else(|| class.to_string(), str::to_owned);
    let id = within.map_or_else(|| name.clone(), |chain| format!("{name}@{chain}"));
    let mut found = PythonComponent {
        id,
        kind,
        class,
        settings: Vec::new(),
        bindings: Vec::new(),
        dependencies: Dependencies::default(),
        place: element.place.clone(),
    };
    let is_chained = matches!(kind, PythonKind::Searcher | PythonKind::DocumentProcessor);
    for inner in &element.children {
        match inner.name.as_str() {
            "config" => {
                let settings = Settings::read(inner, report);
                if let Some(settings) = &settings
                    && found.settings.iter().any(|other| other.name == settings.name)
                {
                    let text =
                        format!("{} {name} has config {} twice", element.name, settings.name);
                    report.error(&inner.place, text);
                }
                found.settings.extend(settings);
            }
            "binding" if kind == PythonKind::Handler => {
                found.bindings.extend(binding(inner, report));
            }
            "provides" | "before" | "after" if is_chained => {}
            "component" => {
                let text = format!("component within {} {name}: write it beside it", element.name);
                report.error(&inner.place, text);
            }
            _ => unknown(inner, &format!("{} {name}", element.name), report),
        }
    }
    if is_chained {
        found.dependencies = dependencies(element);
        let own = [name.as_str(), found.class.short(), &found.class.to_string()].map(str::to_owned);
        for name in own {
            if !found.dependencies.provides.contains(&name) {
                found.dependencies.provides.push(name);
            }
        }
    }
    if kind == PythonKind::Handler && element.child("binding").is_none() {
        let text = format!("handler {name} has no binding, so that no request reaches it");
        report.warning(&element.place, text);
    }
    Some(found)
}

/// A binding of a handler.
pub(super) fn binding(
    element: &XmlElement,
    report: &mut Report,
) -> Option<Located<BindingPattern>> {
    let (text, place) = (element.text.as_str(), &element.place);
    let pattern = match BindingPattern::parse(text) {
        Ok(pattern) => pattern,
        Err(error) => {
            report.error(place, format!("binding {text}: {error}"));
            return None;
        }
    };
    if let Some(route) = hidden_route(&pattern) {
        let text =
            format!("binding {text} hides {} at {}; choose other paths", route.what, route.path);
        report.error(place, text);
        return None;
    }
    Some(Located::new(pattern, place.clone()))
}

/// `provides`, `before` and `after`, as attributes and as elements.
pub(super) fn dependencies(element: &XmlElement) -> Dependencies {
    let of = |name: &str| {
        let mut names = words(element.attribute(name).unwrap_or_default());
        for inner in element.all(name) {
            if !names.contains(&inner.text) {
                names.push(inner.text.clone());
            }
        }
        names.retain(|name| !name.is_empty());
        names
    };
    Dependencies { provides: of("provides"), before: of("before"), after: of("after") }
}

/// Two handlers with the same binding: which of them would answer?
pub(super) fn check_bindings(cluster: &ContainerCluster, report: &mut Report) {
    let mut seen: Vec<(&BindingPattern, &str)> = Vec::new();
    let python = cluster.python.iter().map(|handler| (&handler.id, &handler.bindings));
    let native = cluster.native.iter().map(|handler| (&handler.id, &handler.bindings));
    for (id, bindings) in python.chain(native) {
        for binding in bindings {
            match seen.iter().find(|(other, _)| **other == binding.value) {
                Some((_, other)) => {
                    let pattern = &binding.value;
                    let text =
                        format!("binding {pattern} of handler {id} is one of handler {other} too");
                    report.error(&binding.place, text);
                }
                None => seen.push((&binding.value, id)),
            }
        }
    }
}

/// The element `python` of a container.
pub(super) fn options(element: &XmlElement, cluster: &mut ContainerCluster, report: &mut Report) {
    let options = &mut cluster.python_options;
    known(element, &["timeout", "start-timeout"], report);
    if let Some(time) = seconds(element, "timeout", report) {
        options.timeout = time;
    }
    if let Some(time) = seconds(element, "start-timeout", report) {
        options.start_timeout = time;
    }
    for inner in &element.children {
        if inner.name != "package" {
            unknown(inner, "python", report);
            continue;
        }
        known(inner, &["name", "isolation", "environment"], report);
        let Some(name) = inner.located("name") else {
            report.error(&inner.place, "package of python has no name");
            continue;
        };
        let isolation = match inner.attribute("isolation") {
            None | Some("in-process") => Isolation::InProcess,
            Some("process") => Isolation::Process,
            Some(other) => {
                let text = format!(
                    "isolation of package {} must be in-process or process, found {other}",
                    name.value
                );
                report.error(&place_of(inner, "isolation"), text);
                continue;
            }
        };
        if options.packages.iter().any(|other| other.name == name.value) {
            report.error(&name.place, format!("package {} of python stands twice", name.value));
            continue;
        }
        options.packages.push(PythonPackage {
            name: name.value.clone(),
            isolation,
            environment: inner.attribute("environment").map(str::to_owned),
            place: inner.place.clone(),
        });
    }
}

/// Attributes of elements that are stead's own are all known.
fn known(element: &XmlElement, names: &[&str], report: &mut Report) {
    for (name, value) in &element.attributes {
        if !names.contains(&name.as_str()) {
            let text =
                format!("{} has no attribute {name}; it has {}", element.name, names.join(", "));
            report.error(&value.place, text);
        }
    }
}

fn seconds(element: &XmlElement, name: &str, report: &mut Report) -> Option<Duration> {
    let value = element.located(name)?;
    let number: Option<f64> = value.trim().trim_end_matches('s').trim_end().parse().ok();
    match number.filter(|number| *number > 0.0 && *number <= MAX_TIMEOUT) {
        Some(number) => Some(Duration::from_secs_f64(number)),
        None => {
            let text = format!(
                "{name} of {} must be seconds up to {MAX_TIMEOUT}, such as 2.5 s, found {}",
                element.name, value.value
            );
            report.error(&value.place, text);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::components::Isolation;
    use crate::package::Report;
    use crate::services::{ContainerCluster, ServicesOptions, read_services};
    use crate::xml::parse_xml;

    fn read(inner: &str) -> (ContainerCluster, Vec<String>) {
        let mut report = Report::default();
        let text = format!("<container id='c' version='1.0'>\n{inner}\n</container>");
        let root = parse_xml("services.xml", &text, &mut report).unwrap();
        let mut services = read_services(&root, ServicesOptions::default(), &mut report);
        let told = report.diagnostics().iter().map(ToString::to_string);
        (services.containers.remove(0), told.collect())
    }

    #[test]
    fn components_in_python_are_read() {
        let (cluster, told) = read(
            "<python timeout='0.5 s' start-timeout='60'><package name='shop' isolation='process' environment='torch'/></python>
             <component id='plain' python='shop:Plain'/>
             <handler id='h' python='shop.web:Greet'><binding>http://*/greet/{name}</binding><binding>http://*/hello</binding>
               <config name='a'><x>1</x></config><config name='b'><y>2</y></config></handler>
             <search><searcher id='s' python='shop:Search' provides='x y' before='b'><after>z</after></searcher></search>
             <document-processing><chain><documentprocessor python='shop:Process'/></chain></document-processing>",
        );
        assert_eq!(told, [""; 0]);
        let options = &cluster.python_options;
        assert_eq!((options.timeout.as_millis(), options.start_timeout.as_secs()), (500, 60));
        let package = &options.packages[0];
        assert_eq!(
            (package.name.as_str(), package.isolation, package.environment.as_deref()),
            ("shop", Isolation::Process, Some("torch"))
        );
        let found: Vec<String> = cluster
            .python
            .iter()
            .map(|c| format!("{} {} {} {}", c.kind.element(), c.id, c.class, c.settings.len()))
            .collect();
        let expected = [
            "component plain shop:Plain 0",
            "handler h shop.web:Greet 2",
            "searcher s shop:Search 0",
            "documentprocessor shop:Process@default shop:Process 0",
        ];
        assert_eq!(found, expected);
        let bindings: Vec<String> =
            cluster.python[1].bindings.iter().map(|b| b.value.to_string()).collect();
        assert_eq!(bindings, ["http://*/greet/{name}", "http://*/hello"]);
        let of = &cluster.python[2].dependencies;
        assert_eq!(of.provides, ["x", "y", "s", "Search", "shop:Search"]);
        assert_eq!(
            (of.before.as_slice(), of.after.as_slice()),
            (&["b".to_owned()][..], &["z".to_owned()][..])
        );
    }

    #[test]
    fn what_is_wrong_with_components_is_told() {
        let handler = |inner: &str| format!("<handler id='h' python='p:H'>{inner}</handler>");
        let bound = |pattern: &str| handler(&format!("<binding>{pattern}</binding>"));
        let twice = format!(
            "{}<handler id='g' python='p:G'><binding>https://*/a/{{y}}</binding></handler>",
            bound("http://*/a/{x}")
        );
        for (label, inner, expected) in [
            (
                "class",
                "<component id='x' python='p'/>".to_owned(),
                "expected python=\"module:Class\", found \"p\"",
            ),
            (
                "two languages",
                "<component id='x' python='p:A' class='a.B'/>".to_owned(),
                "component has both python and class; it is a class of one language",
            ),
            (
                "two of an id",
                "<component id='x' python='p:A'/><component id='x' python='p:B'/>".to_owned(),
                "two components have the id x",
            ),
            (
                "java",
                "<handler id='x' class='a.B' bundle='b'/>".to_owned(),
                "handler x is the Java class a.B of bundle b, which stead does not run; python=\"module:Class\" in its place names a class in Python; --ignore-components leaves it out",
            ),
            (
                "other elements",
                "<renderer id='x' python='p:A'/>".to_owned(),
                "renderer in Python is not run; component, handler, searcher and documentprocessor are",
            ),
            (
                "processors",
                "<processing><chain id='c'><processor id='x' python='p:A'/></chain></processing>"
                    .to_owned(),
                "processor in Python is not run; write a handler, or a searcher or documentprocessor in a chain",
            ),
            (
                "no binding",
                handler(""),
                "warning: handler h has no binding, so that no request reaches it",
            ),
            (
                "no pattern",
                bound("/a"),
                "binding /a: expected scheme://host[:port]/path such as http://*/rank/*, found /a",
            ),
            (
                "a route",
                bound("http://*/search/*"),
                "binding http://*/search/* hides searches at /search/*; choose other paths",
            ),
            (
                "a binding twice",
                twice,
                "binding http://*/a/{y} of handler g is one of handler h too",
            ),
            (
                "config twice",
                "<component id='x' python='p:A'><config name='c'/><config name='c'/></component>"
                    .to_owned(),
                "component x has config c twice",
            ),
            (
                "within",
                "<component id='x' python='p:A'><component id='y' python='p:B'/></component>"
                    .to_owned(),
                "component within component x: write it beside it",
            ),
            (
                "timeout",
                "<python timeout='1 min'/>".to_owned(),
                "timeout of python must be seconds up to 3600, such as 2.5 s, found 1 min",
            ),
            (
                "attributes",
                "<python timeouts='1'/>".to_owned(),
                "python has no attribute timeouts; it has timeout, start-timeout",
            ),
            (
                "isolation",
                "<python><package name='p' isolation='none'/></python>".to_owned(),
                "isolation of package p must be in-process or process, found none",
            ),
            (
                "a package twice",
                "<python><package name='p'/><package name='p'/></python>".to_owned(),
                "package p of python stands twice",
            ),
        ] {
            let (_, told) = read(&inner);
            let texts: Vec<&str> =
                told.iter().filter_map(|t| t.splitn(4, ':').nth(3)).map(str::trim).collect();
            assert_eq!(texts, [expected], "{label}");
        }
    }
}
