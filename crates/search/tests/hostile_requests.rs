//! Bodies that are nearly requests: a search of them ends, with a result that is JSON.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::RankPlan;
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest, flatten};
use stead_search::result::{SearchResult, render};
use stead_search::run::{Searcher, field_value, search};
use stead_store::{DocumentType, Documents};

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

const SCHEMA: &str = "schema d {
  document d {
    struct pair { field a type string {} field b type int {} }
    field n type int { indexing: attribute | summary }
    field x type double { indexing: attribute }
    field b type bool { indexing: attribute }
    field t type string { indexing: attribute | summary }
    field p type position { indexing: attribute }
    field l type array<long> { indexing: attribute }
    field w type weightedset<string> { indexing: attribute }
    field s type array<pair> {
      indexing: summary
      struct-field a { indexing: attribute }
      struct-field b { indexing: attribute }
    }
    field v type tensor<float>(x[2]) { indexing: attribute }
    field k type tensor<int8>(k{},x[2]) { indexing: attribute }
  }
}";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='d' mode='index'/></documents></content></services>";

const DOCUMENTS: &str = r#"
{"put": "id:d:d::1", "fields": {"n": 1, "x": 0.5, "b": true, "t": "a", "p": {"lat": 1, "lng": 2}, "l": [1, 2], "w": {"a": 3}, "s": [{"a": "x", "b": 1}], "v": [1, 2], "k": {"a": [1, 2]}}}
{"put": "id:d:d::2", "fields": {}}"#;

/// A xorshift generator (Marsaglia, 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

#[test]
fn changed_bodies_have_results_or_errors() {
    let files = [("schemas/d.sd", SCHEMA), ("services.xml", SERVICES)];
    let files = PackageFiles::from_texts(files).unwrap();
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    assert!(!report.has_errors(), "{:?}", report.diagnostics());
    let schema = application.schema("d").unwrap();
    let plan = RankPlan::new(&application, schema, "default", &compiled["d"], &files, &models);
    let plan = Arc::new(plan.unwrap());
    let kind = DocumentType::new(schema);
    let documents = Documents::read(kind, DOCUMENTS.as_bytes(), &mut |_| {}).unwrap();
    let view = documents.view();
    let plans = |name: &str| match name {
        "default" => Ok(plan.clone()),
        other => Err(RankError::Query(format!("no profile {other}"))),
    };
    let stored = |id: &str, field: &str| field_value(view, id, field);
    let searcher = Searcher { schema, view, cluster: "c", stored: &stored, plans: &plans };
    let ask = |body: &str| -> SearchResult {
        let request = flatten(body.as_bytes())
            .and_then(|pairs| SearchRequest::new(pairs, &application.query_profiles));
        match request {
            Ok(request) => search(searcher, &request, RankOptions { now: 0.0, seed: 1 }),
            Err(error) => SearchResult::failed(error),
        }
    };
    for body in BODIES {
        assert_eq!(ask(body).errors, [], "{body}");
    }
    let mut answered = 0;
    for seed in 1..=3_000_u64 {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut body: Vec<char> = BODIES[chance.below(BODIES.len())].chars().collect();
        for _ in 0..=chance.below(3) {
            let from = chance.below(body.len());
            let to = (from + chance.below(6)).min(body.len());
            body.splice(from..to, PIECES[chance.below(PIECES.len())].chars());
        }
        let body: String = body.into_iter().collect();
        let result = ask(&body);
        assert!(result.hits.len() <= 2 && result.total <= 2, "seed {seed}");
        answered += usize::from(result.errors.is_empty());
        let json = render(&result, Format::Json);
        let _valid: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert!(!render(&result, Format::Cbor).is_empty());
    }
    assert!(answered > 100, "{answered}");
}
