//! Operations on their way to processors and back.

use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_store::Change;

use super::*;

fn kinds() -> Kinds {
    let document = |name: &str, more: &str| {
        format!(
            "schema {name} {{ document {name} {{ field t type string {{}} field n type int {{}} {more} }} }}"
        )
    };
    let (a, b) = (document("a", "field x type float {}"), document("b", ""));
    let services = "<content id='c' version='1.0'><documents><document type='a' mode='index'/><document type='b' mode='index'/></documents></content>";
    let files = [("services.xml", services), ("schemas/a.sd", &a), ("schemas/b.sd", &b)];
    let files = PackageFiles::from_texts(files).unwrap();
    let (application, report) = Application::read(&files, ServicesOptions::default());
    assert!(!report.has_errors());
    Kinds::new(&application)
}

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

fn put(id: &str, fields: Vec<(usize, FieldValue)>) -> Fed {
    let action = Action::Put { fields, create: false };
    let condition = Some(Selection::parse("a.n == 1").unwrap());
    let operation = Operation { operation: 0, document: id.to_owned(), condition, action };
    Fed { operation, changes: None }
}

fn op(op: &str, id: &str, more: &[(&str, Plain)]) -> Plain {
    let mut members = vec![("op".to_owned(), op.into()), ("id".to_owned(), id.into())];
    members.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    Plain::Dict(members)
}

fn read(list: Vec<Plain>, given: &[&Fed]) -> Result<Vec<Came>, String> {
    read_operations(dict([("operations", Plain::List(list))]), given, &kinds())
}

#[test]
fn what_is_given_back_is_what_was_given() {
    let (one, two) = (put("id:ns:a::1", vec![(0, text("x"))]), put("id:ns:b::2", vec![]));
    let given = [&one, &two];
    let Plain::Dict(mut members) = operations(&given, &kinds()).unwrap() else { panic!() };
    let Plain::List(list) = members.remove(0).1 else { panic!() };
    let back = read(list, &given).unwrap();
    let expected = [(Some(0), one.clone()), (Some(1), two.clone())];
    assert_eq!(back, expected.map(|(from, fed)| Came { from, fed }));
    // In another order, and twice.
    let back = read(vec![1.into(), 0.into(), 1.into()], &given).unwrap();
    let found: Vec<_> = back.iter().map(|came| (came.from, &came.fed)).collect();
    assert_eq!(found, [(Some(1), &two), (Some(0), &one), (Some(1), &two)]);
}

#[test]
fn fields_that_nobody_changed_stay() {
    let ratio = FieldValue::Number(f64::from(0.1_f32));
    let one =
        put("id:ns:a::1", vec![(0, text("x")), (1, FieldValue::Integer(5)), (2, ratio.clone())]);
    let fields = |list: &[(&str, Plain)]| {
        Plain::Dict(list.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect())
    };
    let removed = Plain::List(vec!["n".into()]);
    for (label, id, more, expected) in [
        (
            "changed and removed",
            "id:ns:a::1",
            vec![("ref", 0.into()), ("fields", fields(&[("t", "y".into())])), ("removed", removed)],
            Ok(vec![(2, ratio.clone()), (0, text("y"))]),
        ),
        (
            "None takes away",
            "id:ns:a::1",
            vec![("ref", 0.into()), ("fields", fields(&[("x", Plain::None), ("n", Plain::None)]))],
            Ok(vec![(0, text("x"))]),
        ),
        (
            "whole",
            "id:ns:a::1",
            vec![("fields", fields(&[("n", 7.into())]))],
            Ok(vec![(1, FieldValue::Integer(7))]),
        ),
        (
            "another type",
            "id:ns:b::1",
            vec![("ref", 0.into()), ("fields", fields(&[]))],
            Err("gave document id:ns:b::1: documents of type b have no field x as those of type a"),
        ),
        (
            "no such field",
            "id:ns:a::1",
            vec![("fields", fields(&[("z", 1.into())]))],
            Err("gave document id:ns:a::1: documents of type a have no field z; they have t, n, x"),
        ),
        (
            "no such operation",
            "id:ns:a::1",
            vec![("ref", 1.into()), ("fields", fields(&[]))],
            Err("gave operation 1, which it was not given"),
        ),
        (
            "a condition",
            "id:ns:a::1",
            vec![("fields", fields(&[])), ("condition", "a.n ==".into())],
            Err("gave document id:ns:a::1: condition: "),
        ),
    ] {
        let found = read(vec![op("put", id, &more)], &[&one]);
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                assert_eq!(found[0].from, Some(0), "{label}");
                let Action::Put { fields, .. } = &found[0].fed.operation.action else { panic!() };
                assert_eq!(*fields, expected, "{label}");
            }
            (Err(found), Err(expected)) => assert!(found.starts_with(expected), "{label}: {found}"),
            (found, _) => panic!("{label}: {found:?}"),
        }
    }
}

#[test]
fn updates_are_read_as_they_are_sent() {
    let changes = dict([("n", dict([("increment", 2.into())]))]);
    let more = [("fields", changes), ("create", true.into()), ("condition", "a.n > 1".into())];
    let came = read(vec![op("update", "id:ns:a::1", &more)], &[]).unwrap();
    let fed = &came[0].fed;
    let Action::Update { changes, create } = &fed.operation.action else { panic!() };
    let json = r#"{"fields":{"n":{"increment":2}}}"#;
    let members = Members::parse(json.as_bytes()).unwrap();
    let kinds = kinds();
    let kind = kinds.of("id:ns:a::1").unwrap();
    let expected = members.operation(kind, Verb::Update, "id:ns:a::1").unwrap();
    let Action::Update { changes: expected, .. } = expected.action else { panic!() };
    let expected: Vec<Change> = expected;
    assert_eq!((changes, *create), (&expected, true));
    assert_eq!(fed.changes.as_deref(), Some(r#"{"n":{"increment":2}}"#));
    assert_eq!(fed.operation.condition.as_ref().map(Selection::text), Some("a.n > 1"));
    let wrong = [("fields", dict([("n", dict([("assign", "x".into())]))]))];
    let told = read(vec![op("update", "id:ns:a::1", &wrong)], &[]).unwrap_err();
    assert_eq!(told, "gave document id:ns:a::1: field n: expected an int, found \"x\"");
}

/// Whose an operation is that has no number: of the only one with its document.
#[test]
fn operations_belong_to_those_with_their_document() {
    let (one, two) = (put("id:ns:a::1", vec![]), put("id:ns:a::2", vec![]));
    let again = put("id:ns:a::1", vec![]);
    let came = |id: &str, given: &[&Fed]| {
        read(vec![op("remove", id, &[])], given).map(|came| came[0].from)
    };
    for (label, id, given, expected) in [
        ("the only one", "id:ns:a::2", &[&one, &two][..], Ok(Some(1))),
        ("another document", "id:ns:a::3", &[&one, &two], Ok(None)),
        ("two with it", "id:ns:a::1", &[&one, &two, &again], Ok(None)),
        (
            "a type that is not stored",
            "id:ns:z::1",
            &[&one],
            Err(
                "document id:ns:z::1 is of the type \"z\", which is not stored here; there are a, b",
            ),
        ),
        (
            "no id",
            "1",
            &[&one],
            Err("document 1 is of the type \"\", which is not stored here; there are a, b"),
        ),
    ] {
        assert_eq!(came(id, given), expected.map_err(str::to_owned), "{label}");
    }
    for (label, list, expected) in [
        ("no operation", vec![Plain::None], "gave None, which is no operation"),
        ("a number", vec![(-1).into()], "gave operation -1, which it was not given"),
        ("an unknown one", vec![op("visit", "id:ns:a::1", &[])], "gave an operation \"visit\""),
    ] {
        assert_eq!(read(list, &[&one]), Err(expected.to_owned()), "{label}");
    }
    assert_eq!(
        read_operations(dict([]), &[], &kinds()),
        Err("gave no list of operations".to_owned())
    );
}
