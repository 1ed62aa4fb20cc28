//! `stead evaluate`: how good the rankings of an application are, by what people have judged.

mod compare;
mod files;
mod metrics;
mod report;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_node::Embedded;
use stead_search::request::Format;
use stead_search::result::render;

use crate::failure::Failure;
use files::{Judgements, Query};
use metrics::scores;
use report::Judged;

/// Judge the rankings of an application package by queries whose relevant documents are known
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Queries are objects with an \"_id\" and a \"text\", one on each line (other members are parameters of the request), or an id and a text with a tab between. \
    Judgements have a query, a document and a grade on each line (BEIR), or four columns (TREC); a document is known by the end of its id. Documents are fed as \
    {\"put\": \"id:ns:type::1\", \"fields\": {..}}, or are those of BEIR's corpus.jsonl, whose members become fields of the same names. \
    The text of a query is the parameter query, which userQuery() and @query read.\n\n\
    Examples:\n  stead evaluate my-app/ --docs docs.jsonl --queries queries.jsonl --qrels qrels.txt\n  \
    stead evaluate my-app/ --beir scifact/ --profile bm25 --profile hybrid --per-query\n  \
    stead evaluate my-app/ --beir scifact/ --profile near --json \\\n    \
    --yql 'select * from sources * where {targetHits: 100}nearestNeighbor(embedding, q)' --parameter 'input.query(q)=embed(@query)'"
)]
pub struct EvaluateArgs {
    /// The package: a folder, a zip or a tar.gz.
    package: PathBuf,
    /// The file of queries.
    #[arg(long, value_name = "FILE", required_unless_present = "beir")]
    queries: Option<PathBuf>,
    /// The file of judgements.
    #[arg(long, value_name = "FILE", required_unless_present = "beir")]
    qrels: Option<PathBuf>,
    /// The file of documents.
    #[arg(long, value_name = "FILE", required_unless_present = "beir")]
    docs: Option<PathBuf>,
    /// A folder in the layout of BEIR, for the files that are not named.
    #[arg(long, value_name = "FOLDER")]
    beir: Option<PathBuf>,
    /// A rank profile; two are compared.
    #[arg(long = "profile", value_name = "NAME", default_value = "default")]
    profiles: Vec<String>,
    /// The YQL of each query.
    #[arg(long, value_name = "YQL", default_value = "select * from sources * where userQuery()")]
    yql: String,
    /// Another parameter of each request, as name=value.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// How many hits are looked at.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=400))]
    hits: u16,
    /// The type of documents that have none themselves, where the package has several.
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// Show every query.
    #[arg(long)]
    per_query: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, _)| !name.trim().is_empty());
    let (name, value) = pair.ok_or_else(|| format!("expected name=value, found {text:.60}"))?;
    Ok((name.trim().to_owned(), value.to_owned()))
}

/// Runs the command.
pub fn run(args: &EvaluateArgs) -> Result<(), Failure> {
    if args.profiles.len() > 2 {
        return Err(Failure::usage("expected one profile, or two that are compared"));
    }
    let beir = args.beir.as_deref().map(files::beir);
    let [queries, qrels, docs] = [(&args.queries, 0), (&args.qrels, 1), (&args.docs, 2)]
        .map(|(said, at)| said.clone().or_else(|| beir.as_ref().map(|files| files[at].clone())));
    let (Some(queries), Some(qrels), Some(docs)) = (queries, qrels, docs) else {
        return Err(Failure::usage("expected --queries, --qrels and --docs, or --beir"));
    };
    let judgements = files::judgements(&qrels)?;
    let mut queries = files::queries(&queries)?;
    let asked = queries.len();
    let is_judged = |query: &Query| {
        judgements.get(&query.id).is_some_and(|of| of.values().any(|grade| *grade > 0))
    };
    queries.retain(is_judged);
    if queries.is_empty() {
        return Err(Failure::failed(format!(
            "of {asked} queries none has a relevant document in {}",
            qrels.display()
        )));
    }
    if queries.len() < asked {
        eprintln!(
            "note: {} of {asked} queries have no relevant document and are left out",
            asked - queries.len()
        );
    }
    let files = PackageFiles::open(&args.package).map_err(Failure::failed)?;
    let node = Embedded::in_memory(&files).map_err(Failure::failed)?;
    feed(&node, &files, &docs, args.schema.as_deref())?;
    let mut judged = Vec::new();
    for profile in &args.profiles {
        judged.push(judge(&node, args, profile, &queries, &judgements)?);
    }
    match args.json {
        true => println!("{}", report::json(&judged)),
        false => print!("{}", report::text(&judged, args.per_query)),
    }
    Ok(())
}

fn bar(count: usize) -> indicatif::ProgressBar {
    match std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(count as u64),
        false => indicatif::ProgressBar::hidden(),
    }
}

/// Feeds the documents of a file.
fn feed(
    node: &Embedded,
    files: &PackageFiles,
    docs: &Path,
    schema: Option<&str>,
) -> Result<(), Failure> {
    let (application, _) = Application::read(files, ServicesOptions::default());
    let schema = match (schema, &application.schemas[..]) {
        (Some(name), _) => application.schema(name),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let bar = bar(0);
    files::lines(docs, |_, line| {
        let (kind, is_field): (&str, &dyn Fn(&str) -> bool) = match schema {
            Some(schema) => {
                (&schema.document.name.value, &|name: &str| schema.field(name).is_some())
            }
            None if line.contains("\"_id\"") => {
                return Err("the package has several schemas; say which by --schema".to_owned());
            }
            None => ("", &|_: &str| false),
        };
        let json = files::document(line, kind, is_field)?;
        node.feed_json(&json).map_err(|e| e.to_string())?;
        bar.inc(1);
        Ok(())
    })?;
    bar.finish_and_clear();
    Ok(())
}

/// Asks all queries with a rank profile.
fn judge(
    node: &Embedded,
    args: &EvaluateArgs,
    profile: &str,
    queries: &[Query],
    judgements: &Judgements,
) -> Result<Judged, Failure> {
    let (mut all, bar) = (Vec::new(), bar(queries.len()));
    let hits = args.hits.to_string();
    for query in queries {
        let mut parameters: Vec<(&str, &str)> = vec![
            ("yql", &args.yql),
            ("query", &query.text),
            ("ranking", profile),
            ("hits", &hits),
            ("timeout", "60"),
        ];
        let own = args.parameters.iter().chain(&query.more);
        parameters.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
        let fail = |e: &dyn std::fmt::Display| Failure::failed(format!("query {}: {e}", query.id));
        let (result, _) = node.search_wait(&parameters).map_err(|e| fail(&e))?;
        let json: Json =
            serde_json::from_slice(&render(&result, Format::Json)).map_err(|e| fail(&e))?;
        if let Some(error) = json["root"]["errors"].get(0) {
            return Err(fail(&error["message"].as_str().unwrap_or("the search failed")));
        }
        let children = json["root"]["children"].as_array();
        let names = children.into_iter().flatten().filter_map(|hit| hit["id"].as_str());
        let ranking: Vec<String> = names.map(|id| files::name_of(id).to_owned()).collect();
        let judged = judgements.get(&query.id).and_then(|of| scores(&ranking, of));
        all.extend(judged.map(|scores| (query.id.clone(), scores)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(Judged { profile: profile.to_owned(), scores: all })
}
