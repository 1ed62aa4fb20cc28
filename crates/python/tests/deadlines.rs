//! Deadlines: the caller comes back though the code never ends, and what comes of the interpreter.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::time::Duration;

use common::{call, load, on_every_python};
use stead_python::{
    Call, CallError, Deadline, InProcess, Installation, Interpreter, StartOptions, Value, Worker,
    WorkerLimits,
};

const ENDLESS: &str = "
import queue, re, threading, time

def loop():
    while True: pass

def stubborn(times):
    caught = 0
    while caught < times:
        try:
            while True: pass
        except BaseException:
            caught += 1
    return caught

def waits(seconds):
    # Nothing interrupts it; it returns by itself.
    threading.Event().wait(seconds)

def in_c(n):
    return sum(range(n))

async def coroutine():
    import asyncio
    while True: await asyncio.sleep(0)

def cleanup():
    try:
        entered.append(1)
        while True: pass
    finally:
        cleaned.append(1)

entered, cleaned = [], []
def counts(): return [len(entered), len(cleaned)]
def fine(n=0):
    for i in range(n): pass
    return 'fine'
";

fn start(python: &Installation) -> InProcess {
    InProcess::start(python, &StartOptions::default()).unwrap()
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(100))
}

/// Each row: a function that does not end in time, in code that an exception can or cannot interrupt. Each time the
/// caller is back, the interpreter is busy until the code is, and the next calls see no exception.
#[test]
fn callers_come_back_and_no_exception_reaches_the_next_call() {
    let name = "callers_come_back_and_no_exception_reaches_the_next_call";
    on_every_python(name, &[], |python| {
        let mut interpreter = start(python);
        load(&mut interpreter, ENDLESS);
        let cases: [(&str, Vec<Value>); 5] = [
            ("loop", vec![]),
            ("stubborn", vec![1.into()]),
            ("waits", vec![0.5.into()]),
            ("in_c", vec![30_000_000.into()]),
            ("coroutine", vec![]),
        ];
        for (name, arguments) in cases {
            let timed_out = interpreter.call(Call::new("m", name, arguments), soon());
            assert_eq!(timed_out, Err(CallError::TimedOut), "{name}");
            // Waits until the code has ended, whose exception, late or not, is nobody's.
            for n in [0, 10_000, 0] {
                assert_eq!(call(&mut interpreter, "fine", vec![n.into()]), "fine".into(), "{name}");
            }
            assert!(interpreter.is_free(), "{name}");
        }
        // Longer each time, until the machine has found the time to begin it.
        for round in 0.. {
            let deadline = Deadline::after(Duration::from_millis(10 << round));
            let timed_out = interpreter.call(Call::new("m", "cleanup", vec![]), deadline);
            assert_eq!(timed_out, Err(CallError::TimedOut));
            let counts = call(&mut interpreter, "counts", vec![]);
            let Value::List(counts) = counts else { panic!("{counts:?}") };
            if counts[0] != 0.into() {
                assert_eq!(counts[0], counts[1], "finally blocks run");
                break;
            }
        }
    });
}

#[test]
fn an_interpreter_that_does_not_come_back_is_busy_and_others_are_not() {
    let name = "an_interpreter_that_does_not_come_back_is_busy_and_others_are_not";
    on_every_python(name, &[], |python| {
        let (mut stuck, mut other) = (start(python), start(python));
        load(&mut stuck, ENDLESS);
        load(&mut other, ENDLESS);
        // In C, with the lock: nothing reaches it.
        let for_ever = Call::new("m", "in_c", vec![i64::MAX.into()]);
        assert_eq!(stuck.call(for_ever, soon()), Err(CallError::TimedOut));
        assert!(!stuck.is_free() && stuck.died().is_none());
        assert_eq!(stuck.call(Call::new("m", "fine", vec![]), soon()), Err(CallError::Busy));
        assert_eq!(call(&mut other, "fine", vec![]), "fine".into());
        // Neither does the process wait for it when it ends, nor does the next start get it.
        drop(stuck);
        let mut third = start(python);
        load(&mut third, ENDLESS);
        assert_eq!(call(&mut third, "fine", vec![]), "fine".into());
    });
}

#[test]
fn a_worker_is_replaced_and_has_what_it_had() {
    on_every_python("a_worker_is_replaced_and_has_what_it_had", &[], |python| {
        let options = StartOptions::default();
        let mut worker = Worker::start(python, &options, WorkerLimits::default()).unwrap();
        load(&mut worker, ENDLESS);
        let mut before = worker.process_id().unwrap();
        for (name, arguments) in
            [("loop", vec![]), ("stubborn", vec![i64::MAX.into()]), ("in_c", vec![i64::MAX.into()])]
        {
            let timed_out = worker.call(Call::new("m", name, arguments), soon());
            assert_eq!(timed_out, Err(CallError::TimedOut), "{name}");
            assert_eq!(call(&mut worker, "fine", vec![]), "fine".into(), "{name}");
            let after = worker.process_id().unwrap();
            assert_ne!(after, before, "{name}");
            assert!(!std::path::Path::new(&format!("/proc/{before}")).exists(), "it is gone");
            before = after;
        }
    });
}

/// Nothing is ever late by accident: with deadlines around the time that a call takes, each call ends in its own
/// answer or in a deadline, and never in an exception of another.
#[test]
fn deadlines_that_race_with_the_end_hurt_nobody() {
    on_every_python("deadlines_that_race_with_the_end_hurt_nobody", &[], |python| {
        let mut interpreter = start(python);
        load(&mut interpreter, ENDLESS);
        let mut answered = 0;
        for round in 0..400u64 {
            let deadline = Deadline::after(Duration::from_micros(round * 5));
            match interpreter.call(Call::new("m", "fine", vec![2000.into()]), deadline) {
                Ok(value) => {
                    assert_eq!(value, "fine".into());
                    answered += 1;
                }
                Err(CallError::TimedOut | CallError::Busy) => {}
                Err(other) => panic!("round {round}: {other}"),
            }
        }
        let waited = interpreter.call(Call::new("m", "fine", vec![]), Deadline::NEVER);
        assert_eq!(waited, Ok("fine".into()), "{answered} answered");
    });
}
