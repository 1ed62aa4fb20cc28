//! `stead python`: the Python of this machine.

mod doctor;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stead_python::{Installation, SelfTest};

use crate::failure::Failure;

/// Tell which Python this machine has and how stead would run it
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  stead python doctor\n  stead python doctor --python my-app/venv --json"
)]
pub struct PythonArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Look at every Python, try it, and say which way it would be run and why
    #[command(after_help = "Without --python, all of $VIRTUAL_ENV and $PATH are looked at.\n\n\
        Examples:\n  stead python doctor\n  stead python doctor --python my-app/venv --json")]
    Doctor {
        /// A Python, the folder of a virtual environment, or a name on PATH.
        #[arg(long)]
        python: Option<PathBuf>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Try interpreters inside this process; a failure may crash it
    #[command(hide = true, after_help = "Example:\n  stead python self-test /usr/bin/python3")]
    SelfTest {
        /// A Python.
        python: PathBuf,
    },
}

/// Runs the command; false where there is no Python that can be used.
pub fn run(args: &PythonArgs) -> Result<bool, Failure> {
    match &args.verb {
        Verb::Doctor { python, json } => doctor::run(python.as_deref(), *json),
        Verb::SelfTest { python } => self_test_here(python).map(|()| true),
    }
}

fn self_test_here(python: &Path) -> Result<(), Failure> {
    let python = Installation::of(python).map_err(Failure::failed)?;
    stead_python::self_test_here(&python).map_err(Failure::failed)
}

/// The self-test in another process of this program.
pub fn self_test() -> Result<SelfTest, Failure> {
    let program = std::env::current_exe().map_err(Failure::failed)?;
    let arguments = ["python", "self-test"].map(OsString::from).to_vec();
    Ok(SelfTest { program, arguments })
}
