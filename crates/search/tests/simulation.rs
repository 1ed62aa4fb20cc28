//! Store, feed and query over a disk that loses what is not durable, driven by a seed: random operations with conditions, snapshots,
//! losses of power at any call, and new starts, beside a map of what is expected. One thread waits for each thing that it does, so
//! that a seed leads to the same run each time; a failure prints how to repeat it.
//!
//! `STEAD_SEEDS` runs so many (`cargo xtask soak documents`), `STEAD_SEED` one.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use stead_log::{Clock, LogOptions, SeededRng, SimIo, VirtualClock};
use stead_store::{
    DocumentType, Operation, Outcome, SnapshotOptions, Store, StoreError, StoreOptions, View,
};

use crate::asked::Asked;
use crate::chance::{Repro, seeds};

const SCHEMA: &str = "schema item {
  document item {
    field n type int {
      indexing: attribute | summary
      attribute: fast-search
    }
    field tag type string {
      indexing: attribute | summary
      attribute { fast-search paged }
    }
    field text type string { indexing: index | summary }
    field vector type tensor<float>(x[4]) {
      indexing: attribute | index | summary
      attribute: paged
    }
  }
  rank-profile near {
    inputs { query(user) tensor<float>(x[4]) }
    first-phase { expression: sum(query(user) * attribute(vector)) }
  }
}";

/// Documents that there may be.
const DOCUMENTS: u64 = 40;

/// Operations and other things of a run.
const STEPS: u64 = 250;

/// Runs in the tests.
const SEEDS: u64 = 20;

/// What is expected of a document.
#[derive(Debug, Clone, PartialEq, Default)]
struct Document {
    n: Option<i64>,
    tag: Option<String>,
    text: Option<String>,
    vector: Option<[i64; 4]>,
}

type Model = BTreeMap<String, Document>;

struct World {
    asked: Asked,
    kind: DocumentType,
    chance: SeededRng,
    io: SimIo,
    clock: Arc<VirtualClock>,
    operations: u128,
}

impl World {
    fn new(seed: u64) -> World {
        let asked = Asked::new(&[("item", false, SCHEMA)]);
        let (kind, chance, io) = (asked.kind("item"), SeededRng::new(seed), SimIo::new(seed));
        let clock = Arc::new(VirtualClock::default());
        World { asked, kind, chance, io, clock, operations: 0 }
    }

    fn below(&self, end: u64) -> u64 {
        self.chance.below(end)
    }

    fn open(&self) -> Store {
        let log = LogOptions {
            segment_bytes: 16 << 10,
            max_record_bytes: 8 << 10,
            ..LogOptions::default()
        };
        // Only when they are asked for: those that come by themselves come beside whatever else is done.
        let snapshots =
            SnapshotOptions { log_bytes: u64::MAX, operations: u64::MAX, pack_bytes: 4 << 10 };
        let clock: Arc<dyn Clock> = self.clock.clone();
        // Room for one of the columns on disk, so that each pushes the other out.
        let page_bytes = 2500;
        let options = StoreOptions { log, snapshots, clock, page_bytes, ..StoreOptions::default() };
        let (io, rng) = (Arc::new(self.io.clone()), Arc::new(SeededRng::new(7)));
        Store::open(io, rng, vec![self.kind.clone()], options).unwrap()
    }

    fn id(&self) -> String {
        format!("id:n:item::{}", self.below(DOCUMENTS))
    }

    /// A few words.
    fn text(&self) -> String {
        let words: Vec<String> =
            (0..self.below(30)).map(|_| format!("w{}", self.below(20))).collect();
        words.join(" ")
    }

    /// An operation as JSON, what is expected to become of it, and the documents behind it.
    fn operation(&self, model: &Model) -> (Json, Outcome, Model) {
        let (id, mut after) = (self.id(), model.clone());
        let number = self.below(2000) as i64 - 1000;
        let bound = self.below(2000) as i64 - 1000;
        let condition = (self.below(3) == 0).then(|| format!("item.n > {bound}"));
        let create = self.below(2) == 0;
        let known = model.get(&id);
        let is_met = condition.is_none() || known.is_some_and(|d| d.n.is_some_and(|n| n > bound));
        let (mut json, outcome) = match self.below(6) {
            0 => {
                let outcome = match (is_met, known) {
                    (false, _) => Outcome::ConditionFailed,
                    (true, None) => Outcome::Absent,
                    (true, Some(_)) => Outcome::Applied,
                };
                if outcome == Outcome::Applied {
                    after.remove(&id);
                }
                (json!({"remove": id}), outcome)
            }
            kind @ (1 | 2) => {
                let outcome = match known {
                    Some(_) if is_met => Outcome::Applied,
                    Some(_) => Outcome::ConditionFailed,
                    None if create => Outcome::Applied,
                    None if condition.is_some() => Outcome::ConditionFailed,
                    None => Outcome::Absent,
                };
                let text = self.text();
                if outcome == Outcome::Applied {
                    let document = after.entry(id.clone()).or_default();
                    match kind {
                        1 => document.n = document.n.map(|n| n + number),
                        _ => document.text = Some(text.clone()),
                    }
                }
                let fields = match kind {
                    1 => json!({"n": {"increment": number}}),
                    _ => json!({"text": {"assign": text}}),
                };
                (json!({"update": id, "create": create, "fields": fields}), outcome)
            }
            _ => {
                let is_there = known.is_some();
                let outcome = match is_met || create && !is_there {
                    true => Outcome::Applied,
                    false => Outcome::ConditionFailed,
                };
                let vector: [i64; 4] = std::array::from_fn(|_| self.below(100) as i64 - 50);
                let document = Document {
                    n: (self.below(5) > 0).then_some(number),
                    tag: (self.below(3) > 0).then(|| format!("t{}", self.below(4))),
                    text: (self.below(3) > 0).then(|| self.text()),
                    vector: (self.below(4) > 0).then_some(vector),
                };
                let mut fields = serde_json::Map::new();
                fields.extend(document.n.map(|n| ("n".to_owned(), n.into())));
                fields.extend(document.tag.clone().map(|tag| ("tag".to_owned(), tag.into())));
                fields.extend(document.text.clone().map(|text| ("text".to_owned(), text.into())));
                fields.extend(document.vector.map(|v| ("vector".to_owned(), json!(v))));
                if outcome == Outcome::Applied {
                    after.insert(id.clone(), document);
                }
                (json!({"put": id, "create": create, "fields": fields}), outcome)
            }
        };
        json.as_object_mut().unwrap().extend(condition.map(|c| ("condition".to_owned(), c.into())));
        (json, outcome, after)
    }

    /// The hits of a search: ids and relevance.
    fn search(&self, view: &View, body: &Json) -> BTreeMap<String, f64> {
        let (status, json) = self.asked.search(&[view], body);
        assert_eq!(status, 200, "{json}");
        let hits = json["root"]["children"].as_array().map(Vec::as_slice).unwrap_or_default();
        let hit = |hit: &Json| {
            let id = hit["id"].as_str().unwrap().to_owned();
            (id, hit["relevance"].as_f64().unwrap())
        };
        hits.iter().map(hit).collect()
    }

    /// Some queries find what the documents say.
    fn query(&self, view: &View, model: &Model) {
        let bound = self.below(2000) as i64 - 1000;
        let user: [i64; 4] = std::array::from_fn(|_| self.below(20) as i64 - 10);
        let tag = format!("t{}", self.below(4));
        let [word, next] = [self.below(20), self.below(20)].map(|number| format!("w{number}"));
        let has = |document: &Document, wanted: &[&str]| {
            let words: Vec<&str> =
                document.text.as_deref().unwrap_or_default().split(' ').collect();
            words.windows(wanted.len()).any(|part| part == wanted)
        };
        let of = |is_it: &dyn Fn(&Document) -> bool| {
            let ids =
                model.iter().filter(|(_, document)| is_it(document)).map(|(id, _)| id.clone());
            ids.collect::<Vec<String>>()
        };
        for (condition, expected) in [
            (format!("n > {bound}"), of(&|d| d.n.is_some_and(|n| n > bound))),
            (format!("tag contains '{tag}'"), of(&|d| d.tag.as_ref() == Some(&tag))),
            (format!("text contains '{word}'"), of(&|d| has(d, &[&word]))),
            (format!("text contains phrase('{word}', '{next}')"), of(&|d| has(d, &[&word, &next]))),
        ] {
            let yql = format!("select * from item where {condition}");
            let found = self.search(view, &json!({"yql": yql, "hits": DOCUMENTS}));
            assert_eq!(found.into_keys().collect::<Vec<_>>(), expected, "{yql}");
        }
        let body = json!({"yql": "select * from item where true", "hits": DOCUMENTS, "ranking": "near",
            "input": {"query(user)": user}});
        let dot = |document: &Document| {
            let vector = document.vector.unwrap_or_default();
            vector.iter().zip(user).map(|(a, b)| a * b).sum::<i64>() as f64
        };
        let expected: BTreeMap<String, f64> =
            model.iter().map(|(id, document)| (id.clone(), dot(document))).collect();
        assert_eq!(self.search(view, &body), expected);
        // A graph of as few vectors as these leads to nearly all of them.
        let near = json!({"yql": format!("select * from item where ({{targetHits: {DOCUMENTS}}}nearestNeighbor(vector, user))"),
            "hits": DOCUMENTS, "ranking": "near", "input": {"query(user)": user}});
        let (found, all) = (self.search(view, &near), of(&|d| d.vector.is_some()));
        assert!(found.keys().all(|id| all.contains(id)), "{found:?} {all:?}");
        assert!(found.len() * 10 >= all.len() * 9, "{} of {} vectors", found.len(), all.len());
    }
}

/// All documents of a view; nothing where the power fails meanwhile, since bodies lie on disk.
fn found(view: &View) -> Option<Model> {
    let kind = view.kind();
    let one = |lid: u32| {
        let fields = match view.read(lid, |_| true) {
            Ok(fields) => fields.unwrap(),
            Err(error) if is_loss_of_power(&error) => return None,
            Err(other) => panic!("{other}"),
        };
        let mut document = Document::default();
        for (field, value) in fields {
            use stead_store::FieldValue as V;
            match (kind.field_name(field).unwrap(), value) {
                ("n", V::Integer(n)) => document.n = Some(n),
                ("tag", V::Text(tag)) => document.tag = Some(tag),
                ("text", V::Text(text)) => document.text = Some(text),
                ("vector", V::Tensor(tensor)) => {
                    let cells = tensor.cells().doubles();
                    document.vector = Some(std::array::from_fn(|at| cells[at] as i64));
                }
                (name, value) => panic!("{name}: {value:?}"),
            }
        }
        Some((view.id(lid).unwrap().to_owned(), document))
    };
    view.lids().map(one).collect()
}

/// Returns how often the power failed, and how many snapshots were written.
fn run(seed: u64) -> (u64, u64) {
    let mut world = World::new(seed);
    let (mut crashes, mut snapshots) = (0, 0);
    // The documents, and what they are instead if the operation on the way is not lost.
    let (mut model, mut instead) = (Model::new(), None);
    let mut store = world.open();
    for _ in 0..STEPS {
        let reader = store.reader("item").unwrap();
        let mut has_failed = false;
        match world.below(20) {
            0 => {
                world.io.power_off_after(world.below(12));
                continue;
            }
            1 => match store.snapshot() {
                Ok(()) => snapshots += 1,
                Err(error) if is_loss_of_power(&error) => has_failed = true,
                Err(other) => panic!("{other}"),
            },
            // Clocks jump.
            2 => {
                let jump = Duration::from_secs(world.below(1 << 33));
                world.clock.set_wall(std::time::SystemTime::UNIX_EPOCH + jump);
            }
            3 => {
                let view = reader.view();
                if let Some(found) = found(&view) {
                    assert_eq!(found, model);
                    world.query(&view, &model);
                }
            }
            _ => {
                let (json, expected, after) = world.operation(&model);
                world.operations += 1;
                let mut operation =
                    Operation::read(&world.kind, json.to_string().as_bytes()).unwrap();
                operation.operation = world.operations;
                match store.submit_wait("item", operation) {
                    Ok(outcome) => {
                        assert_eq!(outcome, expected, "{json}");
                        model = after;
                    }
                    Err(error) if is_loss_of_power(&error) => {
                        instead = Some(after);
                        has_failed = true;
                    }
                    Err(other) => panic!("{json}: {other}"),
                }
            }
        }
        if has_failed || world.below(40) == 0 {
            drop(store);
            match world.below(2) {
                0 => world.io.crash(),
                _ => world.io.kill(),
            }
            crashes += 1;
            store = world.open();
            assert_eq!(store.damaged(), []);
            let view = store.reader("item").unwrap().view();
            let now = found(&view).unwrap();
            if now != model {
                assert_eq!(Some(&now), instead.as_ref());
                model = now;
            }
            world.query(&view, &model);
            instead = None;
        }
    }
    (crashes, snapshots)
}

/// Whether it is what the disk answers without power: to the log, or to who reads a column that lies there.
fn is_loss_of_power(error: &StoreError) -> bool {
    match error {
        StoreError::Log(_) => true,
        StoreError::Column { error, .. } => is_loss_of_power(error),
        _ => false,
    }
}

#[test]
fn documents_are_what_the_operations_made_of_them() {
    let (seeds, _) = seeds(SEEDS);
    let count = seeds.end - seeds.start;
    let (mut crashes, mut snapshots) = (0, 0);
    for seed in seeds {
        let _repro = Repro(seed, "--test all simulation".to_owned());
        let (c, s) = run(seed);
        (crashes, snapshots) = (crashes + c, snapshots + s);
    }
    assert!(count < 4 || crashes > count && snapshots > count, "{crashes} {snapshots}");
}
