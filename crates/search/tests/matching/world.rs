//! The documents that are asked for, and their parents.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use stead_expr::{Cells, Labels, Value};
use stead_log::{LogOptions, SeededRng, SimIo};
use stead_search::matching::Matcher;
use stead_search::query::{QueryTree, Searches, build};
use stead_search::yql::parse;
use stead_store::{DocumentType, Documents, Imports, Operation, Store, StoreOptions, View};

use crate::application::Asked;
use crate::chance::Chance;

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
    field prices type map<string,int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
    }
    field body type string {
      indexing: index
      stemming: none
    }
    field notes type array<string> { indexing: index }
    field u type uri { indexing: index }
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
    is_paged: bool,
    /// Whether documents are read when they are searched.
    pub is_streamed: bool,
}

impl World {
    /// With `fast-search` for all attributes that can have it, or for none; all of them on disk, or none.
    pub fn new(is_fast: bool, is_paged: bool) -> World {
        let world = World::with(|| (is_fast, is_paged));
        let kind = world.asked.kind("d");
        assert_eq!(kind.attributes().iter().any(|a| a.index.is_some()), is_fast);
        assert_eq!(kind.attributes().iter().any(|a| a.is_paged), is_paged);
        world
    }

    /// With attributes that are each one of these by chance.
    pub fn mixed(chance: &mut Chance) -> World {
        World::with(|| (chance.below(2) == 0, chance.below(3) == 0))
    }

    /// Asks for each attribute whether it has `fast-search`, and whether it is on disk.
    fn with(of: impl FnMut() -> (bool, bool)) -> World {
        World::of(SCHEMA, of)
    }

    /// The same with the schema of the documents.
    fn of(schema: &str, mut of: impl FnMut() -> (bool, bool)) -> World {
        let mut set = |line: &str| {
            let (is_fast, is_paged) = of();
            let is_fast = is_fast && !line.contains("tensor");
            let words = [("fast-search", is_fast), ("paged", is_paged)];
            let words: Vec<&str> =
                words.iter().filter(|(_, is_set)| *is_set).map(|(word, _)| *word).collect();
            let settings = format!("indexing: attribute\n attribute {{ {} }}\n", words.join(" "));
            match words.is_empty() {
                true => line.to_owned(),
                false => line.replace("indexing: attribute", &settings),
            }
        };
        let [schema, parents] =
            [schema, PARENTS].map(|text| text.lines().map(&mut set).collect::<Vec<_>>().join("\n"));
        let asked = Asked::new(&[("g", true, &parents), ("d", false, &schema)]);
        let kinds = [asked.kind("d"), asked.kind("g")];
        let is_paged = kinds.iter().any(|kind| kind.attributes().iter().any(|a| a.is_paged));
        World { asked, indexed: Cell::new(0), is_paged, is_streamed: false }
    }

    /// With documents that are read when they are searched; those have no parents.
    pub fn streamed() -> World {
        // Words of streamed documents would be parts of those of `c` where they do not say so.
        let schema = SCHEMA.replace("        substring\n", "");
        World { is_streamed: true, ..World::of(&schema, || (false, false)) }
    }

    /// Documents whose field `parent` may name one of some others by its number.
    pub fn view(&self, documents: &[Json], parents: &[Json]) -> View {
        if self.is_streamed {
            return self.of_groups(documents);
        }
        let lists = [("d", documents), ("g", parents)];
        let [documents, parents] = match self.is_paged {
            false => lists.map(|(name, list)| self.asked.documents(name, list).view().clone()),
            true => self.stored(lists),
        };
        let kind = self.asked.kind("d");
        Imports::new(&kind).join(documents, |name| (name == "g").then(|| parents.clone()))
    }

    /// Streamed documents of a group, each behind another one of a second group.
    fn of_groups(&self, list: &[Json]) -> View {
        let kind = DocumentType::streamed(self.asked.application.schema("d").unwrap());
        let line = |(at, fields): (usize, &Json)| {
            let put = |group: &str, fields: &Json| {
                json!({"put": format!("id:m:d:g={group}:{at}"), "fields": fields}).to_string()
            };
            put("b", &list[(at + 1) % list.len()]) + &put("a", fields)
        };
        let lines: String = list.iter().enumerate().map(line).collect();
        let read = Documents::read(kind, lines.as_bytes(), &mut |_| {}).unwrap();
        read.view().clone()
    }

    /// Documents in a store that was closed and opened since: some are as they were then, others have changed, or have come.
    fn stored(&self, lists: [(&str, &[Json]); 2]) -> [View; 2] {
        let io = SimIo::new(1);
        let open = || {
            let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
            let log = LogOptions {
                segment_bytes: 1 << 20,
                max_record_bytes: 64 << 10,
                ..LogOptions::default()
            };
            let options = StoreOptions { log, page_bytes: 16 << 10, ..StoreOptions::default() };
            let types = lists.map(|(name, _)| self.asked.kind(name)).to_vec();
            Store::open(io, rng, types, options).unwrap()
        };
        let feed = |store: &Store, name: &str, json: &Json| {
            let operation = Operation::read(&self.asked.kind(name), json.to_string().as_bytes());
            store.feed(name, operation.unwrap(), |done| assert!(done.is_ok())).unwrap();
        };
        let put = |name: &str, at: usize, fields: &Json| json!({"put": format!("id:m:{name}::{at}"), "fields": fields});
        let store = open();
        for (name, list) in lists {
            // The last come later, and every third is another one at first.
            for (at, fields) in list.iter().enumerate().take(list.len() - list.len() / 4) {
                let fields = if at % 3 == 0 { &list[(at + 1) % list.len()] } else { fields };
                feed(&store, name, &put(name, at, fields));
            }
        }
        drop(store);
        let store = open();
        for (name, list) in lists {
            for (at, fields) in list.iter().enumerate() {
                if at % 3 == 0 || at >= list.len() - list.len() / 4 {
                    feed(&store, name, &put(name, at, fields));
                }
            }
            feed(&store, name, &put(name, list.len(), &json!({})));
            feed(&store, name, &json!({"remove": format!("id:m:{name}::{}", list.len())}));
            for at in (1..list.len()).step_by(7) {
                let fields: serde_json::Map<String, Json> = list[at]
                    .as_object()
                    .unwrap()
                    .iter()
                    .map(|(field, value)| (field.clone(), json!({"assign": value})))
                    .collect();
                feed(
                    &store,
                    name,
                    &json!({"update": format!("id:m:{name}::{at}"), "fields": fields}),
                );
            }
        }
        while store.operations_in_flight() > 0 {
            std::thread::yield_now();
        }
        lists.map(|(name, _)| store.reader(name).unwrap().view())
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
        if self.is_streamed {
            return self.found_of_group(view, filter);
        }
        let tree = self.tree(filter, vector);
        let matcher = Matcher::new(&tree, view).unwrap();
        let matches = matcher.matches().unwrap();
        self.indexed.set(self.indexed.get() + indexed(&matcher.explain()));
        let blocks = matches.segments.iter().enumerate();
        let place = |(at, row)| view.lid(at, row) as usize;
        blocks.flat_map(|(at, rows)| rows.iter().map(move |row| (at, row))).map(place).collect()
    }
}

impl World {
    /// The same of the streamed documents of a group, by a request.
    fn found_of_group(&self, view: &View, filter: &str) -> Vec<usize> {
        let body = json!({
            "yql": format!("select documentid from d where {filter}"), "hits": 400,
            "ranking": "unranked", "timeout": "100", "streaming.groupname": "a",
        });
        let (status, result) = self.asked.search(&[view], &body);
        assert_eq!(status, 200, "{filter}: {result}");
        let hits = result["root"]["children"].as_array().into_iter().flatten();
        let place = |hit: &Json| hit["id"].as_str()?.strip_prefix("id:m:d:g=a:")?.parse().ok();
        let mut found: Vec<usize> = hits.map(|hit| place(hit).unwrap()).collect();
        found.sort_unstable();
        found
    }
}

/// How often an index answered, as a trace tells it.
fn indexed(part: &Json) -> u64 {
    let parts = part["parts"].as_array().into_iter().flatten();
    part["indexed_blocks"].as_u64().unwrap_or(0) + parts.map(indexed).sum::<u64>()
}
