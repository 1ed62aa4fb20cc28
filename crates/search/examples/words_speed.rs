//! How long searches of words of two fields take: the best by one, by both, and by both with a look at all documents that have any.
//!
//!     cargo run --release -p stead-search --example words_speed -- [DOCUMENTS] [ROUNDS]
//!
//! Documents have titles of 5 words and bodies of 60, of a vocabulary in which the n-th word is as frequent as 1 / n. Prints a line of JSON for each query:
//! medians in milliseconds from the request to the result, on one thread.
#![allow(clippy::print_stdout)]

mod timed;

use std::error::Error;

use serde_json::json;
use stead_app::package::PackageFiles;
use stead_log::SeededRng;
use stead_store::FieldValue;
use timed::{Timed, arguments};

const SCHEMA: &str = "schema doc {
  document doc {
    field title type string { indexing: index\n stemming: none }
    field body type string { indexing: index\n stemming: none }
    field year type int { indexing: attribute }
  }
  rank-profile both { first-phase { expression: bm25(title) + bm25(body) } }
}";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='doc' mode='index'/></documents></content></services>";

/// The words that there are.
const WORDS: usize = 100_000;

/// Words of queries, by how frequent they are.
const QUERIES: [(&str, [usize; 3]); 3] = [
    ("frequent", [20, 50, 90]),
    ("of all kinds", [30, 700, 9_000]),
    ("rare", [3_000, 9_000, 20_000]),
];

/// A number of a word: `ln n` is uniform.
fn word(rng: &SeededRng) -> usize {
    let uniform = (rng.bits() >> 11) as f64 / (1_u64 << 53) as f64;
    (WORDS as f64).powf(uniform) as usize
}

fn main() -> Result<(), Box<dyn Error>> {
    let [count, rounds] = arguments([300_000, 21])?;
    let files = PackageFiles::from_texts([("schemas/doc.sd", SCHEMA), ("services.xml", SERVICES)])?;
    let mut timed = Timed::new(&files, "doc", &["both"])?;
    let (title, body) = (timed.field("title")?, timed.field("body")?);
    let rng = SeededRng::new(7);
    for document in 0..count {
        let text = |words: usize| {
            let words: Vec<String> = (0..words).map(|_| format!("w{}", word(&rng))).collect();
            FieldValue::Text(words.join(" "))
        };
        let fields = [(title, text(5)), (body, text(60))];
        timed.put(&format!("id:a:doc::{document}"), &fields)?;
    }
    timed.publish();
    for (name, words) in QUERIES {
        let of = |field: &str| words.map(|word| format!("{field} contains 'w{word}'")).join(", ");
        let (title, body) = (of("title"), of("body"));
        for (how, parts) in [
            ("body", body.clone()),
            ("title and body", format!("{title}, {body}")),
            ("title and body, all looked at", format!("{title}, {body}, year = 1")),
        ] {
            let yql = format!("select * from doc where ({{targetHits: 100}}weakAnd({parts}))");
            let parameters = [("yql", yql), ("ranking", "both".to_owned())];
            let (median, hits) = timed.search(&parameters, rounds)?;
            println!("{}", json!({"words": name, "of": how, "ms": median, "hits": hits}));
        }
    }
    Ok(())
}
