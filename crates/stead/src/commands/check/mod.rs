//! `stead check`: what an application package says, and all that is wrong with it.

mod json;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use stead_app::application::Application;
use stead_app::application::rank::{CompiledProfile, PackageModels};
use stead_app::package::{PackageFiles, Report};
use stead_app::services::ServicesOptions;
use stead_search::models::{Loaded, Probe, notes, unready};
use stead_store::Selection;

use crate::failure::Failure;
use crate::onnxruntime::OnDemand;

/// Check an application package: schemas, rank profiles, services
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A package is a folder, a zip or a tar.gz with services.xml and schemas/ as Vespa has them. \
    Errors and warnings go to standard error as file:line:column; the exit code is 1 if there is an error.\n\n\
    Examples:\n  stead check my-app/\n  stead check --json application.zip\n  stead check --ignore-components my-app/"
)]
pub struct CheckArgs {
    /// The package: a folder, a zip or a tar.gz.
    package: PathBuf,
    /// Leave out Java components with a warning instead of refusing the package.
    #[arg(long)]
    ignore_components: bool,
    /// Print errors and warnings only.
    #[arg(long, short)]
    quiet: bool,
    /// Print JSON: documents, profiles, services, errors and warnings.
    #[arg(long, conflicts_with = "quiet")]
    json: bool,
}

/// A package with the types of its expressions.
struct Checked {
    application: Application,
    /// By the names of schemas.
    profiles: BTreeMap<String, Vec<CompiledProfile>>,
    report: Report,
}

/// Runs the command. False if there is an error in the package.
pub fn run(args: &CheckArgs) -> Result<bool, Failure> {
    let files = PackageFiles::open(&args.package).map_err(Failure::failed)?;
    let options = ServicesOptions { ignore_components: args.ignore_components };
    let (application, mut report) = Application::read(&files, options);
    let backends = OnDemand::of_package(1);
    let probe = Probe { backends: &backends };
    unready(&application, &backends, &mut report);
    let profiles = application.compile(&PackageModels::new(&files).with_probe(&probe), &mut report);
    let _ = Selection::of_application(&application, &mut report);
    let loaded = Loaded::new(&files).with_backends(&backends);
    loaded.check_significance(&application, &mut report);
    if !report.has_errors() {
        for (place, text) in profiles.values().flat_map(|profiles| notes(&loaded, profiles)) {
            report.warning(&place, text);
        }
    }
    report.sort();
    let checked = Checked { application, profiles, report };
    let is_right = !checked.report.has_errors();
    if args.json {
        println!("{:#}", json::json(&checked));
        return Ok(is_right);
    }
    if !args.quiet {
        print!("{}", text::text(&checked));
    }
    for diagnostic in checked.report.diagnostics() {
        eprintln!("{diagnostic}");
    }
    let (errors, warnings) = (checked.report.errors().count(), checked.report.warnings().count());
    let omitted = match checked.report.omitted() {
        0 => String::new(),
        more => format!(", and {more} more of them"),
    };
    eprintln!("{}, {}{omitted}", counted(errors, "error"), counted(warnings, "warning"));
    Ok(is_right)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
