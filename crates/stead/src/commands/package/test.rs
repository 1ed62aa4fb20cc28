//! `stead package test`: recorded examples, wherever the package can run.

use std::path::{Path, PathBuf};

use serde_json::json;
use stead_python::{
    CallError, Choice, Deadline, InterpreterManager, InterpreterSession, Isolation, ManagerOptions,
    Mode, Value,
};

use super::{PythonArg, failed, name_of, start_options};
use crate::commands::python;
use crate::failure::Failure;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Each example that was saved with the package is run in several interpreters at a time, inside this process and in \
    worker processes, and must give what was recorded.\n\n\
    Examples:\n  stead package test shop.pkg\n  stead package test shop.pkg --python my-app/venv --interpreters 4 --json"
)]
pub struct TestArgs {
    /// The package.
    file: PathBuf,
    /// So many interpreters of each kind.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    interpreters: u8,
    #[command(flatten)]
    python: PythonArg,
    /// Print JSON: a line for each run of an example.
    #[arg(long)]
    json: bool,
}

/// How an example ended in one interpreter.
struct Outcome {
    mode: Mode,
    interpreter: usize,
    example: String,
    differences: Vec<String>,
}

/// Runs the command; false if an example gave something else, or there is none.
pub fn run(args: &TestArgs) -> Result<bool, Failure> {
    let installation = args.python.installation()?;
    let choice = stead_python::choose(&installation, Some(&python::self_test()?));
    let modes: &[Mode] = match choice.mode {
        Mode::InProcess => &[Mode::InProcess, Mode::Worker],
        Mode::Worker => &[Mode::Worker],
    };
    let bundles = tempfile::tempdir().map_err(Failure::failed)?;
    let start = start_options(&installation, &args.file, bundles.path(), Deadline::NEVER)?;
    let (mut runs, mut failures) = (0, 0);
    for &mode in modes {
        let isolation = match mode {
            Mode::InProcess => Isolation::InProcess,
            Mode::Worker => Isolation::Process,
        };
        let interpreters = usize::from(args.interpreters);
        let start = start.clone();
        let options = ManagerOptions { interpreters, isolation, start, ..Default::default() };
        let choice = Choice { mode, reason: None };
        let manager = InterpreterManager::new(installation.clone(), choice, options);
        for outcome in outcomes(&manager, &args.file, interpreters)? {
            runs += 1;
            failures += usize::from(!outcome.differences.is_empty());
            match args.json {
                true => println!("{}", outcome.json()),
                false => print!("{}", outcome.text()),
            }
        }
    }
    let reason = choice.reason.as_deref();
    if args.json {
        println!("{}", json!({"runs": runs, "failed": failures, "not_in_process": reason}));
    } else {
        if let Some(reason) = reason {
            println!("not run in process: {reason}");
        }
        match runs {
            0 => println!("the package has no examples; save_example records them"),
            _ => println!("{} of {runs} runs passed", runs - failures),
        }
    }
    Ok(runs > 0 && failures == 0)
}

/// All examples in all interpreters of a manager, which are there at the same time.
fn outcomes(
    manager: &InterpreterManager,
    file: &Path,
    interpreters: usize,
) -> Result<Vec<Outcome>, Failure> {
    let package = manager.load_package(&name_of(file)?, file, Deadline::NEVER);
    let package = package.map_err(Failure::failed)?;
    let acquire = |_| package.acquire_session(Deadline::NEVER).map_err(Failure::failed);
    let sessions = (0..interpreters).map(acquire).collect::<Result<Vec<_>, _>>()?;
    let threads = std::thread::scope(|scope| {
        let work = |(interpreter, session): (usize, InterpreterSession)| {
            scope.spawn(move || replayed(&session, interpreter))
        };
        let threads: Vec<_> = sessions.into_iter().enumerate().map(work).collect();
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut all = Vec::new();
    for outcomes in threads {
        let outcomes = outcomes.map_err(|_| Failure::failed("a thread panicked"))?;
        all.extend(outcomes.map_err(|error| failed(&error))?);
    }
    Ok(all)
}

fn replayed(session: &InterpreterSession, interpreter: usize) -> Result<Vec<Outcome>, CallError> {
    let importer = session.this()?;
    let names = texts(importer.attr("examples")?.call([])?.value()?);
    let replay = importer.attr("replay")?;
    let mode = session.mode().unwrap_or(Mode::Worker);
    let outcome = |example: String| {
        let found = replay.call([example.as_str().into()]);
        let differences = match found.and_then(|found| found.attr("differences")?.value()) {
            Ok(differences) => texts(differences),
            // What it raises is how the example ends; the others go on.
            Err(CallError::Raised(error)) => vec![error.traceback.trim_end().to_owned()],
            Err(error) => return Err(error),
        };
        Ok(Outcome { mode, interpreter, example, differences })
    };
    names.into_iter().map(outcome).collect()
}

fn texts(value: Value) -> Vec<String> {
    let Value::List(items) = value else { return Vec::new() };
    let text = |item| if let Value::Str(text) = item { Some(text) } else { None };
    items.into_iter().filter_map(text).collect()
}

impl Outcome {
    fn json(&self) -> serde_json::Value {
        json!({
            "example": self.example,
            "mode": self.mode.name(),
            "interpreter": self.interpreter,
            "passed": self.differences.is_empty(),
            "differences": self.differences,
        })
    }

    fn text(&self) -> String {
        let result = if self.differences.is_empty() { "ok" } else { "FAILED" };
        let (mode, number) = (self.mode.name(), self.interpreter);
        let mut text = format!("{}, {mode}, interpreter {number}: {result}\n", self.example);
        for difference in &self.differences {
            text += &format!("  {}\n", difference.replace('\n', "\n  "));
        }
        text
    }
}
