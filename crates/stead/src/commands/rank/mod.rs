//! `stead rank`: what a rank profile gives documents of a file.

mod inputs;
mod json;
mod text;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use stead_app::application::rank::PackageModels;
use stead_app::application::{Application, Schema};
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::rank::{RankOptions, Ranked};
use stead_search::{RankPlan, RankQuery};
use stead_store::Documents;

use crate::failure::Failure;

/// Rank the documents of a file by a rank profile of an application package
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The query file has a query as JSON, or one on each line: parameters as in a POST to /search/, such as \
    {\"input.query(user)\": [1, 2]}; an \"id\" is what its results are known by. The document file has documents as Vespa is fed with: \
    {\"put\": \"id:ns:type::1\", \"fields\": {..}}, one on each line or in an array. Every document is a match.\n\n\
    Examples:\n  stead rank my-app/ --profile near --query q.json --docs docs.jsonl\n  \
    stead rank my-app/ --query queries.jsonl --docs docs.jsonl --hits 100 --json"
)]
pub struct RankArgs {
    /// The package: a folder, a zip or a tar.gz.
    package: PathBuf,
    /// The rank profile; without it that of the query, or else default.
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The schema, where the package has several.
    #[arg(long, value_name = "NAME")]
    schema: Option<String>,
    /// The file of queries.
    #[arg(long, value_name = "FILE")]
    query: PathBuf,
    /// The file of documents.
    #[arg(long, value_name = "FILE")]
    docs: PathBuf,
    /// How many of the best hits to show; without it that of the query, or else 10.
    #[arg(long, value_name = "N")]
    hits: Option<usize>,
    /// The time that documents are ranked at, in seconds since 1970; without it now.
    #[arg(long, value_name = "SECONDS")]
    now: Option<f64>,
    /// Where chance begins.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Leave out Java components with a warning instead of refusing the package.
    #[arg(long)]
    ignore_components: bool,
    /// Print JSON: a line for each query.
    #[arg(long)]
    json: bool,
}

/// The hits of a query that says nothing (Vespa's).
const HITS: usize = 10;

/// The profile of a query that says nothing (Vespa's).
const PROFILE: &str = "default";

/// Runs the command.
pub fn run(args: &RankArgs) -> Result<(), Failure> {
    let queries = inputs::queries(&args.query)?;
    let files = PackageFiles::open(&args.package).map_err(Failure::failed)?;
    let options = ServicesOptions { ignore_components: args.ignore_components };
    let (application, mut report) = Application::read(&files, options);
    let models = PackageModels::new(&files);
    let compiled = application.compile(&models, &mut report);
    report.sort();
    if report.has_errors() {
        report.errors().for_each(|error| eprintln!("{error}"));
        return Err(Failure::failed("the package has errors; stead check tells all of them"));
    }
    let schema = schema(&application, args.schema.as_deref())?;
    let profiles = compiled.get(&schema.name.value).map_or(&[][..], Vec::as_slice);
    let mut plans: Vec<RankPlan> = Vec::new();
    for query in &queries {
        let name = profile(args, query);
        if !plans.iter().any(|p| p.profile() == name) {
            let plan = RankPlan::new(&application, schema, name, profiles, &files, &models);
            let plan = plan.map_err(Failure::failed)?;
            plan.notes().iter().for_each(|note| eprintln!("note: {note}"));
            plans.push(plan);
        }
    }
    let Some(first) = plans.first() else { return Err(Failure::failed("there is no query")) };
    let documents = inputs::documents(&args.docs, first.documents().clone())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs() as f64);
    let options = RankOptions { now: args.now.unwrap_or(now), seed: args.seed };
    let names = names(&queries);
    for (query, name) in queries.iter().zip(&names) {
        let Some(plan) = plans.iter().find(|p| p.profile() == profile(args, query)) else {
            continue;
        };
        let fail = |e: stead_search::RankError| Failure::failed(format!("query {name}: {e}"));
        warn(query, plan, name);
        let count = args.hits.or(query.hits).unwrap_or(HITS);
        let ranked: Ranked = plan.rank(query, &documents, options, count).map_err(fail)?;
        let shown = Shown { name, plan, documents: &documents, ranked: &ranked };
        if args.json {
            println!("{}", json::json(&shown));
        } else {
            print!("{}", text::text(&shown));
        }
    }
    Ok(())
}

/// The result for a query with what it takes to show it.
struct Shown<'s> {
    name: &'s str,
    plan: &'s RankPlan,
    documents: &'s Documents,
    ranked: &'s Ranked,
}

fn profile<'a>(args: &'a RankArgs, query: &'a RankQuery) -> &'a str {
    args.profile.as_deref().or(query.profile.as_deref()).unwrap_or(PROFILE)
}

/// What queries are known by: their ids, or their numbers from 1.
fn names(queries: &[RankQuery]) -> Vec<String> {
    let name =
        |(at, query): (usize, &RankQuery)| query.id.clone().unwrap_or_else(|| (at + 1).to_string());
    queries.iter().enumerate().map(name).collect()
}

/// Tells what a query has that nothing reads.
fn warn(query: &RankQuery, plan: &RankPlan, name: &str) {
    let known = plan.inputs();
    for input in query.inputs.keys().filter(|input| !known.contains(&input.as_str())) {
        let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let profile = plan.profile();
        eprintln!(
            "warning: query {name}: rank-profile {profile} takes no query({input}); it takes {list}"
        );
    }
    for parameter in &query.unread {
        eprintln!("warning: query {name}: {parameter} is not read: every document is a match");
    }
}

fn schema<'a>(application: &'a Application, name: Option<&str>) -> Result<&'a Schema, Failure> {
    let of_documents = || application.schemas.iter().filter(|s| !s.is_document_only);
    let known = || of_documents().map(|s| s.name.value.as_str()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => application.schema(name).ok_or_else(|| {
            Failure::usage(format!("the package has no schema {name}; it has {}", known()))
        }),
        None => {
            let mut all = of_documents();
            match (all.next(), all.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(Failure::failed("the package has no schema")),
                _ => Err(Failure::usage(format!("--schema: expected one of {}", known()))),
            }
        }
    }
}
