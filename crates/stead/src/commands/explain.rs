//! What ranking computed for a query, from its form for programs: `--explain`.

use std::fmt::Write;

use serde_json::Value as Json;

/// The widest line that costs stand behind in a column.
const MAX_WIDTH: usize = 100;

/// The stages as lines.
pub fn text(explained: &Json) -> String {
    let mut out = String::new();
    for stage in list(&explained["stages"]) {
        let (name, expression) = (text_of(&stage["name"]), text_of(&stage["expression"]));
        let _ = writeln!(out, "{name}: {expression}\n  {}", spent(stage));
        let measured = stage["measuredDocuments"].as_u64().unwrap_or(0);
        let lines: Vec<(String, String)> =
            list(&stage["program"]).map(|line| step(line, measured)).collect();
        let width = lines.iter().map(|(text, _)| text.len()).max().unwrap_or(0).min(MAX_WIDTH);
        for (text, cost) in lines {
            let _ = writeln!(out, "{}", format!("    {text:<width$}  {cost}").trim_end());
        }
    }
    let mut values = list(&explained["values"]).peekable();
    if values.peek().is_some() {
        let _ = writeln!(out, "computed beside expressions:");
    }
    for value in values {
        let _ = writeln!(out, "  {}: {}", text_of(&value["name"]), spent(value));
        for note in list(&value["notes"]) {
            let _ = writeln!(out, "    {}", text_of(note));
        }
    }
    out
}

/// A step of a program, and what it cost.
fn step(line: &Json, documents: u64) -> (String, String) {
    let rate = text_of(&line["rate"]);
    let text = format!(
        "%{:<3} {rate:<9} {} = {}",
        line["step"].as_u64().unwrap_or(0),
        text_of(&line["type"]),
        text_of(&line["text"])
    );
    let cost = match line["nanoseconds"].as_f64() {
        Some(nanos) if rate == "document" && documents > 0 => {
            format!("{:10.1} ns/document", nanos / documents as f64)
        }
        Some(nanos) => format!("{nanos:10.1} ns"),
        None => String::new(),
    };
    (text, cost)
}

/// The documents that something was computed for, and how long that took.
fn spent(of: &Json) -> String {
    let documents = of["documents"].as_u64().unwrap_or(0);
    let nanos = of["nanoseconds"].as_f64().unwrap_or(0.0);
    let took = format!("{documents} documents, {:.1} us", nanos / 1e3);
    match documents {
        0 => took,
        count => format!("{took}, {:.1} ns/document", nanos / count as f64),
    }
}

/// The elements of a list.
pub fn list(json: &Json) -> std::slice::Iter<'_, Json> {
    json.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn text_of(json: &Json) -> &str {
    json.as_str().unwrap_or_default()
}
