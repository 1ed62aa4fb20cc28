//! What ranking computed for a query: `--explain`.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value as Json, json};
use stead_expr::{Line, Rate};
use stead_search::rank::{Computation, Explained, Stage};

/// The stages as lines.
pub(super) fn text(explained: &Explained) -> String {
    let mut out = String::new();
    for stage in &explained.stages {
        let took = per_document(stage.took, stage.documents);
        let _ = writeln!(
            out,
            "{}: {}\n  {} documents, {took}",
            stage.name, stage.expression, stage.documents
        );
        for line in stage.program.to_string().lines() {
            let _ = writeln!(out, "    {}", line.trim_end());
        }
    }
    if !explained.values.is_empty() {
        let _ = writeln!(out, "computed beside expressions:");
    }
    for value in &explained.values {
        let took = per_document(value.took, value.documents);
        let _ = writeln!(out, "  {}: {} documents, {took}", value.name, value.documents);
        for note in &value.notes {
            let _ = writeln!(out, "    {note}");
        }
    }
    out
}

fn per_document(took: Duration, documents: usize) -> String {
    let micros = took.as_secs_f64() * 1e6;
    match documents {
        0 => format!("{micros:.1} us"),
        count => format!("{micros:.1} us, {:.1} ns/document", micros * 1e3 / count as f64),
    }
}

/// The stages for programs.
pub(super) fn json(explained: &Explained) -> Json {
    let stages: Vec<Json> = explained.stages.iter().map(stage).collect();
    let value = |value: &Computation| {
        json!({
            "name": value.name,
            "documents": value.documents,
            "nanoseconds": nanos(value.took),
            "notes": value.notes,
        })
    };
    json!({"stages": stages, "values": explained.values.iter().map(value).collect::<Vec<_>>()})
}

fn stage(stage: &Stage) -> Json {
    let line = |line: &Line| {
        let rate = match line.rate {
            Rate::Constant => "constant",
            Rate::Query => "query",
            Rate::Document => "document",
        };
        json!({
            "step": line.number,
            "rate": rate,
            "type": line.kind.to_string(),
            "text": line.text,
            "kernel": line.fused,
            "nanoseconds": line.cost.map(nanos),
        })
    };
    json!({
        "name": stage.name,
        "expression": stage.expression,
        "documents": stage.documents,
        "nanoseconds": nanos(stage.took),
        "measuredDocuments": stage.program.documents,
        "program": stage.program.lines.iter().map(line).collect::<Vec<_>>(),
    })
}

fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}
