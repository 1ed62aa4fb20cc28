//! Built-in components one by one: searchers on results that stand for those of documents, processors on operations.

mod embed;
mod generate;
mod models;

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::Value as Json;
use stead_app::application::Application;
use stead_app::components::{BuiltIn, ChainKind, NativeKind};
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_python::Deadline;
use stead_search::query::SearchCode;
use stead_search::result::{Hit, Item, SearchResult};
use stead_store::{Action, DocumentType, Members, Verb};

use super::*;
use crate::Code;
use crate::Fed;
use crate::components::native::{Call, DocumentOperation, Execution, NativeError, Query};
use crate::components::{ComponentError, ServerHost};
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

/// Hits by their names, with `year` and `tags` of some, in the order of their relevance 9, 8, ...
fn songs() -> Vec<Hit> {
    let rows =
        [("a", 1, "x"), ("b", 1, "y"), ("c", 2, "x"), ("d", 1, "x"), ("e", 3, "y"), ("f", 2, "z")];
    let hit = |(at, (id, year, tag)): (usize, &(&str, i64, &str))| Hit {
        id: (*id).to_owned(),
        relevance: 9.0 - at as f64,
        source: "stored".to_owned(),
        fields: vec![
            ("year".to_owned(), Item::Integer(*year)),
            ("tags".to_owned(), Item::List(vec![Item::text(*tag)])),
        ],
    };
    let mut hits: Vec<Hit> = rows.iter().enumerate().map(hit).collect();
    hits.push(Hit {
        id: "g".to_owned(),
        relevance: 1.0,
        source: "stored".to_owned(),
        fields: vec![],
    });
    hits
}

/// What a searcher gives for a query: the ids of the hits, and what it asked of the documents.
fn found(searcher: &dyn Searcher, parameters: &[(&str, &str)]) -> (String, Vec<String>) {
    let asked = Mutex::new(Vec::new());
    let back_end = |query: Query| {
        let number =
            |name: &str, default| query.values.get(name).map_or(default, |t| t.parse().unwrap());
        let (hits, offset) = (number("hits", 10), number("offset", 0));
        let shown: Vec<String> = query.values.iter().map(|(n, v)| format!("{n}={v}")).collect();
        asked.lock().unwrap().push(shown.join(" "));
        let all = songs().into_iter().skip(offset).take(hits).collect();
        Ok(SearchResult { total: 7, hits: all, ..SearchResult::default() })
    };
    let call = Call { deadline: Deadline::NEVER };
    let execution = Execution { next: &back_end, call };
    let mut query = Query::default();
    parameters.iter().for_each(|(name, value)| query.values.set(name, (*value).to_owned()));
    let result = searcher.search(query, &execution).unwrap();
    let told = result.errors.iter().map(|error| error.message.clone());
    let ids: Vec<String> = result.hits.iter().map(|hit| hit.id.clone()).chain(told).collect();
    (ids.join(""), asked.into_inner().unwrap())
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

#[test]
fn searchers_leave_hits_out() {
    let by_year = "<fields>year</fields>";
    for (label, kind, inner, parameters, expected, asked) in [
        ("a field", "deduplicate", by_year, &[][..], "aceg", 1),
        (
            "two fields",
            "deduplicate",
            "<fields><item>year</item><item>tags</item></fields>",
            &[],
            "abcefg",
            1,
        ),
        ("pages", "deduplicate", by_year, &[("hits", "2"), ("offset", "1")], "ce", 1),
        (
            "asked again",
            "deduplicate",
            "<fields>tags</fields><more>1</more>",
            &[("hits", "2")],
            "ab",
            1,
        ),
        ("asked again for twice as many", "deduplicate", by_year, &[("hits", "3")], "ace", 1),
        (
            "asked three times",
            "deduplicate",
            "<fields>year</fields><more>2</more>",
            &[("hits", "4")],
            "aceg",
            1,
        ),
        ("until there is no more", "collapse", "<field>year</field>", &[("hits", "5")], "aceg", 1),
        ("two of each", "collapse", "<field>year</field><size>2</size>", &[], "abcefg", 1),
        (
            "as the query says",
            "collapse",
            "<field>year</field>",
            &[("collapsefield", "tags"), ("collapsesize", "2")],
            "abcefg",
            1,
        ),
        ("two fields one after the other", "collapse", "<field>year,tags</field>", &[], "aeg", 1),
        (
            "no size",
            "collapse",
            "<field>year</field>",
            &[("collapsesize", "0")],
            "collapsesize must be a whole number from 1, found 0",
            0,
        ),
        (
            "a boost",
            "boost",
            "<rules><item><field>year</field><at-least>2</at-least><factor>2</factor></item></rules>",
            &[],
            "ceabfdg",
            1,
        ),
        (
            "an element",
            "boost",
            "<rules><item><field>tags</field><equals>z</equals><add>100</add></item></rules>",
            &[],
            "fabcdeg",
            1,
        ),
        (
            "for some queries",
            "boost",
            "<rules><item><when>shop=a</when><field>year</field><at-most>1</at-most><factor>0</factor></item></rules>",
            &[("shop", "a")],
            "cefgabd",
            1,
        ),
        (
            "not for others",
            "boost",
            "<rules><item><when>shop=a</when><field>year</field><at-most>1</at-most><factor>0</factor></item></rules>",
            &[("shop", "b")],
            "abcdefg",
            1,
        ),
        (
            "dropped",
            "boost",
            "<rules><item><field>year</field><equals>1</equals><drop>true</drop></item></rules><more>2</more>",
            &[("hits", "2")],
            "ce",
            1,
        ),
    ] {
        let searcher = searcher_of(kind, inner).unwrap();
        let (ids, questions) = found(&*searcher, parameters);
        assert_eq!(ids, expected, "{label}: {questions:?}");
        assert!(questions.len() >= asked, "{label}: {questions:?}");
    }
    // As few as are wanted are asked for first, then twice as many, never more than a query may ask for.
    let searcher = searcher_of("deduplicate", "<fields>year</fields>").unwrap();
    let (_, asked) = found(&*searcher, &[("hits", "2"), ("maxHits", "5")]);
    assert_eq!(asked, ["hits=4 maxHits=5 offset=0"]);
    let (ids, asked) = found(&*searcher, &[("hits", "3"), ("maxHits", "5")]);
    assert_eq!((ids.as_str(), asked), ("ace", vec!["hits=5 maxHits=5 offset=0".to_owned()]));
    let (_, asked) = found(&*searcher, &[("hits", "9"), ("maxHits", "5")]);
    assert_eq!(asked, ["hits=9 maxHits=5"], "which the documents refuse");
}

#[test]
fn queries_are_rewritten_by_a_table() {
    let table = "<parameter>q</parameter><rules>
        <item><when>cheap *</when><set><item key='ranking.profile'>price</item><item key='was'>%{q}</item></set></item>
        <item><when>*</when><set><item key='hits'>1</item></set></item></rules>";
    let searcher = searcher_of("rewrite", table).unwrap();
    for (q, expected) in [
        (Some("Cheap shoes"), "q=Cheap shoes ranking.profile=price was=Cheap shoes"),
        (Some("shoes"), "hits=1 q=shoes"),
        (None, ""),
    ] {
        let parameters: Vec<(&str, &str)> = q.iter().map(|q| ("q", *q)).collect();
        assert_eq!(found(&*searcher, &parameters).1, [expected]);
    }
}

#[test]
fn sources_are_blended() {
    let blend = |rule: &str| {
        let text = format!(
            "<sources><item>stored</item><item>song</item></sources><rule>{rule}</rule><weights><item key='song'>0.5</item></weights>"
        );
        searcher_of("blend", &text).unwrap()
    };
    for (rule, expected) in [
        ("score", "abcd"),
        ("interleave", "aabb"),
        ("normalised", "abcd"),
        ("reciprocal-rank", "abcd"),
    ] {
        let (ids, mut asked) = found(&*blend(rule), &[("hits", "4"), ("yql", "x")]);
        assert_eq!(ids, expected, "{rule}");
        // They are asked at the same time.
        asked.sort();
        assert_eq!(asked.len(), 2, "{rule}");
        assert!(asked[0].contains("model.restrict=song"), "{asked:?}");
        assert!(asked[1].contains("model.restrict=stored"), "{asked:?}");
    }
    let wrong = searcher_of("blend", "<sources>elsewhere</sources>").err();
    assert_eq!(wrong.unwrap(), "there is no source elsewhere; there are stored, song");
}

#[test]
fn sources_are_searched_at_the_same_time_and_fail_alone() {
    let blend = searcher_of("blend", "<sources><item>stored</item><item>song</item></sources>");
    let blend = blend.unwrap();
    let call = Call { deadline: Deadline::NEVER };
    let result = |next: &(dyn Fn(Query) -> Result<SearchResult, ComponentError> + Sync)| {
        blend.search(Query::default(), &Execution { next, call })
    };
    // Each waits for the other.
    let (inside, changed) = (Mutex::new(0), Condvar::new());
    let both = |_: Query| {
        let mut count = inside.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let wait = Duration::from_secs(60);
        let (count, _) = changed.wait_timeout_while(count, wait, |count| *count < 2).unwrap();
        assert_eq!(*count, 2, "one source was searched behind the other");
        Ok(SearchResult { total: 1, ..SearchResult::default() })
    };
    assert_eq!(result(&both).unwrap().total, 2);
    let failing = |which: &'static str| {
        move |query: Query| match query.values.get("model.restrict") {
            Some(name) if which.contains(name) => Err(ComponentError {
                code: Code::DeadlineExceeded,
                component: "chain".to_owned(),
                kind: None,
                message: "the deadline passed".to_owned(),
                traceback: None,
            }),
            Some("song") if which.contains("panic") => panic!("a panic behind it"),
            _ => Ok(SearchResult { total: 7, hits: songs(), ..SearchResult::default() }),
        }
    };
    let one = result(&failing("song")).unwrap();
    assert_eq!((one.hits.len(), one.errors.len()), (7, 1));
    assert_eq!(one.errors[0].code, SearchCode::Timeout);
    assert_eq!(one.errors[0].message, "source song: the deadline passed");
    let one = result(&failing("panic")).unwrap();
    assert_eq!(one.errors[0].message, "source song: a search panicked");
    let all = result(&failing("song stored")).unwrap_err();
    assert!(matches!(all, NativeError::Next(_)), "{all:?}");
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
