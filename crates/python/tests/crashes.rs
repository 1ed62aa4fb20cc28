//! Crashes of code inside this process, contained.
#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used)] // a panic in a test is its report

mod common;

use std::time::Duration;

use common::{load, on_every_python};
use stead_python::{
    Call, CallError, Choice, Deadline, InProcess, Installation, Interpreter, InterpreterManager,
    ManagerOptions, Mode, ModuleSource, PackageSource, StartOptions, Value, contain_crashes,
    crashes_contained,
};

/// Room for an interpreter for each crash.
const ROOM: [(&str, &str); 1] = [("GLIBC_TUNABLES", "glibc.rtld.nns=16")];

const CODE: &str = "
import ctypes, os, signal, sys, threading

def null():
    ctypes.string_at(0)

def raises(number):
    getattr(ctypes.CDLL(None), 'raise')(number)

def in_thread():
    thread = threading.Thread(target=null)
    thread.start()
    thread.join()

def overflow():
    sys.setrecursionlimit(10**9)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    again = kind(lambda n: again(n + 1))
    again(0)

def child():
    pid = os.fork()
    if pid == 0:
        null()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def add(a, b):
    return a + b
";

fn start(python: &Installation) -> InProcess {
    InProcess::start(python, &StartOptions::default()).unwrap()
}

fn call(of: &mut dyn Interpreter, name: &str, arguments: Vec<Value>) -> Result<Value, CallError> {
    // Ends a test that would wait for ever.
    of.call(Call::new("m", name, arguments), Deadline::after(Duration::from_secs(60)))
}

#[test]
fn a_crash_ends_its_interpreter_only() {
    on_every_python("a_crash_ends_its_interpreter_only", &ROOM, |python| {
        contain_crashes().unwrap();
        contain_crashes().unwrap();
        let mut other = start(python);
        load(&mut other, CODE);
        let raised = |number: i32| ("raises", vec![i64::from(number).into()]);
        let mut crashes = vec![
            (("null", vec![]), "SIGSEGV"),
            (("in_thread", vec![]), "SIGSEGV"),
            (raised(libc::SIGABRT), "SIGABRT"),
            (raised(libc::SIGFPE), "SIGFPE"),
            (raised(libc::SIGILL), "SIGILL"),
            (raised(libc::SIGBUS), "SIGBUS"),
        ];
        // Later versions count what is nested in C and raise before the stack ends.
        if python.version.minor <= 11 {
            crashes.push((("overflow", vec![]), "SIGSEGV"));
        }
        for (i, ((name, arguments), signal)) in crashes.into_iter().enumerate() {
            let mut dying = start(python);
            load(&mut dying, CODE);
            let expected = Err(CallError::Died(format!("its code crashed with {signal}")));
            assert_eq!(call(&mut dying, name, arguments), expected, "{name}");
            assert_eq!(call(&mut dying, "add", vec![1.into(), 2.into()]), expected, "{name}");
            assert_eq!(crashes_contained(), i + 1, "{name}");
            let sum = call(&mut other, "add", vec![1.into(), 2.into()]);
            assert_eq!(sum, Ok(3.into()), "after {name}");
        }
        // A child of an interpreter's code is a process of its own and ends as it would anywhere.
        let before = crashes_contained();
        let status = i64::from(-libc::SIGSEGV);
        assert_eq!(call(&mut other, "child", vec![]), Ok(status.into()));
        assert_eq!(crashes_contained(), before);
    });
}

#[test]
fn the_manager_replaces_what_crashed_while_others_go_on() {
    let name = "the_manager_replaces_what_crashed_while_others_go_on";
    on_every_python(name, &ROOM, |python| {
        contain_crashes().unwrap();
        let choice = Choice { mode: Mode::InProcess, reason: None };
        let options = ManagerOptions { interpreters: 2, ..ManagerOptions::default() };
        let manager = InterpreterManager::new(python.clone(), choice, options);
        let module = ModuleSource { name: "m".to_owned(), source: CODE.to_owned() };
        manager.register("m", PackageSource::Modules(vec![module]));
        let limit = || Deadline::after(Duration::from_secs(60));
        std::thread::scope(|scope| {
            let adding = |thread: i64| {
                let manager = &manager;
                scope.spawn(move || {
                    for i in 0..200 {
                        let mut session = manager.acquire("m", limit()).unwrap();
                        let sum = Call::new("m", "add", vec![thread.into(), i.into()]);
                        assert_eq!(session.call(sum, limit()), Ok((thread + i).into()));
                    }
                })
            };
            let threads: Vec<_> = (0..3).map(adding).collect();
            for _ in 0..3 {
                let mut session = manager.acquire("m", limit()).unwrap();
                let died = session.call(Call::new("m", "null", vec![]), limit());
                assert!(matches!(died, Err(CallError::Died(_))), "{died:?}");
            }
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        });
        let counts = manager.counts();
        assert_eq!((counts.died, counts.busy), (3, 0));
        assert!(counts.in_process + counts.workers <= 2, "{counts:?}");
    });
}
