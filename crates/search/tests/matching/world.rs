//! The documents that are asked for, and their parents.

use std::cell::Cell;

use serde_json::Value as Json;
use stead_expr::{Cells, Labels, Value};
use stead_search::matching::Matcher;
use stead_search::query::{QueryTree, Searches, build};
use stead_search::yql::parse;
use stead_store::{Imports, View};

use crate::application::Asked;

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
    field parent type reference<g> { indexing: attribute }
  }
  import field parent.n as pn {}
  import field parent.t as pt {}
  import field parent.nums as pnums {}
}";

const PARENTS: &str = "schema g {
  document g {
    field n type int { indexing: attribute }
    field t type string { indexing: attribute }
    field nums type array<int> { indexing: attribute }
  }
}";

pub struct World {
    asked: Asked,
    /// How often an index answered for a block.
    pub indexed: Cell<u64>,
}

impl World {
    /// With `fast-search` for all attributes that can have it, or for none.
    pub fn new(is_fast: bool) -> World {
        let fast = |line: &str| match is_fast && !line.contains("tensor") {
            true => line
                .replace("indexing: attribute", "indexing: attribute\n attribute: fast-search\n"),
            false => line.to_owned(),
        };
        let [schema, parents] =
            [SCHEMA, PARENTS].map(|text| text.lines().map(fast).collect::<Vec<_>>().join("\n"));
        let asked = Asked::new(&[("g", true, &parents), ("d", false, &schema)]);
        assert_eq!(asked.kind("d").attributes().iter().any(|a| a.index.is_some()), is_fast);
        World { asked, indexed: Cell::new(0) }
    }

    /// Documents whose field `parent` may name one of some others by its number.
    pub fn view(&self, documents: &[Json], parents: &[Json]) -> View {
        let [documents, parents] = [("d", documents), ("g", parents)]
            .map(|(name, list)| self.asked.documents(name, list).view().clone());
        let kind = self.asked.kind("d");
        Imports::new(&kind).join(documents, |name| (name == "g").then(|| parents.clone()))
    }

    /// A question in YQL as a tree.
    pub fn tree(&self, filter: &str, vector: [f64; 2]) -> QueryTree {
        let statement = parse(&format!("select * from d where {filter}"));
        let statement = statement.unwrap_or_else(|error| panic!("{filter}: {error}"));
        let (schema, kind) = (self.asked.application.schema("d").unwrap(), self.asked.kind("d"));
        let mut tree = build(&statement, Searches::new(schema, &kind), &|_| None)
            .unwrap_or_else(|error| panic!("{filter}: {error}"));
        for neighbor in &mut tree.neighbors {
            let cells = Cells::from_numbers(neighbor.kind.cell(), &vector);
            let value = Value::new(neighbor.kind.clone(), Labels::default(), cells).unwrap();
            neighbor.vector = Some(value);
        }
        tree
    }

    /// The places of the documents that a question in YQL finds.
    pub fn found(&self, view: &View, filter: &str, vector: [f64; 2]) -> Vec<usize> {
        let tree = self.tree(filter, vector);
        let matcher = Matcher::new(&tree, view).unwrap();
        let matches = matcher.matches().unwrap();
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
