//! Hits whose documents cannot be read any more from the disk.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::json;
use stead_log::{Io, SeededRng, SimIo};
use stead_store::{Operation, Store, StoreOptions};

use crate::asked::Asked;

const SCHEMA: &str = "schema item {
  document item {
    field n type int { indexing: attribute | summary }
    field text type string { indexing: summary }
  }
}";

#[test]
fn a_hit_whose_fields_are_damaged_is_an_error_and_not_a_document_without_them() {
    let (asked, io) = (Asked::new(&[("item", false, SCHEMA)]), SimIo::new(1));
    let kind = asked.kind("item");
    let open = || {
        let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
        Store::open(io, rng, vec![kind.clone()], StoreOptions::default()).unwrap()
    };
    let store = open();
    // Two groups of bodies. One text is so unlike the others that it is found in its pack as it is.
    for n in 0..20 {
        let text = if n == 17 { "peculiar".to_owned() } else { format!("<{n}>") };
        let fields = json!({"n": n, "text": text});
        let json = json!({"put": format!("id:n:item::{n}"), "fields": fields});
        let operation = Operation::read(&kind, json.to_string().as_bytes()).unwrap();
        store.submit_wait("item", operation).unwrap();
    }
    drop(store);
    let packs = io.list().unwrap().into_iter().filter(|name| name.ends_with(".pack"));
    for name in packs {
        let mut bytes = io.contents(&name).unwrap();
        if let Some(at) = bytes.windows(8).position(|part| part == b"peculiar") {
            bytes[at] ^= 1;
            io.set_contents(&name, &bytes);
        }
    }
    let store = open();
    assert_eq!(store.damaged(), [], "bodies are read when they are wanted");
    let view = store.reader("item").unwrap().view();
    let search = |yql: &str| asked.search(&[&view], &json!({"yql": yql, "hits": 50}));
    let (status, whole) = search("select * from item where n < 16");
    assert_eq!((status, &whole["root"]["errors"]), (200, &json!(null)));
    let (status, json) = search("select * from item where n > 13 order by n");
    assert_eq!(status, 200, "{json}");
    let hits = json["root"]["children"].as_array().unwrap();
    let texts: Vec<Option<&str>> = hits.iter().map(|hit| hit["fields"]["text"].as_str()).collect();
    assert_eq!(texts, [Some("<14>"), Some("<15>"), None, None, None, None], "{json}");
    let errors = json["root"]["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &errors[0]["code"]), (1, &json!(13)), "{json}");
    let message = errors[0]["message"].as_str().unwrap();
    assert!(message.starts_with("Missing hit summary data for 4 hits: "), "{message}");
    assert!(
        message.contains(".pack is corrupt at byte ") && message.ends_with("the checksum differs"),
        "{message}"
    );
}
