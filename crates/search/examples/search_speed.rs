//! How long searches take: filters over columns, ranking of what they leave, order by an attribute, the nearest vectors.
//!
//!     cargo run --release -p stead-search --example search_speed -- [DOCUMENTS] [ROUNDS]
//!
//! Prints a line of JSON for each query; times are medians in milliseconds from the request to the result, on one thread.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, Value, parse_type};
use stead_search::RankPlan;
use stead_search::Serial;
use stead_search::models::Loaded;
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest};
use stead_search::result::render;
use stead_search::run::{Searcher, search};
use stead_store::{Collection, DocumentType, FieldValue};

const SCHEMA: &str = "schema doc {
  document doc {
    field year type int { indexing: attribute | summary }
    field price type double { indexing: attribute }
    field genre type string { indexing: attribute | summary }
    field vector type tensor<float>(x[64]) { indexing: attribute }
  }
  rank-profile vectors {
    inputs { query(v) tensor<float>(x[64]) }
    first-phase { expression: sum(query(v) * attribute(vector)) }
  }
  rank-profile close { first-phase { expression: closeness(field,vector) } }
}";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='doc' mode='index'/></documents></content></services>";

/// Names, filters and profiles.
const QUERIES: [(&str, &str, &str); 8] = [
    ("range of whole numbers, 10 %", "year >= 90", "unranked"),
    ("two ranges, 1 %", "year >= 90 and price < 0.1", "unranked"),
    ("range, ordered by a number", "year >= 90 order by price", "unranked"),
    ("a text, 1 %", "genre contains 'g7'", "unranked"),
    ("a range, then a text", "year = 90 and genre contains 'g7'", "unranked"),
    ("all ranked by a product of 64", "true", "vectors"),
    ("1 % ranked by a product of 64", "year = 90", "vectors"),
    ("the 100 nearest of 64 dimensions", "({targetHits: 100}nearestNeighbor(vector, v))", "close"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let count = numbers.next().transpose()?.unwrap_or(1_000_000);
    let rounds = numbers.next().transpose()?.unwrap_or(11);

    let files = PackageFiles::from_texts([("schemas/doc.sd", SCHEMA), ("services.xml", SERVICES)])?;
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    let schema = application.schema("doc").ok_or("the schema")?;
    let loaded = Loaded::new(&files);
    let plan = |name: &str| {
        RankPlan::new(&application, schema, name, &compiled["doc"], &loaded, &models).map(Arc::new)
    };
    let known =
        [("unranked", plan("unranked")?), ("vectors", plan("vectors")?), ("close", plan("close")?)];
    let plans = |_: &str, name: &str| {
        let found = known.iter().find(|(n, _)| *n == name).map(|(_, plan)| plan.clone());
        found.ok_or_else(|| RankError::Query(format!("no profile {name}")))
    };

    let kind = DocumentType::new(schema);
    let field = |name: &str| kind.field(name).map(|(at, _)| at).ok_or("a field");
    let (year, price, genre, vector) =
        (field("year")?, field("price")?, field("genre")?, field("vector")?);
    let tensor = parse_type("tensor<float>(x[64])")?;
    let mut collection = Collection::new(kind.clone());
    for n in 0..count {
        let cells: Vec<f64> = (0..64).map(|i| ((n * 31 + i * 17) % 101) as f64 / 101.0).collect();
        let cells = Cells::from_numbers(tensor.cell(), &cells);
        let fields = [
            (year, FieldValue::Integer((n % 100) as i64)),
            (price, FieldValue::Number((n * 7 % 1000) as f64 / 1000.0)),
            (genre, FieldValue::Text(format!("g{}", n * 13 % 97))),
            (vector, FieldValue::Tensor(Value::new(tensor.clone(), Labels::default(), cells)?)),
        ];
        collection.put(&format!("id:d:doc::{n}"), &fields)?;
    }
    collection.publish();
    let view = collection.view();
    let searcher =
        Searcher { schema, view: &view, cluster: "c", stored: &|_, _| None, plans: &plans };
    let user: Vec<f64> = (0..64).map(|i| f64::from(i % 5)).collect();
    for (name, filter, profile) in QUERIES {
        let pairs = [
            ("yql", format!("select * from doc where {filter}")),
            ("ranking", profile.to_owned()),
            ("input.query(v)", json!(user).to_string()),
            ("timeout", "100".to_owned()),
        ];
        let mut times = Vec::new();
        let mut total = 0;
        for _ in 0..rounds {
            let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
            let begin = Instant::now();
            let request = SearchRequest::new(pairs, &application.query_profiles)?;
            let result = search(&[searcher], &request, RankOptions { now: 0.0, seed: 1 }, &Serial);
            black_box(render(&result, Format::Json));
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
            total = result.total;
            if let Some(error) = result.errors.first() {
                return Err(error.to_string().into());
            }
        }
        times.sort_by(f64::total_cmp);
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!("{}", json!({"query": name, "documents": count, "hits": total, "ms": median}));
    }
    Ok(())
}
