//! The way back: what code asks of stead while a call runs, alike in both kinds of interpreters.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::process::Command;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use common::{both, call, load, on_every_numpy, on_every_worker, on_one_python};
use stead_python::{
    Call, CallError, Choice, Deadline, Host, HostCall, HostCode, HostError, Interpreter,
    InterpreterManager, Isolation, ManagerOptions, Mode, ModuleSource, PackageSource, Value,
};
use stead_tensor::{DType, Shape, Tensor};

const ASKING: &str = "
import asyncio, os, threading
from _stead_runtime import host, HostError

def ask(name, *arguments): return host(name, *arguments)
def fold(n):
    total = 0
    for i in range(n): total = host('add', total, i)
    return total
def caught(name, *arguments):
    try:
        return host(name, *arguments)
    except Exception as e:
        return [type(e).__module__ + '.' + type(e).__qualname__, str(e), getattr(e, 'code', None)]
def a_set(): return caught('echo', {1, 2})
def deep():
    x = []
    for _ in range(70): x = [x]
    return caught('echo', x)
def no_name(): return caught(5)
def fine(): return 'fine'
";

fn hosted(
    of: &mut dyn Interpreter,
    name: &str,
    arguments: Vec<Value>,
    host: impl Fn(HostCall) -> Result<Value, HostError> + Send + Sync + 'static,
) -> Result<Value, CallError> {
    of.call_hosted(Call::new("m", name, arguments), Arc::new(host), Deadline::NEVER)
}

fn echo(call: HostCall) -> Result<Value, HostError> {
    match call.name.as_str() {
        "echo" => Ok(Value::List(call.arguments)),
        "add" => match call.arguments.as_slice() {
            [Value::Int(a), Value::Int(b)] => Ok((a + b).into()),
            other => Err(HostError::new(HostCode::Invalid, format!("{other:?}"))),
        },
        "panic" => panic!("a fault"),
        "f8" => Ok(Tensor::zeros(DType::F8E5M2, Shape::SCALAR).unwrap().into()),
        name => Err(HostError::new(HostCode::NotFound, format!("there is no {name}"))),
    }
}

#[test]
fn answers_come_back_as_values() {
    on_every_worker("answers_come_back_as_values", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let mode = of.mode();
            load(of, ASKING);
            let values = vec![
                Value::None,
                true.into(),
                i64::MIN.into(),
                2.5.into(),
                "\u{fc}".into(),
                Value::Bytes(vec![0, 255]),
                vec![1.into(), Value::List(vec![])].into(),
                Value::Dict(vec![("k".into(), "v".into())]),
            ];
            let arguments = [vec!["echo".into()], values.clone()].concat();
            assert_eq!(hosted(of, "ask", arguments, echo), Ok(values.into()), "{mode:?}");
            assert_eq!(hosted(of, "fold", vec![100.into()], echo), Ok(4950.into()), "{mode:?}");
        }
    });
}

/// Each row: a function, its arguments, the exception that the code sees, a part of its text, and its code.
#[test]
fn what_goes_wrong_is_an_exception_of_the_code() {
    let host_error = "stead.HostError";
    let cases: [(&str, &[&str], &str, &str, Option<&str>); 7] = [
        ("caught", &["nothing"], host_error, "there is no nothing", Some("not_found")),
        ("caught", &["add", "x", "y"], host_error, "Str", Some("invalid")),
        ("caught", &["panic"], host_error, "panic: stead failed", Some("internal")),
        ("caught", &["f8"], host_error, "numpy has no arrays of f8e5m2", Some("internal")),
        (
            "a_set",
            &[],
            "builtins.TypeError",
            "the arguments of echo[0] is of type set; return None",
            None,
        ),
        ("deep", &[], "builtins.TypeError", "the arguments of echo is nested deeper than 64", None),
        ("no_name", &[], "builtins.TypeError", "a text, not int", None),
    ];
    on_every_worker("what_goes_wrong_is_an_exception_of_the_code", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let mode = of.mode();
            load(of, ASKING);
            for (name, arguments, kind, text, code) in cases {
                let arguments = arguments.iter().map(|&a| a.into()).collect();
                let found = hosted(of, name, arguments, echo).unwrap();
                let Value::List(parts) = found else { panic!("{mode:?} {name}: {found:?}") };
                assert_eq!(parts[0], kind.into(), "{mode:?} {name} {parts:?}");
                let Value::Str(message) = &parts[1] else { panic!() };
                assert!(message.contains(text), "{mode:?} {name}: {message}");
                assert_eq!(parts[2], code.map_or(Value::None, Value::from), "{mode:?} {name}");
            }
            // One that is not caught is an exception of the call.
            let raised = hosted(of, "ask", vec!["nothing".into()], echo);
            let Err(CallError::Raised(error)) = raised else { panic!("{mode:?} {raised:?}") };
            assert_eq!((error.kind.as_str(), &*error.message), (host_error, "there is no nothing"));
            // Without a host.
            let Value::List(parts) = call(of, "caught", vec!["echo".into()]) else { panic!() };
            assert_eq!(parts[2], "unavailable".into(), "{mode:?} {parts:?}");
            assert_eq!(call(of, "fine", vec![]), "fine".into(), "{mode:?}");
        }
    });
}

const THREADS: &str = "
import asyncio, os, threading
from _stead_runtime import host, HostError

def threads(count, each):
    wrong, sums = [], []
    def run(number):
        try:
            total = 0
            for i in range(each): total = host('add', total, i * number)
            sums.append(total == number * each * (each - 1) // 2)
        except BaseException as e:
            wrong.append(repr(e))
    all = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for t in all: t.start()
    for t in all: t.join()
    return wrong or sums

async def gathered():
    loop = asyncio.get_running_loop()
    ask = lambda n: loop.run_in_executor(None, host, 'add', n, 1)
    return await asyncio.gather(*map(ask, range(5)))

def child():
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            host('add', 1, 2)
            text = 'answered'
        except HostError as e:
            text = e.code
        os.write(writing, text.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(reading, 100).decode()

def outlive(questions, answers):
    def run():
        with open(questions) as f: f.read()
        try:
            text = str(host('add', 1, 2))
        except HostError as e:
            text = f'{e.code}: {e}'
        with open(answers, 'w') as f: f.write(text)
    for name in (questions, answers): os.mkfifo(name)
    threading.Thread(target=run).start()
";

#[test]
fn threads_and_coroutines_ask_and_children_cannot() {
    on_every_worker("threads_and_coroutines_ask_and_children_cannot", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let mode = of.mode();
            load(of, THREADS);
            let right = Value::List(vec![true.into(); 4]);
            assert_eq!(
                hosted(of, "threads", vec![4.into(), 50.into()], echo),
                Ok(right),
                "{mode:?}"
            );
            let sums = Value::List((1..=5).map(Value::from).collect());
            assert_eq!(hosted(of, "gathered", vec![], echo), Ok(sums), "{mode:?}");
            assert_eq!(hosted(of, "child", vec![], echo), Ok("unavailable".into()), "{mode:?}");
        }
    });
}

/// A host may call other interpreters, whose code asks a host again.
#[test]
fn hosts_call_other_interpreters() {
    on_every_worker("hosts_call_other_interpreters", |python| {
        let others: Vec<Mutex<Box<dyn Interpreter>>> = both(python)
            .into_iter()
            .map(|mut other| {
                load(&mut *other, ASKING);
                Mutex::new(other)
            })
            .collect();
        let others = Arc::new(others);
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            load(of, ASKING);
            for at in 0..others.len() {
                let others = others.clone();
                let host = move |call: HostCall| {
                    let mut other = others[at].lock().unwrap();
                    let answer = hosted(&mut **other, "ask", call.arguments, echo);
                    answer.map_err(|e| HostError::new(HostCode::Internal, e.to_string()))
                };
                let sum = |a: i64| vec!["other".into(), "add".into(), a.into(), 2.into()];
                assert_eq!(hosted(of, "ask", sum(40), host.clone()), Ok(42.into()));
                // What fails inside is an error outside.
                let nothing = vec!["other".into(), "nothing".into()];
                let Err(CallError::Raised(error)) = hosted(of, "ask", nothing, host) else {
                    panic!()
                };
                assert_eq!(
                    error.to_string(),
                    "stead.HostError: stead.HostError: there is no nothing"
                );
            }
        }
    });
}

/// Whoever calls at the same time or has given up, each call asks its own host, and gets its answer.
#[test]
fn each_call_asks_its_own_host() {
    on_every_worker("each_call_asks_its_own_host", |python| {
        for isolation in [Isolation::Process, Isolation::InProcess] {
            let options =
                ManagerOptions { interpreters: 2, isolation, ..ManagerOptions::default() };
            let mode = if python.library.is_ok() { Mode::InProcess } else { Mode::Worker };
            let choice = Choice { mode, reason: None };
            let manager = InterpreterManager::new(python.clone(), choice, options);
            let module = ModuleSource { name: "m".into(), source: ASKING.into() };
            manager.register("m", PackageSource::Modules(vec![module]));
            let threads: Vec<_> = (0..4i64)
                .map(|thread| {
                    let manager = manager.clone();
                    std::thread::spawn(move || callers(&manager, thread))
                })
                .collect();
            let answered: usize = threads.into_iter().map(|one| one.join().unwrap()).sum();
            assert!(answered >= 4 * 8, "those without a deadline: {answered}");
        }
    });
}

/// Calls one after the other, every other one with a deadline that some miss; gives how many were answered.
fn callers(manager: &InterpreterManager, thread: i64) -> usize {
    let mut answered = 0;
    for round in 0..16 {
        let token = Value::Int(thread * 1000 + round);
        let own = token.clone();
        let host = move |call: HostCall| {
            assert_eq!(call.arguments.first(), Some(&own), "what another call asks");
            Ok(own.clone())
        };
        let short = Deadline::after(Duration::from_micros(200 * round as u64));
        let deadline = if round % 2 == 0 { Deadline::NEVER } else { short };
        let mut session = manager.acquire("m", Deadline::NEVER).unwrap();
        let ask = Call::new("m", "ask", vec!["token".into(), token.clone()]);
        match session.call_hosted(ask, Arc::new(host), deadline) {
            Ok(answer) => {
                assert_eq!(answer, token);
                answered += 1;
            }
            Err(CallError::TimedOut | CallError::Busy) if round % 2 == 1 => {}
            Err(error) => panic!("{thread} {round}: {error}"),
        }
    }
    answered
}

/// Something that several threads wait for.
#[derive(Default)]
struct Gate(Mutex<usize>, Condvar);

impl Gate {
    fn add(&self) {
        *self.0.lock().unwrap() += 1;
        self.1.notify_all();
    }

    fn wait(&self, count: usize) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |now| *now < count).unwrap());
    }
}

/// In process the host runs on the threads that ask, without the interpreter's lock: two are inside at once.
#[test]
fn in_process_threads_are_in_the_host_together() {
    on_one_python("in_process_threads_are_in_the_host_together", &[], |python| {
        let mut of = common::inside(python);
        load(&mut of, THREADS);
        let inside = Arc::new(Gate::default());
        let host = move |call: HostCall| {
            inside.add();
            inside.wait(3);
            echo(call)
        };
        let found = hosted(&mut of, "threads", vec![3.into(), 1.into()], host);
        assert_eq!(found, Ok(Value::List(vec![true.into(); 3])));
    });
}

#[test]
fn a_thread_that_outlives_its_call_is_told_so() {
    on_every_worker("a_thread_that_outlives_its_call_is_told_so", |python| {
        let folder = std::env::temp_dir().join(format!("stead-hosts-{}", std::process::id()));
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            load(of, THREADS);
            let folder = folder.join(format!("{:?}", of.mode()));
            std::fs::create_dir_all(&folder).unwrap();
            let names = [folder.join("questions"), folder.join("answers")];
            let arguments = names.iter().map(|name| name.to_str().unwrap().into()).collect();
            hosted(of, "outlive", arguments, echo).unwrap();
            // The call is over; now the thread asks.
            std::fs::write(&names[0], "go").unwrap();
            let told = std::fs::read_to_string(&names[1]).unwrap();
            assert_eq!(
                told,
                "unavailable: add: no call of stead is running in this interpreter",
                "{:?}",
                of.mode()
            );
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

const LATE: &str = "
import os
from _stead_runtime import host

seen = []
def wait():
    try:
        return host('wait')
    except BaseException as e:
        seen.append(type(e).__name__)
        raise
def what(): return seen
def die(): return host('kill', os.getpid())
def fine(): return 'fine'
";

/// The caller is back at its deadline though the host is not; what the host has is its own.
#[test]
fn deadlines_end_calls_whose_host_does_not_come_back() {
    on_every_worker("deadlines_end_calls_whose_host_does_not_come_back", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let mode = of.mode();
            load(of, LATE);
            let (entered, leave) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
            let (begin, end) = (Arc::clone(&entered), Arc::clone(&leave));
            let host: Arc<dyn Host> = Arc::new(move |_: HostCall| {
                begin.add();
                end.wait(1);
                Ok(Value::None)
            });
            // Longer each time, until the machine has found the time to begin it.
            for round in 0.. {
                let deadline = Deadline::after(Duration::from_millis(50 << round));
                let late = of.call_hosted(Call::new("m", "wait", vec![]), host.clone(), deadline);
                assert!(
                    matches!(late, Err(CallError::TimedOut | CallError::Busy)),
                    "{mode:?} {late:?}"
                );
                if *entered.0.lock().unwrap() > 0 {
                    break;
                }
            }
            let answer = |of: &mut dyn Interpreter| {
                of.call(Call::new("m", "fine", vec![]), Deadline::after(Duration::from_millis(20)))
            };
            if mode == Mode::InProcess {
                assert_eq!(answer(of), Err(CallError::Busy), "its host is still inside");
            }
            leave.add();
            assert_eq!(call(of, "fine", vec![]), "fine".into(), "{mode:?}");
            if mode == Mode::InProcess {
                let Value::List(seen) = call(of, "what", vec![]) else { panic!() };
                assert_eq!(seen.last(), Some(&"DeadlineExceeded".into()), "{seen:?}");
            }
            // All that asked let go of it.
            while Arc::strong_count(&host) > 1 {
                std::thread::yield_now();
            }
        }
    });
}

#[test]
fn a_worker_killed_while_its_host_answers_is_an_error_of_the_call() {
    on_every_worker("a_worker_killed_while_its_host_answers_is_an_error_of_the_call", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            if of.mode() == Mode::InProcess {
                continue;
            }
            load(of, LATE);
            let kill = |call: HostCall| {
                let [Value::Int(pid)] = call.arguments[..] else { panic!() };
                let pid = pid.to_string();
                assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
                while std::fs::read_to_string(format!("/proc/{pid}/stat"))
                    .is_ok_and(|stat| !stat.contains(") Z"))
                {
                    std::thread::yield_now();
                }
                Ok(Value::None)
            };
            let Err(CallError::Died(why)) = hosted(of, "die", vec![], kill) else { panic!() };
            assert!(why.contains("SIGKILL"), "{why}");
            assert_eq!(call(of, "fine", vec![]), "fine".into());
        }
    });
}

const ARRAYS: &str = "
import numpy
from _stead_runtime import host

def parts(x):
    return host('keep', x, x[1000:], x.reshape(2, -1)[1], x[::2], x + 0)
def address():
    x = host('get')
    return [x.__array_interface__['data'][0], float(x.sum()), x.flags.writeable]
";

#[test]
fn arrays_pass_both_ways_without_a_copy_in_process() {
    on_every_numpy("arrays_pass_both_ways_without_a_copy_in_process", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let in_process = of.mode() == Mode::InProcess;
            load(of, ARRAYS);
            let values: Vec<f64> = (0..20_000).map(f64::from).collect();
            let tensor = Tensor::from_slice(&values, &[20_000]).unwrap();
            let kept: Arc<Mutex<Vec<Value>>> = Arc::default();
            let keep = kept.clone();
            let keeping = move |call: HostCall| {
                *keep.lock().unwrap() = call.arguments;
                Ok(Value::None)
            };
            hosted(of, "parts", vec![tensor.clone().into()], keeping).unwrap();
            let kept = std::mem::take(&mut *kept.lock().unwrap());
            let expected: [(usize, usize, bool); 5] = [
                (0, 20_000, true),
                (1000, 19_000, true),
                (10_000, 10_000, true),
                (0, 10_000, false),
                (0, 20_000, false),
            ];
            for (value, (begin, len, in_place)) in kept.iter().zip(expected) {
                let Value::Tensor(found) = value else { panic!("{value:?}") };
                let elements = found.as_slice::<f64>().unwrap();
                assert_eq!(elements.len(), len);
                let step = if len == 10_000 && begin == 0 { 2.0 } else { 1.0 };
                assert_eq!(elements[len - 1], begin as f64 + step * (len - 1) as f64);
                let is_there = found.bytes().as_ptr() == tensor.bytes()[begin * 8..].as_ptr();
                assert_eq!(is_there, in_process && in_place, "{begin} {len}");
            }
            let address = tensor.bytes().as_ptr() as i64;
            let given = tensor.clone();
            let get = move |_: HostCall| Ok(given.clone().into());
            let Value::List(found) = hosted(of, "address", vec![], get).unwrap() else { panic!() };
            assert_eq!(found[0] == address.into(), in_process);
            assert_eq!(found[1..], [199_990_000.0.into(), false.into()]);
        }
    });
}
