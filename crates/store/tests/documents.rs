//! Documents as people write them, and what is said of those that do not fit.
#![allow(clippy::unwrap_used)]

use stead_expr::{Attribute, Cells, Numbers};
use stead_store::{Column, DocumentType, Documents, FeedError};

use crate::harness;

const SCHEMA: &str = "schema shop {
  document shop {
    struct offer {
      field seller type string {}
      field price type float {}
    }
    field small type byte { indexing: attribute }
    field count type int { indexing: attribute }
    field big type long { indexing: attribute }
    field price type double { indexing: attribute }
    field sold type bool { indexing: attribute }
    field name type string { indexing: attribute | summary }
    field place type position { indexing: attribute }
    field picture type raw { indexing: attribute }
    field tags type array<string> { indexing: attribute }
    field words type weightedset<string> { indexing: attribute }
    field years type weightedset<int> { indexing: attribute }
    field stock type map<string,int> {
      indexing: summary
      struct-field key { indexing: attribute }
      struct-field value { indexing: attribute }
    }
    field offers type array<offer> {
      indexing: summary
      struct-field seller { indexing: attribute }
      struct-field price { indexing: attribute }
    }
    field dense type tensor<float>(x[2]) { indexing: attribute }
    field mixed type tensor<int8>(k{},x[2]) { indexing: attribute }
    field ids type tensor<int64>(x[2]) { indexing: attribute }
    field flags type tensor<bool>(k{}) { indexing: attribute }
    field text type string { indexing: index }
  }
  field extra type int { indexing: input count | attribute }
}";

fn kind() -> DocumentType {
    harness::kind_of(SCHEMA)
}

/// The column of an attribute in the first block, which is the only one.
fn column<'d>(documents: &'d Documents, name: &str) -> Option<&'d Column> {
    documents.view().attribute(name)?.column(0).unwrap()?.in_block()
}

fn attribute<'d>(documents: &'d Documents, name: &str) -> Option<Attribute<'d>> {
    column(documents, name)?.attribute()
}

fn read(text: &str) -> Result<Documents, FeedError> {
    Documents::read(kind(), text.as_bytes(), &mut |_| {})
}

#[test]
fn every_type_has_a_column() {
    let full = r#"{"put": "id:a:shop::1", "fields": {
        "small": -5, "count": "7", "big": 9007199254740993, "price": 1.5, "sold": true, "name": "lamp",
        "place": {"lat": 0.000001, "lng": 0.000003}, "picture": "AAE=", "tags": ["red", "blue"],
        "words": {"a": 3, "b": -1}, "years": {"1999": 2},
        "stock": {"oslo": 4, "rome": 5}, "offers": [{"seller": "x", "price": 2.5}, {"seller": "y"}],
        "dense": [1, 2], "mixed": {"p": [3, 4]}, "text": "never an attribute", "extra": 8}}"#;
    let documents =
        read(&format!("{full}\n{{\"id\": \"2\"}}\n{{\"fields\": {{\"count\": null}}}}")).unwrap();
    assert_eq!([0, 1, 2].map(|at| documents.view().id(at).unwrap()), ["id:a:shop::1", "2", "#8"]);
    assert_eq!(documents.view().find("2"), Some(1));
    assert_eq!(documents.given("count"), 1);

    let number = |name: &str| match column(&documents, name) {
        Some(Column::Numbers(column)) => [0, 1].map(|at| column.get(at).unwrap()),
        other => panic!("{name}: {other:?}"),
    };
    for (name, first) in [
        ("small", -5.0),
        ("count", 7.0),
        ("big", 9_007_199_254_740_993_i64 as f64),
        ("price", 1.5),
        ("extra", 8.0),
        // Longitude 3 has the bits 11 at the places 0 and 2, latitude 1 the bit at place 1.
        ("place_zcurve", f64::from(0b111)),
    ] {
        let [found, nothing] = number(name);
        assert_eq!((found, nothing.is_nan()), (first, true), "{name}");
    }
    assert_eq!(number("sold"), [1.0, 0.0]);
    assert!(column(&documents, "text").is_none());

    let Some(Column::Texts(names)) = column(&documents, "name") else { panic!() };
    assert_eq!([0, 1].map(|at| names.get(at)), [Some("lamp"), Some("")]);
    let Some(Column::Raw(raw)) = column(&documents, "picture") else { panic!() };
    assert_eq!(raw.get(0), Some(&[0, 1][..]));

    for (name, labels, weights) in [
        ("tags", vec!["red", "blue"], vec![1, 1]),
        ("words", vec!["a", "b"], vec![3, -1]),
        ("years", vec!["1999"], vec![2]),
        ("stock.key", vec!["oslo", "rome"], vec![1, 1]),
        ("stock.value", vec!["4", "5"], vec![1, 1]),
        ("offers.seller", vec!["x", "y"], vec![1, 1]),
    ] {
        let Some(Column::Many(many)) = column(&documents, name) else { panic!("{name}") };
        let found: Vec<String> =
            many.places(0).map(|at| many.elements().label(at).unwrap()).collect();
        assert_eq!(found, labels, "{name}");
        assert_eq!(many.places(0).map(|at| many.weight(at)).collect::<Vec<_>>(), weights, "{name}");
        assert!(many.places(1).is_empty(), "{name}");
    }
    let Some(Column::Many(prices)) = column(&documents, "offers.price") else { panic!() };
    let prices: Vec<f64> =
        prices.places(0).map(|at| prices.elements().number(at).unwrap()).collect();
    assert_eq!((prices[0], prices[1].is_nan()), (2.5, true));

    let Some(Attribute::Dense { cells: Cells::Float(cells), stride: 2 }) =
        attribute(&documents, "dense")
    else {
        panic!()
    };
    assert_eq!(*cells, [1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
    let Some(Attribute::Mixed { offsets, cells: Cells::Int8(cells), .. }) =
        attribute(&documents, "mixed")
    else {
        panic!()
    };
    assert_eq!((&*offsets, &*cells), (&[0, 1, 1, 1][..], &[3, 4][..]));
    assert!(matches!(attribute(&documents, "small"), Some(Attribute::Numbers(Numbers::F64(_)))));
    assert!(attribute(&documents, "tags").is_none());
}

#[test]
fn cells_that_vespa_does_not_have_are_stored_as_they_are() {
    let documents = read(
        r#"[{"put": "id:a:shop::1", "fields": {"ids": [9007199254740993, -1], "flags": {"a": true, "b": 0}}},
            {"put": "id:a:shop::2", "fields": {}}]"#,
    )
    .unwrap();
    let Some(Attribute::Dense { cells: Cells::Int64(cells), stride: 2 }) =
        attribute(&documents, "ids")
    else {
        panic!()
    };
    assert_eq!(*cells, [9_007_199_254_740_993, -1, 0, 0]);
    let Some(Attribute::Mixed { offsets, cells: Cells::Bool(cells), .. }) =
        attribute(&documents, "flags")
    else {
        panic!()
    };
    // Labels stand in any order.
    assert_eq!((&*offsets, cells.iter().sum::<u8>()), (&[0, 2, 2][..], 1));
    let error = read(r#"{"fields": {"ids": [1, 1.5]}}"#).unwrap_err();
    assert_eq!(error.to_string(), "line 1: #1: field ids: 1.5 is no int64");
}

#[test]
fn what_does_not_fit_is_named() {
    let long = format!("{{\"fields\":{{\"name\":[{}1]}}}}", "2,".repeat(100));
    for (text, expected) in [
        ("{\"fields\":{\"count\":1.5}}", "line 1: #1: field count: expected an int, found 1.5"),
        (
            "\n{\"fields\":{\"count\":3000000000}}",
            "line 2: #2: field count: expected an int from -2147483648 to 2147483647, found 3000000000",
        ),
        (
            "{\"fields\":{\"small\":128}}",
            "line 1: #1: field small: expected a byte from -128 to 127, found 128",
        ),
        ("{\"fields\":{\"price\":[]}}", "line 1: #1: field price: expected a double, found []"),
        ("{\"fields\":{\"sold\":1}}", "line 1: #1: field sold: expected true or false, found 1"),
        (
            "{\"fields\":{\"picture\":\"?\"}}",
            "line 1: #1: field picture: expected bytes in base64, found \"?\"",
        ),
        (
            "{\"fields\":{\"place\":{\"lat\":1}}}",
            "line 1: #1: field place: expected a position such as {\"lat\": 63.4, \"lng\": 10.4}, found {\"lat\":1}",
        ),
        (
            "{\"fields\":{\"tags\":[\"a\",1]}}",
            "line 1: #1: field tags[1]: expected a text, found 1",
        ),
        (
            "{\"fields\":{\"words\":[\"a\"]}}",
            "line 1: #1: field words: expected a weightedset<string> such as {\"element\": 1}, found [\"a\"]",
        ),
        (
            "{\"fields\":{\"years\":{\"x\":1}}}",
            "line 1: #1: field years{x}: expected an int, found \"x\"",
        ),
        (
            "{\"fields\":{\"stock\":{\"x\":\"y\"}}}",
            "line 1: #1: field stock{x}: expected an int, found \"y\"",
        ),
        (
            "{\"fields\":{\"stock\":[{\"key\":\"x\"}]}}",
            "line 1: #1: field stock[0]: expected an object with key and value, found {\"key\":\"x\"}",
        ),
        (
            "{\"fields\":{\"offers\":[{\"cost\":1}]}}",
            "line 1: #1: field offers[0]: struct offer has no member cost; it has seller, price",
        ),
        (
            "{\"fields\":{\"offers\":[{\"price\":\"\"}]}}",
            "line 1: #1: field offers[0].price: expected a float, found \"\"",
        ),
        (
            "{\"fields\":{\"dense\":[1]}}",
            "line 1: #1: field dense: tensor<float>(x[2]) needs 2 cells in a block, got 1",
        ),
        (
            "{\"put\":\"id:a:book::1\",\"fields\":{}}",
            "line 1: id:a:book::1: expected a document of type shop, found one of type book",
        ),
        (
            "{\"put\":\"id:a:shop\"}",
            "line 1: expected an id id:namespace:shop::name, found \"id:a:shop\"",
        ),
        ("{\"put\":[]}", "line 1: expected a document id, found []"),
        (
            "{\"remove\":\"id:a:shop::1\"}",
            "line 1: expected a document to put, found the key remove",
        ),
        ("{\"fields\":[]}", "line 1: #1: expected an object of fields, found []"),
        (
            "{\"id\":\"1\",\"field\":{}}",
            "line 1: 1: expected one of put, id, fields, found \"field\"",
        ),
        ("{}\n{\"id\" 1}", "line 2: expected `:` in column 7"),
        (
            &long,
            "line 1: #1: field name: expected a text, found [2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2...",
        ),
    ] {
        assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
    }
    let unknown = read("{\"fields\":{\"colour\":1}}").unwrap_err().to_string();
    assert!(
        unknown.starts_with(
            "line 1: #1: field colour: document shop has no such field; it has small, count,"
        ),
        "{unknown}"
    );
    let deep = format!("{{\"fields\":{{\"dense\":{}", "[".repeat(100_000));
    assert_eq!(read(&deep).unwrap_err().to_string(), "line 1: the document does not end");
    let deep = format!("{deep}{}}}}}", "]".repeat(100_000));
    assert_eq!(
        read(&deep).unwrap_err().to_string(),
        "line 1: #1: field dense: recursion limit exceeded"
    );
}

#[test]
fn the_last_document_of_an_id_counts() {
    let text = "{\"id\":\"1\",\"fields\":{\"count\":1}}\n{\"id\":\"2\"}\n{\"id\":\"1\",\"fields\":{\"count\":3}}";
    let documents = read(text).unwrap();
    assert_eq!((documents.view().len(), documents.replaced()), (2, &[3][..]));
    assert_eq!(documents.view().find("1"), Some(0));
}
