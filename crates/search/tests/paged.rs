//! Searches of documents whose columns lie on disk: the same answers as of documents in memory, with room for a few columns only, and
//! errors where the disk does not give back what was written.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value as Json, json};
use stead_log::{Io, SeededRng, SimIo};
use stead_store::{Imports, Operation, Store, StoreOptions, View};

use crate::asked::Asked;

/// A xorshift generator (Marsaglia, 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Every field of `item` but `n` lies on disk, or none: a type for each.
const PARTS: &str = "
    field n type int { indexing: attribute | summary }
    field year type int {
      indexing: attribute | summary
      attribute: PAGED
    }
    field price type double {
      indexing: attribute | summary
      attribute { fast-search PAGED }
    }
    field name type string {
      indexing: attribute | summary
      attribute: PAGED
    }
    field tags type weightedset<string> {
      indexing: attribute | summary
      attribute { fast-search PAGED }
    }
    field counts type array<int> {
      indexing: attribute | summary
      attribute: PAGED
    }
    field stock type map<string,int> {
      indexing: summary
      struct-field key { indexing: attribute
        attribute: PAGED }
      struct-field value { indexing: attribute
        attribute: PAGED }
    }
    field v type tensor<float>(x[128]) {
      indexing: attribute | summary
      attribute: PAGED
    }
    field chunks type tensor<int8>(k{},y[4]) {
      indexing: attribute | summary
      attribute: PAGED
    }
    field maker type reference<maker> {
      indexing: attribute
      attribute: PAGED
    }";

const PROFILES: &str = "
  import field maker.rating as rating {}
  import field maker.city as city {}
  rank-profile vectors {
    inputs {
      query(q) tensor<float>(x[128])
      query(w) tensor<int8>(y[4])
    }
    first-phase { expression: sum(query(q) * attribute(v)) + attribute(year) / 100 }
    second-phase {
      rerank-count: 40
      expression: firstPhase + reduce(sum(query(w) * attribute(chunks), y), max) + attribute(rating)
    }
    match-features: attribute(year) attribute(price) attribute(v){x:3} attribute(tags).count attribute(counts).count
    summary-features: attribute(rating) attribute(name)
  }
  rank-profile features {
    first-phase { expression: dotProduct(tags, w) + age(year) / 1e9 + matches(tags) + matches(name) }
    match-features {
      attribute(tags,t3).weight
      attribute(counts,0)
      tensorFromLabels(attribute(counts), at)
      tensorFromWeightedSet(attribute(tags), tag)
      dotProduct(stock, s)
      rawScore(tags)
    }
  }
  rank-profile near {
    inputs { query(q) tensor<float>(x[128]) }
    first-phase { expression: closeness(field, v) }
    match-features: distance(field, v)
  }
  rank-profile limited {
    match-phase {
      attribute: price
      order: descending
      max-hits: 60
    }
    first-phase { expression: attribute(price) }
  }
  document-summary short { summary n {} }";

const MAKERS: &str = "schema maker { document maker {
    field rating type int { indexing: attribute
      attribute: PAGED }
    field city type string { indexing: attribute
      attribute: PAGED }
    field padding type tensor<float>(x[128]) { indexing: attribute
      attribute: PAGED }
  } }";

fn schemas(paged: &str) -> [String; 2] {
    let item = format!("schema item {{ document item {{ {PARTS} }} {PROFILES} }}");
    [item, MAKERS.to_owned()].map(|schema| schema.replace("PAGED", paged))
}

/// Room for two columns of vectors: of the five blocks of the test there are more.
const ROOM: usize = 300 << 10;

const COUNT: u64 = 1100;
const MAKER_COUNT: u64 = 600;

/// What was deployed, and the documents on a disk.
struct Shop {
    asked: Asked,
    io: SimIo,
}

impl Shop {
    fn new(paged: &str) -> Shop {
        let [item, maker] = schemas(paged);
        let asked = Asked::new(&[("item", false, &item), ("maker", true, &maker)]);
        Shop { asked, io: SimIo::new(1) }
    }

    fn open(&self) -> Store {
        let (io, rng) = (Arc::new(self.io.clone()), Arc::new(SeededRng::new(1)));
        let types = ["item", "maker"].map(|name| self.asked.kind(name)).to_vec();
        let options = StoreOptions { page_bytes: ROOM, ..StoreOptions::default() };
        Store::open(io, rng, types, options).unwrap()
    }

    fn feed(&self, store: &Store, name: &str, json: &Json) {
        let kind = self.asked.kind(name);
        let operation = Operation::read(&kind, json.to_string().as_bytes()).unwrap();
        // Many are applied together, in their order; whoever takes a view waits for them.
        store.feed(name, operation, |outcome| assert!(outcome.is_ok())).unwrap();
    }

    fn search(&self, view: &View, body: &Json) -> (u16, Json) {
        let (status, mut json) = self.asked.search(&[view], body);
        json.as_object_mut().unwrap().remove("timing");
        (status, json)
    }
}

/// The documents with what they import, when all operations are done.
fn view(shop: &Shop, store: &Store) -> View {
    while store.operations_in_flight() > 0 {
        std::thread::yield_now();
    }
    let parents = store.reader("maker").unwrap().view();
    let items = store.reader("item").unwrap().view();
    Imports::new(&shop.asked.kind("item"))
        .join(items, |name| (name == "maker").then(|| parents.clone()))
}

fn vector(chance: &mut Chance) -> Vec<f64> {
    (0..128).map(|_| chance.below(64) as f64 / 8.0 - 4.0).collect()
}

/// Some of the fields of a document.
fn fields(chance: &mut Chance, n: u64) -> Json {
    let mut fields = json!({"n": n});
    let mut with = |name: &str, part: u64, value: Json| {
        if part > 0 {
            fields[name] = value;
        }
    };
    let mut below = |most: u64| chance.below(most);
    with("year", below(9), json!(1900 + below(120)));
    with("price", below(9), json!(below(4000) as f64 / 16.0));
    with("name", below(9), json!(format!("name{} of {}", below(50), below(9))));
    let tags: serde_json::Map<String, Json> =
        (0..below(4)).map(|_| (format!("t{}", below(30)), json!(below(20)))).collect();
    with("tags", below(5), Json::Object(tags));
    let counts: Vec<u64> = (0..below(5)).map(|_| below(300)).collect();
    with("counts", below(5), json!(counts));
    let stock: serde_json::Map<String, Json> =
        (0..below(3)).map(|_| (format!("s{}", below(5)), json!(below(50)))).collect();
    with("stock", below(5), Json::Object(stock));
    let chunks: serde_json::Map<String, Json> = (0..below(3))
        .map(|at| (format!("c{at}"), json!([below(9), below(9), below(9), below(9)])))
        .collect();
    with("chunks", below(5), json!({"blocks": chunks}));
    with("maker", below(9), json!(format!("id:n:maker::{}", below(MAKER_COUNT + 50))));
    let cells = vector(chance);
    if chance.below(9) > 0 {
        fields["v"] = json!({"values": cells});
    }
    fields
}

/// Feeds both the same: documents, updates and removals.
fn feed(shops: &[(&Shop, &Store)], seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let both = |name: &str, json: &Json| {
        shops.iter().for_each(|(shop, store)| shop.feed(store, name, json));
    };
    for n in 0..MAKER_COUNT {
        let cells = vector(&mut chance);
        let fields = json!({
            "rating": chance.below(10), "city": format!("city{}", chance.below(20)), "padding": {"values": cells}
        });
        both("maker", &json!({"put": format!("id:n:maker::{n}"), "fields": fields}));
    }
    for n in 0..COUNT {
        both("item", &json!({"put": format!("id:n:item::{n}"), "fields": fields(&mut chance, n)}));
    }
    for n in (0..COUNT).step_by(37) {
        both("item", &json!({"remove": format!("id:n:item::{n}")}));
    }
}

fn change(shops: &[(&Shop, &Store)], chance: &mut Chance) {
    for _ in 0..20 {
        let n = chance.below(COUNT);
        let value = chance.below(4000) as f64 / 16.0;
        let update = json!({
            "update": format!("id:n:item::{n}"),
            "fields": {"price": {"assign": value}, "name": {"assign": format!("new{n}")}}
        });
        shops.iter().for_each(|(shop, store)| shop.feed(store, "item", &update));
    }
}

fn condition(chance: &mut Chance, depth: u64) -> String {
    let mut below = |most: u64| chance.below(most);
    match below(if depth == 0 { 9 } else { 12 }) {
        0 => format!("year > {}", 1900 + below(130)),
        1 => format!("range(price, {}, {})", below(200), 50 + below(200)),
        2 => format!("price = {}", below(4000) as f64 / 16.0),
        3 => format!("name contains \"name{} of {}\"", below(50), below(9)),
        4 => format!("tags contains \"t{}\"", below(30)),
        5 => format!("counts in ({}, {}, {})", below(300), below(300), below(300)),
        6 => format!("wand(tags, {{\"t{}\": 3, \"t{}\": 5}})", below(30), below(30)),
        7 => format!("city contains \"city{}\"", below(20)),
        8 => format!(
            "stock contains sameElement(key contains \"s{}\", value > {})",
            below(5),
            below(50)
        ),
        9 => format!("!({})", condition(chance, depth - 1)),
        at => {
            let word = if at == 10 { "and" } else { "or" };
            let [a, b] = [condition(chance, depth - 1), condition(chance, depth - 1)];
            format!("({a} {word} {b})")
        }
    }
}

fn question(chance: &mut Chance) -> Json {
    let mut filter = condition(chance, 3);
    if filter.starts_with('!') {
        filter = format!("n >= 0 and {filter}");
    }
    let q: Vec<f64> = vector(chance);
    let near = format!("({{targetHits: {}}}nearestNeighbor(v, q))", 1 + chance.below(30));
    let mut body = match chance.below(5) {
        0 => json!({"yql": format!("select * from item where {filter}"), "ranking": "vectors",
            "input.query(w)": [1, 2, 0, 3]}),
        1 => json!({"yql": format!("select * from item where {filter}"), "ranking": "features",
            "ranking.properties.dotProduct.w": "{t1:2,t3:5}", "ranking.properties.dotProduct.s": "{s1:2}"}),
        2 => {
            json!({"yql": format!("select * from item where {near} and {filter}"), "ranking": "near"})
        }
        3 => {
            let order =
                ["year desc", "name", "price desc, name", "rating, year"][chance.below(4) as usize];
            json!({"yql": format!("select * from item where {filter} order by {order}")})
        }
        _ => json!({"yql": format!("select * from item where {filter}"), "ranking": "limited"}),
    };
    if body["ranking"] == "vectors" || body["ranking"] == "near" {
        body["input.query(q)"] = json!(q);
    }
    body["hits"] = json!(1 + chance.below(60));
    body["timeout"] = json!("100s");
    body
}

#[test]
fn answers_are_those_of_documents_in_memory() {
    let (paged, plain) = (Shop::new("paged"), Shop::new("fast-access"));
    {
        let stores = [paged.open(), plain.open()];
        feed(&[(&paged, &stores[0]), (&plain, &stores[1])], 1);
    }
    let stores = [paged.open(), plain.open()];
    let shops = [(&paged, &stores[0]), (&plain, &stores[1])];
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let (mut hits, mut with_errors) = (0, 0);
    for round in 0..2 {
        let views = shops.map(|(shop, store)| view(shop, store));
        assert!(views[0].memory() * 3 < views[1].memory());
        for _ in 0..30 {
            let body = question(&mut chance);
            let [(status, found), expected] =
                [0, 1].map(|at| shops[at].0.search(&views[at], &body));
            assert_eq!((status, &found), (expected.0, &expected.1), "{body}");
            hits += found["root"]["children"].as_array().map_or(0, Vec::len);
            with_errors += usize::from(found["root"]["errors"].is_array());
        }
        change(&shops, &mut chance);
        if round == 0 {
            stores.iter().for_each(|store| store.snapshot().unwrap());
        }
    }
    assert!(hits > 300 && with_errors == 0, "{hits} {with_errors}");
    assert_eq!(stores[1].page_stats(), Default::default());
    let stats = stores[0].page_stats();
    assert!(stats.cached_bytes <= ROOM, "{stats:?}");
    // One thread holds the columns of one block: all of them together are not much more than the vectors.
    assert!(stats.peak_bytes < ROOM + (400 << 10), "{stats:?}");
    assert!(stats.reads > 300 && stats.hits > 300, "{stats:?}");
}

#[test]
fn a_column_that_cannot_be_read_fails_what_needs_it_and_nothing_else() {
    let shop = Shop::new("paged");
    {
        let store = shop.open();
        feed(&[(&shop, &store)], 3);
        // One name is so unlike the others that it is found in its pack as it is.
        let fields = json!({"n": 5000, "name": "peculiar", "year": 1950});
        shop.feed(&store, "item", &json!({"put": "id:n:item::300", "fields": fields}));
    }
    for name in shop.io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack")) {
        let mut bytes = shop.io.contents(&name).unwrap();
        let places = bytes.windows(8).enumerate().filter(|(_, part)| part == b"peculiar");
        let places: Vec<usize> = places.map(|(at, _)| at).collect();
        places.iter().for_each(|at| bytes[*at] ^= 1);
        shop.io.set_contents(&name, &bytes);
    }
    let store = shop.open();
    assert_eq!(store.damaged(), []);
    let view = view(&shop, &store);
    let ask = |body: &Json| shop.search(&view, body);
    let all = |n: &str| format!("select * from item where n {n}");
    let q: Vec<f64> = vec![0.5; 128];
    for (label, body, is_failure) in [
        ("another field", json!({"yql": all("> 250"), "summary": "short"}), false),
        // Rows of other blocks are left out before the name is looked at.
        (
            "another block",
            json!({"yql": all("< 10 and name contains \"x\""), "summary": "short"}),
            false,
        ),
        ("matching", json!({"yql": all(">= 0 and name contains \"x\"")}), true),
        (
            "what nothing is left to look at",
            json!({"yql": all("< 0 and name contains \"x\"")}),
            false,
        ),
        ("the order", json!({"yql": all("> 250") + " order by name", "summary": "short"}), true),
        (
            "a feature",
            json!({"yql": all("= 5000"), "ranking": "features", "summary": "short"}),
            false,
        ),
        (
            "a summary feature",
            json!({"yql": all("= 5000"), "ranking": "vectors", "input.query(q)": q, "input.query(w)": [1, 1, 1, 1]}),
            true,
        ),
        (
            "other ranking",
            json!({"yql": all("= 5000"), "ranking": "limited", "summary": "short"}),
            false,
        ),
    ] {
        let (status, json) = ask(&body);
        let errors = json["root"]["errors"].as_array().cloned().unwrap_or_default();
        assert_eq!(errors.len(), usize::from(is_failure), "{label}: {json}");
        if is_failure {
            assert_eq!((status, &errors[0]["code"]), (503, &json!(10)), "{label}: {json}");
            let message = errors[0]["message"].as_str().unwrap();
            assert!(message.contains("document type item: field name: "), "{label}: {message}");
            assert!(message.ends_with("the checksum differs"), "{label}: {message}");
            assert!(json["root"]["children"].is_null(), "{label}: {json}");
        }
    }
    // A hit whose summary cannot be read is there without its fields, and the result has an error, as where bodies are damaged.
    let (status, json) = ask(&json!({"yql": all("= 5000")}));
    let errors = json["root"]["errors"].as_array().unwrap();
    assert_eq!((status, &errors[0]["code"]), (200, &json!(13)), "{json}");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.contains("for 1 hits: document type item: field name: "), "{message}");
    assert!(json["root"]["children"][0]["fields"]["year"].is_null(), "{json}");
}
