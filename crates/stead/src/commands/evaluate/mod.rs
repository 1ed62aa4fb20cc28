//! `stead evaluate`: how good the rankings of an application are, by what people have judged.

mod ask;
mod compare;
mod documents;
mod files;
mod judgements;
mod mapping;
mod metrics;
mod queries;
mod report;
mod trec;

use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_node::Embedded;

use crate::failure::Failure;
use crate::http_client::{AccessArgs, Target};
use ask::Asked;
use judgements::Judgements;
use mapping::Wanted;
use metrics::scores;
use queries::Query;
use report::Judged;
use trec::Ranking;

/// The most hits of a request that does not ask for more (`maxHits` of the table of parameters).
const MAX_HITS: u16 = 400;

/// The documents that a `weakAnd`, as which texts are read, looks for if nothing is said; it may find no more.
const TARGET_HITS: u16 = 100;

/// Judge the rankings of an application package by queries whose relevant documents are known
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Queries are objects with an \"_id\" and a \"text\", one on each line (other members are parameters of the request), an id and a text with a tab between, or topics of TREC. \
    Judgements have a query, a document and a grade on each line (BEIR), or four columns (TREC); a document is known by its id, or the part of it behind the last colons. Documents are fed as \
    {\"put\": \"id:ns:type::1\", \"fields\": {..}}, one after the other or in an array, are those of BEIR's corpus.jsonl, whose members become fields of the same names or those that \
    --field names, or have an id and a text with a tab between (MS MARCO). Any of these files may end with .gz. \
    The text of a query is the parameter query, which userQuery() and @query read.\n\n\
    Examples:\n  stead evaluate my-app/ --queries q.jsonl --qrels qrels.txt\n  \
    stead evaluate my-app/ --beir scifact/ --profile bm25 --profile hybrid --per-query\n  \
    stead evaluate my-app/ --docs collection.tsv.gz --field text=body --queries topics.txt --qrels qrels.txt --hits 1000 --run bm25.run\n  \
    stead evaluate --target http://127.0.0.1:8080 --queries q.jsonl --qrels qrels.txt --json\n  \
    stead evaluate my-app/ --beir scifact/ --profile near --json \\\n    \
    --yql 'select * from sources * where {targetHits: 100}nearestNeighbor(embedding, q)' --parameter 'input.query(q)=embed(@query)'"
)]
pub struct EvaluateArgs {
    /// The package: a folder, a zip or a tar.gz.
    #[arg(required_unless_present = "target")]
    package: Option<PathBuf>,
    /// The file of queries.
    #[arg(long, value_name = "FILE", required_unless_present = "beir")]
    queries: Option<PathBuf>,
    /// The file of judgements.
    #[arg(long, value_name = "FILE", required_unless_present = "beir")]
    qrels: Option<PathBuf>,
    /// The file of documents; without it documents.jsonl, docs.jsonl or corpus.jsonl in the folder of the package, or beside it.
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    /// A folder in the layout of BEIR, for the files that are not named.
    #[arg(long, value_name = "FOLDER")]
    beir: Option<PathBuf>,
    /// A member of BEIR's documents, and the field that it becomes; the text of collection.tsv is the member text.
    #[arg(long = "field", value_name = "MEMBER=FIELD", value_parser = field)]
    fields: Vec<(String, String)>,
    /// The type of documents that have none themselves, where the package has several.
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// The query port of a server, stead's or Vespa's, that has the package and its documents; then nothing is fed.
    #[arg(long, value_name = "URL", conflicts_with_all = ["docs", "fields", "schema"])]
    target: Option<Target>,
    #[command(flatten)]
    access: AccessArgs,
    /// A rank profile; two are compared.
    #[arg(long = "profile", value_name = "NAME", default_value = "default")]
    profiles: Vec<String>,
    /// The YQL of each query; without it "select * from sources * where userQuery()", with --hits as its targetHits above 100.
    #[arg(long, value_name = "YQL")]
    yql: Option<String>,
    /// Another parameter of each request, as name=value.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// How many hits are looked at; of more than 400 the request says so as maxHits, which a query profile may forbid.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    hits: u16,
    /// Write the ranking as a run of TREC, for trec_eval; once for each profile.
    #[arg(long = "run", value_name = "FILE")]
    runs: Vec<PathBuf>,
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

fn field(text: &str) -> Result<(String, String), String> {
    let names = text.split_once('=').map(|(member, field)| (member.trim(), field.trim()));
    let names = names.filter(|(member, field)| !member.is_empty() && !field.is_empty());
    let (member, field) = names
        .ok_or_else(|| format!("expected a member and a field, as text=body, found {text:.60}"))?;
    Ok((member.to_owned(), field.to_owned()))
}

/// Runs the command.
pub fn run(args: &EvaluateArgs) -> Result<(), Failure> {
    if args.profiles.len() > 2 {
        return Err(Failure::usage("expected one profile, or two that are compared"));
    }
    if !args.runs.is_empty() && args.runs.len() != args.profiles.len() {
        return Err(Failure::usage(format!(
            "expected one --run for each profile, found {} for {}",
            args.runs.len(),
            args.profiles.len()
        )));
    }
    let beir = args.beir.as_deref().map(files::beir);
    let [queries, qrels, docs] = [(&args.queries, 0), (&args.qrels, 1), (&args.docs, 2)]
        .map(|(said, at)| said.clone().or_else(|| beir.as_ref().map(|files| files[at].clone())));
    let (Some(queries), Some(qrels)) = (queries, qrels) else {
        return Err(Failure::usage("expected --queries and --qrels, or --beir"));
    };
    let judgements = Judgements::read(&qrels)?;
    let queries = judged_queries(&queries, &qrels, &judgements)?;
    let asked = match (&args.target, &args.package) {
        (Some(target), _) => Asked::Server(args.access.reach(target)?),
        (None, Some(package)) => {
            let docs = match docs {
                Some(docs) => docs,
                None => {
                    let docs = files::documents_of(package)?;
                    eprintln!("note: the documents are those of {}", docs.display());
                    docs
                }
            };
            fed(args, package, &docs, &queries, &judgements)?
        }
        (None, None) => return Err(Failure::usage("expected a package or --target")),
    };
    let mut judged = Vec::new();
    for (at, profile) in args.profiles.iter().enumerate() {
        let rankings = rankings(&asked, args, profile, &queries, &judgements)?;
        if let Some(path) = args.runs.get(at) {
            trec::write(path, profile, &rankings)?;
        }
        judged.push(judge(profile, rankings, &judgements));
    }
    match args.json {
        true => println!("{}", report::json(&judged)),
        false => print!("{}", report::text(&judged, args.per_query)),
    }
    Ok(())
}

/// The queries of a file that have a relevant document.
fn judged_queries(
    path: &Path,
    qrels: &Path,
    judgements: &Judgements,
) -> Result<Vec<Query>, Failure> {
    let mut queries = queries::queries(path)?;
    let asked = queries.len();
    queries.retain(|query| judgements.of(&query.id).is_some());
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
    Ok(queries)
}

fn bar(count: usize) -> indicatif::ProgressBar {
    match std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(count as u64),
        false => indicatif::ProgressBar::hidden(),
    }
}

/// The package in this process, with the documents of a file.
fn fed(
    args: &EvaluateArgs,
    package: &Path,
    docs: &Path,
    queries: &[Query],
    judgements: &Judgements,
) -> Result<Asked, Failure> {
    let files = PackageFiles::open(package).map_err(Failure::failed)?;
    let node = Embedded::in_memory(&files).map_err(Failure::failed)?;
    let (application, _) = Application::read(&files, ServicesOptions::default());
    let wanted = Wanted { schema: args.schema.as_deref(), fields: &args.fields };
    let grades = queries.iter().filter_map(|query| judgements.of(&query.id));
    let mut missing: HashSet<&str> = grades.flatten().map(|(name, _)| &**name).collect();
    let judged = missing.len();
    documents::feed(&node, &application, docs, &wanted, &mut missing)?;
    // Most of all where ids are written in another way: then everything looks as if nothing were found.
    if let Some(first) = missing.iter().min() {
        eprintln!(
            "note: {} of {judged} judged documents are not in {}, as {first}",
            missing.len(),
            docs.display()
        );
    }
    Ok(Asked::Here(node))
}

/// The YQL of queries that are asked by their text.
fn yql(hits: u16) -> String {
    match hits > TARGET_HITS {
        true => format!("select * from sources * where {{targetHits: {hits}}}userQuery()"),
        false => "select * from sources * where userQuery()".to_owned(),
    }
}

/// Asks all queries with a rank profile.
fn rankings(
    asked: &Asked,
    args: &EvaluateArgs,
    profile: &str,
    queries: &[Query],
    judgements: &Judgements,
) -> Result<Vec<Ranking>, Failure> {
    let (mut all, bar) = (Vec::new(), bar(queries.len()));
    let hits = args.hits.to_string();
    let yql = args.yql.clone().unwrap_or_else(|| yql(args.hits));
    for query in queries {
        let mut parameters: Vec<(&str, &str)> = vec![
            ("yql", &yql),
            ("query", &query.text),
            ("ranking", profile),
            ("hits", &hits),
            ("timeout", "60"),
        ];
        if args.hits > MAX_HITS {
            parameters.push(("maxHits", &hits));
        }
        let own = args.parameters.iter().chain(&query.more);
        parameters.extend(own.map(|(name, value)| (name.as_str(), value.as_str())));
        let found = asked.hits(&parameters);
        let found = found.map_err(|e| Failure::failed(format!("query {}: {e}", query.id)))?;
        let names = judgements.names(&query.id, found.iter().map(|hit| &*hit.id));
        let hits = names.into_iter().zip(found.iter().map(|hit| hit.relevance)).collect();
        all.push(Ranking { query: query.id.clone(), hits });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(all)
}

/// What the rankings of a rank profile are worth.
fn judge(profile: &str, rankings: Vec<Ranking>, judgements: &Judgements) -> Judged {
    let of = |Ranking { query, hits }: Ranking| {
        let names: Vec<String> = hits.into_iter().map(|(name, _)| name).collect();
        Some((scores(&names, judgements.of(&query)?)?, query))
    };
    let scores = rankings.into_iter().filter_map(of).map(|(scores, query)| (query, scores));
    Judged { profile: profile.to_owned(), scores: scores.collect() }
}
