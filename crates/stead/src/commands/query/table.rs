//! Hits as a table.

use std::fmt::Write;
use std::time::Duration;

use serde_json::Value as Json;

use crate::commands::explain::list;
use crate::commands::text::{number, shortened};

/// The most characters of a value that a column shows.
const MAX_CELL: usize = 40;

/// Fields that the table shows otherwise: the id has a column, the type stands in it.
const SHOWN: [&str; 2] = ["sddocname", "documentid"];

/// Fields whose members have columns of their own.
const FEATURES: [&str; 3] = ["matchfeatures", "summaryfeatures", "rankfeatures"];

/// A result as lines: how much was found and how long it took, then a line for each hit.
pub fn text(result: &Json, took: Duration) -> String {
    let root = &result["root"];
    let hits: Vec<&Json> = list(&root["children"]).collect();
    let coverage = &root["coverage"];
    let mut out = format!("{} of {} hits", hits.len(), root["fields"]["totalCount"]);
    if coverage.is_object() {
        let _ = write!(out, " among {} documents", coverage["documents"]);
    }
    let _ = write!(out, " in {:.1} ms", took.as_secs_f64() * 1e3);
    if let Some(timing) = result.get("timing") {
        let part = |name: &str| timing[name].as_f64().unwrap_or(0.0) * 1e3;
        let (query, fields) = (part("querytime"), part("summaryfetchtime"));
        let _ = write!(out, " (matching and ranking {query:.1}, fields {fields:.1})");
    }
    out.push('\n');
    if hits.is_empty() {
        return out;
    }
    let mut columns = vec![
        Column::of("relevance", hits.iter().map(|hit| cell(&hit["relevance"]))),
        Column::of("id", hits.iter().map(|hit| hit["id"].as_str().unwrap_or_default().to_owned())),
    ];
    for (path, name) in names(&hits) {
        let value = |hit: &&Json| {
            let value = path.iter().try_fold(&hit["fields"], |json, key| json.get(key));
            shortened(&value.map_or_else(String::new, cell), MAX_CELL)
        };
        columns.push(Column::of(&name, hits.iter().map(value)));
    }
    for row in 0..=hits.len() {
        let mut line = match row {
            0 => "   #".to_owned(),
            row => format!("{row:>4}"),
        };
        for column in &columns {
            line += "  ";
            line += &column.cell(row);
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// The ways to the values that hits have, with their names: fields as they are met, then features.
fn names(hits: &[&Json]) -> Vec<(Vec<String>, String)> {
    let mut found: Vec<(Vec<String>, String)> = Vec::new();
    let mut add = |path: Vec<String>, name: &str| {
        if !found.iter().any(|(known, _)| *known == path) {
            found.push((path, name.to_owned()));
        }
    };
    for (name, _) in hits.iter().filter_map(|hit| hit["fields"].as_object()).flatten() {
        if !SHOWN.contains(&name.as_str()) && !FEATURES.contains(&name.as_str()) {
            add(vec![name.clone()], name);
        }
    }
    for (hit, of) in hits.iter().flat_map(|hit| FEATURES.map(|of| (hit, of))) {
        let features = hit["fields"][of].as_object().into_iter().flatten();
        features.for_each(|(name, _)| add(vec![of.to_owned(), name.clone()], name));
    }
    found
}

/// A column with its name in front of its cells.
struct Column {
    cells: Vec<String>,
    width: usize,
    /// Numbers stand at the right.
    is_right: bool,
}

impl Column {
    fn of(name: &str, values: impl Iterator<Item = String>) -> Column {
        let mut cells = vec![name.to_owned()];
        cells.extend(values);
        let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        let is_number = |cell: &String| cell.is_empty() || cell.parse::<f64>().is_ok();
        let is_right = cells.iter().skip(1).all(is_number);
        Column { cells, width, is_right }
    }

    fn cell(&self, row: usize) -> String {
        let (text, width) = (self.cells.get(row).map_or("", String::as_str), self.width);
        match self.is_right {
            true => format!("{text:>width$}"),
            false => format!("{text:<width$}"),
        }
    }
}

/// A value on one line. What would break it is escaped.
fn cell(value: &Json) -> String {
    match value {
        Json::String(text) => text.chars().flat_map(|c| visible(c).into_iter()).collect(),
        Json::Number(value) => match value.as_f64() {
            Some(float) if value.is_f64() => number(float),
            _ => value.to_string(),
        },
        // A tensor has a type and one more member, which says all.
        Json::Object(members) if members.len() == 2 && members.contains_key("type") => {
            let inner = members.iter().find(|(name, _)| *name != "type");
            inner.map_or_else(String::new, |(_, value)| value.to_string())
        }
        other => other.to_string(),
    }
}

fn visible(letter: char) -> Vec<char> {
    match letter.is_control() {
        true => letter.escape_default().collect(),
        false => vec![letter],
    }
}

/// What whoever asks should know of a result that has hits.
pub fn notes(root: &Json) -> Vec<String> {
    let mut notes = Vec::new();
    let coverage = &root["coverage"];
    if coverage["full"] == Json::Bool(false) {
        let reasons = coverage["degraded"].as_object().into_iter().flatten();
        let reasons: Vec<&str> =
            reasons.filter(|(_, is_so)| **is_so == true).map(|(name, _)| name.as_str()).collect();
        let why = if reasons.is_empty() { "unknown".to_owned() } else { reasons.join(", ") };
        notes.push(format!("{} % of the documents were covered: {why}", coverage["coverage"]));
    }
    if root["children"].is_array() {
        notes.extend(list(&root["errors"]).map(error));
    }
    notes
}

/// An error of a result.
pub fn error(error: &Json) -> String {
    let text = |key: &str| error[key].as_str().unwrap_or_default();
    format!("{} (code {}): {}", text("summary"), error["code"], text("message"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::{notes, text};

    #[test]
    fn hits_stand_in_columns() {
        let hit = |id: &str, relevance: f64, fields| json!({"id": id, "relevance": relevance, "source": "c", "fields": fields});
        let result = json!({
            "timing": {"querytime": 0.0012, "summaryfetchtime": 0.0001, "searchtime": 0.0013},
            "root": {"fields": {"totalCount": 9}, "coverage": {"documents": 20, "full": true}, "children": [
                hit("id:n:d::1", 0.5, json!({"sddocname": "d", "documentid": "id:n:d::1", "title": "Blue\nGreen", "year": 1971})),
                hit("id:n:d::12", -12.25, json!({"title": "x".repeat(50), "tags": {"a": 1}, "matchfeatures": {"f": 0.1,
                    "v": {"type": "tensor<float>(x[2])", "values": [1.0, 2.0]}}})),
            ]},
        });
        let expected = format!(
            "2 of 9 hits among 20 documents in 2.0 ms (matching and ranking 1.2, fields 0.1)
   #  relevance  id          title{0}  year  tags       f  v
   1        0.5  id:n:d::1   Blue\\nGreen{1}  1971
   2     -12.25  id:n:d::12  {2}...        {{\"a\":1}}  0.1  [1.0,2.0]
",
            " ".repeat(38),
            " ".repeat(32),
            "x".repeat(40)
        );
        assert_eq!(text(&result, Duration::from_millis(2)), expected);
        let none = json!({"root": {"fields": {"totalCount": 0}}});
        assert_eq!(text(&none, Duration::ZERO), "0 of 0 hits in 0.0 ms\n");
    }

    #[test]
    fn what_was_left_out_is_told() {
        let error = json!({"code": 10, "summary": "Backend communication error", "message": "no"});
        let root = json!({"children": [], "errors": [error],
            "coverage": {"coverage": 40, "full": false, "degraded": {"timeout": true, "match-phase": false}}});
        let told = [
            "40 % of the documents were covered: timeout",
            "Backend communication error (code 10): no",
        ];
        assert_eq!(notes(&root), told);
        assert!(notes(&json!({"coverage": {"full": true}})).is_empty());
    }
}
