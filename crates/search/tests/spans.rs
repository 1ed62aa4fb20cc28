//! Indexes of many blocks while documents change: what they find is what looking at each document finds.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use stead_store::{Collection, FieldValue, View};

use crate::asked::Asked;

/// The vector, of which no document has one, makes blocks small.
const SCHEMA: &str = "schema d {
  document d {
    field n type int {
      indexing: attribute
      attribute: fast-search
    }
    field maker type int {
      indexing: attribute | summary
      attribute: fast-search
    }
    field genre type string {
      indexing: attribute
      attribute: fast-search
    }
    field tags type array<string> {
      indexing: attribute
      attribute: fast-search
    }
    field v type tensor<int8>(x[512]) { indexing: attribute }
  }
  rank-profile worth { first-phase { expression: attribute(n) * 2 + attribute(maker) } }
}";

/// More than two spans of 16,384.
const DOCUMENTS: usize = 35_000;

#[derive(Clone, Copy)]
struct Document {
    n: i64,
    maker: i64,
    genre: usize,
    tags: [usize; 2],
}

fn document(n: usize, salt: usize) -> Document {
    Document {
        n: n as i64,
        maker: ((n * 7919 + salt) % 1000) as i64,
        genre: (n * 13 + salt) % 97,
        tags: [(n * 17 + salt) % 2000, (n * 29 + 1) % 2000],
    }
}

fn put(collection: &mut Collection, model: &mut Vec<Option<Document>>, at: usize, of: Document) {
    let kind = collection.kind().clone();
    let number = |name: &str| kind.field(name).unwrap().0;
    let text = |text: String| FieldValue::Text(text);
    let tags = of.tags.map(|tag| text(format!("t{tag}"))).to_vec();
    let mut fields = vec![
        (number("n"), FieldValue::Integer(of.n)),
        (number("maker"), FieldValue::Integer(of.maker)),
        (number("genre"), text(format!("G{}", of.genre))),
        (number("tags"), FieldValue::Array(tags)),
    ];
    fields.sort_by_key(|(field, _)| *field);
    let lid = collection.put(&format!("id:m:d::{at}"), &fields).unwrap() as usize;
    model.resize(model.len().max(lid + 1), None);
    model[lid] = Some(of);
}

type Test = fn(&Document) -> bool;

const QUESTIONS: [(&str, Test); 10] = [
    ("maker = 77", |d| d.maker == 77),
    ("n >= 300 and n < 340", |d| (300..340).contains(&d.n)),
    ("genre contains 'g7'", |d| d.genre == 7),
    ("tags contains 't77'", |d| d.tags.contains(&77)),
    ("maker in (7, 77, 900)", |d| [7, 77, 900].contains(&d.maker)),
    ("maker = 77 and genre contains 'g7'", |d| d.maker == 77 && d.genre == 7),
    ("maker = 77 or n = 20000 or tags contains 't5'", |d| {
        d.maker == 77 || d.n == 20_000 || d.tags.contains(&5)
    }),
    ("genre contains 'g7' and !(maker = 77)", |d| d.genre == 7 && d.maker != 77),
    ("rank(maker = 77, genre contains 'g7')", |d| d.maker == 77),
    ("maker = 5000", |_| false),
];

/// The best of all questions by scores that tell every document apart, which the documents of a view have.
fn check(asked: &Asked, view: &View, model: &[Option<Document>], when: &str) {
    for (question, test) in QUESTIONS {
        let mut expected: Vec<f64> = model
            .iter()
            .flatten()
            .filter(|document| test(document))
            .map(|document| (document.n * 2 + document.maker) as f64)
            .collect();
        let body = json!({
            "yql": format!("select * from d where {question}"), "ranking": "worth", "hits": 400,
            "timeout": "100s",
        });
        let (status, result) = asked.search(&[view], &body);
        assert_eq!(status, 200, "{question}: {result}");
        assert_eq!(result["root"]["fields"]["totalCount"], expected.len(), "{when}: {question}");
        expected.sort_by(|a, b| b.total_cmp(a));
        expected.truncate(400);
        let none = Vec::new();
        let hits = result["root"]["children"].as_array().unwrap_or(&none);
        let found: Vec<f64> = hits.iter().map(|hit| hit["relevance"].as_f64().unwrap()).collect();
        assert_eq!(found, expected, "{when}: {question}");
    }
}

#[test]
fn indexes_of_many_blocks_find_what_is_there() {
    let asked = Asked::new(&[("d", false, SCHEMA)]);
    let mut collection = Collection::new(asked.kind("d"));
    let mut model = Vec::new();
    for at in 0..DOCUMENTS {
        put(&mut collection, &mut model, at, document(at, 0));
    }
    collection.publish();
    let (first, known) = (collection.view(), model.clone());
    assert!(first.span_blocks() > 1 && first.blocks().count() > 2 * first.span_blocks());
    check(&asked, &first, &known, "as fed");
    // So many changes that indexes are begun anew, with views that ask between them.
    let mut views = Vec::new();
    for round in 1..=6 {
        for n in 0..700 {
            let at = (n * 37 + round * 11) % 9_000;
            put(&mut collection, &mut model, at, document(at, round * 77));
        }
        for n in 0..50 {
            let at = (n * 701 + round) % DOCUMENTS;
            let id = format!("id:m:d::{at}");
            if let Some(lid) = collection.find(&id) {
                assert!(collection.remove(&id));
                model[lid as usize] = None;
            }
        }
        collection.publish();
        views.push((collection.view(), model.clone()));
        if round % 2 == 0 {
            let (view, model) = &views[views.len() - 1];
            check(&asked, view, model, &format!("round {round}"));
        }
    }
    for (at, (view, model)) in views.iter().enumerate() {
        check(&asked, view, model, &format!("view {at}, asked late"));
    }
    check(&asked, &first, &known, "as fed, asked late");
}
