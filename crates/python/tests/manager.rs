//! The manager: exclusive hand-out, filling up with workers, deadlines, replacements.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::time::Duration;

use common::{on_every_python, on_one_python, on_one_worker};
use stead_python::{
    AcquireError, Call, CallError, Choice, Counts, Deadline, Installation, InterpreterManager,
    Isolation, ManagerOptions, Mode, ModuleSource, PackageSource, StartOptions, Value,
    namespaces_open,
};

fn manager(
    python: &Installation,
    interpreters: usize,
    limit: Option<usize>,
    isolation: Isolation,
) -> InterpreterManager {
    let choice = Choice { mode: Mode::InProcess, reason: None };
    let start = StartOptions { limit, ..StartOptions::default() };
    let options = ManagerOptions { interpreters, isolation, start, ..ManagerOptions::default() };
    let manager = InterpreterManager::new(python.clone(), choice, options);
    manager.register("a", modules("a", "import os\nhere = []"));
    manager
}

fn modules(name: &str, more: &str) -> PackageSource {
    let source = format!(
        "{more}
used = 0
def add(x):
    global used
    used += 1
    return [x + 1, used]
def pid(): return os.getpid()
def stuck(n): return sum(range(n))
def identity(): return id(add)
"
    );
    PackageSource::Modules(vec![ModuleSource { name: format!("net_{name}"), source }])
}

fn call(name: &str, arguments: Vec<Value>) -> Call {
    Call::new("net_a", name, arguments)
}

/// One session for code of several packages, each of them loaded once.
#[test]
fn a_session_has_several_packages() {
    on_one_python("a_session_has_several_packages", &[], |python| {
        let manager = manager(python, 1, None, Isolation::InProcess);
        manager.register("b", modules("b", "import os"));
        manager.register("broken", modules("broken", "1 / 0"));
        let add = |module: &str| Call::new(module, "add", vec![1.into()]);
        for round in 1..=2 {
            let mut session = manager.acquire_with("a", &["b"], Deadline::NEVER).unwrap();
            for module in ["net_a", "net_b"] {
                let expected = Value::List(vec![2.into(), round.into()]);
                assert_eq!(session.call(add(module), Deadline::NEVER), Ok(expected), "{module}");
            }
        }
        // What is not there, or does not load, leaves the interpreter to others.
        let unknown = manager.acquire_with("a", &["b", "c"], Deadline::NEVER).err().unwrap();
        assert_eq!(unknown, AcquireError::NoPackage("c".into()));
        let broken = manager.acquire_with("a", &["broken"], Deadline::NEVER).err().unwrap();
        assert!(matches!(broken, AcquireError::Load { package, .. } if package == "broken"));
        let mut session = manager.acquire("b", Deadline::NEVER).unwrap();
        let expected = Value::List(vec![2.into(), 3.into()]);
        assert_eq!(session.call(add("net_b"), Deadline::NEVER), Ok(expected));
    });
}

/// Six at once where two fit: the others are workers, and say so. All answer alike.
#[test]
fn six_where_two_fit_are_filled_up_with_workers() {
    on_every_python("six_where_two_fit_are_filled_up_with_workers", &[], |python| {
        let manager = manager(python, 6, Some(2), Isolation::InProcess);
        assert_eq!(manager.counts(), Counts::default(), "started when needed");
        let mut sessions: Vec<_> =
            (0..6).map(|_| manager.acquire("a", Deadline::NEVER).unwrap()).collect();
        let counts = Counts { in_process: 2, workers: 4, filled: 4, ..Counts::default() };
        assert_eq!(manager.counts(), counts);
        let mut processes = BTreeSet::new();
        for session in &mut sessions {
            let answer = session.call(call("add", vec![1.into()]), Deadline::NEVER);
            assert_eq!(answer, Ok(vec![2.into(), 1.into()].into()), "each has a module of its own");
            let Ok(Value::Int(pid)) = session.call(call("pid", vec![]), Deadline::NEVER) else {
                panic!()
            };
            processes.insert(pid);
        }
        assert_eq!(processes.len(), 5, "this process and four workers");
        let soon = Deadline::after(Duration::from_millis(10));
        assert_eq!(
            manager.acquire("a", soon).err(),
            Some(AcquireError::TimedOut),
            "all are in use"
        );
        sessions.pop();
        assert!(manager.acquire("a", Deadline::NEVER).is_ok());
        assert_eq!(namespaces_open(), 2);
    });
}

/// Many threads over few interpreters: no answer is another's, and no interpreter has two callers.
#[test]
fn callers_have_interpreters_to_themselves() {
    on_one_python("callers_have_interpreters_to_themselves", &[], |python| {
        let manager = manager(python, 4, None, Isolation::InProcess);
        manager.register("b", modules("b", "import os"));
        let begin = Barrier::new(16);
        std::thread::scope(|scope| {
            for thread in 0..16i64 {
                let (manager, begin) = (&manager, &begin);
                scope.spawn(move || {
                    begin.wait();
                    let package = if thread % 4 == 0 { "b" } else { "a" };
                    let of = format!("net_{package}");
                    for i in 0..200 {
                        let mut session = manager.acquire(package, Deadline::NEVER).unwrap();
                        let x = thread * 1000 + i;
                        let mut used = Vec::new();
                        for _ in 0..2 {
                            let add = Call::new(&of, "add", vec![x.into()]);
                            let Ok(Value::List(answer)) = session.call(add, Deadline::NEVER) else {
                                panic!()
                            };
                            assert_eq!(answer[0], (x + 1).into());
                            used.push(answer[1].clone());
                        }
                        let [Value::Int(first), Value::Int(second)] = used[..] else { panic!() };
                        assert_eq!(second, first + 1, "nobody came between");
                    }
                });
            }
        });
        let counts = manager.counts();
        assert_eq!((counts.in_process, counts.workers, counts.died), (4, 0, 0));
    });
}

/// A call that never ends takes its interpreter out; another one takes its place.
#[test]
fn stuck_interpreters_are_replaced() {
    on_one_python("stuck_interpreters_are_replaced", &[], |python| {
        let manager = manager(python, 1, None, Isolation::InProcess);
        for busy in 1..=2 {
            let mut session = manager.acquire("a", Deadline::NEVER).unwrap();
            let soon = Deadline::after(Duration::from_millis(50));
            let stuck = session.call(call("stuck", vec![i64::MAX.into()]), soon);
            assert_eq!(stuck, Err(CallError::TimedOut));
            drop(session);
            assert_eq!(manager.counts().busy, busy);
        }
        let mut session = manager.acquire("a", Deadline::NEVER).unwrap();
        assert!(session.call(call("add", vec![1.into()]), Deadline::NEVER).is_ok());
    });
}

#[test]
fn packages_are_loaded_once_for_each_interpreter_and_replaced() {
    on_one_worker("packages_are_loaded_once_for_each_interpreter_and_replaced", |python| {
        for isolation in [Isolation::Process, Isolation::InProcess] {
            if isolation == Isolation::InProcess && python.library.is_err() {
                continue;
            }
            let manager = manager(python, 1, None, isolation);
            let ask = |manager: &InterpreterManager, name: &str| {
                let mut session = manager.acquire("a", Deadline::NEVER).unwrap();
                session.call(
                    call(name, if name == "add" { vec![1.into()] } else { vec![] }),
                    Deadline::NEVER,
                )
            };
            let identity = ask(&manager, "identity");
            assert!(identity.is_ok() && ask(&manager, "identity") == identity, "loaded once");
            let source = "def add(x): return 'the new one'".to_owned();
            let module = ModuleSource { name: "net_a".into(), source };
            manager.register("a", PackageSource::Modules(vec![module]));
            assert_eq!(ask(&manager, "add"), Ok("the new one".into()));
            let broken = ModuleSource { name: "net_a".into(), source: "1/0".into() };
            manager.register("a", PackageSource::Modules(vec![broken]));
            let failed = manager.acquire("a", Deadline::NEVER).err().unwrap();
            let text = "package a does not load: ZeroDivisionError: division by zero";
            assert_eq!(failed.to_string(), text);
            let missing = manager.acquire("none", Deadline::NEVER).err();
            assert_eq!(missing, Some(AcquireError::NoPackage("none".into())));
        }
    });
}

/// What is taken back is dropped where it was opened, and its components are closed.
#[test]
fn packages_that_are_taken_back_are_dropped() {
    on_one_python("packages_that_are_taken_back_are_dropped", &[], |python| {
        let manager = manager(python, 1, None, Isolation::InProcess);
        let folder = std::env::temp_dir().join(format!("stead-taken-back-{}", std::process::id()));
        let source = "import weakref\nclass Big: pass\nbig = Big()\ndef seen(): return weakref.ref(big)() is big\n";
        std::fs::create_dir_all(folder.join(".data")).unwrap();
        std::fs::write(folder.join("one.py"), source).unwrap();
        let manifest = r#"{"format":"stead-package","version":1,"writer":"","python":"","externs":[{"module":"weakref"}],
            "mocks":[],"entry_points":[],"tensors":[],"examples":[],"bundles":[],"files":{}}"#;
        std::fs::write(folder.join(".data/manifest.json"), manifest).unwrap();
        manager.register("p", PackageSource::File(folder.clone()));
        let open = |manager: &InterpreterManager, package: &str| {
            let mut session = manager.acquire(package, Deadline::NEVER).unwrap();
            let opened = Call::new("_stead_runtime", "_packages.__contains__", vec!["p".into()]);
            session.call(opened, Deadline::NEVER).unwrap()
        };
        assert_eq!(open(&manager, "p"), true.into());
        assert_eq!(open(&manager, "a"), true.into(), "others leave it alone");
        manager.unregister("p");
        assert_eq!(
            manager.acquire("p", Deadline::NEVER).err(),
            Some(AcquireError::NoPackage("p".into()))
        );
        assert_eq!(open(&manager, "a"), false.into());
        manager.register("p", PackageSource::File(folder.clone()));
        let mut session = manager.acquire("p", Deadline::NEVER).unwrap();
        let call = Call::new("one", "seen", vec![]).of_package("p");
        assert_eq!(session.call(call, Deadline::NEVER), Ok(true.into()), "it can come again");
        drop((session, manager));
        std::fs::remove_dir_all(&folder).unwrap();
    });
}
