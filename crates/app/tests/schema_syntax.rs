//! Every element of the schema language, once as it should be and once as it should not.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;

use stead_app::schema::{Element, Form, Head, Holds, Spec, Status, parse_elements};

use crate::common::{check, data, lines, schemas};

/// The elements that hold others, each with the text around it.
const AROUND: [(Holds, &str); 36] = [
    (Holds::File, "@"),
    (Holds::ProfileFile, "@"),
    (Holds::Schema, "schema s { @ }"),
    (Holds::Document, "schema s { document { @ } }"),
    (Holds::Struct, "schema s { struct t { @ } }"),
    (Holds::Member, "schema s { struct t { field f type int { @ } } }"),
    (Holds::Field, "schema s { field f type int { @ } }"),
    (Holds::StructField, "schema s { field f type t { struct-field g { @ } } }"),
    (Holds::FieldSet, "schema s { fieldset f { @ } }"),
    (Holds::Match, "schema s { field f type int { match { @ } } }"),
    (Holds::Index, "schema s { field f type int { index { @ } } }"),
    (Holds::Hnsw, "schema s { field f type int { index { hnsw { @ } } } }"),
    (Holds::Attribute, "schema s { field f type int { attribute { @ } } }"),
    (Holds::Sorting, "schema s { field f type int { sorting { @ } } }"),
    (Holds::Dictionary, "schema s { field f type int { dictionary { @ } } }"),
    (Holds::Rank, "schema s { field f type int { rank { @ } } }"),
    (Holds::WeightedSet, "schema s { field f type int { weightedset { @ } } }"),
    (Holds::Map, "schema s { field f type int { map { @ } } }"),
    (Holds::Linguistics, "schema s { field f type int { linguistics { @ } } }"),
    (Holds::LinguisticsProfile, "schema s { field f type int { linguistics { profile { @ } } } }"),
    (Holds::Summary, "schema s { field f type int { summary { @ } } }"),
    (Holds::DocumentSummary, "schema s { document-summary d { @ } }"),
    (Holds::OnnxModel, "schema s { onnx-model m { @ } }"),
    (Holds::Constant, "schema s { constant c { @ } }"),
    (Holds::Profile, "schema s { rank-profile p { @ } }"),
    (Holds::Function, "schema s { rank-profile p { function f() { @ } } }"),
    (Holds::FirstPhase, "schema s { rank-profile p { first-phase { @ } } }"),
    (Holds::SecondPhase, "schema s { rank-profile p { second-phase { @ } } }"),
    (Holds::GlobalPhase, "schema s { rank-profile p { global-phase { @ } } }"),
    (Holds::MatchPhase, "schema s { rank-profile p { match-phase { @ } } }"),
    (Holds::Diversity, "schema s { rank-profile p { diversity { @ } } }"),
    (Holds::ProfileField, "schema s { rank-profile p { rank f { @ } } }"),
    (Holds::Mutate, "schema s { rank-profile p { mutate { @ } } }"),
    (Holds::Significance, "schema s { rank-profile p { significance { @ } } }"),
    (Holds::WeakAnd, "schema s { rank-profile p { weakand { @ } } }"),
    (Holds::Nothing, "schema s { import field a.b as c { @ } }"),
];

/// An element with a question mark where its value should be.
fn wrong_value(spec: &Spec) -> String {
    let head = match spec.head {
        Head::Bare | Head::MayBeNamed | Head::MayInherit | Head::MayBeTyped => "",
        Head::Named | Head::Inherits | Head::Quoted => " n",
        Head::Typed => " n type int",
        Head::Import => " field a.b as c",
        Head::Function => " n(a)",
        Head::OnlyInherits => " inherits p",
    };
    let value = match spec.form {
        Form::Flag | Form::Body(_) | Form::MayHaveBody(_) => " ?",
        Form::Inputs | Form::Constants | Form::Properties | Form::Mutation => " { ? }",
        Form::Expression | Form::Features => " ?",
        Form::Line | Form::Path => ":",
        _ => ": ?",
    };
    format!("{}{head}{value}", spec.keyword)
}

#[test]
fn valid_schemas_are_read_and_show_every_element() {
    let mut seen = BTreeSet::new();
    let mut open: Vec<(Holds, Element)> = Vec::new();
    for (name, text) in schemas("valid") {
        let (elements, report) = parse_elements(&name, &text, Holds::File);
        assert_eq!(report.errors().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
        open.extend(elements.into_iter().map(|e| (Holds::File, e)));
    }
    while let Some((holds, element)) = open.pop() {
        seen.insert(format!("{holds:?} {}", element.keyword()));
        let within = AROUND.iter().map(|(holds, _)| *holds);
        // Elements with the same keyword may stand in several others, so the specification tells.
        let of = |holds: &Holds| {
            element.body.iter().all(|e| holds.specs().iter().any(|s| std::ptr::eq(s, e.spec)))
        };
        let below = within.clone().find(|h| of(h)).unwrap_or(Holds::Nothing);
        open.extend(element.body.into_iter().map(|e| (below, e)));
    }
    let missing: Vec<String> = AROUND
        .iter()
        .flat_map(|(holds, _)| holds.specs().iter().map(move |spec| (holds, spec)))
        .filter(|(holds, spec)| {
            !matches!(spec.status, Status::Refused(_))
                && **holds != Holds::Mutate
                && **holds != Holds::ProfileFile
        })
        .map(|(holds, spec)| format!("{holds:?} {}", spec.keyword))
        .filter(|line| !seen.contains(line))
        .collect();
    assert_eq!(missing, [""; 0], "elements that no valid schema shows");
}

#[test]
fn every_element_with_a_wrong_value_is_refused_where_it_is() {
    let mut found = String::new();
    for (holds, around) in AROUND {
        for wrong in holds.specs().iter().map(wrong_value).chain(["unknown ?".to_owned()]) {
            let text = around.replace('@', &wrong);
            let from = if holds == Holds::ProfileFile { holds } else { Holds::File };
            let (_, report) = parse_elements("a.sd", &text, from);
            assert!(report.has_errors(), "{text}");
            found.push_str(&format!("{text}\n"));
            for line in lines(&report) {
                found.push_str(&format!("    {line}\n"));
            }
        }
    }
    let path = data().join("wrong_values.txt");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(&path, &found).unwrap();
    }
    let expected = fs::read_to_string(path).unwrap();
    for (at, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", at + 1);
    }
    assert_eq!(found.lines().count(), expected.lines().count());
}

#[test]
fn invalid_schemas_tell_all_that_is_wrong() {
    for (name, text) in schemas("invalid") {
        let (_, report) = parse_elements(&name, &text, Holds::File);
        assert!(report.has_errors(), "{name}");
        check("invalid", &name, &text, &report);
    }
}

#[test]
fn hostile_schemas_end() {
    let nested = format!("schema s {{ {}", "rank-profile p { ".repeat(50_000));
    let fields = format!("schema s {{ field f type t {{ {}", "struct-field g { ".repeat(50_000));
    let types = format!("schema s {{ field f type {}", "array<".repeat(100_000));
    let script = format!("schema s {{ field f type int {{ indexing: {}", "(".repeat(100_000));
    let sum = format!("schema s {{ field f type int {{ indexing: 1{} }} }}", "+1".repeat(100_000));
    let many = format!("schema s {{ fieldset f {{ {} }} }}", "match{cased} ".repeat(52_000));
    let wrong = "? ".repeat(300_000);
    let long = " ".repeat((1 << 20) + 1);
    for (text, message) in [
        (&nested, "error: 1:556: more than 32 elements within each other"),
        (&fields, "error: 1:556: more than 32 elements within each other"),
        (&types, "error: 1:73: expected a type with at most 8 types within each other"),
        (&script, "error: 1:74: more than 32 braces and parentheses within each other"),
        (&sum, "error: 1:108: more than 32 sums or products in a row"),
        (&many, "error: 1:650024: more than 100000 elements in a file"),
        (&wrong, "error: 1:1: expected one of schema, search, document, found \"?\""),
        (&long, "error: 1:1: the file has 1048577 bytes; 1048576 is the most"),
    ] {
        let (_, report) = parse_elements("a.sd", text, Holds::File);
        let lines = lines(&report);
        assert!(lines.iter().any(|l| l == message), "{message} in {lines:.5?}");
        assert!(lines.len() <= 200);
    }
}
