//! Indexes of texts while documents come and go.
#![allow(clippy::unwrap_used)]

mod harness;

use std::sync::Arc;

use harness::{all, kind_of};
use stead_log::{SeededRng, SimIo};
use stead_store::{Action, Change, Collection, Edit, FieldValue, Operation, Store, StoreOptions};

const LANGUAGES: &str = "schema shop {
  document shop {
    field language type string { indexing: set_language | summary }
    field text type string { indexing: index | summary }
  }
}";

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

#[test]
fn the_language_of_a_document_is_that_of_its_texts() {
    let kind = kind_of(LANGUAGES);
    let number = |name: &str| kind.field(name).unwrap().0;
    let (language, body) = (number("language"), number("text"));
    let mut documents = Collection::new(kind.clone());
    // "katzen" has the stem "katz" in German; English takes nothing off.
    let stems = |documents: &mut Collection| {
        documents.publish();
        let view = documents.view();
        ["katz", "katzen"].map(|term| view.text(0).unwrap().frequency(term))
    };
    documents.put("a", &[(language, text("de-AT")), (body, text("katzen"))]).unwrap();
    documents.put("b", &[(body, text("katzen"))]).unwrap();
    assert_eq!(stems(&mut documents), [1, 1], "put");
    documents.update("b", &[(language, Some(text("de")))]).unwrap();
    assert_eq!(stems(&mut documents), [2, 0], "the language changes");
    documents.update("a", &[(body, Some(text("katzen, katzen")))]).unwrap();
    assert_eq!(stems(&mut documents), [2, 0], "the text changes");
    documents.update("b", &[(body, None)]).unwrap();
    documents.remove("a");
    assert_eq!(stems(&mut documents), [0, 0], "both go");
}

/// Documents come one by one, and segments are joined behind their back.
#[test]
fn segments_become_few() {
    let kind =
        kind_of("schema shop { document shop { field text type string { indexing: index } } }");
    let io = SimIo::new(1);
    let open = || {
        let (io, rng) = (Arc::new(io.clone()), Arc::new(SeededRng::new(1)));
        Store::open(io, rng, vec![kind.clone()], StoreOptions::default()).unwrap()
    };
    let store = open();
    for at in 0..2000 {
        let (document, value) = (format!("id:n:shop::{}", at % 1500), text(&format!("no {at}")));
        let action = match at % 3 {
            0 => Action::Put { fields: vec![(0, value)], create: false },
            _ => {
                let edit = Edit::Assign(Some(value));
                let change = Change { field: 0, path: Vec::new(), edit };
                Action::Update { changes: vec![change], create: true }
            }
        };
        let operation = Operation { operation: 0, document, condition: None, action };
        store.submit_wait("shop", operation).unwrap();
    }
    let view = store.reader("shop").unwrap().view();
    let before = all(&view);
    let index = view.text(0).unwrap();
    // At most seven of each size, of which there are four, and eight that are being joined.
    assert!(index.segments() <= 4 * 7 + 8, "{}", index.segments());
    assert_eq!((index.documents(), index.frequency("no")), (1500, 1500));
    drop(store);
    let view = open().reader("shop").unwrap().view();
    assert_eq!(all(&view), before);
    assert_eq!(view.text(0).unwrap().segments(), 1);
}
