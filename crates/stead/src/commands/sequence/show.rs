//! The server's answers, for people.

use serde_json::Value;
use stead_node::SequenceId;
use stead_server::IdText;

use crate::measure::human_bytes;

/// A table of sequences.
pub fn list(page: &Value, model: &str) -> Vec<String> {
    let sequences = page["sequences"].as_array().map(Vec::as_slice).unwrap_or_default();
    if sequences.is_empty() {
        return vec![format!("no live sequences of {model}")];
    }
    let head = ["id", "step", "status", "waiting", "idle", "age", "bytes", "state in"];
    let head = head.map(str::to_owned);
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(sequences.iter().map(row)).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|r| r.get(column));
        cells.map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    let line = |row: &[String; 8]| {
        let cells = row.iter().zip(widths).enumerate();
        let padded = cells.map(|(i, (cell, width))| match i {
            0 | 2 | 7 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    if let Some(next) = page["next"].as_str() {
        lines.push(format!("there are more: --after '{}'", printable(next)));
    }
    lines
}

/// One sequence and its state.
pub fn one(sequence: &Value) -> Vec<String> {
    let [id, step, status, waiting, idle, age, bytes, place] = row(sequence);
    let mut lines = vec![
        format!("sequence {id}: {status}, {step} steps done, {waiting} requests waiting"),
        format!("age {age}, idle for {idle}, {bytes}, state in {place}"),
    ];
    for state in sequence["state"].as_array().into_iter().flatten() {
        let dims = state["shape"].as_array().map(Vec::as_slice).unwrap_or_default();
        let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
        lines.push(format!(
            "  {} {}[{}] {}",
            printable(state["name"].as_str().unwrap_or("?")),
            state["datatype"].as_str().unwrap_or("?"),
            dims.join(","),
            human_bytes(state["bytes"].as_u64().unwrap_or(0))
        ));
    }
    lines
}

/// What has been done to a sequence.
pub fn sentence(answer: &Value, done: &str) -> Vec<String> {
    vec![format!("sequence {} {done}, after step {}", id(&answer["id"]), answer["step"])]
}

fn row(sequence: &Value) -> [String; 8] {
    let text = |key: &str| sequence[key].as_str().unwrap_or("?").to_owned();
    let number = |key: &str| sequence[key].as_u64().unwrap_or(0);
    [
        id(&sequence["id"]),
        number("step").to_string(),
        text("status"),
        number("waiting").to_string(),
        time(number("idle_ms")),
        time(number("age_ms")),
        human_bytes(number("bytes")),
        text("state_in"),
    ]
}

/// An id as it is written on the command line.
fn id(value: &Value) -> String {
    let id = match value {
        Value::String(text) => SequenceId::from_text(text).ok().flatten(),
        other => other.as_u64().and_then(SequenceId::from_number),
    };
    id.map_or_else(|| "?".to_owned(), |id| printable(&IdText::write(&id)))
}

/// Clients choose ids: control characters in them must not reach a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{:.1} s", ms as f64 / 1e3),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_and_single_sequences() {
        let of = |id: Value| {
            json!({"id": id, "step": 3, "status": "idle", "waiting": 0, "age_ms": 61_500,
                "idle_ms": 40, "bytes": 100, "state_in": "disk", "state": [
                {"name": "h", "datatype": "FP32", "shape": [1, 2], "bytes": 8}]})
        };
        let page = json!({"sequences": [of(json!(5)), of(json!("5")), of(json!("a\u{1b}[2J"))],
            "next": "a"});
        let lines = list(&page, "m");
        assert!(lines[0].starts_with("id "), "{lines:?}");
        assert!(lines[1].starts_with("5  "), "{lines:?}");
        assert!(lines[2].starts_with("\"5\" ") && lines[2].contains("1 min 1 s"), "{lines:?}");
        assert!(lines[3].starts_with("a?[2J"), "{lines:?}");
        assert_eq!(lines[4], "there are more: --after 'a'");
        assert_eq!(list(&json!({"sequences": []}), "m"), ["no live sequences of m"]);
        let lines = one(&of(json!(5)));
        assert_eq!(lines[0], "sequence 5: idle, 3 steps done, 0 requests waiting");
        assert_eq!(lines[1], "age 1 min 1 s, idle for 40 ms, 100 B, state in disk");
        assert!(lines[2].starts_with("  h FP32[1,2] 8"), "{lines:?}");
    }
}
