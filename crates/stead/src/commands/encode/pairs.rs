//! Pairs of queries and documents, a JSON object on each line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use stead_store::{Action, FieldValue, Operation};

use super::plan::{PartSource, Plan};
use super::rows::{Row, Rows};
use crate::failure::Failure;

/// The longest line: a document of some million words.
const MAX_LINE: u64 = 16 << 20;

/// Reads and tokenizes all pairs.
pub(super) fn read(path: &Path, plan: &Plan<'_>) -> Result<Rows, Failure> {
    let at =
        |line: usize, text: String| Failure::failed(format!("{}:{line}: {text}", path.display()));
    let unreadable = |e: std::io::Error| Failure::failed(format!("{}: {e}", path.display()));
    let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut encoder = Encoder::new(plan);
    let mut line = Vec::new();
    for number in 1_usize.. {
        line.clear();
        let read = (&mut reader).take(MAX_LINE + 1).read_until(b'\n', &mut line);
        if read.map_err(unreadable)? == 0 {
            break;
        }
        if line.len() as u64 > MAX_LINE {
            return Err(at(number, format!("the line is longer than {MAX_LINE} bytes")));
        }
        if !line.trim_ascii().is_empty() {
            encoder.add(number, &line).map_err(|text| at(number, text))?;
        }
    }
    if encoder.rows.is_empty() {
        return Err(Failure::failed(format!("{} has no pairs", path.display())));
    }
    Ok(encoder.rows)
}

struct Encoder<'p> {
    plan: &'p Plan<'p>,
    /// The queries that were seen, with the tokens of each part that is a query.
    queries: HashMap<String, (usize, Vec<Arc<[i64]>>)>,
    rows: Rows,
}

impl<'p> Encoder<'p> {
    fn new(plan: &'p Plan<'p>) -> Encoder<'p> {
        Encoder { plan, queries: HashMap::new(), rows: Rows::default() }
    }

    fn add(&mut self, number: usize, line: &[u8]) -> Result<(), String> {
        let pair: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let text = |name: &str| {
            let wrong = || format!("expected a text as {name}, found {}", kind_of(pair.get(name)));
            pair.get(name).and_then(Value::as_str).ok_or_else(wrong)
        };
        let query = text("query")?;
        let id = format!("id:encode:{}::{number}", self.plan.scripts.kind().name());
        let given = self.document(&id, pair.get("document"))?;
        let label = match pair.get("label").and_then(Value::as_f64) {
            Some(label) => label,
            None if !self.plan.has_labels => 0.0,
            None => {
                let found = kind_of(pair.get("label"));
                return Err(format!("expected a number as label, found {found}"));
            }
        };
        let (index, queries) = self.query(query)?;
        let mut queries = queries.into_iter();
        let (filled, is_cut) = self.plan.filled(&id, given)?;
        let texts = self.plan.parts.iter().filter_map(|part| match part.source {
            PartSource::Query => queries.next(),
            PartSource::Document(field) => Some(tokens(&filled, field)),
        });
        self.rows.push(Row { query: index, texts: texts.collect(), label }, is_cut);
        Ok(())
    }

    /// The number of a query, and its tokens.
    fn query(&mut self, text: &str) -> Result<(usize, Vec<Arc<[i64]>>), String> {
        if let Some((index, parts)) = self.queries.get(text) {
            return Ok((*index, parts.clone()));
        }
        let (mut parts, mut is_cut) = (Vec::new(), false);
        for part in self.plan.parts.iter().filter(|p| matches!(p.source, PartSource::Query)) {
            let (tokens, more) = self.plan.query(part, text)?;
            is_cut |= more;
            parts.push(tokens.into());
        }
        let index = self.rows.add_query(text, is_cut);
        self.queries.insert(text.to_owned(), (index, parts.clone()));
        Ok((index, parts))
    }

    /// The values of a document: an object, or the text of its only field.
    fn document(
        &self,
        id: &str,
        value: Option<&Value>,
    ) -> Result<Vec<(usize, FieldValue)>, String> {
        let known = self.plan.scripts.inputs();
        let expected = known.join(", ");
        let fields = match (value, known.as_slice()) {
            (Some(Value::String(text)), [field]) => json!({*field: text}),
            (Some(Value::Object(object)), known) => {
                if let Some(name) = object.keys().find(|name| !known.contains(&name.as_str())) {
                    return Err(format!("the document has a field {name}; expected {expected}"));
                }
                object
                    .iter()
                    .filter(|(_, v)| !v.is_null())
                    .map(|(n, v)| (n.clone(), v.clone()))
                    .collect()
            }
            (other, [_]) => {
                let found = kind_of(other);
                return Err(format!("expected a text or an object as document, found {found}"));
            }
            (other, _) => {
                let found = kind_of(other);
                return Err(format!(
                    "expected an object with {expected} as document, found {found}"
                ));
            }
        };
        let put = json!({"put": id, "fields": fields}).to_string();
        let put =
            Operation::read(self.plan.scripts.kind(), put.as_bytes()).map_err(|e| e.what())?;
        match put.action {
            Action::Put { fields, .. } => Ok(fields),
            _ => Ok(Vec::new()),
        }
    }
}

/// The tokens that a field has; none where its script had nothing to make them of.
fn tokens(document: &[(usize, FieldValue)], field: usize) -> Arc<[i64]> {
    let value = document.iter().find(|(number, _)| *number == field).map(|(_, value)| value);
    let Some(FieldValue::Tensor(tensor)) = value else { return Arc::default() };
    let cells = tensor.cells();
    let mut ids: Vec<i64> =
        (0..cells.len()).filter_map(|at| cells.get(at)).map(|id| id as i64).collect();
    ids.truncate(ids.iter().rposition(|id| *id != 0).map_or(0, |last| last + 1));
    ids.into()
}

fn kind_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a bool",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "an array",
        Some(Value::Object(_)) => "an object",
    }
}
