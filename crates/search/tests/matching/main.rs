//! Random questions about random documents have the answers that looking at each document gives.
#![allow(clippy::unwrap_used)]

mod brute;
mod generate;

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
}

impl Asked {
    fn new() -> Asked {
        let files = PackageFiles::from_texts([("schemas/d.sd", SCHEMA)]).unwrap();
        let (application, _) = Application::read(&files, ServicesOptions::default());
        Asked { kind: DocumentType::new(application.schema("d").unwrap()), application }
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
        let matches = Matcher::new(&tree, view).unwrap().matches();
        let blocks = matches.segments.iter().enumerate();
        let place = |(at, row)| view.lid(at, row) as usize;
        blocks.flat_map(|(at, rows)| rows.iter().map(move |row| (at, row))).map(place).collect()
    }
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
    let asked = Asked::new();
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
}

#[test]
fn the_nearest_are_found_among_those_that_pass_the_rest() {
    let asked = Asked::new();
    for seed in 1..=100_u64 {
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
