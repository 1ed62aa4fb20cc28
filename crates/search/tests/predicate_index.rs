//! Predicates found by an index: the same as by reading each, of which only those are read that may be true.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};
use stead_log::{SeededRng, SimIo};
use stead_search::matching::Matcher;
use stead_search::query::{QueryTree, Searches, Test, build};
use stead_search::yql::parse;
use stead_store::{Operation, Store, StoreOptions, View};

use crate::asked::Asked;
use crate::chance::{Chance, Repro, seeds};

/// The vector, of which no document has one, makes blocks small.
const SCHEMA: &str = "schema ad {
  document ad {
    field target type predicate {
      indexing: attribute
      index { arity: 2 BOUNDS }
    }
    field n type int { indexing: attribute }
    field v type tensor<int8>(x[512]) { indexing: attribute }
  }
}";

/// Ads on a disk.
struct Ads {
    asked: Asked,
    io: SimIo,
}

impl Ads {
    fn new(bounds: &str) -> Ads {
        let schema = SCHEMA.replace("BOUNDS", bounds);
        Ads { asked: Asked::new(&[("ad", false, &schema)]), io: SimIo::new(1) }
    }

    fn open(&self) -> Store {
        let (io, rng) = (Arc::new(self.io.clone()), Arc::new(SeededRng::new(1)));
        Store::open(io, rng, vec![self.asked.kind("ad")], StoreOptions::default()).unwrap()
    }

    fn feed(&self, store: &Store, json: &Json) {
        let operation = Operation::read(&self.asked.kind("ad"), json.to_string().as_bytes());
        store.feed("ad", operation.unwrap(), |outcome| assert!(outcome.is_ok())).unwrap();
    }

    fn put(&self, store: &Store, at: usize, target: Option<&str>) {
        let fields = json!({"n": at, "target": target});
        self.feed(store, &json!({"put": format!("id:m:ad::{at}"), "fields": fields}));
    }

    fn tree(&self, filter: &str) -> QueryTree {
        let statement = parse(&format!("select * from ad where {filter}")).unwrap();
        let kind = self.asked.kind("ad");
        let schema = self.asked.application.schema("ad").unwrap();
        build(&statement, Searches::new(schema, &kind), &|_| None)
            .unwrap_or_else(|error| panic!("{filter}: {error}"))
    }
}

/// The documents, when all operations are done.
fn view(store: &Store) -> View {
    while store.operations_in_flight() > 0 {
        std::thread::yield_now();
    }
    store.reader("ad").unwrap().view()
}

/// The numbers of the documents that are found, and how many predicates an index left to be read; nothing if all were.
fn found(tree: &QueryTree, view: &View) -> (Vec<usize>, Option<u64>) {
    let matcher = Matcher::new(tree, view).unwrap();
    let blocks = matcher.matches().unwrap().segments;
    let number = |(block, row)| {
        let id = view.id(view.lid(block, row)).unwrap();
        id.rsplit(':').next().unwrap().parse().unwrap()
    };
    let rows = blocks.iter().enumerate();
    let rows = rows.flat_map(|(block, rows)| rows.iter().map(move |row| (block, row)));
    let mut found: Vec<usize> = rows.map(number).collect();
    found.sort_unstable();
    (found, looked_at(&matcher.explain()))
}

/// How many predicates the index left to be read, as a trace tells it.
fn looked_at(part: &Json) -> Option<u64> {
    let own = part["indexed_blocks"].is_u64() && part["what"].as_str()?.starts_with("target");
    let own = own.then(|| part["looked_at"].as_u64().unwrap_or(0));
    let parts = part["parts"].as_array().into_iter().flatten();
    own.into_iter().chain(parts.filter_map(looked_at)).reduce(|a, b| a + b)
}

#[test]
fn only_those_that_may_be_true_are_read() {
    const ADS: usize = 20_000;
    let ads = Ads::new("lower-bound: 0 upper-bound: 150");
    let store = ads.open();
    let countries = |at: usize| [at % 50, at * 7 % 50];
    let ages = |at: usize| (18 + at % 40, 25 + at % 53 + at % 40);
    for at in 0..ADS {
        let ([one, other], (from, to)) = (countries(at), ages(at));
        let target = format!("age in [{from}..{to}] and country in [c{one}, c{other}]");
        ads.put(&store, at, Some(&target));
    }
    let view = view(&store);
    assert!(view.blocks().count() > view.span_blocks(), "more than a span");
    let of_country: Vec<usize> = (0..ADS).filter(|at| countries(*at).contains(&7)).collect();
    let is_of_age = |at: &usize| ages(*at).0 <= 30 && 30 <= ages(*at).1;
    let of_age: Vec<usize> = of_country.iter().copied().filter(is_of_age).collect();
    let half: Vec<usize> = of_age.iter().copied().filter(|at| *at < ADS / 2).collect();
    let both = "predicate(target, {'country': 'c7'}, {'age': 30L})";
    for (filter, expected, most) in [
        // Some with ages that others have not are found by these.
        (both.to_owned(), &of_age, of_country.len() * 5 / 4),
        // What is cheap sees what the index leaves, and predicates are read last.
        (format!("{both} and n < {}", ADS / 2), &half, of_country.len() * 5 / 8),
        (format!("{both} and n = 5000"), &vec![], 1),
        ("predicate(target, {'country': 'c7'}, {})".to_owned(), &vec![], of_country.len()),
        ("predicate(target, {'town': 'c7'}, {'age': 30L})".to_owned(), &vec![], ADS / 100),
    ] {
        let (ids, looked_at) = found(&ads.tree(&filter), &view);
        assert_eq!(&ids, expected, "{filter}");
        // An index that tells of nothing may not even be asked in a block.
        let looked_at = looked_at.unwrap_or(0) as usize;
        assert!((ids.len()..=most).contains(&looked_at), "{filter}: {looked_at}");
    }
    assert!(of_country.len() * 20 < ADS && !of_age.is_empty(), "most are not read");
}

const NAMES: [&str; 4] = ["a", "b", "c", "long name"];

impl Chance {
    fn target(&mut self, depth: usize) -> String {
        let name = NAMES[self.below(NAMES.len())];
        match self.below(if depth == 0 { 5 } else { 9 }) {
            0 | 1 => format!("'{name}' in [x{}, 'x{}']", self.below(9), self.below(9)),
            2 => {
                let from = self.below(60) as i64 - 30;
                format!("'{name}' in [{from}..{}]", from + self.below(40) as i64)
            }
            3 if self.below(2) == 0 => format!("'{name}' in [{}..]", self.below(60) as i64 - 30),
            3 => format!("'{name}' in [..{}]", self.below(60) as i64 - 30),
            4 if self.below(8) == 0 => (self.below(2) == 0).to_string(),
            // More values than an index has features for.
            4 if self.below(8) == 0 => {
                let values: Vec<String> = (0..1500).map(|n| format!("x{n}")).collect();
                format!("'{name}' in [{}]", values.join(","))
            }
            4 => format!("'{name}' in [x{}]", self.below(40)),
            5 => format!("not ({})", self.target(depth - 1)),
            kind => {
                let parts: Vec<String> =
                    (0..2 + self.below(2)).map(|_| self.target(depth - 1)).collect();
                format!("({})", parts.join(if kind == 8 { " or " } else { " and " }))
            }
        }
    }

    fn question(&mut self) -> String {
        let mut values = Vec::new();
        let mut numbers = Vec::new();
        for name in NAMES {
            let queries = ["", "0x1", "0x6"][self.below(3)];
            let within = |pair: String| match queries.is_empty() {
                true => pair,
                false => format!("'{queries}': {{{pair}}}"),
            };
            if self.below(3) > 0 {
                let list = format!("'{name}': ['x{}', 'x{}']", self.below(40), self.below(9));
                values.push(within(list));
            }
            if self.below(3) > 0 {
                numbers.push(within(format!("'{name}': {}", self.below(80) as i64 - 40)));
            }
        }
        let own =
            format!("predicate(target, {{{}}}, {{{}}})", values.join(", "), numbers.join(", "));
        match self.below(6) {
            0 => format!("!({own})"),
            1 => format!("n >= 40 and {own}"),
            2 => format!("n >= 300 or {own}"),
            3 => format!("rank({own}, n = 3)"),
            _ => own,
        }
    }
}

/// Whether a document with a number is what a question asks for.
fn is_asked(question: &str, tree: &QueryTree, at: usize, target: &str) -> bool {
    let query = tree.terms.iter().find_map(|term| match &term.test {
        Test::Predicate(query) => Some(query),
        _ => None,
    });
    let is_true = query.unwrap().matching(target) != 0;
    match question {
        q if q.starts_with('!') => !is_true,
        q if q.starts_with("n >= 40") => is_true && at >= 40,
        q if q.starts_with("n >= 300") => is_true || at >= 300,
        _ => is_true,
    }
}

type Model = BTreeMap<usize, Option<String>>;

fn check(ads: &Ads, view: &View, model: &Model, chance: &mut Chance, when: &str) -> [u64; 2] {
    let (mut looked, mut all) = (0, 0);
    for _ in 0..5 {
        let question = chance.question();
        let tree = ads.tree(&question);
        let is_it = |(at, target): &(&usize, &Option<String>)| {
            is_asked(&question, &tree, **at, target.as_deref().unwrap_or_default())
        };
        let expected: Vec<usize> = model.iter().filter(is_it).map(|(at, _)| *at).collect();
        let (ids, looked_at) = found(&tree, view);
        assert_eq!(ids, expected, "{when}: {question}");
        looked += looked_at.unwrap_or(model.len() as u64);
        all += model.len() as u64;
    }
    [looked, all]
}

#[test]
fn predicates_of_chance_are_found_as_if_each_were_read() {
    let (seeds, is_whole) = seeds(3);
    let (mut looked, mut all) = (0, 0);
    for seed in seeds {
        let repro = "--test all predicates_of_chance_are_found_as_if_each_were_read";
        let _repro = Repro(seed, repro.to_owned());
        let mut chance = Chance::new(seed);
        let ads = Ads::new(["", "lower-bound: -20 upper-bound: 25"][chance.below(2)]);
        let (mut store, mut model, mut views) = (ads.open(), Model::new(), Vec::new());
        for round in 0..6 {
            // The first are put, so many are changed at last that the index is made again.
            let changes = [400, 30, 3, 30, 1500, 30][round];
            for _ in 0..changes {
                let at = chance.below(400);
                let target = (chance.below(9) > 0).then(|| chance.target(3));
                let id = format!("id:m:ad::{at}");
                match chance.below(if round == 0 { 2 } else { 5 }) {
                    3 if model.contains_key(&at) => {
                        let fields = json!({"target": {"assign": target}});
                        ads.feed(&store, &json!({"update": id, "fields": fields}));
                        model.insert(at, target);
                    }
                    4 => {
                        ads.feed(&store, &json!({"remove": id}));
                        model.remove(&at);
                    }
                    _ => {
                        ads.put(&store, at, target.as_deref());
                        model.insert(at, target);
                    }
                }
            }
            let view = view(&store);
            let [some, of] = check(&ads, &view, &model, &mut chance, &format!("round {round}"));
            (looked, all) = (looked + some, all + of);
            views.push((view, model.clone()));
            if chance.below(3) == 0 {
                store.snapshot().unwrap();
            }
            if chance.below(3) == 0 {
                drop(store);
                store = ads.open();
            }
        }
        for (at, (view, model)) in views.iter().enumerate() {
            check(&ads, view, model, &mut chance, &format!("view {at}, asked late"));
        }
    }
    assert!(looked < all * 3 / 4 || !is_whole, "{looked} of {all} were read");
}
