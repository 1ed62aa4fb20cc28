//! What a search did, from its trace: `--explain`.

use std::fmt::Write;

use serde_json::Value as Json;

use crate::commands::explain::{self, list};

/// The trace as lines: messages, then for each type of documents what was matched and what ranking computed.
pub fn text(trace: &Json) -> String {
    let mut out = String::new();
    for message in list(&trace["children"]).map(|child| &child["message"]) {
        match message {
            Json::String(text) => {
                let _ = writeln!(out, "{text}");
            }
            Json::Object(_) => {
                let name = |key: &str| message[key].as_str().unwrap_or_default();
                let _ = writeln!(out, "matching {}:", name("schema"));
                part(&message["matching"], 1, &mut out);
                let _ = writeln!(out, "ranking by {}:", name("profile"));
                match &message["ranking"] {
                    Json::Null => out += "  nothing: hits are ordered by attributes\n",
                    ranking => out += &explain::text(ranking),
                }
            }
            _ => {}
        }
    }
    out
}

/// A part of a query and those within it. JSON nests no deeper than its reader lets it.
fn part(json: &Json, depth: usize, out: &mut String) {
    let micros = json["nanoseconds"].as_f64().unwrap_or(0.0) / 1e3;
    let left = json["looked_at"].as_u64();
    let left = left.map_or(String::new(), |n| format!(", an index left {n} to look at"));
    let searched = json["search_nanoseconds"].as_f64();
    let before =
        searched.map_or(String::new(), |n| format!(", searched before in {:.1} us", n / 1e3));
    let _ = writeln!(
        out,
        "{}{}: {} of {} rows, {micros:.1} us ({}{left}{before})",
        "  ".repeat(depth),
        json["what"].as_str().unwrap_or_default(),
        json["found"],
        json["among"],
        json["cost"].as_str().unwrap_or_default(),
    );
    for inner in list(&json["parts"]) {
        part(inner, depth + 1, out);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::text;

    #[test]
    fn parts_stand_below_what_they_are_in() {
        let leaf = json!({"what": "year > 5", "cost": "numbers", "among": 9, "found": 3, "nanoseconds": 500.0});
        let near = json!({"what": "near", "cost": "index", "among": 3, "found": 2, "nanoseconds": 100.0, "search_nanoseconds": 7500.0});
        let read = json!({"what": "target", "cost": "steps", "among": 3, "found": 1, "nanoseconds": 300.0, "looked_at": 2});
        let whole = json!({"what": "and", "cost": "numbers", "among": 9, "found": 3, "nanoseconds": 1500.0, "parts": [leaf, near, read]});
        let trace = json!({"children": [{"message": "hello"},
            {"message": {"schema": "d", "profile": "p", "matching": whole, "ranking": null}}]});
        let expected = "hello
matching d:
  and: 3 of 9 rows, 1.5 us (numbers)
    year > 5: 3 of 9 rows, 0.5 us (numbers)
    near: 2 of 3 rows, 0.1 us (index, searched before in 7.5 us)
    target: 1 of 3 rows, 0.3 us (steps, an index left 2 to look at)
ranking by p:
  nothing: hits are ordered by attributes
";
        assert_eq!(text(&trace), expected);
    }
}
