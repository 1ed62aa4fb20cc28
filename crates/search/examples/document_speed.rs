//! How long a search takes against the number of documents that are ranked, and of those that are reranked: the profiles of
//! `examples/blog-recommendation` over posts by chance, in this process, on one thread.
//!
//!     cargo run --release -p stead-search --example document_speed -- [MOST_DOCUMENTS] [ROUNDS]
//!
//! Prints a line of JSON for each number; times are medians in milliseconds from the request to the result.
#![allow(clippy::print_stdout)]

mod timed;

use std::error::Error;
use std::path::Path;

use serde_json::json;
use stead_app::package::PackageFiles;
use stead_expr::parse_type;
use stead_store::FieldValue;
use timed::{Timed, arguments, tensor};

/// Documents of the measurement of reranking.
const RERANKED_OF: usize = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let [most, rounds] = arguments([1_000_000, 15])?;
    let example = "../../examples/blog-recommendation/app";
    let files = PackageFiles::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(example))?;
    let mut timed = Timed::new(&files, "post", &["nearest", "recommend"])?;
    let (title, embedding) = (timed.field("title")?, timed.field("embedding")?);
    let kind = parse_type("tensor<float>(d0[1],d1[128])")?;
    let vector = |n: usize| -> Vec<f64> {
        (0..128).map(|i| ((n * 31 + i * 17 + n * i) % 101) as f64 / 101.0 - 0.5).collect()
    };
    let mut count = 0;
    let mut measure = |upto: usize, profile: &str, reranked: usize| -> Result<(), Box<dyn Error>> {
        for n in count..upto {
            let fields = [
                (title, FieldValue::Text(format!("post {n}"))),
                (embedding, tensor(&kind, &vector(n))?),
            ];
            timed.put(&format!("id:blog:post::{n}"), &fields)?;
        }
        count = count.max(upto);
        timed.publish();
        let parameters = [
            ("yql", "select title from post where true".to_owned()),
            ("ranking", profile.to_owned()),
            ("ranking.rerankCount", reranked.to_string()),
            ("input.query(user_profile)", json!([vector(7)]).to_string()),
        ];
        let (ms, _) = timed.search(&parameters, rounds)?;
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
