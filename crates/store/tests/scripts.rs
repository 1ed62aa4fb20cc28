//! Scripts of fields when documents are fed: what is written is in the log, and replaying it runs no script again.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_log::{SeededRng, SimIo, VirtualClock};
use stead_store::{DocumentType, FieldValue, Operation, Scripts, Store, StoreError, StoreOptions};

const SCHEMA: &str = r#"schema song {
  document song {
    field title type string { indexing: summary }
    field artist type string { indexing: summary }
    field year type int { indexing: summary | attribute }
    field plays type long { indexing: summary }
  }
  field both type string { indexing: input artist . ": " . (input title | lowercase) | attribute }
  field decade type int { indexing: input year / 10 * 10 | attribute }
  field first type string { indexing: input title || input artist | attribute }
  field changed type long { indexing: now | attribute }
  field chance type int { indexing: random 1000000 | attribute }
  field number type int { indexing: input title | to_int | attribute }
}"#;

fn open(io: &SimIo, clock: &Arc<VirtualClock>, seed: u64, leave_out: &str) -> Store {
    let schema: Vec<&str> = SCHEMA.lines().filter(|l| !l.contains(leave_out)).collect();
    let files =
        PackageFiles::from_texts([("schemas/song.sd", schema.join("\n").as_str())]).unwrap();
    let (application, report) = Application::read(&files, ServicesOptions::default());
    assert!(report.errors().all(|e| e.text.contains("services.xml")), "{report:?}");
    let schema = application.schema("song").unwrap();
    let kind = DocumentType::new(schema);
    let scripts = vec![Scripts::new(schema, &kind)];
    let options = StoreOptions { scripts, clock: clock.clone(), ..StoreOptions::default() };
    Store::open(Arc::new(io.clone()), Arc::new(SeededRng::new(seed)), vec![kind], options).unwrap()
}

fn submit(store: &Store, operation: &Json) -> Result<(), StoreError> {
    let kind = store.kind("song").unwrap();
    let operation = Operation::read(kind, operation.to_string().as_bytes()).unwrap();
    store.submit_wait("song", operation).map(drop)
}

fn field(store: &Store, name: &str) -> Option<FieldValue> {
    let view = store.reader("song").unwrap().view();
    let (number, _) = view.kind().field(name).unwrap();
    let fields = view.fields(view.find("id:n:song::1").unwrap()).unwrap();
    fields.into_iter().find(|(at, _)| *at == number).map(|(_, value)| value)
}

fn text(text: &str) -> Option<FieldValue> {
    Some(FieldValue::Text(text.to_owned()))
}

fn number(number: i64) -> Option<FieldValue> {
    Some(FieldValue::Integer(number))
}

fn put(fields: &Json) -> Json {
    json!({"put": "id:n:song::1", "fields": fields})
}

fn update(fields: &Json) -> Json {
    json!({"update": "id:n:song::1", "fields": fields})
}

#[test]
fn scripts_fill_what_is_put_and_what_updates_change() {
    let clock = Arc::new(VirtualClock::default());
    let now = |store: &Store| match field(store, "changed") {
        Some(FieldValue::Integer(seconds)) => seconds,
        other => panic!("{other:?}"),
    };
    let io = SimIo::new(1);
    let store = open(&io, &clock, 1, "to_int");
    submit(&store, &put(&json!({"title": "Blue", "artist": "Joni", "year": 1971}))).unwrap();
    assert_eq!(field(&store, "both"), text("Joni: blue"));
    assert_eq!(field(&store, "decade"), number(1970));
    assert_eq!(field(&store, "first"), text("Blue"));
    let (began, chance) = (now(&store), field(&store, "chance"));

    for (label, change, expected) in [
        (
            "a field that a script reads",
            json!({"year": {"increment": 12}}),
            [text("Joni: blue"), number(1980), text("Blue")],
        ),
        (
            "one of two that a script reads",
            json!({"title": {"assign": "Hejira"}}),
            [text("Joni: hejira"), number(1980), text("Hejira")],
        ),
        (
            "a field that goes takes along what was made of it",
            json!({"title": {"assign": null}}),
            [None, number(1980), text("Joni")],
        ),
        (
            "a field that no script reads",
            json!({"plays": {"assign": 5}}),
            [None, number(1980), text("Joni")],
        ),
    ] {
        clock.advance(Duration::from_secs(10));
        submit(&store, &update(&change)).unwrap();
        let found = ["both", "decade", "first"].map(|name| field(&store, name));
        assert_eq!(found, expected, "{label}");
    }
    // As with Vespa: a script that reads nothing runs whenever the document is written.
    assert_eq!(now(&store), began + 40);
    assert_ne!(field(&store, "chance"), chance);

    let fields = |store: &Store| {
        let view = store.reader("song").unwrap().view();
        view.fields(view.find("id:n:song::1").unwrap())
    };
    let before = fields(&store);
    drop(store);
    clock.advance(Duration::from_secs(1000));
    let store = open(&io, &clock, 2, "to_int");
    assert_eq!(
        fields(&store),
        before,
        "the log tells all, at another time and with another chance"
    );
    let create =
        json!({"update": "id:n:song::2", "create": true, "fields": {"year": {"assign": 2001}}});
    submit(&store, &create).unwrap();
    let view = store.reader("song").unwrap().view();
    let made = view.fields(view.find("id:n:song::2").unwrap()).unwrap();
    let (decade, _) = view.kind().field("decade").unwrap();
    assert!(made.contains(&(decade, FieldValue::Integer(2000))), "{made:?}");
}

#[test]
fn what_scripts_cannot_take_is_refused_and_changes_nothing() {
    let store = open(&SimIo::new(1), &Arc::new(VirtualClock::default()), 1, "nothing");
    submit(&store, &put(&json!({"title": "7"}))).unwrap();
    for (operation, expected) in [
        (
            put(&json!({"title": "x"})),
            "field number: schemas/song.sd:13:51: to_int: expected an int, found \"x\"",
        ),
        (
            update(&json!({"title": {"assign": "x"}})),
            "field number: schemas/song.sd:13:51: to_int: expected an int, found \"x\"",
        ),
        (
            put(&json!({"both": "x"})),
            "Field 'both' is not part of the declared document type 'song'.",
        ),
        (
            update(&json!({"decade": {"assign": 1}})),
            "Field 'decade' is not part of the declared document type 'song'.",
        ),
    ] {
        let error = submit(&store, &operation).unwrap_err().to_string();
        let begin = "Operation on 'id:n:song::1' contains invalid input: ";
        assert_eq!(error, format!("{begin}{expected}"), "{operation}");
    }
    assert_eq!(field(&store, "number"), number(7));
}

#[test]
fn a_store_without_files_does_the_same() {
    let files = PackageFiles::from_texts([("schemas/song.sd", SCHEMA)]).unwrap();
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let schema = application.schema("song").unwrap();
    let kind = DocumentType::new(schema);
    let options =
        StoreOptions { scripts: vec![Scripts::new(schema, &kind)], ..StoreOptions::default() };
    let store = Store::in_memory(&SeededRng::new(1), vec![kind], options).unwrap();
    submit(&store, &put(&json!({"title": "7", "year": 1971}))).unwrap();
    for _ in 0..1000 {
        submit(&store, &update(&json!({"year": {"increment": 1}}))).unwrap();
    }
    assert_eq!(field(&store, "decade"), number(2970));
    submit(&store, &json!({"remove": "id:n:song::1"})).unwrap();
    assert_eq!(store.reader("song").unwrap().view().len(), 0);
}
