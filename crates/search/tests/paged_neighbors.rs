//! Searches by graphs of vectors that lie on disk: the answers are those of the same documents in memory, and a vector that is damaged is told.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use stead_log::{Io, SeededRng, SimIo};
use stead_store::{Operation, Store, StoreOptions, View};

use crate::asked::Asked;

const SCHEMA: &str = "schema item { document item {
    field n type int { indexing: attribute | summary }
    field v type tensor<float>(x[128]) {
      indexing: attribute | index
      attribute: PAGED
    }
    field m type tensor<int8>(k{},x[8]) {
      indexing: attribute | index
      attribute { PAGED distance-metric: angular }
    }
  }
  rank-profile near {
    inputs {
      query(q) tensor<float>(x[128])
      query(w) tensor<float>(x[8])
    }
    first-phase { expression: closeness(field, v) + closeness(field, m) }
    match-features: distance(field, v) distance(field, m) closest(m) attribute(v){x:3}
  }
  document-summary short { summary n {} } }";

/// Four blocks of 256 rows, and one that grows.
const COUNT: u64 = 1100;

/// Room for a column of vectors.
const ROOM: usize = 160 << 10;

/// A xorshift generator (Marsaglia, 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    /// Whole numbers near those of one of some centres.
    fn vector(&mut self, size: usize) -> Vec<i64> {
        let mut centre = Chance(self.below(30) + 1);
        (0..size).map(|_| centre.below(80) as i64 - 40 + self.below(30) as i64).collect()
    }
}

fn asked(word: &str) -> Asked {
    Asked::new(&[("item", false, &SCHEMA.replace("PAGED", word))])
}

fn open(asked: &Asked, io: &SimIo) -> Store {
    let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
    let options = StoreOptions { page_bytes: ROOM, ..StoreOptions::default() };
    Store::open(io, rng, vec![asked.kind("item")], options).unwrap()
}

fn feed(asked: &Asked, store: &Store) {
    let mut chance = Chance(11);
    for n in 0..COUNT {
        let labels = (0..chance.below(4)).map(|at| (format!("l{at}"), json!(chance.vector(8))));
        let several: serde_json::Map<String, Json> = labels.collect();
        let mut fields = json!({"n": n, "m": {"blocks": several}});
        if n % 9 > 0 {
            fields["v"] = json!({"values": chance.vector(128)});
        }
        let put = json!({"put": format!("id:n:item::{n}"), "fields": fields});
        let kind = asked.kind("item");
        let operation = Operation::read(&kind, put.to_string().as_bytes()).unwrap();
        store.feed("item", operation, |outcome| assert!(outcome.is_ok())).unwrap();
    }
}

fn view(store: &Store) -> View {
    while store.operations_in_flight() > 0 {
        std::thread::yield_now();
    }
    store.reader("item").unwrap().view()
}

fn search(asked: &Asked, view: &View, body: &Json) -> (u16, Json) {
    let (status, mut json) = asked.search(&[view], body);
    json.as_object_mut().unwrap().remove("timing");
    (status, json)
}

fn question(chance: &mut Chance, annotation: &str) -> Json {
    let hits = 1 + chance.below(20);
    let (q, w) = (chance.vector(128), chance.vector(8));
    let of = |field: &str, name: &str| {
        format!("({{targetHits: {hits}{annotation}}}nearestNeighbor({field}, {name}))")
    };
    let matches = match chance.below(4) {
        0 => of("v", "q"),
        1 => of("m", "w"),
        2 => format!("{} and n < {}", of("v", "q"), 100 + chance.below(COUNT)),
        _ => format!("{} or {}", of("v", "q"), of("m", "w")),
    };
    json!({
        "yql": format!("select * from item where {matches}"), "ranking": "near", "summary": "short",
        "input.query(q)": q, "input.query(w)": w, "hits": hits, "timeout": "100s"
    })
}

fn hits(json: &Json) -> Vec<Json> {
    let children = json["root"]["children"].as_array().cloned().unwrap_or_default();
    children.iter().map(|hit| hit["fields"]["n"].clone()).collect()
}

#[test]
fn answers_are_those_of_documents_in_memory() {
    let [paged, plain] = ["paged", "fast-access"].map(asked);
    let io = SimIo::new(1);
    feed(&paged, &open(&paged, &io));
    // The same links.
    let copy = SimIo::new(1);
    for name in io.list().unwrap() {
        copy.set_contents(&name, &io.contents(&name).unwrap());
    }
    let stores = [open(&paged, &io), open(&plain, &copy)];
    let views = [view(&stores[0]), view(&stores[1])];
    let opened = stores[0].page_stats();
    let mut chance = Chance(5);
    let (mut same, mut all) = (0, 0);
    for _ in 0..60 {
        let body = question(&mut chance, "");
        let found = search(&paged, &views[0], &body);
        assert_eq!(found, search(&plain, &views[1], &body), "{body}");
        assert!(found.1["root"]["errors"].is_null(), "{found:?}");
        let mut exact = body.clone();
        let yql =
            body["yql"].as_str().unwrap().replace("{targetHits", "{approximate:false,targetHits");
        exact["yql"] = json!(yql);
        let exact = hits(&search(&plain, &views[1], &exact).1);
        same += hits(&found.1).iter().filter(|n| exact.contains(n)).count();
        all += exact.len();
    }
    assert!(all > 300 && same * 100 > all * 97, "{same} of {all}");
    let stats = stores[0].page_stats();
    assert!(stats.vectors - opened.vectors > 1000, "{stats:?}");
    assert_eq!(stores[1].page_stats(), Default::default());
}

#[test]
fn a_vector_that_cannot_be_read_fails_the_search() {
    let paged = asked("paged");
    let io = SimIo::new(1);
    let store = open(&paged, &io);
    feed(&paged, &store);
    let kind = paged.kind("item");
    let peculiar: Vec<u32> = (0..128).map(|x| 700 + x).collect();
    let put = json!({"put": "id:n:item::300", "fields": {"n": 300, "v": {"values": peculiar}}});
    let operation = Operation::read(&kind, put.to_string().as_bytes()).unwrap();
    store.submit_wait("item", operation).unwrap();
    drop(store);
    let what: Vec<u8> = peculiar.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
    let store = open(&paged, &io);
    let near = json!({
        "yql": "select * from item where {targetHits: 3}nearestNeighbor(v, q)", "ranking": "near",
        "summary": "short", "input.query(q)": peculiar, "timeout": "100s"
    });
    let (status, json) = search(&paged, &view(&store), &near);
    assert_eq!((status, hits(&json)[0].clone()), (200, json!(300)), "{json}");
    drop(store);
    for name in io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack")) {
        let mut bytes = io.contents(&name).unwrap();
        let places = bytes.windows(what.len()).enumerate().filter(|(_, part)| *part == what);
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        places.iter().for_each(|at| bytes[*at] ^= 1);
        io.set_contents(&name, &bytes);
    }
    let store = open(&paged, &io);
    let (status, json) = search(&paged, &view(&store), &near);
    let error = &json["root"]["errors"][0];
    assert_eq!((status, &error["code"]), (503, &json!(10)), "{json}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("document type item: field v: "), "{message}");
    let other = json!({
        "yql": "select * from item where {targetHits: 3}nearestNeighbor(m, w)", "summary": "short",
        "input.query(w)": [1, 2, 3, 4, 5, 6, 7, 8], "timeout": "100s", "ranking": "unranked"
    });
    assert_eq!(search(&paged, &view(&store), &other).0, 200);
}
