//! What a call costs beside a bare round trip between two threads, and what two interpreters give beside one.
//!
//! `cargo run --release -p stead-python --example overhead -- [PYTHON]`
#![allow(clippy::print_stdout)] // an example speaks on stdout

use std::error::Error;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use stead_python::{
    Call, Deadline, InProcess, Interpreter, ModuleSource, StartOptions, Value, Worker,
    WorkerLimits, find_default,
};

const CALLS: u32 = 20_000;
const SOURCE: &str = "
def nothing(x): return x
def work(n):
    total = 0
    for i in range(n): total += i & 3
    return total
";

fn main() -> Result<(), Box<dyn Error>> {
    let named = std::env::args_os().nth(1);
    let python = find_default(named.as_deref().map(std::path::Path::new))?;
    println!("Python {} at {}", python.version, python.executable.display());
    println!("channel round trip   {:>8.2?}", channel_round_trip());
    let options = StartOptions::default();
    let begin = Instant::now();
    let mut first = InProcess::start(&python, &options)?;
    println!("start in process     {:>8.2?}", begin.elapsed());
    let begin = Instant::now();
    let mut worker = Worker::start(&python, &options, WorkerLimits::default())?;
    println!("start of a worker    {:>8.2?}", begin.elapsed());
    let module = ModuleSource { name: "overhead".into(), source: SOURCE.into() };
    first.load(&module, Deadline::NEVER)?;
    worker.load(&module, Deadline::NEVER)?;
    println!("call in process      {:>8.2?}", call(&mut first)?);
    println!("call of a worker     {:>8.2?}", call(&mut worker)?);
    let mut second = InProcess::start(&python, &options)?;
    second.load(&module, Deadline::NEVER)?;
    // A second apart from each other, so that a machine with neighbours shows itself.
    for _ in 0..3 {
        let spin = throughput(&mut [(), ()], |_| spin())? / throughput(&mut [()], |_| spin())?;
        let work = |of: &mut &mut InProcess| {
            let call = Call::new("overhead", "work", vec![20_000.into()]);
            of.call(call, Deadline::NEVER).map(|_| ()).map_err(|e| e.to_string())
        };
        let one = throughput(&mut [&mut first], work)?;
        let two = throughput(&mut [&mut first, &mut second], work)?;
        println!("two interpreters     {:>7.2}x of one (native threads {spin:.2}x)", two / one);
    }
    Ok(())
}

fn channel_round_trip() -> Duration {
    let (to, received) = channel::<u32>();
    let (back, answers) = channel();
    let echo = std::thread::spawn(move || received.iter().all(|x| back.send(x).is_ok()));
    let begin = Instant::now();
    let answered = (0..CALLS).all(|x| to.send(x).is_ok() && answers.recv() == Ok(x));
    let time = begin.elapsed() / CALLS;
    drop(to);
    assert!(answered && echo.join().is_ok());
    time
}

fn call(of: &mut dyn Interpreter) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    for x in 0..CALLS {
        let x = Value::Int(x.into());
        of.call(Call::new("overhead", "nothing", vec![x]), Deadline::NEVER)?;
    }
    Ok(begin.elapsed() / CALLS)
}

fn spin() -> Result<(), String> {
    std::hint::black_box((0..200_000u64).fold(0u64, |sum, x| std::hint::black_box(sum ^ x)));
    Ok(())
}

/// How often `work` is done in a second by all of `of` together, each on a thread.
fn throughput<T: Send>(
    of: &mut [T],
    work: impl Fn(&mut T) -> Result<(), String> + Sync,
) -> Result<f64, Box<dyn Error>> {
    let end = Instant::now() + Duration::from_secs(1);
    let work = &work;
    let counts = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for one in of {
            threads.push(scope.spawn(move || {
                let mut done = 0u32;
                while Instant::now() < end {
                    work(&mut *one)?;
                    done += 1;
                }
                Ok::<u32, String>(done)
            }));
        }
        threads.into_iter().map(|thread| thread.join()).collect::<Vec<_>>()
    });
    let mut all = 0.0;
    for count in counts {
        all += f64::from(count.map_err(|_| "a thread panicked")??);
    }
    Ok(all)
}
