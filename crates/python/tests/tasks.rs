//! Work that waits for interpreters without threads, alike in both kinds of them.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use common::{managers, on_every_python, on_every_worker, on_one_python};
use stead_python::{
    AcquireError, Call, CallError, Deadline, Host, HostCall, HostError, InterpreterManager, Mode,
    ModuleSource, PackageSource, Pending, Session, TaskError, Value,
};

const SOURCE: &str = "
import os, threading, time, weakref
from _stead_runtime import host

seen = []
def add(x):
    seen.append(x)
    return x + 1
def told(): return seen
def forever():
    while True: pass
def stuck(n): return sum(range(n))
def stubborn(seconds): threading.Event().wait(seconds)
def fail(): raise ValueError('no')
def leave(): os._exit(3)
def ask(): return host('ask')
def is_main(): return threading.current_thread() is threading.main_thread()
class Node: pass
alive = weakref.WeakSet()
def cycles(n):
    for _ in range(n):
        node = Node()
        node.me = node
        alive.add(node)
def count(): return len(alive)
";

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<T>(awaited: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut awaited = pin!(awaited);
    loop {
        match awaited.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(found) => return found,
            Poll::Pending => std::thread::park(),
        }
    }
}

fn registered(manager: &InterpreterManager) {
    for package in ["a", "b"] {
        let module = ModuleSource { name: format!("net_{package}"), source: SOURCE.into() };
        manager.register(package, PackageSource::Modules(vec![module]));
    }
}

type Answer = Result<Value, CallError>;

fn submit(
    manager: &InterpreterManager,
    package: &str,
    name: &str,
    arguments: Vec<Value>,
    deadline: Deadline,
) -> Pending<Answer> {
    let call = Call::new(&format!("net_{package}"), name, arguments);
    // Calls end at the deadline of the work at the latest.
    manager.submit(&[package], deadline, move |session| session.call(call, Deadline::NEVER))
}

fn ask(manager: &InterpreterManager, name: &str, arguments: Vec<Value>) -> Answer {
    wait(submit(manager, "a", name, arguments, Deadline::NEVER)).unwrap()
}

#[test]
fn work_is_done_and_errors_are_those_of_calls() {
    on_every_worker("work_is_done_and_errors_are_those_of_calls", |python| {
        for (mode, manager) in managers(python, 2) {
            registered(&manager);
            assert_eq!(ask(&manager, "add", vec![1.into()]), Ok(2.into()), "{mode:?}");
            assert_eq!(ask(&manager, "is_main", vec![]), Ok(true.into()), "{mode:?}");
            let failed = ask(&manager, "fail", vec![]);
            assert!(matches!(failed, Err(CallError::Raised(e)) if e.kind == "ValueError"));
            let missing = wait(submit(&manager, "c", "add", vec![], Deadline::NEVER));
            let expected = TaskError::Acquire(AcquireError::NoPackage("c".into()));
            assert_eq!(missing, Err(expected), "{mode:?}");
            // Several calls on one interpreter, which has both packages.
            let both = manager.submit(&["a", "b"], Deadline::NEVER, |session: &mut Session| {
                let add = |module: &str| Call::new(module, "add", vec![5.into()]);
                ["net_a", "net_b"].map(|module| session.call(add(module), Deadline::NEVER))
            });
            assert_eq!(wait(both), Ok([Ok(6.into()), Ok(6.into())]), "{mode:?}");
            let broken = ModuleSource { name: "broken".into(), source: "1 / 0".into() };
            manager.register("broken", PackageSource::Modules(vec![broken]));
            let broken = wait(submit(&manager, "broken", "f", vec![], Deadline::NEVER));
            assert!(
                matches!(&broken, Err(TaskError::Acquire(AcquireError::Load { package, .. })) if package == "broken"),
                "{mode:?}: {broken:?}"
            );
            assert!(ask(&manager, "add", vec![1.into()]).is_ok(), "{mode:?}");
        }
    });
}

/// Code of work may ask stead; what a host does is no work of that interpreter.
#[test]
fn code_of_work_asks_its_host() {
    on_every_worker("code_of_work_asks_its_host", |python| {
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            let host: Arc<dyn Host> =
                Arc::new(|call: HostCall| Ok::<Value, HostError>(call.name.into()));
            let asked = manager.submit(&["a"], Deadline::NEVER, move |session| {
                session.call_hosted(Call::new("net_a", "ask", vec![]), host, Deadline::NEVER)
            });
            assert_eq!(wait(asked), Ok(Ok("ask".into())), "{mode:?}");
        }
    });
}

/// Many at once over few interpreters, with callers that have threads among them: each gets its own answer, those of
/// one package in their order where there is one interpreter.
#[test]
fn work_and_threads_share_interpreters() {
    on_one_python("work_and_threads_share_interpreters", &[], |python| {
        for (mode, manager) in managers(python, 2) {
            registered(&manager);
            std::thread::scope(|scope| {
                for thread in 0..4i64 {
                    let (manager, package) = (&manager, if thread == 0 { "b" } else { "a" });
                    scope.spawn(move || {
                        for round in 0..20i64 {
                            let x = |i: i64| thread * 100_000 + round * 100 + i;
                            let never = Deadline::NEVER;
                            let awaited: Vec<_> = (0..20)
                                .map(|i| submit(manager, package, "add", vec![x(i).into()], never))
                                .collect();
                            let mut session = manager.acquire(package, never).unwrap();
                            let add =
                                Call::new(&format!("net_{package}"), "add", vec![x(50).into()]);
                            assert_eq!(session.call(add, never), Ok((x(50) + 1).into()));
                            drop(session);
                            for (i, answer) in (0..).zip(awaited) {
                                assert_eq!(wait(answer), Ok(Ok((x(i) + 1).into())), "{mode:?}");
                            }
                        }
                    });
                }
            });
            let counts = manager.counts();
            assert_eq!((counts.died, counts.busy), (0, 0), "{mode:?}");
            assert!(counts.in_process + counts.workers <= 2, "{mode:?}");
        }
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            let never = Deadline::NEVER;
            let awaited: Vec<_> =
                (0..50).map(|i| submit(&manager, "a", "add", vec![i.into()], never)).collect();
            awaited.into_iter().for_each(|answer| drop(wait(answer).unwrap().unwrap()));
            let order: Vec<Value> = (0..50).map(Value::Int).collect();
            assert_eq!(ask(&manager, "told", vec![]), Ok(Value::List(order)), "{mode:?}");
        }
    });
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_millis(100))
}

/// Whoever waits is told at the deadline, whether the work runs or waits; other interpreters take the place, and no
/// exception reaches what comes next.
#[test]
fn work_ends_at_its_deadline() {
    on_every_python("work_ends_at_its_deadline", &[], |python| {
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            assert_eq!(ask(&manager, "add", vec![1.into()]), Ok(2.into()));
            let never = Deadline::NEVER;
            for (name, arguments) in [
                ("forever", vec![]),
                ("stubborn", vec![0.5.into()]),
                ("stuck", vec![i64::MAX.into()]),
            ] {
                let running = submit(&manager, "a", name, arguments, soon());
                let waiting = submit(&manager, "a", "add", vec![2.into()], soon());
                let patient = submit(&manager, "b", "add", vec![3.into()], never);
                let running = wait(running);
                let over = matches!(
                    running,
                    Err(TaskError::Call(CallError::TimedOut)) | Ok(Err(CallError::TimedOut))
                );
                assert!(over, "{mode:?} {name}: {running:?}");
                let waiting = wait(waiting);
                let is_told = matches!(
                    waiting,
                    // It may have been given the next interpreter just before.
                    Err(TaskError::Acquire(AcquireError::TimedOut))
                        | Err(TaskError::Call(CallError::TimedOut))
                        | Ok(Err(CallError::TimedOut | CallError::Busy))
                        | Ok(Ok(Value::Int(3)))
                );
                assert!(is_told, "{mode:?} {name}: {waiting:?}");
                assert_eq!(wait(patient), Ok(Ok(4.into())), "{mode:?} {name}");
                for _ in 0..3 {
                    assert_eq!(
                        ask(&manager, "add", vec![1.into()]),
                        Ok(2.into()),
                        "{mode:?} {name}"
                    );
                }
            }
            let counts = manager.counts();
            assert_eq!(counts.died, 0, "{mode:?}");
            assert!(counts.busy <= 3 && (mode == Mode::Worker || counts.busy >= 1), "{counts:?}");
        }
    });
}

/// With deadlines around the time that work takes, each ends in its own answer or in a deadline, and interpreters that
/// were set aside come back.
#[test]
fn deadlines_of_work_that_race_with_its_end_hurt_nobody() {
    on_one_python("deadlines_of_work_that_race_with_its_end_hurt_nobody", &[], |python| {
        for (mode, manager) in managers(python, 2) {
            if mode == Mode::Worker {
                continue; // A process that is ended at each deadline takes too long for so many.
            }
            registered(&manager);
            for round in 0..400u64 {
                let deadline = Deadline::after(Duration::from_micros(round * 2));
                let n = 2000.into();
                match wait(submit(&manager, "a", "stuck", vec![n], deadline)) {
                    Ok(Ok(value)) => assert_eq!(value, (1999 * 1000).into()),
                    Ok(Err(CallError::TimedOut | CallError::Busy))
                    | Err(TaskError::Call(CallError::TimedOut))
                    | Err(TaskError::Acquire(AcquireError::TimedOut)) => {}
                    other => panic!("round {round}: {other:?}"),
                }
            }
            let waited = Deadline::after(Duration::from_secs(60));
            while manager.counts().busy > 0 && !waited.is_over() {
                std::thread::yield_now();
            }
            assert_eq!(manager.counts().busy, 0);
            assert_eq!(ask(&manager, "add", vec![1.into()]), Ok(2.into()));
        }
    });
}

/// An interpreter that its code ends, where code has no business to: who waits is told, and another takes its place.
#[test]
fn work_hears_of_the_death_of_its_interpreter() {
    on_one_python("work_hears_of_the_death_of_its_interpreter", &[], |python| {
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            let (name, arguments) = match mode {
                // The C library's own, past what Python code is given.
                Mode::InProcess => ("exit_in_c", vec![]),
                Mode::Worker => ("kill", vec![]),
            };
            let source = "
import ctypes, os
def exit_in_c(): ctypes.CDLL(None)._exit(3)
def kill(): os.kill(os.getpid(), 9)
";
            let module = ModuleSource { name: "net_d".into(), source: source.into() };
            manager.register("d", PackageSource::Modules(vec![module]));
            let ended = wait(submit(&manager, "d", name, arguments, Deadline::NEVER));
            let is_told = matches!(
                ended,
                Err(TaskError::Call(CallError::Died(_))) | Ok(Err(CallError::Died(_)))
            );
            assert!(is_told, "{mode:?}: {ended:?}");
            assert_eq!(ask(&manager, "add", vec![1.into()]), Ok(2.into()), "{mode:?}");
            if mode == Mode::InProcess {
                assert_eq!((manager.counts().died, manager.counts().in_process), (1, 1));
            }
        }
    });
}

/// Work that nobody awaits is done all the same; a panic in it ends nothing else.
#[test]
fn work_goes_on_alone() {
    on_one_python("work_goes_on_alone", &[], |python| {
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            let (tell, told) = mpsc::channel();
            drop(manager.submit(&["a"], Deadline::NEVER, move |_| tell.send(1)));
            assert_eq!(told.recv(), Ok(1), "{mode:?}");
            let panicked = manager.submit(&["a"], Deadline::NEVER, |_| panic!("a fault"));
            let lost = wait::<Result<(), _>>(panicked);
            assert!(matches!(lost, Err(TaskError::Call(CallError::Died(_)))), "{lost:?}");
            assert_eq!(ask(&manager, "add", vec![1.into()]), Ok(2.into()), "{mode:?}");
        }
    });
}

/// Garbage goes when nobody waits.
#[test]
fn garbage_of_work_is_collected_when_nobody_waits() {
    on_every_worker("garbage_of_work_is_collected_when_nobody_waits", |python| {
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            assert!(ask(&manager, "cycles", vec![5000.into()]).is_ok());
            // Who asks so soon may be the one who waits.
            let waited = Deadline::after(Duration::from_secs(60));
            while ask(&manager, "count", vec![]) != Ok(0.into()) && !waited.is_over() {
                std::thread::yield_now();
            }
            assert_eq!(ask(&manager, "count", vec![]), Ok(0.into()), "{mode:?}");
        }
    });
}

/// Packages take turns among work too.
#[test]
fn one_package_does_not_starve_another() {
    on_one_python("one_package_does_not_starve_another", &[], |python| {
        for (mode, manager) in managers(python, 1) {
            registered(&manager);
            let (order, number) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
            let (hold, held) = mpsc::channel::<()>();
            let blocked = manager.submit(&["a"], Deadline::NEVER, move |_| held.recv().is_ok());
            let note = |package: &'static str| {
                let (order, number) = (Arc::clone(&order), Arc::clone(&number));
                manager.submit(&[package], Deadline::NEVER, move |_| {
                    number.fetch_add(1, Ordering::Relaxed);
                    order.lock().unwrap().push(package);
                })
            };
            let awaited: Vec<_> = ["a", "a", "a", "a", "b", "b"].map(note).into_iter().collect();
            drop(hold);
            assert_eq!(wait(blocked), Ok(false));
            awaited.into_iter().for_each(|done| wait(done).unwrap());
            assert_eq!(*order.lock().unwrap(), ["a", "b", "a", "b", "a", "a"], "{mode:?}");
        }
    });
}
