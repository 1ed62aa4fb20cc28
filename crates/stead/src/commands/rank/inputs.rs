//! Queries and documents from files.

use std::fs::File;
use std::io::{BufReader, IsTerminal};
use std::path::Path;

use serde_json::{Deserializer, Value};
use stead_search::RankQuery;
use stead_store::{DocumentType, Documents, ScriptContext, Scripts};

use crate::failure::Failure;

/// The largest file of queries in bytes.
const MAX_QUERIES: u64 = 1 << 30;

/// The queries of a file: objects of JSON one after the other, or in an array.
pub(super) fn queries(path: &Path) -> Result<Vec<RankQuery>, Failure> {
    let shown = path.display();
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{shown}: {e}"));
    if std::fs::metadata(path).map_err(|e| fail(&e))?.len() > MAX_QUERIES {
        return Err(fail(&format!("expected at most {MAX_QUERIES} bytes of queries")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
    let mut queries = Vec::new();
    for json in Deserializer::from_str(&text).into_iter::<Value>() {
        let list = match json.map_err(|e| fail(&e))? {
            Value::Array(list) => list,
            other => vec![other],
        };
        for json in &list {
            let number = queries.len() + 1;
            let query = RankQuery::from_json(json);
            queries.push(query.map_err(|e| fail(&format!("query {number}: {e}")))?);
        }
    }
    Ok(queries)
}

/// The documents of a file behind the scripts of their fields, with a bar where somebody watches.
pub(super) fn documents(
    path: &Path,
    kind: DocumentType,
    scripts: (&Scripts, &ScriptContext<'_>),
) -> Result<Documents, Failure> {
    let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("{}: {e}", path.display()));
    let file = File::open(path).map_err(|e| fail(&e))?;
    let length = file.metadata().map_err(|e| fail(&e))?.len();
    let bar = match std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(length),
        false => indicatif::ProgressBar::hidden(),
    };
    let progress = &mut |bytes| bar.set_position(bytes);
    let read = Documents::read_with(kind, BufReader::new(file), scripts, progress);
    bar.finish_and_clear();
    read.map_err(|e| Failure::failed(format!("{}:{}: {}", path.display(), e.line, e.what())))
}
