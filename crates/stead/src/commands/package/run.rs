//! `stead package run`: one call.

use std::path::PathBuf;

use stead_python::{
    Argument, CallError, Choice, Deadline, InterpreterManager, InterpreterSession, Isolation,
    ManagerOptions, Mode, Object, Value,
};

use super::arguments::{Arguments, parse};
use super::{PythonArg, failed, name_of, results, start_options};
use crate::failure::Failure;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A value is JSON, or a text if it is none, or @FILE: an array (.npy), arrays by name (.npz), JSON (.json), \
    or the bytes of any other file. name=VALUE is a keyword argument, a VALUE alone the next positional one; @FILE.npz \
    alone gives a keyword argument for each array.\n\n\
    Examples:\n  stead package run shop.pkg score --input x=@x.npy\n  stead package run shop.pkg tokenize --input '\"a text\"' --json\n  \
    stead package run shop.pkg score --input @inputs.npz --output scores.npy\n  stead package run model.pt model/model.pkl --input @x.npy"
)]
pub struct RunArgs {
    /// The package.
    file: PathBuf,
    /// An entry point of it, or else module:attribute or package/resource.pkl[:attribute].
    entry_point: String,
    /// An argument: [name=]VALUE or [name=]@FILE.
    #[arg(long, short, value_name = "ARGUMENT")]
    input: Vec<String>,
    /// Write the result to a file: .npy, .npz, .json, or else its bytes or text.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    #[command(flatten)]
    python: PythonArg,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<(), Failure> {
    let given = parse(&args.input)?;
    let python = args.python.installation()?;
    let deadline = match args.timeout {
        Some(seconds) => Deadline::after(std::time::Duration::from_secs(seconds)),
        None => Deadline::NEVER,
    };
    let bundles = tempfile::tempdir().map_err(Failure::failed)?;
    let start = start_options(&python, &args.file, bundles.path(), deadline)?;
    // A crash of its code is an error here, not the end of this program.
    let isolation = Isolation::Process;
    let options = ManagerOptions { interpreters: 1, isolation, start, ..Default::default() };
    let choice = Choice { mode: Mode::Worker, reason: None };
    let manager = InterpreterManager::new(python, choice, options);
    let package = manager.load_package(&name_of(&args.file)?, &args.file, deadline);
    let package = package.map_err(Failure::failed)?;
    let session = package.acquire_session(deadline).map_err(Failure::failed)?;
    let result = call(&session, &args.entry_point, given).map_err(|error| failed(&error));
    // All that its code printed comes before the result.
    drop((session, package, manager));
    let result = result?;
    if let Some(path) = &args.output {
        results::write(path, &result)?;
    }
    match (args.json, &args.output) {
        (true, _) => println!("{}", results::json(&result)),
        (false, None) => println!("{}", results::text(&result)),
        (false, Some(_)) => {}
    }
    Ok(())
}

fn call(
    session: &InterpreterSession,
    entry_point: &str,
    given: Arguments,
) -> Result<Value, CallError> {
    let function = found(session, entry_point)?;
    let positional = given.positional.into_iter().map(Argument::Value);
    let keywords: Vec<(String, Value)> = given.keywords;
    let keywords = keywords.iter().map(|(name, value)| (name.as_str(), value.clone().into()));
    function.call_with(positional, keywords)?.value()
}

/// What is called.
fn found<'s>(session: &'s InterpreterSession, target: &str) -> Result<Object<'s>, CallError> {
    let importer = session.this()?;
    let (place, attribute) = target.split_once(':').unwrap_or((target, ""));
    let whole = match place.rsplit_once('/') {
        Some((package, resource)) => {
            let package = package.replace('/', ".");
            importer.attr("load_pickle")?.call([package.into(), resource.into()])?
        }
        None if !attribute.is_empty() => importer.attr("import_module")?.call([place.into()])?,
        None => return importer.attr("load_entry_point")?.call([target.into()]),
    };
    attribute.split('.').filter(|name| !name.is_empty()).try_fold(whole, |of, name| of.attr(name))
}
