//! What collections of garbage do to the slowest calls: as stead has them, and as Python has them by itself.

use std::time::Instant;

use serde_json::{Value as Json, json};
use stead_python::{
    Call, Choice, Deadline, Installation, InterpreterManager, ManagerOptions, Mode, ModuleSource,
    PackageSource,
};

use super::Outcome;

/// In a turn of each side.
const CALLS: usize = 4_000;

/// As a model with its tables: half a million objects that stay, and requests that leave circles and keep some results.
const SOURCE: &str = "
import collections, gc

kept = [{'i': i, 'l': [i]} for i in range(250_000)]
recent = collections.deque(maxlen=50_000)

def work():
    for i in range(150):
        circle = [i]
        circle.append(circle)
    recent.extend([i] for i in range(100))

def as_python():
    gc.unfreeze()
    gc.set_threshold(700, 10, 10)
";

/// Microseconds of a call that makes garbage, in the middle, of 1 in 100 and of 1 in 1,000, and of the slowest, one caller after the other.
pub fn measure(python: &Installation, rounds: usize) -> Outcome<Json> {
    let (mut own, mut plain) = (Vec::new(), Vec::new());
    let managers = [manager(python), manager(python)];
    // Both have loaded the module before the first turn.
    for (manager, first) in managers.iter().zip(["work", "as_python"]) {
        manager.acquire("speed", Deadline::NEVER)?.call(call(first), Deadline::NEVER)?;
    }
    for _ in 0..rounds.div_ceil(4) {
        turn(&managers[0], &mut own)?;
        turn(&managers[1], &mut plain)?;
    }
    Ok(json!({"frozen": quantiles(own), "as_python": quantiles(plain)}))
}

fn call(name: &str) -> Call {
    Call::new("speed", name, Vec::new())
}

fn manager(python: &Installation) -> InterpreterManager {
    let choice = Choice { mode: Mode::InProcess, reason: None };
    let options = ManagerOptions { interpreters: 1, ..ManagerOptions::default() };
    let manager = InterpreterManager::new(python.clone(), choice, options);
    let module = ModuleSource { name: "speed".to_owned(), source: SOURCE.to_owned() };
    manager.register("speed", PackageSource::Modules(vec![module]));
    manager
}

/// With the wait for the interpreter, which may still collect what the call before left.
fn turn(manager: &InterpreterManager, times: &mut Vec<f64>) -> Outcome<()> {
    for _ in 0..CALLS {
        let begin = Instant::now();
        let mut session = manager.acquire("speed", Deadline::NEVER)?;
        session.call(call("work"), Deadline::NEVER)?;
        drop(session);
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(())
}

fn quantiles(mut times: Vec<f64>) -> Json {
    times.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let at = (times.len() as f64 * share) as usize;
        times.get(at.min(times.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
    };
    json!({"p50_us": at(0.5), "p99_us": at(0.99), "p999_us": at(0.999), "max_us": at(1.0)})
}
