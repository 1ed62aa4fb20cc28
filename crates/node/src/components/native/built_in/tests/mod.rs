//! Built-in components one by one: what they are made of, and document processors on operations.

mod embed;
mod generate;
mod models;
mod searchers;

use std::sync::Arc;

use serde_json::Value as Json;
use stead_app::application::Application;
use stead_app::components::{BuiltIn, ChainKind, NativeKind};
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_python::Deadline;
use stead_store::{Action, DocumentType, Members, Verb};

use super::*;
use crate::Fed;
use crate::components::ServerHost;
use crate::components::native::{Call, DocumentOperation};
use crate::evaluation::Models as Evaluated;

const SCHEMA: &str = "schema song { document song {
    field title type string { indexing: summary }
    field copy type string { indexing: summary }
    field year type int { indexing: summary }
    field other type int { indexing: summary }
    field tags type array<string> { indexing: summary }
    field ids type array<int> { indexing: summary }
    field tokens type tensor<float>(d0[4]) { indexing: attribute }
} }";

const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nblue\ntrain\n##s\n";

fn files(services: &str) -> PackageFiles {
    let services = format!(
        "<services version='1.0'><container id='c' version='1.0'>{services}</container>
         <content id='stored' version='1.0'><documents><document type='song' mode='index'/></documents></content></services>"
    );
    let files = [
        ("services.xml", services.as_str()),
        ("schemas/song.sd", SCHEMA),
        ("models/vocab.txt", VOCABULARY),
    ];
    PackageFiles::from_texts(files).unwrap()
}

/// Makes the only component of a chain of a package.
fn made<T: ?Sized>(
    services: &str,
    make: impl FnOnce(&str, &Parameters, &Making<'_>) -> Result<Box<T>, String>,
) -> Result<Box<T>, String> {
    let files = files(services);
    let (application, report) = Application::read(&files, ServicesOptions::default());
    assert!(!report.has_errors(), "{:?}", report.errors().collect::<Vec<_>>());
    let kinds = [DocumentType::stored(application.schema("song").unwrap())];
    let host = ServerHost::new(Arc::new(Evaluated::default()), Arc::default());
    let models = Models::new(host);
    let embedders = Arc::default();
    let making = Making {
        application: &application,
        files: &files,
        kinds: &kinds,
        models: &models,
        embedders: &embedders,
    };
    let [component] = application.services.containers[0].native.as_slice() else { panic!() };
    let NativeKind::BuiltIn(row, parameters) = &component.what else { panic!() };
    make(row.name, parameters, &making)
}

fn searcher_of(kind: &str, inner: &str) -> Result<Box<dyn Searcher>, String> {
    let text =
        format!("<search><chain><searcher type='{kind}'>{inner}</searcher></chain></search>");
    made(&text, searcher)
}

fn processor_of(kind: &str, inner: &str) -> Result<Box<dyn DocumentProcessor>, String> {
    let text = format!(
        "<document-processing><chain><documentprocessor type='{kind}'>{inner}</documentprocessor></chain></document-processing>"
    );
    made(&text, processor)
}

#[test]
fn every_row_of_the_tables_is_built() {
    for kind in [ChainKind::Search, ChainKind::DocumentProcessing] {
        for row in BuiltIn::of(kind) {
            let nothing = Parameters::default();
            let refused = made(
                "<search><chain><searcher type='deduplicate'><fields>x</fields></searcher></chain></search>",
                |_, _, making| {
                    match kind {
                        ChainKind::Search => searcher(row.name, &nothing, making).map(drop),
                        ChainKind::DocumentProcessing => {
                            processor(row.name, &nothing, making).map(drop)
                        }
                    }
                    .map(Box::new)
                },
            );
            let unknown = format!("of the type {}", row.name);
            assert!(refused.err().is_none_or(|text| !text.contains(&unknown)), "{}", row.name);
        }
    }
}

fn operation(verb: Verb, body: &str) -> DocumentOperation {
    let files = files("");
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let kind = Arc::new(DocumentType::stored(application.schema("song").unwrap()));
    let members = Members::parse(body.as_bytes()).unwrap();
    let operation = members.operation(&kind, verb, "id:n:song::1").unwrap();
    let changes = members.fields_text().map(Arc::from);
    DocumentOperation::new(Fed { operation, changes }, kind)
}

/// The fields that an operation has after a processor, as JSON.
fn processed(kind: &str, inner: &str, verb: Verb, fields: &str) -> String {
    let processor = processor_of(kind, inner).unwrap();
    let given = operation(verb, &format!("{{\"fields\": {fields}}}"));
    let call = Call { deadline: Deadline::NEVER };
    let [made] = processor.process(given, &call).unwrap().try_into().unwrap();
    let kind = Arc::clone(made.kind());
    let form = stead_expr::codec::json::Form::ShortValue;
    if let Action::Update { .. } = made.action() {
        let all: Json = serde_json::from_str(made.fed.changes.as_deref().unwrap()).unwrap();
        // Components in Python see the same changes as the documents.
        for (name, change) in all.as_object().unwrap() {
            assert!(change.get("assign").is_none() || made.get(name).is_some(), "{name}");
        }
        return all.to_string();
    }
    let names = ["title", "copy", "year", "other", "tags", "ids", "tokens"];
    let shown = names.iter().filter_map(|name| {
        let (_, of) = kind.field(name)?;
        let item = stead_search::result::item_of(made.get(name)?, of, &kind, form)?;
        Some(format!("{name}={}", String::from_utf8(item.json()).unwrap()))
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn processors_fill_fields() {
    let copy = "<fields><item key='title'>copy</item></fields>";
    let constant = "<fields><item key='year'>7</item><item key='tags'>[\"a\"]</item><item key='title'>none yet</item></fields>";
    let tokenise = |to: &str, more: &str| {
        format!("<tokenizer path='models/vocab.txt'/><from>title</from><to>{to}</to>{more}")
    };
    for (label, kind, inner, verb, fields, expected) in [
        (
            "copied",
            "copy",
            copy.to_owned(),
            Verb::Put,
            r#"{"title":"x"}"#,
            "title=\"x\" copy=\"x\"",
        ),
        ("nothing to copy", "copy", copy.to_owned(), Verb::Put, r#"{"year":1}"#, "year=1"),
        (
            "of an update",
            "copy",
            copy.to_owned(),
            Verb::Update,
            r#"{"title":{"assign":"x"}}"#,
            r#"{"copy":{"assign":"x"},"title":{"assign":"x"}}"#,
        ),
        ("renamed", "rename", copy.to_owned(), Verb::Put, r#"{"title":"x"}"#, "copy=\"x\""),
        (
            "renamed in an update",
            "rename",
            copy.to_owned(),
            Verb::Update,
            r#"{"title":{"assign":"x"},"year":{"increment":1}}"#,
            r#"{"copy":{"assign":"x"},"year":{"increment":1}}"#,
        ),
        (
            "constants",
            "constant",
            constant.to_owned(),
            Verb::Put,
            r#"{"year":1}"#,
            "title=\"none yet\" year=1 tags=[\"a\"]",
        ),
        (
            "always",
            "constant",
            format!("{constant}<when>always</when>"),
            Verb::Put,
            r#"{"year":1}"#,
            "title=\"none yet\" year=7 tags=[\"a\"]",
        ),
        ("not in updates", "constant", constant.to_owned(), Verb::Update, "{}", "{}"),
        (
            "tokens",
            "tokenise",
            tokenise("ids", ""),
            Verb::Put,
            r#"{"title":"Blue Trains"}"#,
            "title=\"Blue Trains\" ids=[5,6,7]",
        ),
        (
            "tokens of a tensor",
            "tokenise",
            tokenise("tokens", ""),
            Verb::Put,
            r#"{"title":"blue trains trains"}"#,
            "title=\"blue trains trains\" tokens=[5.0,6.0,7.0,6.0]",
        ),
        (
            "zeros behind them",
            "tokenise",
            tokenise("tokens", "<specials>true</specials><max-tokens>3</max-tokens>"),
            Verb::Put,
            r#"{"title":"blue trains"}"#,
            "title=\"blue trains\" tokens=[2.0,5.0,3.0,0.0]",
        ),
    ] {
        assert_eq!(processed(kind, &inner, verb, fields), expected, "{label}");
    }
}

#[test]
fn parameters_that_do_not_fit_documents_are_told() {
    for (kind, inner, expected) in [
        (
            "copy",
            "<fields><item key='title'>year</item></fields>",
            "field title is of the type string, and year of the type int; they must be the same",
        ),
        (
            "copy",
            "<fields><item key='title'>none</item></fields>",
            "no type of documents has the fields title, none",
        ),
        (
            "copy",
            "<fields><item key='title'>copy</item></fields><documents>album</documents>",
            "documents of type album are not stored here; there are song",
        ),
        (
            "rename",
            "<fields><item key='title'>title</item></fields>",
            "field title is written to itself",
        ),
        (
            "constant",
            "<fields><item key='year'>many</item></fields>",
            "the value of field year is no JSON: expected value at line 1 column 1",
        ),
        (
            "constant",
            "<fields><item key='year'>[]</item></fields>",
            "the value of field year: expected an int, found []",
        ),
        (
            "tokenise",
            "<tokenizer path='models/vocab.txt'/><from>year</from><to>ids</to>",
            "field year is of the type int; expected a string",
        ),
        (
            "tokenise",
            "<tokenizer path='models/vocab.txt'/><from>title</from><to>year</to>",
            "field year is of the type int; expected tensor<float>(d0[n]) or array<int>",
        ),
        (
            "tokenise",
            "<tokenizer path='schemas/song.sd'/><from>title</from><to>ids</to>",
            "schemas/song.sd: ",
        ),
    ] {
        let told = processor_of(kind, inner).err().unwrap();
        assert!(told.starts_with(expected), "{kind} {inner}: {told}");
    }
    for (kind, inner, expected) in [
        ("collapse", "<field>year</field><size>0</size>", "size is 0: no hit would stay"),
        (
            "boost",
            "<rules><item><equals>x</equals></item></rules>",
            "rule 1: it has equals, at-least or at-most, and no field",
        ),
        (
            "boost",
            "<rules><item><drop>true</drop></item></rules>",
            "rule 1: it would drop all hits: it has neither field nor when",
        ),
        (
            "boost",
            "<rules><item><when>x</when></item></rules>",
            "rule 1: when must be name=value, found x",
        ),
    ] {
        assert_eq!(searcher_of(kind, inner).err().unwrap(), expected, "{kind} {inner}");
    }
}
