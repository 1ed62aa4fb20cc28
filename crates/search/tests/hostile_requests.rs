//! Bodies that are nearly requests: a search of them ends, with a result that is JSON.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::RankPlan;
use stead_search::Serial;
use stead_search::models::Loaded;
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest, flatten};
use stead_search::result::{SearchResult, render};
use stead_search::run::{Searcher, field_value, search};
use stead_store::{DocumentType, Documents};

use crate::changed::changed;

const BODIES: [&str; 4] = [
    include_str!("../../../fuzz/seeds/search_request/full.json"),
    include_str!("../../../fuzz/seeds/search_request/lenient.json"),
    r#"{"yql": "select * from d where t matches '(a|b)*' or t contains ({maxEditDistance: 3}fuzzy('ab')) or x = 1 or weightedSet(w, {'a': 1})"}"#,
    r#"{"yql": "select * from d where geoLocation(p, 1.5, 'E2', '100 km') and rank(range(n, -Infinity, 5), l[1] = 2) order by t limit @p",
        "input.query(q)": "document(id:d:d::1).v", "ranking.features": {"query(q)": "tensor<float>(x[2]):[1,2]"}, "p": 2, "trace.level": 1}"#,
];

/// What is put into bodies.
const PIECES: [&str; 28] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "'",
    "\"",
    "\\",
    ",",
    ":",
    "-",
    "!",
    "9",
    "99999999999",
    "1e300",
    "@",
    "%{p}",
    " and ",
    " or ",
    "Infinity",
    "null",
    "true",
    "\u{e9}",
    "\u{0}",
    "n",
    "v",
    "",
];

const SCHEMA: &str = include_str!("../../../fuzz/seeds/search_request.sd");

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='d' mode='index'/></documents></content></services>";

const DOCUMENTS: &str = include_str!("../../../fuzz/seeds/search_request.jsonl");

#[test]
fn changed_bodies_have_results_or_errors() {
    let files = [("schemas/d.sd", SCHEMA), ("services.xml", SERVICES)];
    let files = PackageFiles::from_texts(files).unwrap();
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    assert!(!report.has_errors(), "{:?}", report.diagnostics());
    let schema = application.schema("d").unwrap();
    let plan = RankPlan::new(
        &application,
        schema,
        "default",
        &compiled["d"],
        &Loaded::new(&files),
        &models,
    );
    let plan = Arc::new(plan.unwrap());
    let kind = DocumentType::new(schema);
    let documents = Documents::read(kind, DOCUMENTS.as_bytes(), &mut |_| {}).unwrap();
    let view = documents.view();
    let plans = |_: &str, name: &str| match name {
        "default" => Ok(plan.clone()),
        other => Err(RankError::Query(format!("no profile {other}"))),
    };
    let stored = |id: &str, field: &str| field_value(view, id, field);
    let searcher = Searcher { schema, view, cluster: "c", stored: &stored, plans: &plans };
    let ask = |body: &str| -> SearchResult {
        let request = flatten(body.as_bytes())
            .and_then(|pairs| SearchRequest::new(pairs, &application.query_profiles));
        match request {
            Ok(request) => {
                search(&[searcher], &request, RankOptions { now: 0.0, seed: 1 }, &Serial)
            }
            Err(error) => SearchResult::failed(error),
        }
    };
    for body in BODIES {
        assert_eq!(ask(body).errors, [], "{body}");
    }
    let mut answered = 0;
    for seed in 1..=3_000_u64 {
        let body = changed(seed, &BODIES, &PIECES, (3, 6));
        let result = ask(&body);
        assert!(result.hits.len() <= 2 && result.total <= 2, "seed {seed}");
        answered += usize::from(result.errors.is_empty());
        let json = render(&result, Format::Json);
        let _valid: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert!(!render(&result, Format::Cbor).is_empty());
    }
    assert!(answered > 100, "{answered}");
}
