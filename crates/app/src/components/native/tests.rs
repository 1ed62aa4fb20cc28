use super::{BuiltIn, BuiltInParameter, ParameterKind};
use crate::components::{ChainKind, NativeKind, NativeRole};
use crate::package::Report;
use crate::services::{ContainerCluster, ServicesOptions, read_services};
use crate::xml::parse_xml;

fn read(inner: &str) -> (ContainerCluster, Vec<String>) {
    let mut report = Report::default();
    let text = format!("<container id='c' version='1.0'>\n{inner}\n</container>");
    let root = parse_xml("services.xml", &text, &mut report).unwrap();
    let mut services = read_services(&root, ServicesOptions::default(), &mut report);
    let told = report.diagnostics().iter().map(|d| d.text.clone());
    (services.containers.remove(0), told.collect())
}

#[test]
fn components_of_the_server_and_the_program_stand_in_chains_with_python() {
    let (cluster, told) = read(
        "<search>
           <searcher id='beside' type='deduplicate'><fields><item>title</item><item>year</item></fields></searcher>
           <chain id='default'>
             <searcher id='py' python='shop:P' after='collapse'/>
             <searcher idref='beside'/>
             <searcher id='own' native='shop-rank' before='py'><config name='c'><x>1</x></config></searcher>
             <searcher type='collapse'><field>year</field><before>own</before><after>beside</after></searcher>
           </chain>
         </search>",
    );
    assert_eq!(told, [""; 0]);
    let chains = cluster.chains(&Default::default(), &mut Report::default());
    assert_eq!(chains[0].components, ["beside", "collapse@default", "own@default", "py@default"]);
    let [beside, own, collapse] = cluster.native.as_slice() else { panic!("{cluster:?}") };
    let NativeKind::BuiltIn(row, parameters) = &beside.what else { panic!("{beside:?}") };
    assert_eq!((row.name, parameters.list("fields").len()), ("deduplicate", 2));
    assert_eq!(parameters.count("more"), 2);
    let NativeKind::Registered(name, settings) = &own.what else { panic!("{own:?}") };
    assert_eq!((name.as_str(), settings.len()), ("shop-rank", 1));
    let NativeKind::BuiltIn(_, parameters) = &collapse.what else { panic!("{collapse:?}") };
    assert_eq!((parameters.text("field"), parameters.count("size")), (Some("year"), 1));
}

#[test]
fn handlers_of_the_program_have_bindings() {
    let (cluster, told) = read(
        "<handler id='h' native='greet'><binding>http://*/greet/{name}</binding><binding>http://*/hello</binding>
           <config name='c'><x>1</x></config></handler>",
    );
    assert_eq!(told, [""; 0]);
    let [handler] = cluster.native.as_slice() else { panic!("{cluster:?}") };
    let bindings: Vec<String> = handler.bindings.iter().map(|b| b.value.to_string()).collect();
    assert_eq!((handler.role, bindings.len()), (NativeRole::Handler, 2), "{bindings:?}");
    let bound = "<binding>http://*/a</binding>";
    for (inner, expected) in [
        (
            "<handler id='h' native='greet'/>".to_owned(),
            "handler h has no binding, so that no request reaches it",
        ),
        (format!("<handler id='h' native=' '>{bound}</handler>"), "handler h has an empty native"),
        (
            format!("<handler id='h' native='greet' python='shop:P'>{bound}</handler>"),
            "handler has both native and python; it is one of them",
        ),
        (
            format!("<handler id='h' native='greet' type='boost'>{bound}</handler>"),
            "handler has both native and type; it is one of them",
        ),
        (
            "<handler id='h' native='greet'><binding>http://*/search/*</binding></handler>"
                .to_owned(),
            "binding http://*/search/* hides searches at /search/*; choose other paths",
        ),
        (
            format!(
                "<handler id='g' python='p:G'>{bound}</handler><handler id='h' native='greet'>{bound}</handler>"
            ),
            "binding http://*/a of handler h is one of handler g too",
        ),
        (
            format!(
                "<handler id='h' native='greet'>{bound}</handler><handler id='h' python='p:G'/>"
            ),
            "two components have the id h",
        ),
    ] {
        let (_, told) = read(&inner);
        assert!(told.iter().any(|one| one == expected), "{inner}: {told:?}");
    }
}

#[test]
fn what_is_wrong_with_them_is_told() {
    let collapse = |inner: &str| {
        format!(
            "<search><chain><searcher id='x' type='collapse'>{inner}</searcher></chain></search>"
        )
    };
    let boost = |inner: &str| {
        format!("<search><chain><searcher id='x' type='boost'>{inner}</searcher></chain></search>")
    };
    for (label, inner, expected) in [
        (
            "an unknown type",
            "<search><chain><searcher id='x' type='dedup'/></chain></search>".to_owned(),
            "searcher x is of the type dedup; there are rewrite, deduplicate, collapse, boost, blend, tokenise, model, cross-encoder, pairwise-rank, answer-span, detokenise, generate",
        ),
        (
            "one of other chains",
            "<document-processing><chain><documentprocessor id='x' type='boost'/></chain></document-processing>".to_owned(),
            "documentprocessor x is of the type boost; there are copy, rename, constant, tokenise, embed, model",
        ),
        (
            "one too many",
            collapse("<field>a</field><sizes>1</sizes>"),
            "searcher x has no parameter sizes; it has field, size, more",
        ),
        (
            "one too few",
            collapse("<size>1</size>"),
            "searcher x needs the parameter field: the field, or several with commas between; a query may say others by `collapsefield`; expected a text",
        ),
        (
            "twice",
            collapse("<field>a</field><field>b</field>"),
            "searcher x has the parameter field twice",
        ),
        (
            "no number",
            collapse("<field>a</field><size>many</size>"),
            "size of searcher x must be a whole number, found many",
        ),
        (
            "no rules",
            boost("<rules>x</rules>"),
            "rules of searcher x must be items with field, equals, at-least, at-most, when, factor, add, drop, found x",
        ),
        (
            "within a rule",
            boost("<rules><item><field>a</field><factors>2</factors></item></rules>"),
            "rules of searcher x has no parameter factors; it has field, equals, at-least, at-most, when, factor, add, drop",
        ),
        (
            "two kinds",
            "<search><chain><searcher id='x' type='boost' native='y'/></chain></search>".to_owned(),
            "searcher has both type and native; it is one of them",
        ),
        (
            "no file",
            "<document-processing><chain><documentprocessor id='x' type='tokenise'><tokenizer>a</tokenizer><from>a</from><to>b</to></documentprocessor></chain></document-processing>".to_owned(),
            "tokenizer of documentprocessor x must be a file of the package: path=\"...\", found a",
        ),
        (
            "a circle",
            "<search><chain><searcher id='x' type='deduplicate' before='p'><fields>a</fields></searcher><searcher id='p' python='shop:P' before='x'/></chain></search>".to_owned(),
            "chain default: each of these must come before the next one: p@default, x@default, p@default",
        ),
    ] {
        let (_, told) = read(&inner);
        assert!(told.iter().any(|one| one == expected), "{label}: {told:?}");
    }
}

#[test]
fn defaults_are_of_their_kind() {
    for kind in [ChainKind::Search, ChainKind::DocumentProcessing] {
        for row in BuiltIn::of(kind) {
            let all =
                row.parameters.iter().chain(row.parameters.iter().flat_map(|p| match p.kind {
                    ParameterKind::Rules(rows) => rows,
                    _ => &[],
                }));
            for parameter in all {
                let default = parameter.default.filter(|text| !text.is_empty());
                let is_read = default
                    .is_none_or(|text| super::parameters::of_text(text, parameter.kind).is_some());
                assert!(is_read, "{} of {}", parameter.name, row.name);
            }
        }
    }
}

/// The tables of the documentation: each component, then each parameter.
fn tables(kind: ChainKind) -> String {
    let mut lines = vec![
        "| type | what it does | reads | changes |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    let rows = BuiltIn::of(kind);
    lines.extend(
        rows.iter().map(|r| format!("| `{}` | {} | {} | {} |", r.name, r.about, r.reads, r.writes)),
    );
    lines.extend([
        String::new(),
        "| type | parameter | holds | default | what it says |".to_owned(),
    ]);
    lines.push("|---|---|---|---|---|".to_owned());
    for row in rows {
        for parameter in row.parameters {
            lines.push(line(row.name, parameter.name, parameter));
            if let ParameterKind::Rules(inner) = parameter.kind {
                let within = |p: &BuiltInParameter| {
                    line(row.name, &format!("{}/item/{}", parameter.name, p.name), p)
                };
                lines.extend(inner.iter().map(within));
            }
        }
    }
    lines.join("\n")
}

fn line(component: &str, name: &str, parameter: &BuiltInParameter) -> String {
    let default = match parameter.default {
        None => "must be given".to_owned(),
        Some("") => String::new(),
        Some(text) => format!("`{text}`"),
    };
    format!("| `{component}` | `{name}` | {} | {default} | {} |", parameter.kind, parameter.about)
}

#[test]
fn the_documentation_has_every_parameter() {
    let page = include_str!("../../../../../docs/chains.md");
    for (kind, mark) in
        [(ChainKind::Search, "searchers"), (ChainKind::DocumentProcessing, "processors")]
    {
        let between = page
            .split_once(&format!("<!-- {mark}: generated -->\n"))
            .and_then(|(_, rest)| rest.split_once(&format!("\n<!-- {mark}: end -->")));
        let (found, expected) = (between.map(|(found, _)| found), tables(kind));
        assert_eq!(found, Some(expected.as_str()), "expected:\n{expected}");
    }
}
