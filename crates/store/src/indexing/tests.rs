//! Scripts of fields: what becomes of the values of a document. What is expected follows from Vespa's documentation of the indexing
//! language.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_expr::{TensorType, Value, compile};

use super::{Embedder, NoEmbedder, ScriptContext, Scripts, Unfilled};
use crate::json::read_put;
use crate::kind::DocumentType;
use crate::value::FieldValue;

const FIELDS: &str = "
    struct person { field name type string {} field age type int {} }
    field a type string { indexing: summary }
    field b type string { indexing: summary }
    field n type int { indexing: summary }
    field m type long { indexing: summary }
    field f type float { indexing: summary }
    field yes type bool { indexing: summary }
    field words type array<string> { indexing: summary }
    field numbers type array<int> { indexing: summary }
    field sets type weightedset<string> { indexing: summary }
    field stock type map<string, int> { indexing: summary }
    field owner type person { indexing: summary }
    field people type array<person> { indexing: summary }
    field place type position { indexing: summary }
    field vector type tensor<float>(x[10]) { indexing: summary }";

/// The value that a script gives a field of this type.
fn value(kind: &str, script: &str, document: &Json) -> Result<Option<FieldValue>, String> {
    let documents = filled(
        &format!("\nfield out type {kind} {{ indexing {{ {script} }} }}"),
        document,
        &NoEmbedder,
    )?;
    Ok(documents.get("out").cloned())
}

fn filled(
    outside: &str,
    document: &Json,
    embedder: &dyn Embedder,
) -> Result<BTreeMap<String, FieldValue>, String> {
    let (scripts, kind) = scripts(outside)?;
    let put = json!({"id": "id:ns:doc:g=me:one", "fields": document}).to_string();
    let given = read_put(&kind, 1, put.as_bytes()).map_err(|e| e.to_string())?.fields;
    let cx = ScriptContext { now: 1_700_000_000, seed: 1, embedder };
    let fields = scripts.run("id:ns:doc:g=me:one", given, &cx);
    let fields = fields.map_err(|e| format!("{}: {}", e.field, e.text))?;
    let names: Vec<&str> = kind.fields().collect();
    Ok(fields.into_iter().map(|(at, value)| (names[at].to_owned(), value)).collect())
}

fn scripts(outside: &str) -> Result<(Scripts, DocumentType), String> {
    let schema = format!("schema doc {{ document doc {{ {FIELDS} }} {outside} }}");
    let services = "<services version='1.0'><container id='c'/></services>";
    let files = [("schemas/doc.sd", schema.as_str()), ("services.xml", services)];
    let files = PackageFiles::from_texts(files).unwrap();
    let (application, report) = Application::read(&files, ServicesOptions::default());
    // Components are those that a test has.
    if let Some(error) = report.errors().find(|e| !e.text.contains("has no such embedder")) {
        return Err(error.text.clone());
    }
    let schema = application.schema("doc").unwrap();
    let kind = DocumentType::new(schema);
    Ok((Scripts::new(schema, &kind), kind))
}

fn text(text: &str) -> FieldValue {
    FieldValue::Text(text.to_owned())
}

fn texts(list: &[&str]) -> FieldValue {
    FieldValue::Array(list.iter().map(|t| text(t)).collect())
}

fn tensor(text: &str) -> Value {
    compile(text, &|_: &str| None).unwrap().run(&[]).unwrap()
}

#[test]
fn steps_make_values_of_values() {
    let document = json!({"a": "Hello  W\u{f6}rld ", "n": 7, "m": 5_000_000_000_i64, "f": 0.1, "yes": true,
        "words": ["x", "y", "z"], "numbers": [1, 2], "sets": {"p": 3, "q": 4}, "stock": {"red": 5, "blue": 6},
        "owner": {"name": "Ann", "age": 30}, "people": [{"name": "Bo"}, {"name": "Cy", "age": 4}],
        "place": {"lat": 0, "lng": 0.000001}, "vector": [1, -1, 2, 0, 0, 0, 0, 0.5, 3, 0]});
    let integer = |n: i64| FieldValue::Integer(n);
    for (kind, script, expected) in [
        ("string", "input a | lowercase | attribute", text("hello  w\u{f6}rld ")),
        ("string", "input a | trim | normalize | index", text("Hello  World")),
        ("string", "input a | substring 0 5 | summary", text("Hello")),
        (
            "array<string>",
            "input a | trim | split \" +\" | attribute",
            texts(&["Hello", "W\u{f6}rld"]),
        ),
        (
            "array<string>",
            "input words | for_each { _ . \"!\" } | attribute",
            texts(&["x!", "y!", "z!"]),
        ),
        ("string", "input words | join \"-\" | attribute", text("x-y-z")),
        (
            "array<string>",
            "input words . input words | attribute",
            texts(&["x", "y", "z", "x", "y", "z"]),
        ),
        (
            "string",
            "input a . \"|\" . input n . \"|\" . input f | attribute",
            text("Hello  W\u{f6}rld |7|0.1"),
        ),
        ("string", "input yes | to_string | attribute", text("true")),
        ("string", "input m | to_string | attribute", text("5000000000")),
        ("string", "input numbers | to_string | attribute", text("[1, 2]")),
        ("string", "input b || input a | lowercase | attribute", text("hello  w\u{f6}rld ")),
        ("string", "(input b || \"none\") . \".\" | attribute", text("none.")),
        ("long", "input n | to_long | attribute", integer(7)),
        ("int", "input n + 1 | attribute", integer(8)),
        ("int", "input n * 2 - 3 | attribute", integer(11)),
        ("int", "(input n + 1) / 3 | attribute", integer(2)),
        ("long", "input n + input m | attribute", integer(5_000_000_007)),
        (
            "array<int>",
            "input numbers | for_each { _ * 10 } | attribute",
            FieldValue::Array(vec![integer(10), integer(20)]),
        ),
        ("long", "now | attribute", integer(1_700_000_000)),
        ("long", "\"2023-12-24T17:00:43Z\" | to_epoch_second | attribute", integer(1_703_437_243)),
        ("bool", "input n | to_bool | attribute", FieldValue::Bool(true)),
        ("array<string>", "input a | trim | to_array | attribute", texts(&["Hello  W\u{f6}rld"])),
        (
            "weightedset<string>",
            "\"x\" | to_wset | attribute",
            FieldValue::Weighted(vec![(text("x"), 1)]),
        ),
        (
            "weightedset<string>",
            "input sets | for_each { \"_\" . _ } | attribute",
            FieldValue::Weighted(vec![(text("_p"), 3), (text("_q"), 4)]),
        ),
        ("int", "input stock | get_value red | attribute", integer(5)),
        (
            "array<string>",
            "input stock | for_each { get_field $key } | attribute",
            texts(&["blue", "red"]),
        ),
        (
            "array<int>",
            "input stock | for_each { get_field $value } | attribute",
            FieldValue::Array(vec![integer(6), integer(5)]),
        ),
        ("string", "input owner.name | attribute", text("Ann")),
        (
            "array<string>",
            "input people | for_each { get_field name } | attribute",
            texts(&["Bo", "Cy"]),
        ),
        ("long", "input place | zcurve | attribute", integer(1)),
        ("string", "input m | hex_encode | attribute", text("12a05f200")),
        ("long", "\"12a05f200\" | hex_decode | attribute", integer(5_000_000_000)),
        (
            "tensor<int8>(x[2])",
            "input vector | pack_bits | attribute",
            FieldValue::Tensor(tensor("tensor<int8>(x[2]):[-95,-128]")),
        ),
        (
            "tensor<int8>(x[10])",
            "input vector | binarize 1 | attribute",
            FieldValue::Tensor(tensor("tensor<int8>(x[10]):[0,0,1,0,0,0,0,0,1,0]")),
        ),
        (
            "string",
            "if (input n > 5) { \"many\" | attribute } else { \"few\" | attribute }",
            text("many"),
        ),
        (
            "string",
            "if (input a == \"x\") { \"x\" | attribute } else { \"other\" | attribute }",
            text("other"),
        ),
        (
            "string",
            "input n | to_string | switch { case \"7\": \"seven\" | attribute; default: \"none\" | attribute; }",
            text("seven"),
        ),
        (
            "string",
            "select_input { b: lowercase | attribute; a: trim | attribute; }",
            text("Hello  W\u{f6}rld"),
        ),
        (
            "string",
            "input a | trim | set_var t; \"<\" . (get_var t) . \">\" | attribute",
            text("<Hello  W\u{f6}rld>"),
        ),
        ("string", "documentid | attribute", text("id:ns:doc:g=me:one")),
        ("string", "documentid specific | attribute", text("one")),
        ("string", "{ input a | trim | attribute; }", text("Hello  W\u{f6}rld")),
        (
            "string",
            "input a | set_language | tokenize | trim | attribute",
            text("Hello  W\u{f6}rld"),
        ),
    ] {
        let found = value(kind, &format!("{script};"), &document);
        assert_eq!(found, Ok(Some(expected)), "{script}");
    }
}

#[test]
fn what_is_missing_makes_nothing() {
    for script in [
        "input a | lowercase | attribute",
        "input a . \"x\" | attribute",
        "input a || input b | attribute",
        "input n + 1 | to_string | attribute",
        "input owner.name | attribute",
        "if (input a == \"x\") { \"x\" | attribute }",
    ] {
        assert_eq!(value("string", script, &json!({})), Ok(None), "{script}");
    }
}

#[test]
fn values_that_steps_cannot_take_are_told_with_their_place() {
    for (kind, script, expected) in [
        (
            "int",
            "input a | to_int | attribute",
            "out: schemas/doc.sd:17:43: to_int: expected an int, found \"five\"",
        ),
        ("int", "input n / 0 | attribute", "out: schemas/doc.sd:17:33: division by 0"),
        (
            "long",
            "input a | to_epoch_second | attribute",
            "out: schemas/doc.sd:17:44: to_epoch_second: expected a moment such as 2023-12-24T17:00:43Z, found \"five\"",
        ),
        (
            "position",
            "input a | to_pos | attribute",
            "out: schemas/doc.sd:17:48: to_pos: expected a position such as N63.4;E10.4, found \"five\"",
        ),
        (
            "long",
            "input a | hex_decode | attribute",
            "out: schemas/doc.sd:17:44: hex_decode: expected hexadecimal digits of a long, found \"five\"",
        ),
        (
            "array<string>",
            "input a | split \"(\" | attribute",
            "out: schemas/doc.sd:17:53: split: \"(\" is no regular expression",
        ),
        (
            "byte",
            "300 | attribute",
            "out: schemas/doc.sd:17:40: attribute: expected a value of type byte, found one of int",
        ),
    ] {
        let found = value(kind, script, &json!({"a": "five", "n": 1}));
        assert_eq!(found.unwrap_err(), expected, "{script}");
    }
}

#[test]
fn values_of_the_document_stay_where_no_script_writes() {
    let outside = "field low type string { indexing: input a | lowercase | attribute }
      field kept type tensor<float>(x[2]) { indexing: input a | embed e | attribute }
      field also type string { indexing: input b | attribute | index }";
    let document = json!({"a": "A", "b": "B", "low": "given", "kept": [1, 2]});
    let found = filled(outside, &document, &NoEmbedder).unwrap();
    let texts = [("a", "A"), ("also", "B"), ("b", "B"), ("low", "given")];
    let mut expected = BTreeMap::from(texts.map(|(name, value)| (name.to_owned(), text(value))));
    let kept = FieldValue::Tensor(tensor("tensor<float>(x[2]):[1,2]"));
    expected.insert("kept".to_owned(), kept);
    assert_eq!(found, expected);
}

/// The lengths of texts.
struct Lengths;

impl Embedder for Lengths {
    fn embed(
        &self,
        id: &str,
        text: &str,
        kind: &TensorType,
        _: Option<&str>,
    ) -> Option<Result<Value, String>> {
        let cell = text.len();
        Some(match id {
            "lengths" => Ok(tensor(&format!("{kind}:[{cell},{cell}]"))),
            _ => Err("it broke".to_owned()),
        })
    }

    fn has(&self, id: &str) -> bool {
        id != "elsewhere"
    }
}

#[test]
fn texts_are_embedded_where_there_is_a_component() {
    let outside = "
      field one type tensor<float>(x[2]) { indexing: input a | embed lengths | attribute }
      field many type tensor<float>(p{},x[2]) { indexing: input words | embed lengths | attribute }
      field none type tensor<float>(x[2]) { indexing: input a | embed elsewhere | attribute }";
    let document = json!({"a": "abc", "words": ["x", " ", "yz"]});
    let found = filled(outside, &document, &Lengths).unwrap();
    assert_eq!(found["one"], FieldValue::Tensor(tensor("tensor<float>(x[2]):[3,3]")));
    let many = tensor("tensor<float>(p{},x[2]):{0:[1,1],2:[2,2]}");
    assert_eq!(found["many"], FieldValue::Tensor(many));
    assert!(!found.contains_key("none"));
    let (scripts, _) = scripts(outside).unwrap();
    let unfilled =
        |field: &str, step: &str| Unfilled { field: field.to_owned(), step: step.to_owned() };
    assert_eq!(scripts.unfilled(&Lengths), [unfilled("none", "embed elsewhere")]);
    assert_eq!(scripts.unfilled(&NoEmbedder).len(), 3);
}
