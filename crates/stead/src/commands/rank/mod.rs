//! `stead rank`: what a rank profile gives documents of a file.

mod features;
mod inputs;
mod results;
mod text;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;
use stead_app::application::rank::PackageModels;
use stead_app::application::{Application, Schema};
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;
use stead_search::models::{Loaded, Probe, unready};
use stead_search::rank::{Explained, RankOptions, Ranked};
use stead_search::{RankPlan, RankQuery};
use stead_store::{Documents, ScriptContext, Scripts, Unfilled, View};

use crate::commands::embedder::Tokenizers;
use crate::failure::Failure;
use crate::onnxruntime::OnDemand;

/// Rank the documents of a file by a rank profile of an application package
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The query file has a query as JSON, or one on each line: parameters as in a POST to /search/, such as \
    {\"input.query(user)\": [1, 2]}; an \"id\" is what its results are known by. The document file has documents as Vespa is fed with: \
    {\"put\": \"id:ns:type::1\", \"fields\": {..}}, one on each line or in an array. Every document is a match.\n\n\
    Examples:\n  stead rank my-app/ --profile near --query q.json --docs docs.jsonl\n  \
    stead rank my-app/ --query queries.jsonl --docs docs.jsonl --hits 100 --json\n  \
    stead rank my-app/ --profile near --query q.json --docs docs.jsonl --explain\n  \
    stead rank my-app/ --profile near --query queries.jsonl --docs docs.jsonl --features train.npz"
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
    /// Show the program of each phase: its steps, how often each is computed, and what it cost.
    #[arg(long)]
    explain: bool,
    /// Write the match features of every pair of a query and a hit to this file: .jsonl or .npz.
    #[arg(long, value_name = "FILE", conflicts_with = "explain")]
    features: Option<PathBuf>,
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
    let backends = OnDemand::of_package(1);
    let probe = Probe { backends: &backends };
    unready(&application, &backends, &mut report);
    let models = PackageModels::new(&files).with_probe(&probe);
    let compiled = application.compile(&models, &mut report);
    report.sort();
    if report.has_errors() {
        report.errors().for_each(|error| eprintln!("{error}"));
        return Err(Failure::failed("the package has errors; stead check tells all of them"));
    }
    let schema = schema(&application, args.schema.as_deref())?;
    let profiles = compiled.get(&schema.name.value).map_or(&[][..], Vec::as_slice);
    let loaded = Loaded::new(&files).with_backends(&backends);
    let mut plans: Vec<RankPlan> = Vec::new();
    for query in &queries {
        let name = profile(args, query);
        if !plans.iter().any(|p| p.profile() == name) {
            let plan = RankPlan::new(&application, schema, name, profiles, &loaded, &models);
            let plan = plan.map_err(Failure::failed)?;
            plans.push(plan);
        }
    }
    let Some(first) = plans.first() else { return Err(Failure::failed("there is no query")) };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |t| t.as_secs() as f64);
    let options = RankOptions { now: args.now.unwrap_or(now), seed: args.seed };
    let mut embedder = Tokenizers::new(&application, &files);
    embedder.read_asked(schema);
    let scripts = Scripts::new(schema, first.documents());
    let cx = ScriptContext { now: options.now as i64, seed: args.seed, embedder: &embedder };
    let documents = inputs::documents(&args.docs, first.documents().clone(), (&scripts, &cx))?;
    let unfilled = scripts.unfilled(&embedder);
    let names = names(&queries);
    notes(args, &plans, &queries, (&documents, &unfilled));
    let view = documents.view();
    let mut output = args.features.as_deref().map(features::Output::create).transpose()?;
    let bar = bar(args, queries.len());
    for (number, (query, name)) in queries.iter().zip(&names).enumerate() {
        let Some(plan) = plans.iter().find(|p| p.profile() == profile(args, query)) else {
            continue;
        };
        let fail = |e: stead_search::RankError| Failure::failed(format!("query {name}: {e}"));
        warn(query, plan, name);
        let wanted = args.hits.or(query.hits);
        // Who trains wants all pairs, unless it is said how many.
        let count = wanted.unwrap_or(if output.is_some() { usize::MAX } else { HITS });
        let (ranked, explained) = match args.explain {
            true => {
                let both = plan.explain(query, view, options, count).map_err(fail)?;
                (both.0, Some(both.1))
            }
            false => (plan.rank(query, view, options, count).map_err(fail)?, None),
        };
        bar.inc(1);
        if let Some(output) = &mut output {
            output.add((number, name), &plan.match_features(), view, &ranked)?;
            continue;
        }
        let explained = explained.as_ref();
        let shown = Shown { name, plan, documents: view, ranked: &ranked, explained };
        match args.json {
            true => println!("{}", results::json(&shown)),
            false => print!("{}", text::text(&shown)),
        }
    }
    bar.finish_and_clear();
    if let Some(output) = output {
        let (rows, features) = output.finish()?;
        let file = args.features.as_deref().map(|f| f.display().to_string()).unwrap_or_default();
        match args.json {
            true => println!(
                "{}",
                json!({"file": file, "rows": rows, "queries": queries.len(), "features": features})
            ),
            false => {
                println!("{file}: rows {rows}, queries {}, features {features}", queries.len());
            }
        }
    }
    Ok(())
}

/// A bar where nothing is printed and somebody watches.
fn bar(args: &RankArgs, queries: usize) -> indicatif::ProgressBar {
    match args.features.is_some() && std::io::stderr().is_terminal() {
        true => indicatif::ProgressBar::new(queries as u64),
        false => indicatif::ProgressBar::hidden(),
    }
}

/// The result for a query with what it takes to show it.
struct Shown<'s> {
    name: &'s str,
    plan: &'s RankPlan,
    documents: &'s View,
    ranked: &'s Ranked,
    explained: Option<&'s Explained>,
}

/// Tells once what is the same for every document.
fn notes(
    args: &RankArgs,
    plans: &[RankPlan],
    queries: &[RankQuery],
    (documents, unfilled): (&Documents, &[Unfilled]),
) {
    let mut notes: Vec<String> = Vec::new();
    let (replaced, file) = (documents.replaced(), args.docs.display());
    match replaced {
        [] => {}
        [line] => notes.push(format!(
            "1 document stands more than once in {file}, on line {line}; the last one counts"
        )),
        [line, ..] => notes.push(format!(
            "{} documents stand more than once in {file}, first on line {line}; the last ones count",
            replaced.len()
        )),
    }
    for plan in plans {
        let asked = queries.iter().filter(|query| profile(args, query) == plan.profile());
        notes.extend(asked.flat_map(|query| plan.notes(query)));
        for attribute in plan.attributes() {
            if documents.given(attribute) == 0 && !documents.view().is_empty() {
                let field = attribute.split('.').next().unwrap_or_default();
                let step = unfilled.iter().find(|u| u.field == field);
                let why =
                    step.map(|u| format!("; {} does not run here, give what it makes", u.step));
                let why = why.unwrap_or_default();
                notes.push(format!("no document has a value of attribute({attribute}){why}"));
            }
        }
    }
    let mut told: Vec<&str> = Vec::new();
    for note in &notes {
        if !told.contains(&note.as_str()) {
            eprintln!("note: {note}");
            told.push(note);
        }
    }
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
