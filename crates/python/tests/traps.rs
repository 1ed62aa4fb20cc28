//! What crashes with plain `dlmopen` of libpython, each cause as a test.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use common::{call, load, on_every_python, on_one_python};
use stead_python::{
    Call, CallError, Deadline, InProcess, Installation, Interpreter, ModuleSource, StartError,
    StartOptions, Value, namespaces_open, reexec_wanted, self_test_here,
};

fn start(python: &Installation) -> InProcess {
    InProcess::start(python, &StartOptions::default()).unwrap()
}

/// Code compiles on threads that did not open the namespace, and a thread that enters two interpreters finds its own
/// state in each, though their libraries number thread-specific keys alike.
#[test]
fn threads_of_others_compile_and_find_their_own_state() {
    on_every_python("threads_of_others_compile_and_find_their_own_state", &[], |python| {
        self_test_here(python).unwrap();
    });
}

const LOADER: &str = "
import ctypes, threading, sys

def global_scope():
    # Of a library that nothing has loaded yet: the loader crashes for RTLD_GLOBAL in a namespace.
    return bool(ctypes.CDLL('libm.so.6', mode=ctypes.RTLD_GLOBAL).cos) and bool(
        ctypes.CDLL('libutil.so.1', mode=ctypes.RTLD_GLOBAL))

def own_handle():
    me = ctypes.CDLL(None)
    version = me.Py_GetVersion
    version.restype = ctypes.c_char_p
    return version().decode().split()[0] == sys.version.split()[0]

def python_api():
    ctypes.pythonapi.PyLong_FromLong.restype = ctypes.py_object
    return ctypes.pythonapi.PyLong_FromLong(7)

def errors_of_the_loader():
    try:
        ctypes.CDLL('/nowhere/none.so')
    except OSError as error:
        return str(error)

def table_of_the_locale():
    libc = ctypes.CDLL('libc.so.6')
    libc.__ctype_b_loc.restype = ctypes.POINTER(ctypes.c_void_p)
    found = []
    thread = threading.Thread(target=lambda: found.append(bool(libc.__ctype_b_loc()[0])))
    thread.start(); thread.join()
    return found + [bool(libc.__ctype_b_loc()[0])]

def key():
    libc = ctypes.CDLL(None)
    number = ctypes.c_uint()
    assert libc.pthread_key_create(ctypes.byref(number), None) == 0
    return number.value
";

#[test]
fn the_loader_and_libc_are_those_of_the_namespace_but_for_keys_and_threads() {
    let name = "the_loader_and_libc_are_those_of_the_namespace_but_for_keys_and_threads";
    on_every_python(name, &[], |python| {
        let mut interpreter = start(python);
        load(&mut interpreter, LOADER);
        let mut ask = |name: &str| call(&mut interpreter, name, vec![]);
        for name in ["global_scope", "own_handle"] {
            assert_eq!(ask(name), true.into(), "{name}");
        }
        assert_eq!(ask("python_api"), 7.into());
        let Value::Str(error) = ask("errors_of_the_loader") else { panic!() };
        assert!(error.contains("/nowhere/none.so"), "{error}");
        assert_eq!(ask("table_of_the_locale"), vec![true.into(), true.into()].into());
        let first = ask("key");
        let mut other = start(python);
        load(&mut other, LOADER);
        assert_ne!(call(&mut other, "key", vec![]), first, "one space of keys");
    });
}

const ENVIRONMENT: &str = "
import os, sys, threading, locale

def encodings():
    return [sys.getdefaultencoding(), sys.getfilesystemencoding(), locale.getpreferredencoding(False).lower()]

def variable(name):
    import ctypes
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    found = libc.getenv(name.encode())
    return [os.environ.get(name), found and found.decode()]

def set_variable(name, value):
    os.environ[name] = value

def main_thread():
    return threading.main_thread() is threading.current_thread()

def prefix():
    return sys.prefix
";

#[test]
fn each_has_its_own_environment_in_utf_8() {
    let variables = [("LANG", "C"), ("LC_ALL", "C"), ("STEAD_SEEN", "as given")];
    on_every_python("each_has_its_own_environment_in_utf_8", &variables, |python| {
        let variables = vec![("OPENBLAS_NUM_THREADS".to_owned(), "1".to_owned())];
        let options = StartOptions { variables, ..StartOptions::default() };
        let mut first = InProcess::start(python, &options).unwrap();
        let mut second = start(python);
        load(&mut first, ENVIRONMENT);
        load(&mut second, ENVIRONMENT);
        let utf8: Value = vec!["utf-8".into(), "utf-8".into(), "utf-8".into()].into();
        assert_eq!(call(&mut first, "encodings", vec![]), utf8);
        assert_eq!(call(&mut first, "main_thread", vec![]), true.into());
        let prefix = python.prefix.display().to_string();
        assert_eq!(call(&mut first, "prefix", vec![]), prefix.as_str().into());
        let both = |text: &str| Value::List(vec![text.into(), text.into()]);
        let none = Value::List(vec![Value::None, Value::None]);
        let variable = |of: &mut InProcess, name: &str| call(of, "variable", vec![name.into()]);
        assert_eq!(variable(&mut first, "STEAD_SEEN"), both("as given"));
        assert_eq!(variable(&mut first, "OPENBLAS_NUM_THREADS"), both("1"));
        assert_eq!(variable(&mut second, "OPENBLAS_NUM_THREADS"), none);
        call(&mut first, "set_variable", vec!["STEAD_OWN".into(), "here".into()]);
        assert_eq!(variable(&mut first, "STEAD_OWN"), both("here"));
        assert_eq!(variable(&mut second, "STEAD_OWN"), none);
        assert_eq!(std::env::var_os("STEAD_OWN"), None);
    });
}

const ENDS: &str = "
import ctypes, faulthandler, os, signal, subprocess, sys

def leave(how):
    {'sys.exit': sys.exit, 'os._exit': os._exit}[how](5)

def give_up():
    os.abort()

def exit_in_c(name):
    getattr(ctypes.CDLL(None), name)(*([] if name == 'abort' else [5]))

def children():
    child = os.fork()
    if child == 0:
        os._exit(7)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return [status, subprocess.run([sys.executable, '-c', 'import os; os._exit(3)']).returncode]

def handlers():
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
    faulthandler.enable()
    return [before == signal.SIG_DFL, callable(signal.getsignal(signal.SIGTERM))]

def timers():
    refused = 0
    for send in (lambda: signal.alarm(1), lambda: signal.setitimer(signal.ITIMER_REAL, 1),
                 lambda: signal.raise_signal(signal.SIGTERM)):
        try:
            send()
        except RuntimeError:
            refused += 1
    return refused
";

#[test]
fn code_that_ends_its_process_ends_nothing_else() {
    on_every_python("code_that_ends_its_process_ends_nothing_else", &[], |python| {
        let mut interpreter = start(python);
        load(&mut interpreter, ENDS);
        let mut ask = |name: &str, arguments: Vec<Value>| {
            interpreter.call(Call::new("m", name, arguments), Deadline::NEVER)
        };
        for (name, arguments, message) in [
            ("leave", vec!["sys.exit".into()], "SystemExit: 5"),
            ("leave", vec!["os._exit".into()], "SystemExit: 5"),
            ("give_up", vec![], "SystemExit: abort"),
        ] {
            assert_eq!(ask(name, arguments).unwrap_err().to_string(), message);
        }
        assert_eq!(ask("children", vec![]), Ok(vec![7.into(), 3.into()].into()));
        let before = signal_handler();
        assert_eq!(ask("handlers", vec![]), Ok(vec![true.into(), true.into()].into()));
        assert_eq!(signal_handler(), before, "those of this process stay");
        assert_eq!(ask("timers", vec![]), Ok(3.into()));
        for (name, text) in [("exit", "exit(5)"), ("_exit", "exit(5)"), ("abort", "abort()")] {
            let mut dying = start(python);
            load(&mut dying, ENDS);
            let call = || Call::new("m", "exit_in_c", vec![name.into()]);
            let Err(CallError::Died(why)) = dying.call(call(), Deadline::NEVER) else { panic!() };
            assert!(why.contains(text), "{why}");
            assert_eq!(dying.died(), Some(why.clone()));
            assert_eq!(dying.call(call(), Deadline::NEVER), Err(CallError::Died(why)));
        }
        assert_eq!(ask("children", vec![]), Ok(vec![7.into(), 3.into()].into()), "still there");
    });
}

/// What `kill -TERM` would do to this process, as the kernel shows it: the mask of signals that are caught.
fn signal_handler() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().find(|line| line.starts_with("SigCgt")).unwrap().to_owned()
}

const STANDARD: &str = "
import asyncio, concurrent.futures, hashlib, mmap, pickle, socket, sqlite3, ssl, subprocess, tempfile, threading, time

async def later(x):
    await asyncio.sleep(0.001)
    return x

def library():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda x: x * x, range(100))) == 328350
    assert asyncio.run(later(5)) == 5
    assert subprocess.run(['echo', 'hi'], capture_output=True).stdout == b'hi\\n'
    socket.getaddrinfo('localhost', 80)
    ssl.create_default_context()
    assert sqlite3.connect(':memory:').execute('select 1 + 1').fetchone() == (2,)
    with tempfile.TemporaryFile() as file:
        file.write(b'x' * 8192); file.flush()
        assert mmap.mmap(file.fileno(), 0)[5] == 120
    deep = []
    for _ in range(300): deep = [deep]
    pickle.loads(pickle.dumps(deep))
    assert time.strptime('2024-01-02', '%Y-%m-%d').tm_year == 2024
    hashlib.sha256(b'').hexdigest()
    return 'done'
";

/// Six interpreters at once use most of the standard library, from threads of ours, and their threads end.
#[test]
fn the_standard_library_works_in_six_at_once() {
    on_every_python("the_standard_library_works_in_six_at_once", &[], |python| {
        std::thread::scope(|scope| {
            let interpreters: Vec<_> = (0..6)
                .map(|_| {
                    scope.spawn(|| {
                        let mut interpreter = start(python);
                        load(&mut interpreter, STANDARD);
                        assert_eq!(call(&mut interpreter, "library", vec![]), "done".into());
                        let later = call(&mut interpreter, "later", vec![3.into()]);
                        assert_eq!(later, 3.into(), "a coroutine is run");
                        interpreter
                    })
                })
                .collect();
            let interpreters: Vec<_> =
                interpreters.into_iter().map(|thread| thread.join().unwrap()).collect();
            assert_eq!(namespaces_open(), 6);
            let refused = InProcess::start(python, &StartOptions::default()).err();
            assert_eq!(refused, Some(StartError::Namespaces { open: 6, limit: 6 }));
            drop(interpreters);
        });
    });
}

/// With the tunable that a program starts itself anew with there is room for fifteen.
#[test]
fn the_tunable_makes_room_for_fifteen() {
    assert!(reexec_wanted().is_none_or(|reexec| !reexec.variables.is_empty()));
    let variables = [("GLIBC_TUNABLES", "glibc.rtld.nns=16")];
    on_one_python("the_tunable_makes_room_for_fifteen", &variables, |python| {
        assert_eq!(reexec_wanted(), None, "this process has the room");
        let mut all: Vec<_> = (0..15).map(|_| start(python)).collect();
        for interpreter in &mut all {
            load(interpreter, STANDARD);
            assert_eq!(call(interpreter, "library", vec![]), "done".into());
        }
        let refused = InProcess::start(python, &StartOptions::default()).err();
        assert_eq!(refused, Some(StartError::Namespaces { open: 15, limit: 15 }));
    });
}

/// Python ends the process when there is no key left, so the next start is refused before that.
#[test]
fn too_few_keys_are_a_refusal_and_the_process_lives() {
    on_one_python("too_few_keys_are_a_refusal_and_the_process_lives", &[], |python| {
        let mut interpreter = start(python);
        load(
            &mut interpreter,
            &format!("{LOADER}\ndef keys(n): return len([key() for _ in range(n)])"),
        );
        let mut taken = 0;
        let refusal = loop {
            assert_eq!(call(&mut interpreter, "keys", vec![100.into()]), 100.into());
            taken += 100;
            let started = InProcess::start(
                python,
                &StartOptions { limit: Some(4), ..StartOptions::default() },
            );
            match started {
                Err(error @ StartError::Keys { .. }) => break error,
                Err(StartError::Namespaces { .. }) => {}
                Ok(other) => std::mem::forget(other),
                Err(other) => panic!("{other}"),
            }
        };
        let StartError::Keys { free, needed } = refusal else { panic!("{refusal}") };
        assert!(free < needed && taken + free < 1024, "{taken} taken, {free} free");
        assert_eq!(call(&mut interpreter, "python_api", vec![]), 7.into());
    });
}

/// Hundred starts of two interpreters take two namespaces, and nothing that one had loaded is there for the next.
#[test]
fn interpreters_that_were_dropped_are_used_again() {
    on_every_python("interpreters_that_were_dropped_are_used_again", &[], |python| {
        let wait = Deadline::NEVER;
        for round in 0..100 {
            let mut pair = [start(python), start(python)];
            for interpreter in &mut pair {
                let source = format!("value = {round}\ndef get(): return value");
                let gone = interpreter.call(Call::new("net", "get", vec![]), wait);
                let Err(CallError::Raised(gone)) = gone else { panic!("{gone:?}") };
                assert_eq!(gone.kind, "ModuleNotFoundError");
                interpreter.load(&ModuleSource { name: "net".into(), source }, wait).unwrap();
                let got = interpreter.call(Call::new("net", "get", vec![]), wait);
                assert_eq!(got, Ok(round.into()));
            }
        }
        assert_eq!(namespaces_open(), 2);
    });
}
