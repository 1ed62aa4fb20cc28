//! `stead package`: packages of Python code.

mod arguments;
mod build;
mod inspect;
mod recipe;
mod results;
mod run;
mod test;

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use stead_python::{
    BundleError, CallError, Deadline, Installation, PackageFile, StartOptions, Worker, WorkerLimits,
};
use tracing::field::Field;
use tracing_subscriber::fmt::format::{self, Writer};

use crate::failure::Failure;

/// Make packages of Python code, look into them, run and test them
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A package holds code, objects and weights, and runs wherever there is a Python with the modules that it names \
    (docs/python-packages.md). Archives that torch.package wrote are packages too.\n\n\
    Examples:\n  stead package build shop.net:score -o shop.pkg\n  stead package inspect shop.pkg\n  \
    stead package run shop.pkg score --input x=@x.npy\n  stead package test shop.pkg"
)]
pub struct PackageArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Say what is in a package, without running anything of it
    Inspect(inspect::InspectArgs),
    /// Call something of a package once
    Run(run::RunArgs),
    /// Run the recorded examples of a package in every way in which it can be run
    Test(test::TestArgs),
    /// Make a package
    Build(build::BuildArgs),
}

/// Which Python.
#[derive(Debug, clap::Args)]
struct PythonArg {
    /// A Python, the folder of a virtual environment, or a name on PATH.
    #[arg(long)]
    python: Option<PathBuf>,
}

/// Runs the command; false if a test failed.
pub fn run(args: &PackageArgs) -> Result<bool, Failure> {
    show_output();
    match &args.verb {
        Verb::Inspect(args) => inspect::run(args).map(|()| true),
        Verb::Run(args) => run::run(args).map(|()| true),
        Verb::Test(args) => test::run(args),
        Verb::Build(args) => build::run(args).map(|()| true),
    }
}

/// Writes what Python code prints to standard error, each line as it is.
fn show_output() {
    let message = |writer: &mut Writer<'_>, field: &Field, value: &dyn Debug| match field.name() {
        "message" => write!(writer, "{value:?}"),
        _ => Ok(()),
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::INFO)
        .fmt_fields(format::debug_fn(message))
        .with_ansi(false)
        .with_level(false)
        .with_target(false)
        .without_time()
        .with_writer(std::io::stderr);
    // There is none before this one.
    let _ = builder.try_init();
}

impl PythonArg {
    fn installation(&self) -> Result<Installation, Failure> {
        stead_python::find_default(self.python.as_deref()).map_err(Failure::failed)
    }

    /// A worker; it has `stead_package`, as every interpreter.
    fn worker(&self) -> Result<Worker, Failure> {
        let python = self.installation()?;
        let (options, limits) = (StartOptions::default(), WorkerLimits::default());
        Worker::start(&python, &options, limits).map_err(Failure::failed)
    }
}

/// What interpreters of a package need that bundles distributions: these are unpacked below `cache`.
fn start_options(
    python: &Installation,
    file: &Path,
    cache: &Path,
    deadline: Deadline,
) -> Result<StartOptions, Failure> {
    let package = PackageFile { name: name_of(file)?, path: file.to_owned() };
    let folders = stead_python::unpack_bundles(python, &package, cache, deadline);
    let folders = folders.map_err(|error| match error {
        BundleError::Failed(error) => failed(&error),
        other => Failure::failed(other),
    })?;
    Ok(StartOptions { folders, ..StartOptions::default() })
}

/// How messages call the package in a file, which has to be there.
fn name_of(file: &Path) -> Result<String, Failure> {
    if !file.exists() {
        return Err(Failure::failed(format!("{}: there is no such file", file.display())));
    }
    Ok(file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned())
}

/// The text of a path for Python.
fn text_of(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| Failure::usage(format!("{}: is not UTF-8", path.display())))
}

/// What was raised: the message of what is wrong with a package, the whole traceback of everything else.
fn failed(error: &CallError) -> Failure {
    match error {
        CallError::Raised(exception) => {
            let is_about_it = ["stead_package.", "_pickle.", "pickle."]
                .iter()
                .any(|module| exception.kind.starts_with(module));
            let text = if is_about_it { &exception.message } else { &exception.traceback };
            Failure::failed(text.trim_end())
        }
        error => Failure::failed(error),
    }
}
