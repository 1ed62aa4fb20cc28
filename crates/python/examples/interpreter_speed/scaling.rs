//! How much more several interpreters do than one.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};
use stead_python::{
    Call, Deadline, InProcess, Installation, Interpreter, PackageFile, StartOptions, Value,
};

use super::{Outcome, has_numpy, load, median};

const MOST: usize = 4;

/// Of one window; a round has one of each configuration, so that a machine with neighbours changes all of them.
const WINDOW: f64 = 0.4;

/// `pure` counts, `small` are a product of 8x64 with 64x64 and six operations on its 512 numbers, `large` is a product of 512x512.
const SOURCE: &str = "
import threading, time

def pure():
    total = 0
    for i in range(2000): total += i & 3
    return total

try:
    import numpy as np
    rows = np.ones((8, 64), np.float32)
    weights = np.full((64, 64), 0.01, np.float32)
    square = np.full((512, 512), 0.01, np.float32)
    def small():
        y = rows @ weights
        y = np.maximum(y, 0) + 1.0
        y = y - y.mean(axis=1, keepdims=True)
        return np.exp(y).sum()
    def large(): return square @ square
except ImportError:
    pass

def run(name, threads, seconds):
    work = globals()[name]
    counts = [0] * threads
    def loop(at):
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            work()
            counts[at] += 1
    others = [threading.Thread(target=loop, args=(at,)) for at in range(1, threads)]
    for other in others: other.start()
    loop(0)
    for other in others: other.join()
    return sum(counts)
";

/// Runs a second of a model of a package, which has its file's name, on one thread, on two interpreters, and on two threads of one
/// interpreter; medians over rounds. `run(name, threads, seconds)` of the module counts them.
pub fn measure_model(
    python: &Installation,
    package: &Path,
    module: &str,
    rounds: usize,
) -> Outcome<Json> {
    let name = package.file_stem().and_then(|name| name.to_str()).ok_or("a package has a name")?;
    let mut interpreters = started(python, 2)?;
    for interpreter in &mut interpreters {
        let file = PackageFile { name: name.to_owned(), path: package.to_owned() };
        interpreter.open(&file, Deadline::NEVER)?;
    }
    let mut found: [Vec<f64>; 3] = Default::default();
    for _ in 0..rounds {
        let mut of = |count, threads: i64| {
            let arguments = vec![name.into(), threads.into(), (2.0 * WINDOW).into()];
            let call = Call::new(module, "run", arguments).of_package(name);
            throughput(interpreters.iter_mut().take(count), &call)
        };
        let turn = [of(1, 1)?, of(2, 1)?, of(1, 2)?].map(|counted| counted / 2.0);
        found.iter_mut().zip(turn).for_each(|(found, turn)| found.push(turn));
    }
    let [one, two, threads_2] = found.map(median);
    Ok(json!({"one": one, "two": two, "threads_2": threads_2}))
}

/// So many interpreters whose BLAS libraries have one thread.
fn started(python: &Installation, count: usize) -> Outcome<Vec<InProcess>> {
    let one_thread = ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"];
    let variables = one_thread.map(|name| (name.to_owned(), "1".to_owned())).to_vec();
    let options = StartOptions { variables, ..StartOptions::default() };
    let started = (0..count).map(|_| InProcess::start(python, &options));
    Ok(started.collect::<Result<Vec<_>, _>>()?)
}

/// Ratios of throughput to one thread in one interpreter, medians over rounds, for each kind of work.
pub fn measure(python: &Installation, rounds: usize) -> Outcome<Json> {
    let mut interpreters = started(python, MOST)?;
    for interpreter in &mut interpreters {
        load(interpreter, SOURCE)?;
    }
    let numpy = interpreters.first_mut().is_some_and(|first| has_numpy(first));
    let works: &[&str] = if numpy { &["pure", "small", "large"] } else { &["pure"] };
    let mut found = Map::new();
    for work in works {
        let mut ratios: [Vec<f64>; 5] = Default::default();
        for _ in 0..rounds {
            let spin = spinning(2) / spinning(1);
            let mut of = |count, threads: i64| {
                let arguments = vec![(*work).into(), threads.into(), WINDOW.into()];
                let call = Call::new("speed", "run", arguments);
                throughput(interpreters.iter_mut().take(count), &call)
            };
            let one = of(1, 1)?;
            let each = [of(2, 1)?, of(4, 1)?, of(1, 2)?, of(1, 4)?];
            let all = std::iter::once(spin).chain(each.map(|many| many / one));
            ratios.iter_mut().zip(all).for_each(|(ratios, ratio)| ratios.push(ratio));
        }
        let [spin, two, four, threads_2, threads_4] = ratios.map(median);
        found.insert(
            (*work).to_owned(),
            json!({"spin": spin, "two": two, "four": four, "threads_2": threads_2, "threads_4": threads_4}),
        );
    }
    Ok(Json::Object(found))
}

/// How often all of some interpreters together do in a second what a call counts in a window.
fn throughput<'a>(
    interpreters: impl Iterator<Item = &'a mut InProcess>,
    call: &Call,
) -> Outcome<f64> {
    let run = |interpreter: &mut InProcess| interpreter.call(call.clone(), Deadline::NEVER);
    let counts = std::thread::scope(|scope| {
        let started: Vec<_> =
            interpreters.map(|interpreter| scope.spawn(move || run(interpreter))).collect();
        started.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut all = 0;
    for count in counts {
        match count.map_err(|_| "a thread panicked")?? {
            Value::Int(count) => all += count,
            other => return Err(format!("not a count: {other:?}").into()),
        }
    }
    Ok(all as f64 / WINDOW)
}

/// The same for native threads that only count: how much processor there is.
fn spinning(threads: usize) -> f64 {
    let end = Instant::now() + Duration::from_secs_f64(WINDOW);
    let spin = || {
        let mut done = 0u64;
        while Instant::now() < end {
            black_box((0..20_000u64).fold(0, |sum, x| black_box(sum ^ x)));
            done += 1;
        }
        done
    };
    let done: u64 = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(spin)).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).sum()
    });
    done as f64 / WINDOW
}
