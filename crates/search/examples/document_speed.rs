//! How long a search takes against the number of documents that are ranked, and of those that are reranked: the profiles of
//! `examples/blog-recommendation` over posts by chance, in this process, on one thread.
//!
//!     cargo run --release -p stead-search --example document_speed -- [MOST_DOCUMENTS] [ROUNDS]
//!
//! Prints a line of JSON for each number; times are medians in milliseconds from the request to the result.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
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
use stead_search::models::{Loaded, Probe};
use stead_search::rank::{RankError, RankOptions};
use stead_search::request::{Format, SearchRequest};
use stead_search::result::render;
use stead_search::run::{Searcher, search};
use stead_store::{Collection, DocumentType, FieldValue};

/// Documents of the measurement of reranking.
const RERANKED_OF: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let most = numbers.next().transpose()?.unwrap_or(1_000_000);
    let rounds = numbers.next().transpose()?.unwrap_or(15);

    let example = "../../examples/blog-recommendation/app";
    let files = PackageFiles::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(example))?;
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files).with_probe(&Probe);
    let compiled = application.compile(&models, &mut report);
    let schema = application.schema("post").ok_or("the schema")?;
    let loaded = Loaded::new(&files);
    let plan = |name: &str| {
        let of = &compiled["post"];
        RankPlan::new(&application, schema, name, of, &loaded, &models).map(Arc::new)
    };
    let (nearest, recommend) = (plan("nearest")?, plan("recommend")?);
    let plans = |_: &str, name: &str| match name {
        "nearest" => Ok(nearest.clone()),
        "recommend" => Ok(recommend.clone()),
        _ => Err(RankError::Query(format!("no profile {name}"))),
    };

    let kind = DocumentType::new(schema);
    let field = |name: &str| kind.field(name).map(|(at, _)| at).ok_or("a field");
    let (title, embedding) = (field("title")?, field("embedding")?);
    let tensor = parse_type("tensor<float>(d0[1],d1[128])")?;
    let vector = |n: usize| -> Vec<f64> {
        (0..128).map(|i| ((n * 31 + i * 17 + n * i) % 101) as f64 / 101.0 - 0.5).collect()
    };
    let mut collection = Collection::new(kind.clone());
    let mut count = 0;
    let mut measure = |upto: usize, profile: &str, reranked: usize| -> Result<(), Box<dyn Error>> {
        for n in count..upto {
            let cells = Cells::from_numbers(tensor.cell(), &vector(n));
            let vector = Value::new(tensor.clone(), Labels::default(), cells)?;
            let fields = [
                (title, FieldValue::Text(format!("post {n}"))),
                (embedding, FieldValue::Tensor(vector)),
            ];
            collection.put(&format!("id:blog:post::{n}"), &fields)?;
        }
        count = count.max(upto);
        collection.publish();
        let view = collection.view();
        let searcher =
            Searcher { schema, view: &view, cluster: "c", stored: &|_, _| None, plans: &plans };
        let pairs = [
            ("yql", "select title from post where true".to_owned()),
            ("ranking", profile.to_owned()),
            ("ranking.rerankCount", reranked.to_string()),
            ("input.query(user_profile)", json!([vector(7)]).to_string()),
            ("timeout", "100".to_owned()),
        ];
        let mut times = Vec::new();
        for _ in 0..rounds {
            let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
            let begin = Instant::now();
            let request = SearchRequest::new(pairs, &application.query_profiles)?;
            let result = search(&[searcher], &request, RankOptions { now: 0.0, seed: 1 }, &Serial);
            black_box(render(&result, Format::Json));
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
            if let Some(error) = result.errors.first() {
                return Err(error.to_string().into());
            }
        }
        times.sort_by(f64::total_cmp);
        let ms = times.get(times.len() / 2).copied().unwrap_or_default();
        let reranked = if profile == "nearest" { 0 } else { reranked };
        println!("{}", json!({"documents": upto, "reranked": reranked, "ms": ms}));
        Ok(())
    };
    let sizes = [100, 300, 1_000, 3_000, 10_000];
    for documents in sizes.into_iter().filter(|n| *n <= most) {
        measure(documents, "nearest", 0)?;
    }
    for reranked in [10, 30, 100, 200, 300, 500, 1000] {
        measure(RERANKED_OF, "recommend", reranked)?;
    }
    for documents in [30_000, 100_000, 300_000, 1_000_000].into_iter().filter(|n| *n <= most) {
        measure(documents, "nearest", 0)?;
    }
    Ok(())
}
