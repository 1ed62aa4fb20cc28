//! Random documents in random orders, beside a sort of all of them by a few lines. A failure prints the line that repeats it.
#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use serde_json::{Value as Json, json};

use crate::asked::Asked;
use crate::chance::Chance;

const SCHEMA: &str = "schema d {
  document d {
    field n type int { indexing: attribute }
    field x type double { indexing: attribute }
    field s type string { indexing: attribute }
    field down type string {
      indexing: attribute
      sorting { descending
        function: uca
        locale: en
        strength: identical }
    }
    field nums type array<int> { indexing: attribute }
    field tags type weightedset<string> { indexing: attribute }
    field pairs type map<string, int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
    }
  }
  rank-profile default { first-phase { expression: attribute(n) } }
}";

const FIELDS: [&str; 8] = ["n", "x", "s", "down", "nums", "tags", "pairs.key", "pairs.value"];
const WORDS: [&str; 6] = ["a", "B", "ab", "Ba", "abba", "b"];
/// Orders for each set of documents.
const ORDERS: usize = 30;
const SETS: u64 = 40;

/// What a document is ordered by.
#[derive(Clone)]
enum Key {
    First,
    Number(f64),
    Text(String),
    Last,
}

/// One of several fields that documents are ordered by.
struct By {
    field: &'static str,
    descending: bool,
    /// `raw`, `lowercase`, `uca(en)`, whose order of Latin letters is that of small ones, or nothing.
    function: &'static str,
    /// `first`, `last`, a value, or nothing.
    missing: Option<String>,
    text: String,
}

fn document(chance: &mut Chance) -> Json {
    let mut fields = json!({});
    let word = |chance: &mut Chance| WORDS[chance.below(WORDS.len())];
    let number = |chance: &mut Chance| chance.below(7) as i64 - 3;
    let pairs = |chance: &mut Chance| -> Json {
        let pairs = (0..chance.below(3)).map(|_| (word(chance).to_owned(), json!(number(chance))));
        Json::Object(pairs.collect())
    };
    for field in ["n", "x", "s", "down", "nums", "tags", "pairs"] {
        if chance.below(4) == 0 {
            continue;
        }
        fields[field] = match field {
            "n" => json!(number(chance)),
            "x" => json!(number(chance) as f64 / 2.0),
            "s" | "down" => json!(word(chance)),
            "nums" => json!((0..chance.below(3)).map(|_| number(chance)).collect::<Vec<_>>()),
            _ => pairs(chance),
        };
    }
    fields
}

fn by(chance: &mut Chance) -> By {
    let field = FIELDS[chance.below(FIELDS.len())];
    let is_text = matches!(field, "s" | "down" | "tags" | "pairs.key");
    let function = match is_text {
        true => ["", "raw", "lowercase", "uca"][chance.below(4)],
        false => "",
    };
    let missing = match chance.below(4) {
        0 => Some("first".to_owned()),
        1 => Some("last".to_owned()),
        2 if is_text => Some(WORDS[chance.below(WORDS.len())].to_owned()),
        2 => Some((chance.below(7) as i64 - 3).to_string()),
        _ => None,
    };
    let sign = ["", "+", "-"][chance.below(3)];
    let mut text = match function {
        "" => field.to_owned(),
        "uca" => format!("uca({field}, en,primary)"),
        function => format!("{function}({field})"),
    };
    if let Some(missing) = &missing {
        text = match missing.as_str() {
            "first" | "last" => format!("missing({text},{missing})"),
            value => format!("missing({text}, as, \"{value}\")"),
        };
    }
    // The schema says it where the request does not.
    let descending = sign == "-" || sign.is_empty() && field == "down";
    By { field, descending, function, missing, text: format!("{sign}{text}") }
}

impl By {
    fn text(&self, text: &str) -> Key {
        // The order of everything in one language, for letters without accents: small ones first.
        let identical = || {
            let capitals: String =
                text.chars().map(|c| if c.is_uppercase() { '1' } else { '0' }).collect();
            format!("{} {capitals}", text.to_lowercase())
        };
        Key::Text(match (self.function, self.field) {
            ("raw", _) => text.to_owned(),
            ("", "down") => identical(),
            // What the schema says of the strength is for those who say none.
            _ => text.to_lowercase(),
        })
    }

    fn key(&self, document: &Json) -> Key {
        let (name, part) = self.field.split_once('.').unwrap_or((self.field, ""));
        let value = &document[name];
        let one = |value: &Json| match value.as_str() {
            Some(text) => self.text(text),
            None => Key::Number(value.as_f64().unwrap()),
        };
        let many: Vec<Key> = match (value, part) {
            (Json::Null, _) => Vec::new(),
            (Json::Array(list), _) => list.iter().map(one).collect(),
            (Json::Object(pairs), "value") => pairs.values().map(one).collect(),
            (Json::Object(pairs), _) => pairs.keys().map(|key| self.text(key)).collect(),
            (value, _) => vec![one(value)],
        };
        let found = match self.descending {
            true => many.into_iter().max_by(order),
            false => many.into_iter().min_by(order),
        };
        let is_many = matches!(name, "nums" | "tags" | "pairs");
        found.unwrap_or_else(|| match self.missing.as_deref() {
            Some("first") => Key::First,
            Some("last") => Key::Last,
            Some(value) => value.parse().map_or_else(|_| self.text(value), Key::Number),
            None if is_many || self.descending => Key::Last,
            None => Key::First,
        })
    }
}

fn order(a: &Key, b: &Key) -> Ordering {
    match (a, b) {
        (Key::Number(a), Key::Number(b)) => a.total_cmp(b),
        (Key::Text(a), Key::Text(b)) => a.cmp(b),
        (Key::First, Key::First) | (Key::Last, Key::Last) => Ordering::Equal,
        (Key::First, _) | (_, Key::Last) => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// The order of two documents by all of it, and by their numbers.
fn compared(order_by: &[By], list: &[Json], a: usize, b: usize) -> Ordering {
    let orders = order_by.iter().map(|by| {
        let (a, b) = (by.key(&list[a]), by.key(&list[b]));
        let is_at_an_end = |key: &Key| matches!(key, Key::First | Key::Last);
        match by.descending && !is_at_an_end(&a) && !is_at_an_end(&b) {
            true => order(&b, &a),
            false => order(&a, &b),
        }
    });
    orders.fold(Ordering::Equal, Ordering::then).then(a.cmp(&b))
}

#[test]
fn documents_are_in_the_order_that_is_asked_for() {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = number("STEAD_SEED").map_or(1..1 + SETS, |seed| seed..seed + 1);
    for seed in seeds {
        let mut chance = Chance::new(seed);
        let list: Vec<Json> = (0..1 + chance.below(40)).map(|_| document(&mut chance)).collect();
        let documents = asked.documents("d", &list);
        for _ in 0..ORDERS {
            let order_by: Vec<By> = (0..1 + chance.below(3)).map(|_| by(&mut chance)).collect();
            let texts: Vec<&str> = order_by.iter().map(|by| by.text.as_str()).collect();
            let hits = 1 + chance.below(list.len() + 3);
            let body = json!({"yql": "select * from d where true", "sorting": texts.join(" "), "hits": hits});
            let (status, result) = asked.search(&[documents.view()], &body);
            let repeat = format!("STEAD_SEED={seed} cargo test -p stead-search --test all orders");
            assert_eq!(status, 200, "{repeat}: {body} {result}");
            let found: Vec<usize> = result["root"]["children"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hit| hit["id"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap())
                .collect();
            let mut expected: Vec<usize> = (0..list.len()).collect();
            expected.sort_by(|a, b| compared(&order_by, &list, *a, *b));
            expected.truncate(hits);
            assert_eq!(found, expected, "{repeat}: {body}");
        }
    }
}
