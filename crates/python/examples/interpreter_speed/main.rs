//! What interpreters give and cost: throughput of several beside one, calls beside a bare hand-over between threads, memory.
//!
//!     cargo run --release -p stead-python --example interpreter_speed -- scaling|calls|pauses PYTHON ROUNDS
//!     cargo run --release -p stead-python --example interpreter_speed -- model PYTHON ROUNDS PACKAGE MODULE
//!     cargo run --release -p stead-python --example interpreter_speed -- memory PYTHON 1 [SMALL LARGE]
//!
//! Prints one line of JSON. PYTHON is a program or a virtual environment; parts with numpy are left out where it has none.
#![allow(clippy::print_stdout)] // an example speaks on stdout

mod calls;
mod memory;
mod pauses;
mod scaling;

use std::error::Error;
use std::path::Path;

use stead_python::{Deadline, Installation, Interpreter, ModuleSource};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(part), Some(python)) = (arguments.first(), arguments.get(1)) else {
        return Err("which part, and which Python?".into());
    };
    let python = Installation::of(Path::new(python))?;
    let rounds = arguments.get(2).map_or(Ok(9), |rounds| rounds.parse())?;
    let package = arguments.get(3).map(Path::new);
    let module = arguments.get(4);
    let found = match (part.as_str(), package) {
        ("scaling", _) => scaling::measure(&python, rounds)?,
        ("model", Some(package)) => {
            let module = module.ok_or("which module of the package runs it?")?;
            scaling::measure_model(&python, package, module, rounds)?
        }
        ("calls", _) => calls::measure(&python, rounds)?,
        ("pauses", _) => pauses::measure(&python, rounds)?,
        ("memory", _) => memory::measure(&python, package.zip(module.map(Path::new)))?,
        (part, _) => return Err(format!("no part {part}").into()),
    };
    println!("{found}");
    Ok(())
}

/// Loads a module under the name `speed`.
fn load(interpreter: &mut dyn Interpreter, source: &str) -> Outcome<()> {
    let module = ModuleSource { name: "speed".to_owned(), source: source.to_owned() };
    Ok(interpreter.load(&module, Deadline::NEVER)?)
}

/// Imports numpy, if there is one.
fn has_numpy(interpreter: &mut dyn Interpreter) -> bool {
    let module = ModuleSource { name: "speed_numpy".to_owned(), source: "import numpy".to_owned() };
    interpreter.load(&module, Deadline::NEVER).is_ok()
}

/// The middle of some numbers.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
