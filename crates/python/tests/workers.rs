//! Worker processes: how they end, and what stays.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::time::Duration;

use common::{call, load, on_one_worker};
use stead_python::{
    Call, CallError, Deadline, Installation, Interpreter, ModuleSource, StartError, StartOptions,
    Value, Worker, WorkerLimits,
};
use stead_tensor::Tensor;

fn start(python: &Installation) -> Worker {
    Worker::start(python, &StartOptions::default(), WorkerLimits::default()).unwrap()
}

const CRASHING: &str = "
import ctypes, os, signal, sys

def crash(how):
    print('about to', how)
    print('\\udc80 to standard error' if how == 'none' else 'to standard error', file=sys.stderr, flush=True)
    if how == 'null': ctypes.string_at(0)
    if how == 'abort': os.kill(os.getpid(), signal.SIGABRT)
    if how == 'kill': os.kill(os.getpid(), signal.SIGKILL)
    if how == 'status': ctypes.CDLL(None)._exit(9)
    if how == 'socket': os.close(3); os.kill(os.getpid(), signal.SIGSTOP)
    if how == 'noise': os.write(3, b'nonsense' * 10)

def pid(): return os.getpid()
def names(): return sorted(os.listdir('/dev/shm'))
def descriptors(): return [os.readlink(f'/proc/self/fd/{n}').split(':')[0] for n in (0, 3)]
def variable(name): return os.environ.get(name)
def big(n): return b'x' * n
";

#[test]
fn each_end_is_told_with_its_signal_and_last_lines() {
    let cases = [
        ("null", "SIGSEGV"),
        ("abort", "SIGABRT"),
        ("kill", "SIGKILL"),
        ("status", "status 9"),
        ("socket", "SIGKILL"),
        ("noise", "a message has no known header"),
    ];
    on_one_worker("each_end_is_told_with_its_signal_and_last_lines", |python| {
        let mut worker = start(python);
        load(&mut worker, CRASHING);
        for (how, expected) in cases {
            let crash = Call::new("m", "crash", vec![how.into()]);
            let Err(CallError::Died(why)) = worker.call(crash, Deadline::NEVER) else {
                panic!("{how}")
            };
            assert!(why.contains(expected), "{how}: {why}");
            assert!(why.contains("to standard error"), "{how}: {why}");
            let Value::Int(pid) = call(&mut worker, "pid", vec![]) else { panic!() };
            assert_eq!(worker.process_id(), Some(pid as u32), "{how}: the next call has a new one");
        }
    });
}

/// Killed from outside while a call runs, as the kernel does when memory ends.
#[test]
fn a_worker_killed_in_mid_request_is_an_error_of_that_request() {
    on_one_worker("a_worker_killed_in_mid_request_is_an_error_of_that_request", |python| {
        let mut worker = start(python);
        load(&mut worker, "import os, signal\ndef f():\n    os.kill(os.getpid(), signal.SIGKILL)");
        let pid = worker.process_id().unwrap();
        let died = worker.call(Call::new("m", "f", vec![]), Deadline::NEVER);
        assert_eq!(died, Err(CallError::Died("signal 9 ended it (SIGKILL)".into())));
        load(&mut worker, "def g(): return 1");
        assert_eq!(call(&mut worker, "g", vec![]), 1.into());
        assert_ne!(worker.process_id(), Some(pid));
        let after = worker.process_id().unwrap();
        drop(worker);
        assert!(!std::path::Path::new(&format!("/proc/{after}")).exists(), "dropped, it is gone");
    });
}

#[test]
fn a_worker_has_nothing_with_a_name_and_nothing_of_ours() {
    on_one_worker("a_worker_has_nothing_with_a_name_and_nothing_of_ours", |python| {
        let variables = vec![("STEAD_WORKER".to_owned(), "yes".to_owned())];
        let options = StartOptions { variables, ..StartOptions::default() };
        let mut worker = Worker::start(python, &options, WorkerLimits::default()).unwrap();
        load(&mut worker, CRASHING);
        let names = call(&mut worker, "names", vec![]);
        let tensor = Tensor::from_slice(&vec![1f32; 1 << 20], &[1 << 20]).unwrap();
        load(&mut worker, &format!("{CRASHING}\ndef count(x): return len(x)"));
        assert_eq!(call(&mut worker, "count", vec![tensor.into()]), (1 << 20).into());
        assert_eq!(call(&mut worker, "names", vec![]), names);
        let expected = Value::List(vec!["/dev/null".into(), "socket".into()]);
        assert_eq!(call(&mut worker, "descriptors", vec![]), expected);
        assert_eq!(call(&mut worker, "variable", vec!["STEAD_WORKER".into()]), "yes".into());
    });
}

#[test]
fn large_messages_are_refused_on_either_side() {
    on_one_worker("large_messages_are_refused_on_either_side", |python| {
        let limits = WorkerLimits { body: 1 << 20, tensors: 1 << 20 };
        let mut worker = Worker::start(python, &StartOptions::default(), limits).unwrap();
        load(&mut worker, CRASHING);
        let pid = worker.process_id();
        let ask = |worker: &mut Worker, name: &str, argument: Value| {
            worker.call(Call::new("m", name, vec![argument]), Deadline::NEVER)
        };
        let tensor = Tensor::from_slice(&vec![1u8; (1 << 20) + 1], &[(1 << 20) + 1]).unwrap();
        for argument in [Value::Bytes(vec![0; 1 << 20]), tensor.into()] {
            let refused = ask(&mut worker, "big", argument);
            assert!(
                matches!(refused, Err(CallError::TooLarge { limit: 1_048_576, .. })),
                "{refused:?}"
            );
        }
        assert_eq!(worker.process_id(), pid, "nothing was sent");
        let Err(CallError::Died(why)) = ask(&mut worker, "big", (1 << 20).into()) else { panic!() };
        assert!(why.contains("above the limits"), "{why}");
        assert_eq!(ask(&mut worker, "big", 3.into()), Ok(Value::Bytes(b"xxx".to_vec())));
    });
}

#[test]
fn what_does_not_start_is_told() {
    on_one_worker("what_does_not_start_is_told", |python| {
        let options = StartOptions::default();
        let start = |executable: &str| {
            let python = Installation { executable: executable.into(), ..python.clone() };
            Worker::start(&python, &options, WorkerLimits::default()).err().unwrap()
        };
        assert!(matches!(start("/nowhere/python"), StartError::System { .. }));
        let StartError::Bootstrap(text) = start("/bin/false") else { panic!() };
        assert!(text.contains("status 1"), "{text}");
        // A module that loads once and never again.
        let mut worker = Worker::start(python, &options, WorkerLimits::default()).unwrap();
        let path = std::env::temp_dir().join(format!("stead-once-{}", std::process::id()));
        let source = format!(
            "import os\nos.close(os.open({path:?}, os.O_CREAT | os.O_EXCL))\ndef f():\n    while True: pass"
        );
        let module = ModuleSource { name: "once".into(), source };
        worker.load(&module, Deadline::NEVER).unwrap();
        let soon = Deadline::after(Duration::from_millis(50));
        let call = || Call::new("once", "f", vec![]);
        assert_eq!(worker.call(call(), soon), Err(CallError::TimedOut));
        let Err(CallError::Raised(error)) = worker.call(call(), Deadline::NEVER) else { panic!() };
        assert_eq!(error.kind, "FileExistsError");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            worker.call(call(), Deadline::after(Duration::from_secs(5))),
            Err(CallError::TimedOut)
        );
        std::fs::remove_file(path).unwrap();
    });
}
