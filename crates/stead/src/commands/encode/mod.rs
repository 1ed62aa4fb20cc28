//! `stead encode`: training data of a ranker, made as the ranker will be served.

mod features;
mod package;
mod pairs;
mod plan;
mod rows;

use std::path::{Path, PathBuf};

use serde_json::json;
use stead_app::application::Application;
use stead_app::package::PackageFiles;
use stead_app::services::ServicesOptions;

use crate::failure::Failure;
use plan::Plan;
use rows::Rows;

/// Make training data for a ranker: token ids of query and document as a rank profile joins them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A line of the pairs is {\"query\": text, \"document\": text, \"label\": number}. A document of several fields is an \
    object: {\"title\": text, \"body\": text}.\nThe npz has the arrays input_ids, token_type_ids, attention_mask and labels. FILE.encoding.json beside it says how \
    they were made: put it into the metadata of the model as stead.encoding, and `stead check` tells when a profile \
    gives it other rows.\n\n\
    Examples:\n  stead encode my-app/ --profile ranker pairs.jsonl --output train.npz\n  \
    stead encode my-app/ --profile ranker pairs.jsonl --output train.npz --validation 0.1 --seed 7 --json\n  \
    stead encode my-app/ --profile ranker pairs.jsonl --output rows.npz --inputs-only && stead run ranker.onnx --input @rows.npz"
)]
pub struct EncodeArgs {
    /// The package: a folder, a zip or a tar.gz.
    package: PathBuf,
    /// The pairs, a JSON object on each line.
    pairs: PathBuf,
    /// The rank profile that the ranker is for.
    #[arg(long)]
    profile: String,
    /// The schema of the profile, where several have one of this name.
    #[arg(long)]
    schema: Option<String>,
    /// The npz file to write.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// The part of the queries whose pairs go to FILE.validation.npz instead, such as 0.1.
    #[arg(long, value_name = "PART", value_parser = part, default_value_t = 0.0)]
    validation: f64,
    /// Chooses the queries for validation.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// The component that tokenizes queries, if it is not the one of the document's field.
    #[arg(long, value_name = "ID")]
    query_tokenizer: Option<String>,
    /// Write the inputs of the model alone, as `stead run --input @FILE` takes them; pairs need no label then.
    #[arg(long)]
    inputs_only: bool,
    /// Leave out Java components with a warning instead of refusing the package.
    #[arg(long)]
    ignore_components: bool,
    /// Print JSON: files, rows, and how many texts were cut.
    #[arg(long)]
    json: bool,
}

fn part(text: &str) -> Result<f64, String> {
    let part = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.0..1.0).contains(&part) {
        Ok(part)
    } else {
        Err("expected at least 0, below 1".to_owned())
    }
}

/// Runs the command.
pub fn run(args: &EncodeArgs) -> Result<(), Failure> {
    let files = PackageFiles::open(&args.package).map_err(Failure::failed)?;
    let options = ServicesOptions { ignore_components: args.ignore_components };
    let (application, report) = Application::read(&files, options);
    let package = plan::Package { files: &files, application: &application, report };
    let plan = Plan::new(package, args)?;
    let rows = pairs::read(&args.pairs, &plan)?;
    let (train, validation) = rows.split(args.validation, args.seed);
    let mut written = vec![(args.output.clone(), train)];
    if args.validation > 0.0 {
        written.push((beside(&args.output), validation));
    }
    for (path, rows) in &written {
        rows.write(path, &plan)?;
    }
    let encoding = args.output.with_extension("encoding.json");
    std::fs::write(&encoding, plan.encoding.to_json() + "\n")
        .map_err(|e| Failure::failed(format!("{}: {e}", encoding.display())))?;
    print(args, &plan, &rows, (&written, &encoding));
    Ok(())
}

/// `train.validation.npz` for `train.npz`.
fn beside(output: &Path) -> PathBuf {
    let ending =
        output.extension().map_or_else(String::new, |e| format!(".{}", e.to_string_lossy()));
    output.with_extension(format!("validation{ending}"))
}

fn print(
    args: &EncodeArgs,
    plan: &Plan<'_>,
    all: &Rows,
    (written, encoding): (&[(PathBuf, Rows)], &Path),
) {
    let (queries, documents) = all.cut();
    if args.json {
        let file = |(path, rows): &(PathBuf, Rows)| json!({"file": path.display().to_string(), "rows": rows.len(), "queries": rows.queries()});
        let value = json!({
            "feature": plan.feature,
            "length": plan.length,
            "files": written.iter().map(file).collect::<Vec<_>>(),
            "encoding": encoding.display().to_string(),
            "cutQueries": queries,
            "cutDocuments": documents,
            "cutRows": all.too_long(plan),
        });
        println!("{value}");
        return;
    }
    for (path, rows) in written {
        let (count, queries, path) = (rows.len(), rows.queries(), path.display());
        println!("{path}: rows {count}, queries {queries}, tokens of a row {}", plan.length);
    }
    println!("{}: how the rows are made, for the metadata of the model", encoding.display());
    let rows = all.too_long(plan);
    println!("{}: cut queries {queries}, documents {documents}, rows {rows}", plan.feature);
}
