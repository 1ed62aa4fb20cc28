//! `stead package build`.

use std::path::PathBuf;

use stead_python::{Call, Deadline, Interpreter, Value};

use super::recipe::Recipe;
use super::{PythonArg, failed, inspect, text_of};
use crate::failure::Failure;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "TARGET is [NAME=]module:attribute and becomes an entry point. Without rules the top packages of all targets are \
    packaged, and everything else is taken from the Python that runs the package.\n\n\
    A recipe (docs/python-packages.md) says more: pickles, files, bundles and examples.\n\n\
    Examples:\n  stead package build shop.net:score -o shop.pkg\n  \
    stead package build shop.net:score -o shop.pkg --rule 'intern=shop.**' --rule 'mock=matplotlib.**' --rule 'extern=**'\n  \
    stead package build --recipe shop.toml -o shop.pkg --python my-app/venv"
)]
pub struct BuildArgs {
    /// What can be called, as [NAME=]module:attribute.
    #[arg(required_unless_present = "recipe")]
    target: Vec<String>,
    /// A recipe: a TOML file. Paths in it are relative to it.
    #[arg(long, value_name = "FILE")]
    recipe: Option<PathBuf>,
    /// The package to write.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What becomes of modules whose names match, the first rule that matches: intern, extern, mock or deny=PATTERN.
    #[arg(long, value_name = "ACTION=PATTERN")]
    rule: Vec<String>,
    /// A folder in which modules are found, before those of Python; the current one unless given.
    #[arg(long, value_name = "FOLDER")]
    path: Vec<PathBuf>,
    #[command(flatten)]
    python: PythonArg,
    /// Print what is in the package as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &BuildArgs) -> Result<(), Failure> {
    let mut recipe = match &args.recipe {
        Some(path) => Recipe::read(path)?,
        None => Recipe::default(),
    };
    recipe.add_targets(&args.target)?;
    recipe.add_rules(&args.rule)?;
    let here = [PathBuf::from(".")];
    let folders = match (&args.recipe, args.path.as_slice()) {
        (None, []) => &here,
        (_, given) => given,
    };
    recipe.add_folders(folders)?;
    let output = std::path::absolute(&args.output).map_err(Failure::failed)?;
    let mut worker = args.python.worker()?;
    let arguments = vec![recipe.to_json()?.into(), text_of(&output)?.into()];
    let build = Call::new("stead_package.export.recipe", "build", arguments);
    let built = worker.call(build, Deadline::NEVER);
    let warnings = built.map_err(|error| failed(&error))?;
    if let Value::List(warnings) = warnings {
        for warning in &warnings {
            if let Value::Str(text) = warning {
                eprintln!("warning: {text}");
            }
        }
    }
    println!("{}", inspect::described(&mut worker, &output, false, args.json)?);
    Ok(())
}
