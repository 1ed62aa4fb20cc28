//! Queries and judgements from files: those of BEIR (`queries.jsonl`, `qrels/test.tsv`, `corpus.jsonl`) and of TREC (`qrels.txt`).

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use crate::failure::Failure;

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Query {
    pub(super) id: String,
    pub(super) text: String,
    /// Other parameters of the request.
    pub(super) more: Vec<(String, String)>,
}

/// The grades of documents by query.
pub(super) type Judgements = HashMap<String, HashMap<String, i64>>;

/// A collection in the layout of BEIR: the files of queries, judgements and documents below a folder.
pub(super) fn beir(folder: &Path) -> [PathBuf; 3] {
    [folder.join("queries.jsonl"), folder.join("qrels/test.tsv"), folder.join("corpus.jsonl")]
}

/// Calls something with each line that is not empty, and its number from 1.
pub(super) fn lines(
    path: &Path,
    mut each: impl FnMut(usize, &str) -> Result<(), String>,
) -> Result<(), Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|e| Failure::failed(format!("{shown}: {e}")))?;
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let number = number + 1;
        let line = line.map_err(|e| Failure::failed(format!("{shown}:{number}: {e}")))?;
        if !line.trim().is_empty() {
            let read = each(number, line.trim_end_matches('\r'));
            read.map_err(|e| Failure::failed(format!("{shown}:{number}: {e}")))?;
        }
    }
    Ok(())
}

/// The queries of a file: objects with `_id` or `id` and `text` or `query`, one on each line, or the two with a tab between.
pub(super) fn queries(path: &Path) -> Result<Vec<Query>, Failure> {
    let mut found = Vec::new();
    lines(path, |_, line| {
        found.push(query(line)?);
        Ok(())
    })?;
    Ok(found)
}

fn query(line: &str) -> Result<Query, String> {
    if !line.starts_with('{') {
        let (id, text) = line
            .split_once('\t')
            .ok_or("expected an object, or an id and a text with a tab between")?;
        return Ok(Query {
            id: id.trim().to_owned(),
            text: text.trim().to_owned(),
            more: Vec::new(),
        });
    }
    let mut object: Map<String, Json> = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let mut take = |names: [&str; 2]| {
        let found = names.iter().find_map(|name| object.remove(*name));
        found.map(|value| text(&value)).ok_or_else(|| format!("expected {:?}", names[0]))
    };
    let (id, text_of) = (take(["_id", "id"])?, take(["text", "query"])?);
    // What BEIR keeps beside the text is not for the request.
    object.remove("metadata");
    let more = object.iter().map(|(name, value)| (name.clone(), text(value))).collect();
    Ok(Query { id, text: text_of, more })
}

fn text(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The judgements of a file: `query document grade` with tabs, as BEIR has them, with a line of names before, or `query 0 document grade`, as
/// TREC has them.
pub(super) fn judgements(path: &Path) -> Result<Judgements, Failure> {
    let mut found = Judgements::new();
    lines(path, |number, line| {
        let parts: Vec<&str> = line.split_whitespace().collect();
        let (query, document, grade) = match parts[..] {
            [query, document, grade] | [query, _, document, grade] => (query, document, grade),
            _ => return Err("expected a query, a document and a grade".to_owned()),
        };
        let Ok(grade) = grade.parse::<f64>() else {
            // Names of columns.
            return match number {
                1 => Ok(()),
                _ => Err(format!("expected a grade, found {grade:.40}")),
            };
        };
        let of_query = found.entry(query.to_owned()).or_default();
        of_query.insert(document.to_owned(), grade as i64);
        Ok(())
    })?;
    Ok(found)
}

/// A document of a line: one that is fed, or one of BEIR, whose `_id` becomes that of a document of a type, and whose members become
/// the fields of these names.
pub(super) fn document(
    line: &str,
    kind: &str,
    is_field: &dyn Fn(&str) -> bool,
) -> Result<String, String> {
    let object: Map<String, Json> = serde_json::from_str(line).map_err(|e| e.to_string())?;
    if ["put", "id", "update", "remove"].iter().any(|verb| object.contains_key(*verb)) {
        return Ok(line.to_owned());
    }
    let id = object.get("_id").map(text).ok_or("expected \"put\" or \"_id\"")?;
    let fields = object.into_iter().filter(|(name, _)| is_field(name));
    let fields: Map<String, Json> = fields.collect();
    Ok(json!({"put": format!("id:{kind}:{kind}::{id}"), "fields": fields}).to_string())
}

/// The name that judgements have for a document: what stands behind the last two colons of its id.
pub(super) fn name_of(id: &str) -> &str {
    id.split_once("::").map_or(id, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::{document, name_of, query};

    #[test]
    fn queries_are_objects_or_have_a_tab() {
        for (line, id, text, more) in [
            ("{\"_id\": \"1\", \"text\": \"a b\", \"metadata\": {}}", "1", "a b", ""),
            ("{\"id\": 7, \"query\": \"c\", \"hits\": 3}", "7", "c", "hits=3"),
            ("9\twhat is it", "9", "what is it", ""),
        ] {
            let found = query(line).unwrap();
            assert_eq!((found.id.as_str(), found.text.as_str()), (id, text), "{line}");
            let found: Vec<String> = found.more.iter().map(|(n, v)| format!("{n}={v}")).collect();
            assert_eq!(found.join(" "), more, "{line}");
        }
        assert!(query("nothing").unwrap_err().contains("a tab"));
        assert_eq!(query("{\"_id\": \"1\"}").unwrap_err(), "expected \"text\"");
    }

    #[test]
    fn documents_are_fed_or_of_a_collection() {
        let fields = |name: &str| name == "title";
        let put = "{\"put\": \"id:a:b::1\", \"fields\": {}}";
        assert_eq!(document(put, "page", &fields).unwrap(), put);
        let of_beir =
            document("{\"_id\": \"x:1\", \"title\": \"T\", \"url\": \"\"}", "page", &fields);
        assert_eq!(
            of_beir.unwrap(),
            "{\"fields\":{\"title\":\"T\"},\"put\":\"id:page:page::x:1\"}"
        );
        assert_eq!(document("{}", "page", &fields).unwrap_err(), "expected \"put\" or \"_id\"");
        for (id, name) in
            [("id:a:b::1", "1"), ("id:a:b:n=1:x", "id:a:b:n=1:x"), ("id:a:b::x::y", "x::y")]
        {
            assert_eq!(name_of(id), name);
        }
    }
}
