//! How long searches of streamed documents take: those of one group, which are read and indexed when somebody asks.
//!
//!     cargo run --release -p stead-search --example streaming_speed -- [DOCUMENTS] [ROUNDS]
//!
//! Prints a line of JSON for each query: the median of its times in milliseconds from the request to the result, on one thread.
#![allow(clippy::print_stdout)]

mod timed;

use std::error::Error;

use serde_json::json;
use stead_app::package::PackageFiles;
use stead_store::FieldValue;
use timed::{Timed, arguments};

const SCHEMA: &str = "schema mail {
  document mail {
    field subject type string { indexing: index | summary }
    field body type string { indexing: index | summary }
    field sender type string { indexing: index | summary }
    field notes type string { indexing: index | summary }
    field quoted type string { indexing: index | summary }
    field year type int { indexing: attribute | summary }
  }
  rank-profile words { first-phase { expression: bm25(subject) } }
}";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='mail' mode='streaming'/></documents></content></services>";

/// Names, filters and profiles.
const QUERIES: [(&str, &str, &str); 3] = [
    ("a word of one field", "subject contains 'w7'", "words"),
    ("a word of two fields", "subject contains 'w7' or body contains 'w7'", "words"),
    ("a number", "year = 7", "unranked"),
];

/// Fields of text, with how many words each has.
const TEXTS: [(&str, usize); 5] =
    [("subject", 8), ("body", 120), ("sender", 4), ("notes", 40), ("quoted", 80)];

fn main() -> Result<(), Box<dyn Error>> {
    let [documents, rounds] = arguments([2000, 9])?;
    let files = [("services.xml", SERVICES), ("schemas/mail.sd", SCHEMA)];
    let files = PackageFiles::from_texts(files)?;
    let mut timed = Timed::new(&files, "mail", &["words", "unranked"])?;
    for at in 0..documents {
        let mut fields = Vec::new();
        for (name, count) in TEXTS {
            let words = (0..count).map(|word| format!("w{}", (at * 31 + word * 17) % 997));
            let text = words.collect::<Vec<_>>().join(" ");
            fields.push((timed.field(name)?, FieldValue::Text(text)));
        }
        fields.push((timed.field("year")?, FieldValue::Integer((at % 100) as i64)));
        timed.put(&format!("id:m:mail:g=ann:{at}"), &fields)?;
    }
    timed.publish();
    for (name, filter, profile) in QUERIES {
        let parameters = [
            ("yql", format!("select * from mail where {filter}")),
            ("ranking", profile.to_owned()),
            ("streaming.groupname", "ann".to_owned()),
        ];
        let (milliseconds, hits) = timed.search(&parameters, rounds)?;
        let milliseconds = (milliseconds * 100.0).round() / 100.0;
        println!("{}", json!({"query": name, "milliseconds": milliseconds, "hits": hits}));
    }
    Ok(())
}
