//! `stead package inspect`.

use std::path::{Path, PathBuf};

use stead_python::{Call, Deadline, Interpreter, Value, Worker};

use super::{PythonArg, failed, text_of};
use crate::failure::Failure;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Problems that the package would have in this Python are listed last.\n\n\
    Examples:\n  stead package inspect shop.pkg\n  stead package inspect shop.pkg --verify --json\n  \
    stead package inspect shop.pkg --python my-app/venv")]
pub struct InspectArgs {
    /// The package, or the folder into which one was unpacked.
    file: PathBuf,
    /// Read everything and compare with the recorded digests.
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    python: PythonArg,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(args: &InspectArgs) -> Result<(), Failure> {
    let mut worker = args.python.worker()?;
    println!("{}", described(&mut worker, &args.file, args.verify, args.json)?);
    Ok(())
}

/// What is in a package, as text or as JSON.
pub(super) fn described(
    worker: &mut Worker,
    file: &Path,
    verify: bool,
    as_json: bool,
) -> Result<String, Failure> {
    if !file.exists() {
        return Err(Failure::failed(format!("{}: there is no such file", file.display())));
    }
    let arguments = vec![text_of(file)?.into(), verify.into(), as_json.into()];
    let call = Call::new("stead_package.inspection", "shown", arguments);
    match worker.call(call, Deadline::NEVER).map_err(|error| failed(&error))? {
        Value::Str(text) => Ok(text),
        other => Err(Failure::failed(format!("the inspection gave {other:?}"))),
    }
}
