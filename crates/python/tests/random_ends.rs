//! Calls that end in every way there is, in random order from several threads: those that answer answer right, and nothing is
//! left behind.
//!
//! `STEAD_SEED` begins elsewhere and `STEAD_SECONDS` goes on for so long; `cargo xtask soak python` sets both.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a panic in a test is its report

mod common;

use std::time::{Duration, Instant};

use common::on_one_python;
use stead_python::{
    AcquireError, Call, CallError, Choice, Deadline, Installation, InterpreterManager, Isolation,
    ManagerOptions, Mode, ModuleSource, PackageSource, Value,
};

const CODE: &str = "
import ctypes, os, sys, time

def add(a, b): return a + b
def fail(): raise ValueError('as wanted')
def leave(): sys.exit(3)
def endless():
    while True: pass
def stubborn():
    try:
        while True: pass
    except BaseException:
        raise KeyError('another')
def long(): return sum(range(3_000_000))
def crash(): ctypes.string_at(0)
def end(): ctypes.CDLL(None)._exit(5)
def kill(): os.kill(os.getpid(), 9)
";

/// What both kinds of interpreters survive.
const ENDS: [&str; 7] = ["add", "add", "fail", "leave", "endless", "stubborn", "long"];
/// What ends a worker process.
const DEATHS: [&str; 3] = ["crash", "end", "kill"];

/// Calls of each thread in a test among others.
const CALLS: usize = 40;

/// `xorshift64*` (Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit as u64) as usize
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// One thread's calls, until `enough`.
fn calls(
    manager: &InterpreterManager,
    ends: &[&str],
    mut random: Random,
    enough: impl Fn(usize) -> bool,
) -> usize {
    let mut made = 0;
    while !enough(made) {
        made += 1;
        let name = ends[random.below(ends.len())];
        let is_short = matches!(name, "endless" | "stubborn");
        let limit = if is_short { 20 + random.below(60) as u64 } else { 60_000 };
        let mut session = match manager.acquire("m", Deadline::after(Duration::from_secs(60))) {
            Ok(session) => session,
            Err(error) => panic!("{name}: {error}"),
        };
        let (a, b) = (random.below(1000) as i64, random.below(1000) as i64);
        let arguments: Vec<Value> = if name == "add" { vec![a.into(), b.into()] } else { vec![] };
        let deadline = Deadline::after(Duration::from_millis(limit));
        let found = session.call(Call::new("m", name, arguments), deadline);
        let raised = |kind: &str| matches!(&found, Err(CallError::Raised(e)) if e.kind == kind);
        let is_right = match name {
            "add" => found == Ok((a + b).into()),
            "long" => found == Ok(4_499_998_500_000i64.into()),
            "fail" => raised("ValueError"),
            "leave" => raised("SystemExit"),
            // A worker may still be starting anew.
            "endless" | "stubborn" => matches!(found, Err(CallError::TimedOut | CallError::Busy)),
            _ => matches!(found, Err(CallError::Died(_))),
        };
        assert!(is_right, "{name}({a}, {b}): {found:?}");
    }
    made
}

fn end_randomly(python: &Installation, isolation: Isolation, ends: &[&str]) {
    let seed = number("STEAD_SEED").unwrap_or(1);
    let until = number("STEAD_SECONDS").map(|s| Instant::now() + Duration::from_secs(s));
    let choice = Choice { mode: Mode::InProcess, reason: None };
    let options = ManagerOptions { interpreters: 3, isolation, ..ManagerOptions::default() };
    let manager = InterpreterManager::new(python.clone(), choice, options);
    let module = ModuleSource { name: "m".to_owned(), source: CODE.to_owned() };
    manager.register("m", PackageSource::Modules(vec![module]));
    let files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let made: usize = std::thread::scope(|scope| {
        let thread = |i: u64| {
            let manager = &manager;
            scope.spawn(move || {
                let random = Random(seed.wrapping_mul(31) + i + 1);
                calls(manager, ends, random, |made| match until {
                    Some(until) => Instant::now() >= until,
                    None => made >= CALLS,
                })
            })
        };
        let threads: Vec<_> = (0..4).map(thread).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!(
        "{isolation:?}, STEAD_SEED={seed}: {made} calls, {:?}, {} files",
        manager.counts(),
        files()
    );
    // All that were set aside come back, and each interpreter can be called.
    let deadline = Deadline::after(Duration::from_secs(60));
    let mut sessions = Vec::new();
    for i in 0..3 {
        let mut session = match manager.acquire("m", deadline) {
            Ok(session) => session,
            Err(AcquireError::TimedOut) => panic!("STEAD_SEED={seed}: interpreter {i} is lost"),
            Err(error) => panic!("STEAD_SEED={seed}: {error}"),
        };
        let add = Call::new("m", "add", vec![i.into(), 1.into()]);
        assert_eq!(session.call(add, deadline), Ok((i + 1).into()), "STEAD_SEED={seed}");
        sessions.push(session);
    }
    drop(sessions);
    // The pipes and sockets of as many interpreters as there may be, whatever has come and gone between.
    assert!(files() < 120, "STEAD_SEED={seed}: {} files", files());
}

#[test]
fn calls_end_in_every_way() {
    on_one_python("calls_end_in_every_way", &[("GLIBC_TUNABLES", "glibc.rtld.nns=16")], |python| {
        end_randomly(python, Isolation::InProcess, &ENDS);
        let all: Vec<&str> = ENDS.iter().chain(&DEATHS).copied().collect();
        end_randomly(python, Isolation::Process, &all);
    });
}
