//! Random questions about random documents have the answers that looking at each document gives.
#![allow(clippy::unwrap_used)]

mod brute;
mod generate;

use std::cell::Cell;

use brute::Ask;
use generate::Chance;
use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{Cells, Labels, Value};
use stead_search::matching::Matcher;
use stead_search::query::{Searches, build};
use stead_search::yql::parse;
use stead_store::{DocumentType, Documents};

const SCHEMA: &str = "schema d {
  document d {
    struct person { field name type string {} field age type int {} }
    field n type int { indexing: attribute }
    field y type byte { indexing: attribute }
    field l type long { indexing: attribute }
    field x type double { indexing: attribute }
    field f type float { indexing: attribute }
    field b type bool { indexing: attribute }
    field t type string { indexing: attribute }
    field c type string {
      indexing: attribute
      match {
        cased
        substring
      }
    }
    field nums type array<int> { indexing: attribute }
    field tags type array<string> { indexing: attribute }
    field w type weightedset<string> { indexing: attribute }
    field people type array<person> {
      indexing: summary
      struct-field name { indexing: attribute }
      struct-field age { indexing: attribute }
    }
    field p type position { indexing: attribute }
    field v type tensor(x[2]) { indexing: attribute }
  }
}";

/// Questions for each set of documents.
const QUESTIONS: usize = 40;
const SETS: u64 = 50;

struct Asked {
    kind: DocumentType,
    application: Application,
    /// How often an index answered for a block.
    indexed: Cell<u64>,
}

impl Asked {
    /// With `fast-search` for all attributes, or for none.
    fn new(is_fast: bool) -> Asked {
        let fast =
            SCHEMA.replace("indexing: attribute", "indexing: attribute\n attribute: fast-search\n");
        let schema = if is_fast { &fast } else { SCHEMA };
        let files = PackageFiles::from_texts([("schemas/d.sd", schema)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        let kind = DocumentType::new(application.schema("d").unwrap());
        assert_eq!(kind.attributes().iter().any(|a| a.index.is_some()), is_fast);
        Asked { kind, application, indexed: Cell::new(0) }
    }

    fn documents(&self, list: &[Json]) -> Documents {
        let line = |(at, fields): (usize, &Json)| json!({"put": format!("id:d:d::{at}"), "fields": fields});
        let lines: Vec<String> = list.iter().enumerate().map(|d| line(d).to_string()).collect();
        Documents::read(self.kind.clone(), lines.join("\n").as_bytes(), &mut |_| {}).unwrap()
    }

    /// The places of the documents that a question in YQL finds.
    fn found(&self, documents: &Documents, filter: &str, vector: [f64; 2]) -> Vec<usize> {
        let statement = parse(&format!("select * from d where {filter}"));
        let statement = statement.unwrap_or_else(|error| panic!("{filter}: {error}"));
        let schema = self.application.schema("d").unwrap();
        let searches = Searches::new(schema, &self.kind);
        let mut tree = build(&statement, searches, &|_| None)
            .unwrap_or_else(|error| panic!("{filter}: {error}"));
        for neighbor in &mut tree.neighbors {
            let cells = Cells::from_numbers(neighbor.kind.cell(), &vector);
            let value = Value::new(neighbor.kind.clone(), Labels::default(), cells).unwrap();
            neighbor.vector = Some(value);
        }
        let view = documents.view();
        let matcher = Matcher::new(&tree, view).unwrap();
        let matches = matcher.matches();
        self.indexed.set(self.indexed.get() + indexed(&matcher.explain()));
        let blocks = matches.segments.iter().enumerate();
        let place = |(at, row)| view.lid(at, row) as usize;
        blocks.flat_map(|(at, rows)| rows.iter().map(move |row| (at, row))).map(place).collect()
    }
}

/// How often an index answered, as a trace tells it.
fn indexed(part: &Json) -> u64 {
    let parts = part["parts"].as_array().into_iter().flatten();
    part["indexed_blocks"].as_u64().unwrap_or(0) + parts.map(indexed).sum::<u64>()
}

/// The documents nearest to a vector among some, the first of those that are as near.
fn nearest(list: &[Json], among: &[usize], vector: [f64; 2], count: usize) -> Vec<usize> {
    let distance = |at: &usize| {
        let part = |i: usize| list[*at]["v"][i].as_f64().unwrap() - vector[i];
        part(0).powi(2) + part(1).powi(2)
    };
    // Who has no vector is near to nothing.
    let mut sorted: Vec<usize> =
        among.iter().copied().filter(|at| list[*at]["v"].is_array()).collect();
    sorted.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.cmp(b)));
    sorted.truncate(count);
    sorted
}

#[test]
fn every_question_has_the_answer_of_looking_at_each_document() {
    assert_eq!(every_question(false), 0);
}

#[test]
fn every_question_has_the_same_answer_with_indexes() {
    let indexed = every_question(true);
    assert!(indexed > SETS * QUESTIONS as u64 / 4, "indexes answered {indexed} times");
}

/// Returns how often an index answered.
fn every_question(is_fast: bool) -> u64 {
    let asked = Asked::new(is_fast);
    let (mut some, mut all) = (0, 0);
    for seed in 1..=SETS {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let count = 1 + chance.below(150);
        let list: Vec<Json> = (0..count).map(|_| chance.document()).collect();
        let documents = asked.documents(&list);
        for question in 0..QUESTIONS {
            let ask = chance.ask(3);
            let holds = |at: &usize| ask.holds(&list[*at], *at, &[]);
            let expected: Vec<usize> = (0..count).filter(holds).collect();
            let yql = ask.yql();
            let found = asked.found(&documents, &yql, [0.0; 2]);
            assert_eq!(found, expected, "seed {seed}, question {question}: {yql}");
            some += usize::from(!found.is_empty() && found.len() < count);
            all += 1;
        }
    }
    // Questions that everything or nothing answers would show little.
    assert!(some * 2 > all, "{some} of {all}");
    asked.indexed.get()
}

#[test]
fn the_test_that_leaves_the_fewest_rows_goes_first() {
    let asked = Asked::new(true);
    let list: Vec<Json> =
        (0..100).map(|n| json!({"l": n, "t": format!("t{}", n % 4), "x": n % 20})).collect();
    let documents = asked.documents(&list);
    let statement = parse("select * from d where t contains 't3' and x = 3 and l = 43").unwrap();
    let searches = Searches::new(asked.application.schema("d").unwrap(), &asked.kind);
    let tree = build(&statement, searches, &|_| None).unwrap();
    let explained = Matcher::new(&tree, documents.view()).unwrap().explain();
    let parts = explained["parts"].as_array().unwrap().iter();
    let parts: Vec<String> = parts
        .map(|part| {
            format!("{}: {} of {}", part["what"].as_str().unwrap(), part["found"], part["among"])
        })
        .collect();
    assert_eq!(parts, ["l = 43: 1 of 100", "x = 3: 1 of 1", "t = \"t3\": 1 of 1"]);
    assert_eq!(explained["parts"][0]["cost"], "an index");
}

#[test]
fn the_nearest_are_found_among_those_that_pass_the_rest() {
    for (asked, seed) in [false, true]
        .map(Asked::new)
        .iter()
        .flat_map(|asked| (1..=100_u64).map(move |seed| (asked, seed)))
    {
        let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let count = 1 + chance.below(150);
        let list: Vec<Json> = (0..count).map(|_| chance.document()).collect();
        let documents = asked.documents(&list);
        let vector = [chance.below(12) as f64 - 6.0, chance.below(12) as f64 - 6.0];
        let near = Ask::Nearest(1 + chance.below(20));
        let Ask::Nearest(hits) = near else { panic!() };
        let (filter, other) = (chance.ask(1), chance.ask(1));
        let pass = |ask: &Ask| -> Vec<usize> {
            (0..count).filter(|at| ask.holds(&list[*at], *at, &[])).collect()
        };
        let everywhere: Vec<usize> = (0..count).collect();
        let filtered = Ask::And(vec![filter.clone(), near.clone()]);
        let either = Ask::Or(vec![filter.clone(), near.clone()]);
        let within = Ask::And(vec![filter.clone(), Ask::Or(vec![other.clone(), near.clone()])]);
        for (ask, among) in [
            (near, everywhere.clone()),
            (filtered, pass(&filter)),
            (either, everywhere),
            (within, pass(&filter)),
        ] {
            let nearest = nearest(&list, &among, vector, hits);
            let expected: Vec<usize> =
                (0..count).filter(|at| ask.holds(&list[*at], *at, &nearest)).collect();
            let yql = ask.yql();
            assert_eq!(asked.found(&documents, &yql, vector), expected, "seed {seed}: {yql}");
        }
    }
}
