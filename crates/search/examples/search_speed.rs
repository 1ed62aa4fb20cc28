//! How long searches take: filters over columns and by indexes, ranking of what they leave, order by an attribute, the nearest vectors.
//!
//!     cargo run --release -p stead-search --example search_speed -- [DOCUMENTS] [ROUNDS] [PART OF THE NAME OF A QUERY]
//!
//! Prints lines of JSON, first for attributes without `fast-search` and then for the same with it: how long putting the documents
//! took (while a search came for each 10,000 of them) and what memory they take, then each query. Times of queries are medians in milliseconds from the request
//! to the result, on one thread.
#![allow(clippy::print_stdout)]

mod timed;

use std::error::Error;
use std::time::Instant;

use serde_json::json;
use stead_app::package::PackageFiles;
use stead_expr::parse_type;
use stead_store::FieldValue;
use timed::{Timed, arguments, tensor};

const SCHEMA: &str = "schema doc {
  document doc {
    field year type int { indexing: attribute | summary }
    field price type double { indexing: attribute }
    field genre type string { indexing: attribute | summary }
    field maker type int { indexing: attribute }
    field tags type array<string> { indexing: attribute }
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

/// Documents between two searches while they are put.
const BETWEEN: usize = 10_000;

/// Names, filters and profiles.
const QUERIES: [(&str, &str, &str); 15] = [
    ("range of whole numbers, 10 %", "year >= 90", "unranked"),
    ("two ranges, 1 %", "year >= 90 and price < 0.1", "unranked"),
    ("range, ordered by a number", "year >= 90 order by price", "unranked"),
    ("range, ordered by a text", "year >= 90 order by {function: 'raw'}genre", "unranked"),
    (
        "range, ordered by a text in its language",
        "year >= 90 order by {function: 'uca', locale: 'en_US'}genre",
        "unranked",
    ),
    ("a number, 0.1 %", "maker = 77", "unranked"),
    ("five numbers, 0.5 %", "maker in (7, 77, 177, 277, 377)", "unranked"),
    ("a text, 1 %", "genre contains 'g7'", "unranked"),
    ("an element, 0.1 %", "tags contains 't77'", "unranked"),
    ("a range, then a text", "year = 90 and genre contains 'g7'", "unranked"),
    ("all ranked by a product of 64", "true", "vectors"),
    ("1 % ranked by a product of 64", "year = 90", "vectors"),
    ("0.1 % ranked by a product of 64", "maker = 77", "vectors"),
    ("the 100 nearest of 64 dimensions", "({targetHits: 100}nearestNeighbor(vector, v))", "close"),
    (
        "the 100 nearest among 0.1 %",
        "maker = 77 and ({targetHits: 100}nearestNeighbor(vector, v))",
        "close",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let [count, rounds] = arguments([1_000_000, 11])?;
    for is_fast in [false, true] {
        let fast = |line: &str| match is_fast && !line.contains("tensor") {
            true => line.replace("{ indexing", "{\n attribute: fast-search\n indexing"),
            false => line.to_owned(),
        };
        let schema: Vec<String> = SCHEMA.lines().map(fast).collect();
        run(&schema.join("\n"), is_fast, count, rounds)?;
    }
    Ok(())
}

fn run(schema: &str, is_fast: bool, count: usize, rounds: usize) -> Result<(), Box<dyn Error>> {
    let files = PackageFiles::from_texts([("schemas/doc.sd", schema), ("services.xml", SERVICES)])?;
    let mut timed = Timed::new(&files, "doc", &["unranked", "vectors", "close"])?;
    let names = ["year", "price", "genre", "maker", "tags", "vector"];
    let mut fields = [0; 6];
    for (field, name) in fields.iter_mut().zip(names) {
        *field = timed.field(name)?;
    }
    let [year, price, genre, maker, tags, vector] = fields;
    let kind = parse_type("tensor<float>(x[64])")?;
    let user: Vec<f64> = (0..64).map(|i| f64::from(i % 5)).collect();
    let parameters = |filter: &str, profile: &str| {
        [
            ("yql", format!("select * from doc where {filter}")),
            ("ranking", profile.to_owned()),
            ("input.query(v)", json!(user).to_string()),
        ]
    };
    let (begin, mut searching) = (Instant::now(), 0.0);
    for n in 0..count {
        let cells: Vec<f64> = (0..64).map(|i| ((n * 31 + i * 17) % 101) as f64 / 101.0).collect();
        let tag = |n: usize| FieldValue::Text(format!("t{}", n % 2000));
        timed.put(
            &format!("id:d:doc::{n}"),
            &[
                (year, FieldValue::Integer((n % 100) as i64)),
                (price, FieldValue::Number((n * 7 % 1000) as f64 / 1000.0)),
                (genre, FieldValue::Text(format!("g{}", n * 13 % 97))),
                (maker, FieldValue::Integer((n * 7919 % 1000) as i64)),
                (tags, FieldValue::Array(vec![tag(n * 17), tag(n * 29 + 1)])),
                (vector, tensor(&kind, &cells)?),
            ],
        )?;
        if n % BETWEEN == 0 {
            timed.publish();
            let from = Instant::now();
            timed.search(&parameters("maker = 77 and genre contains 'g7'", "unranked"), 1)?;
            searching += from.elapsed().as_secs_f64();
        }
    }
    timed.publish();
    let seconds = begin.elapsed().as_secs_f64();
    let before = timed.memory();
    let (first, _) =
        timed.search(&parameters("maker = 77 and genre contains 'g7'", "unranked"), 1)?;
    let wanted = std::env::args().nth(3).unwrap_or_default();
    for (name, filter, profile) in QUERIES.into_iter().filter(|(name, ..)| name.contains(&wanted)) {
        let (ms, hits) = timed.search(&parameters(filter, profile), rounds)?;
        println!(
            "{}",
            json!({"query": name, "fast_search": is_fast, "documents": count, "hits": hits, "ms": ms})
        );
    }
    println!(
        "{}",
        json!({"fast_search": is_fast, "documents": count, "put_seconds": seconds - searching,
            "search_seconds": searching, "first_search_ms": first, "bytes": before, "bytes_with_indexes": timed.memory()})
    );
    Ok(())
}
