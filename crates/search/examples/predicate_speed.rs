//! How long it takes to find the advertisements whose predicates are true for a query, and to read each for comparison.
//!
//!     cargo run --release -p stead-search --example predicate_speed -- [MOST_DOCUMENTS] [ROUNDS]
//!
//! Prints a line of JSON for each query over 100,000 and 1,000,000 advertisements, as many as are wanted. Times are medians in milliseconds
//! from the request to the result, on one thread; those of reading are of the predicates alone.
#![allow(clippy::print_stdout)]

mod timed;

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use serde_json::json;
use stead_app::package::PackageFiles;
use stead_search::query::PredicateQuery;
use stead_store::FieldValue;
use timed::{Timed, arguments};

const SCHEMA: &str = "schema ad {
  document ad {
    field target type predicate {
      indexing: attribute
      index {
        arity: 8
        lower-bound: 0
        upper-bound: 150
      }
    }
    field paid type int { indexing: attribute }
  }
}";

const SERVICES: &str = "<services version='1.0'><content id='c' version='1.0'><redundancy>1</redundancy>\
    <documents><document type='ad' mode='index'/></documents></content></services>";

/// A xorshift generator (Marsaglia, 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// One of `end` numbers, the first the most often.
    fn skewed(&mut self, end: u64) -> u64 {
        let widest = self.below(end) + 1;
        self.below(widest)
    }

    /// What an advertiser asks for: people of some countries and ages, of some a gender, interests or a town, some others excluded.
    fn target(&mut self) -> String {
        let countries: Vec<String> =
            (0..=self.below(3)).map(|_| format!("c{}", self.skewed(100))).collect();
        let from = 18 + self.below(40);
        let mut text = format!(
            "country in [{}] and age in [{from}..{}]",
            countries.join(", "),
            from + 5 + self.below(25)
        );
        if self.below(3) == 0 {
            text += [" and gender in [female]", " and gender in [male]"][self.below(2) as usize];
        }
        match self.below(10) {
            0..=4 => {
                let interests: Vec<String> =
                    (0..=self.below(4)).map(|_| format!("i{}", self.skewed(500))).collect();
                text += &format!(" and interest in [{}]", interests.join(", "));
            }
            5 => text += &format!(" and (town in [t{}] or language not in [l1])", self.below(5000)),
            6 => text += &format!(" and hour in [{}..]", self.below(24)),
            _ => {}
        }
        // One of a hundred has conditions that only exclude.
        match self.below(100) {
            0 => format!("age not in [..17] and interest not in [i{}]", self.below(500)),
            _ => text,
        }
    }
}

/// Names, values and numbers of queries, and what else they ask.
const QUERIES: [(&str, &[(&str, &str)], &[(&str, i64)], &str); 4] = [
    (
        "a common country",
        &[("country", "c1"), ("gender", "female")],
        &[("age", 30), ("hour", 12)],
        "",
    ),
    ("a rare country", &[("country", "c90"), ("gender", "male")], &[("age", 45), ("hour", 20)], ""),
    (
        "a common country and ten interests",
        &[
            ("country", "c1"),
            ("gender", "female"),
            ("language", "l2"),
            ("interest", "i3"),
            ("interest", "i9"),
            ("interest", "i27"),
            ("interest", "i81"),
            ("interest", "i143"),
            ("interest", "i200"),
            ("interest", "i300"),
            ("interest", "i350"),
            ("interest", "i400"),
            ("interest", "i450"),
        ],
        &[("age", 30), ("hour", 12)],
        "",
    ),
    (
        "a common country, 10 % that paid",
        &[("country", "c1"), ("gender", "female")],
        &[("age", 30), ("hour", 12)],
        " and paid < 10",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let [most, rounds] = arguments([1_000_000, 11])?;
    let files = PackageFiles::from_texts([("schemas/ad.sd", SCHEMA), ("services.xml", SERVICES)])?;
    let mut timed = Timed::new(&files, "ad", &["unranked"])?;
    let (target, paid) = (timed.field("target")?, timed.field("paid")?);
    let (mut chance, mut texts) = (Chance(7), Vec::new());
    for documents in [100_000, 1_000_000].map(|n: usize| n.min(most)) {
        while texts.len() < documents {
            let text = chance.target();
            let fields = [
                (target, FieldValue::Text(text.clone())),
                (paid, FieldValue::Integer(chance.below(100) as i64)),
            ];
            timed.put(&format!("id:a:ad::{}", texts.len()), &fields)?;
            texts.push(text);
        }
        timed.publish();
        let before = timed.memory();
        for (at, (name, values, numbers, also)) in QUERIES.into_iter().enumerate() {
            let mut query = PredicateQuery::within((0, 150));
            values.iter().for_each(|(name, value)| query.add_value(name, value, u64::MAX));
            for (name, number) in numbers {
                query.add_number(name, *number, u64::MAX);
            }
            let quoted: Vec<String> = values.iter().map(|(n, v)| format!("'{n}': '{v}'")).collect();
            let plain: Vec<String> = numbers.iter().map(|(n, v)| format!("'{n}': {v}")).collect();
            let (quoted, plain) = (quoted.join(", "), plain.join(", "));
            let yql = format!(
                "select * from ad where predicate(target, {{{quoted}}}, {{{plain}}}){also}"
            );
            let parameters = [("yql", yql), ("ranking", "unranked".to_owned())];
            if at == 0 {
                let (first, _) = timed.search(&parameters, 1)?;
                println!(
                    "{}",
                    json!({"documents": documents, "first_search_ms": first, "bytes": before, "bytes_with_index": timed.memory()})
                );
            }
            let (ms, hits) = timed.search(&parameters, rounds)?;
            let mut times: Vec<f64> = (0..rounds.min(3))
                .map(|_| {
                    let begin = Instant::now();
                    black_box(texts.iter().filter(|text| query.matching(text) != 0).count());
                    begin.elapsed().as_secs_f64() * 1000.0
                })
                .collect();
            times.sort_by(f64::total_cmp);
            let each = times.get(times.len() / 2).copied().unwrap_or_default();
            println!(
                "{}",
                json!({"query": name, "documents": documents, "hits": hits, "ms": ms, "ms_reading_each": each})
            );
        }
    }
    Ok(())
}
