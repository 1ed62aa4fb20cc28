//! Text as a ranking expression: whatever compiles has a value of the type that was promised, and the same for a batch
//! of documents.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stead_expr::{
    Attribute, Documents, Rate, Scratch, Stored, TensorType, Value, compile, parse_type,
};

/// Names of every form of type, so that most functions find something to work on.
const NAMES: [(&str, &str); 7] = [
    ("a", "double"),
    ("v", "tensor<float>(x[3])"),
    ("m", "tensor<int8>(x[3],y[2])"),
    ("s", "tensor<bfloat16>(t{},x[3])"),
    ("l", "tensor(l{},t{})"),
    ("i", "tensor<int64>(x[3])"),
    ("q", "tensor<float16>(x[])"),
];

fn literal(name: &str) -> &'static str {
    match name {
        "a" => "2.5",
        "v" => "tensor<float>(x[3]):[1,2,3]",
        "m" => "tensor<int8>(x[3],y[2]):[1,2,3,4,5,-6]",
        "s" => "tensor<bfloat16>(t{},x[3]):{a:[1,2,3],1:[4,5,6]}",
        "i" => "tensor<int64>(x[3]):[9007199254740993,-1,3]",
        "q" => "tensor<float16>(x[3]):[0.5,1,2]",
        _ => "tensor(l{},t{}):{{l:a,t:a}:1,{l:b,t:1}:2}",
    }
}

fn scope(name: &str) -> Option<(TensorType, Rate)> {
    let (_, kind) = NAMES.iter().find(|(n, _)| *n == name)?;
    let rate = if name == "q" { Rate::Query } else { Rate::Document };
    parse_type(kind).ok().map(|kind| (kind, rate))
}

fuzz_target!(|text: &str| {
    // Sizes in the text make work that is bounded, but not by the seconds of a fuzzer.
    let has_large_size = text.as_bytes().windows(3).any(|w| w.iter().all(u8::is_ascii_digit));
    if has_large_size {
        return;
    }
    let Ok(expression) = compile(text, &scope) else { return };
    let inputs: Vec<Value> = expression
        .names()
        .iter()
        .map(|n| compile(literal(n), &scope).expect("a literal").run(&[]).expect("its value"))
        .collect();
    if let Ok(value) = expression.run(&inputs.iter().collect::<Vec<_>>()) {
        assert!(expression.kind().takes(value.kind()));
        assert_eq!(value.cells().len(), value.blocks() * value.kind().block_size());
        batch(text, &value);
    }
});

/// The same with two names of the query's, for two documents.
fn batch(text: &str, expected: &Value) {
    let of_query = |name: &str| {
        let (kind, rate) = scope(name)?;
        Some((kind, if ["a", "s"].contains(&name) { Rate::Query } else { rate }))
    };
    let Ok(expression) = compile(text, &of_query) else { panic!("compiled with other rates") };
    let value = |n: &str| compile(literal(n), &scope).expect("a literal").run(&[]).expect("its value");
    let query: Vec<Value> = expression.query_names().map(value).collect();
    let stored = |n: &str| {
        let value = value(n);
        let mut stored = Stored::new(value.kind().clone());
        assert!(stored.push(&value) && stored.push(&value));
        stored
    };
    let stored: Vec<Stored> = expression.document_names().map(stored).collect();
    let attributes: Vec<Attribute<'_>> = stored.iter().map(Stored::attribute).collect();
    let documents = Documents { count: 2, index: None, attributes: &attributes };
    let bound = expression.for_query(&query.iter().collect::<Vec<_>>()).expect("values that fit");
    // Twice as many cells may be too many.
    if let Ok(values) = bound.values(&documents, &mut Scratch::default()) {
        for value in values {
            assert_eq!(value.kind(), expected.kind());
            assert_eq!(value.labels(), expected.labels());
            assert_eq!(value.cells().len(), expected.cells().len());
        }
    }
}
