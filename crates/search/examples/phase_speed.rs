//! How long the first phase takes over documents where they lie: an expression of numbers, and a product of vectors.
//!
//!     cargo run --release -p stead-search --example phase_speed -- [DOCUMENTS] [ROUNDS]
//!
//! Prints a line of JSON for each profile; times are medians in milliseconds for a whole query with its best 10 hits.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::hint::black_box;
use std::io::{self, BufReader, Read};
use std::time::Instant;

use serde_json::json;
use stead_app::application::Application;
use stead_app::application::rank::PackageModels;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::models::Loaded;
use stead_search::rank::RankOptions;
use stead_search::{RankPlan, RankQuery};
use stead_store::Documents;

const SCHEMA: &str = "schema doc {
  document doc {
    field year type int { indexing: attribute }
    field weight type double { indexing: attribute }
    field vector type tensor<float>(x[32]) { indexing: attribute }
  }
  rank-profile numbers {
    first-phase { expression: attribute(weight) * 2 + attribute(year) }
  }
  rank-profile vectors {
    inputs { query(v) tensor<float>(x[32]) }
    first-phase { expression: sum(query(v) * attribute(vector)) }
  }
}";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='doc' mode='index'/></documents></content></services>";

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let count = numbers.next().transpose()?.unwrap_or(1_000_000);
    let rounds = numbers.next().transpose()?.unwrap_or(21);

    let texts = [("schemas/doc.sd", SCHEMA), ("services.xml", SERVICES)];
    let files = PackageFiles::from_texts(texts)?;
    let (application, mut report) = Application::read(&files, ServicesOptions::default());
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    let schema = application.schema("doc").ok_or("the schema")?;
    let loaded = Loaded::new(&files);
    let plan = |profile: &str| {
        RankPlan::new(&application, schema, profile, &compiled["doc"], &loaded, &models)
    };
    let plans = [plan("numbers")?, plan("vectors")?];

    let lines = BufReader::with_capacity(1 << 16, Lines::new(count));
    let documents = Documents::read(plans[0].documents().clone(), lines, &mut |_| {})?;
    let query = json!({"input.query(v)": (0..32).map(|i| i % 5).collect::<Vec<_>>()});
    let query = RankQuery::from_json(&query)?;
    let options = RankOptions { now: 0.0, seed: 1 };
    for plan in &plans {
        let mut times = Vec::new();
        for _ in 0..rounds {
            let begin = Instant::now();
            black_box(plan.rank(&query, documents.view(), options, 10)?);
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        let (profile, median) = (plan.profile(), times[times.len() / 2]);
        println!(
            "{{\"profile\": \"{profile}\", \"documents\": {count}, \"rank_ms\": {median:.3}}}"
        );
    }
    Ok(())
}

/// Documents as lines of JSON, made while they are read.
struct Lines {
    next: usize,
    count: usize,
    line: Vec<u8>,
}

impl Lines {
    fn new(count: usize) -> Lines {
        Lines { next: 0, count, line: Vec::new() }
    }
}

impl Read for Lines {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.line.is_empty() && self.next < self.count {
            let (at, digits) = (self.next, (0..32).map(|i| (self.next + i) % 7));
            let vector: Vec<usize> = digits.collect();
            let (id, year) = (format!("id:n:doc::{at}"), 1950 + at % 70);
            let fields = json!({"year": year, "weight": at % 13, "vector": vector});
            self.line = format!("{}\n", json!({"put": id, "fields": fields})).into_bytes();
            self.next += 1;
        }
        let taken = self.line.len().min(out.len());
        out[..taken].copy_from_slice(&self.line[..taken]);
        self.line.drain(..taken);
        Ok(taken)
    }
}
