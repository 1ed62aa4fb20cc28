//! Pairs of queries and documents, a JSON object on each line.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::plan::{Part, PartSource, Plan};
use super::rows::{Row, Rows};
use super::text::Texts;
use crate::failure::Failure;

/// The longest line: a document of some million words.
const MAX_LINE: u64 = 16 << 20;

/// Reads and tokenizes all pairs.
pub(super) fn read(path: &Path, plan: &Plan) -> Result<Rows, Failure> {
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
            encoder.add(&line).map_err(|text| at(number, text))?;
        }
    }
    if encoder.rows.is_empty() {
        return Err(Failure::failed(format!("{} has no pairs", path.display())));
    }
    Ok(encoder.rows)
}

struct Encoder<'p> {
    plan: &'p Plan,
    /// The fields that documents have.
    fields: Vec<&'p str>,
    /// The queries that were seen, with the tokens of each part that is a query.
    queries: HashMap<String, (usize, Vec<Arc<[i64]>>)>,
    rows: Rows,
}

impl<'p> Encoder<'p> {
    fn new(plan: &'p Plan) -> Encoder<'p> {
        let mut fields = Vec::new();
        for part in &plan.parts {
            if let PartSource::Document(source) = &part.source {
                source.inputs(&mut fields);
            }
        }
        let fields = fields.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        Encoder { plan, fields, queries: HashMap::new(), rows: Rows::default() }
    }

    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        let pair: Value = serde_json::from_slice(line).map_err(|e| e.to_string())?;
        let text = |name: &str| {
            let wrong = || format!("expected a text as {name}, found {}", kind_of(pair.get(name)));
            pair.get(name).and_then(Value::as_str).ok_or_else(wrong)
        };
        let query = text("query")?;
        let document = self.document(pair.get("document"))?;
        let label = pair.get("label").and_then(Value::as_f64);
        let label = label.ok_or_else(|| {
            format!("expected a number as label, found {}", kind_of(pair.get("label")))
        })?;
        let (index, queries) = self.query(query)?;
        let mut queries = queries.into_iter();
        let (mut texts, mut is_cut) = (Vec::with_capacity(self.plan.parts.len()), false);
        for part in &self.plan.parts {
            match &part.source {
                PartSource::Query => texts.extend(queries.next()),
                PartSource::Document(source) => {
                    let text = source.text(&document).unwrap_or_default();
                    let (tokens, more) = tokens(self.plan, part, &text)?;
                    is_cut |= more;
                    texts.push(tokens);
                }
            }
        }
        self.rows.push(Row { query: index, texts, label }, is_cut);
        Ok(())
    }

    /// The number of a query, and its tokens.
    fn query(&mut self, text: &str) -> Result<(usize, Vec<Arc<[i64]>>), String> {
        if let Some((index, parts)) = self.queries.get(text) {
            return Ok((*index, parts.clone()));
        }
        let (mut parts, mut is_cut) = (Vec::new(), false);
        for part in self.plan.parts.iter().filter(|p| matches!(p.source, PartSource::Query)) {
            let (tokens, more) = tokens(self.plan, part, text)?;
            is_cut |= more;
            parts.push(tokens);
        }
        let index = self.rows.add_query(text, is_cut);
        self.queries.insert(text.to_owned(), (index, parts.clone()));
        Ok((index, parts))
    }

    /// The texts of a document: an object, or the text of its only field.
    fn document(&self, value: Option<&Value>) -> Result<Texts, String> {
        let fields = self.fields.join(", ");
        match (value, self.fields.as_slice()) {
            (Some(Value::String(text)), [field]) => {
                Ok(Texts::from([((*field).to_owned(), text.clone())]))
            }
            (Some(Value::Object(object)), known) => {
                let mut texts = Texts::new();
                for (name, value) in object {
                    if !known.contains(&name.as_str()) {
                        return Err(format!("the document has a field {name}; expected {fields}"));
                    }
                    match value {
                        Value::String(text) => drop(texts.insert(name.clone(), text.clone())),
                        Value::Null => {}
                        other => {
                            let found = kind_of(Some(other));
                            return Err(format!("expected a text as {name}, found {found}"));
                        }
                    }
                }
                Ok(texts)
            }
            (other, [_]) => {
                Err(format!("expected a text or an object as document, found {}", kind_of(other)))
            }
            (other, _) => Err(format!(
                "expected an object with {fields} as document, found {}",
                kind_of(other)
            )),
        }
    }
}

fn tokens(plan: &Plan, part: &Part, text: &str) -> Result<(Arc<[i64]>, bool), String> {
    let (tokens, is_cut) = plan.tokens(part, text)?;
    Ok((tokens.into(), is_cut))
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
