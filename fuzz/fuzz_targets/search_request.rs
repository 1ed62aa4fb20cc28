//! Bytes as the body of a search: parameters, the query in it, and the search of a few documents.
#![no_main]

use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::Serial;
use stead_search::RankPlan;
use stead_search::models::Loaded;
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest, flatten};
use stead_search::result::render;
use stead_search::run::{Searcher, field_value, search};
use stead_store::{DocumentType, Documents};

const SCHEMA: &str = include_str!("../seeds/search_request.sd");

const DOCUMENTS: &str = include_str!("../seeds/search_request.jsonl");

fuzz_target!(|data: &[u8]| {
    let files = PackageFiles::from_texts([("schemas/d.sd", SCHEMA)]).expect("a path within the package");
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    let schema = application.schema("d").expect("the schema");
    let Ok(pairs) = flatten(data) else { return };
    let Ok(request) = SearchRequest::new(pairs, &application.query_profiles) else { return };
    let documents = Documents::read(DocumentType::new(schema), DOCUMENTS.as_bytes(), &mut |_| {});
    let documents = documents.expect("documents of the schema");
    let loaded = Loaded::new(&files);
    let plan = |name: &str| RankPlan::new(&application, schema, name, &compiled["d"], &loaded, &models);
    let known: BTreeMap<&str, Arc<RankPlan>> =
        compiled["d"].iter().filter_map(|p| Some((p.name.as_str(), Arc::new(plan(&p.name).ok()?)))).collect();
    let plans = |schema: &str, name: &str| {
        known.get(name).cloned().ok_or_else(|| RankError::Profile {
            schema: schema.to_owned(),
            name: name.to_owned(),
            known: known.keys().copied().collect::<Vec<_>>().join(", "),
        })
    };
    let stored = |id: &str, field: &str| field_value(documents.view(), id, field);
    let searcher = Searcher { schema, view: documents.view(), cluster: "c", stored: &stored, plans: &plans };
    let result = search(&[searcher], &request, RankOptions { now: 0.0, seed: 1 }, &Serial);
    assert!(result.hits.len() <= 2 && result.total <= 2);
    let json = render(&result, Format::Json);
    let _valid: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let _cbor = render(&result, Format::Cbor);
});
