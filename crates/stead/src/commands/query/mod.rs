//! `stead query`: asks a server for documents.

mod explain;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json};

use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target};

/// How long an answer is waited for beyond the timeout that a query may say itself.
const PATIENCE: Duration = Duration::from_secs(600);

/// Search the documents of a server
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Parameters are those of a POST to /search/ (docs/queries.md), as name=value. What begins with \"select \" is the YQL.\n\n\
    Examples:\n  stead query 'select * from music where year > 1990 order by year' hits=3\n  \
    stead query 'select * from posts where true' ranking=taste 'input.query(user)=[0.1, 0.7]' --explain\n  \
    stead query --file query.json timeout=2s --target http://10.0.0.5:8080 --json --output hits.json"
)]
pub struct QueryArgs {
    /// YQL, and parameters as name=value.
    #[arg(value_name = "PARAMETER", required_unless_present = "file")]
    parameters: Vec<String>,
    /// A file with a query as JSON; parameters of the command line stand before its own.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The query port of the server.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    target: Target,
    #[command(flatten)]
    access: AccessArgs,
    /// Show what was matched, in which order, the program of each rank phase, and what they cost.
    #[arg(long)]
    explain: bool,
    /// Write to this file.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print what the server answers.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &QueryArgs) -> Result<(), Failure> {
    let mut body = match &args.file {
        Some(file) => object(file)?,
        None => Map::new(),
    };
    for parameter in &args.parameters {
        let (name, value) = pair(parameter)?;
        body.insert(name.to_owned(), value.into());
    }
    if !args.json {
        body.entry("presentation.timing").or_insert(true.into());
    }
    if args.explain {
        for name in ["trace.explainLevel", "trace.level"] {
            body.entry(name).or_insert(1.into());
        }
    }
    let bytes = Json::Object(body).to_string().into_bytes();
    let begin = Instant::now();
    let length = bytes.len() as u64;
    let answer = args.access.reach(&args.target)?.send_body(
        "POST",
        "/search/",
        "application/json",
        (&mut &*bytes, length),
        PATIENCE,
    )?;
    let took = begin.elapsed();
    let text = String::from_utf8_lossy(&answer.body);
    let Ok(json) = serde_json::from_str::<Json>(&text) else {
        return Err(Failure::failed(format!("{}: {:.200}", answer.status, text.trim())));
    };
    // Without a result there is a message, as of a server that has no application.
    let Some(root) = json.get("root") else {
        let message = json["error"].as_str().or(json["message"].as_str()).unwrap_or(&text);
        return Err(Failure::failed(message));
    };
    let shown = match args.json {
        true => format!("{}\n", text.trim_end()),
        false => {
            let mut shown = table::text(&json, took);
            if args.explain {
                shown += &explain::text(&json["trace"]);
            }
            shown
        }
    };
    match &args.output {
        Some(file) => std::fs::write(file, shown)
            .map_err(|e| Failure::failed(format!("{}: {e}", file.display())))?,
        None => print!("{shown}"),
    }
    for note in table::notes(root) {
        eprintln!("note: {note}");
    }
    match root["errors"].get(0) {
        Some(error) if answer.status != 200 => Err(Failure::failed(table::error(error))),
        _ => Ok(()),
    }
}

/// A parameter of the command line: YQL may have equals signs of its own.
fn pair(parameter: &str) -> Result<(&str, &str), Failure> {
    let begins_query = |text: &str| {
        text.trim_start().get(..7).is_some_and(|head| head.eq_ignore_ascii_case("select "))
    };
    match parameter.split_once('=') {
        _ if begins_query(parameter) => Ok(("yql", parameter)),
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim(), value)),
        _ => Err(Failure::usage(format!("expected YQL or name=value, found {parameter:.60}"))),
    }
}

fn object(file: &std::path::Path) -> Result<Map<String, Json>, Failure> {
    let fail = |e: String| Failure::failed(format!("{}: {e}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| fail(e.to_string()))?;
    match serde_json::from_str(&text).map_err(|e| fail(e.to_string()))? {
        Json::Object(object) => Ok(object),
        _ => Err(fail("expected a query as an object".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn parameters_are_told_from_yql() {
        for (text, expected) in [
            ("select * from a where b = 1", Some(("yql", "select * from a where b = 1"))),
            ("  SELECT a from b where c=1", Some(("yql", "  SELECT a from b where c=1"))),
            ("yql=select * from a where true", Some(("yql", "select * from a where true"))),
            ("ranking=p", Some(("ranking", "p"))),
            ("input.query(q)=[1,2]", Some(("input.query(q)", "[1,2]"))),
            ("name=", Some(("name", ""))),
            ("=1", None),
            ("music", None),
        ] {
            assert_eq!(pair(text).ok(), expected, "{text}");
        }
    }
}
