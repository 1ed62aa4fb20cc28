//! Both kinds of interpreters give the same answers: values, exceptions, arrays.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::collections::BTreeMap;

use common::{both, call, load, on_every_numpy, on_every_python, on_every_worker, without_numpy};
use stead_python::{Call, CallError, Deadline, InProcess, Mode, ModuleSource, StartOptions, Value};
use stead_tensor::{DType, Shape, Tensor};

fn list<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Value {
    Value::List(values.into_iter().map(Into::into).collect())
}

fn text(value: &str) -> Value {
    value.into()
}

#[test]
fn values_pass_and_others_are_refused_with_their_place() {
    let deep = "x = []\n    for _ in range(70): x = [x]\n    return x";
    let u8s = |values: &[u8]| Tensor::from_slice(values, &[values.len()]).unwrap();
    let cases: Vec<(&str, Result<Value, &str>)> = vec![
        ("return None", Ok(Value::None)),
        ("return True", Ok(true.into())),
        ("return -(1 << 63)", Ok(i64::MIN.into())),
        ("return [1 << 63]", Err("the result[0] is an int that does not fit 64 bits")),
        ("return 2.5", Ok(2.5.into())),
        ("return 'a\\0\\u00fc'", Ok("a\0\u{fc}".into())),
        ("return b'\\0\\xff'", Ok(Value::Bytes(vec![0, 255]))),
        ("return bytearray(b'ab')", Ok(Value::Bytes(b"ab".to_vec()))),
        ("return (1, [2], ())", Ok(Value::List(vec![1.into(), list([2]), list::<i64>([])]))),
        (
            "return {'b': 1, 'a': None}",
            Ok(Value::Dict(vec![("b".into(), 1.into()), ("a".into(), Value::None)])),
        ),
        (
            "return {'x': [{1, 2}]}",
            Err("the result[\"x\"][0] is of type set; return None, bool, int"),
        ),
        ("return {1: 2}", Err("the result has a key of type int")),
        ("return object", Err("the result is of type type")),
        (deep, Err("the result is nested deeper than 64")),
        ("x = []; x.append(x); return x", Err("the result is nested deeper than 64")),
        ("return memoryview(b'abc')", Ok(u8s(b"abc").into())),
        ("return memoryview(b'abcdef')[::2]", Ok(u8s(b"ace").into())),
        (
            "import array; return array.array('d', [1, 2])",
            Ok(Tensor::from_slice(&[1f64, 2.0], &[2]).unwrap().into()),
        ),
        (
            "return memoryview(bytes(12)).cast('i', (3, 1))",
            Ok(Tensor::zeros(DType::I32, Shape::new(&[3, 1]).unwrap()).unwrap().into()),
        ),
        ("import ctypes; return (ctypes.c_char * 3)()", Err("an array of elements")),
        ("import asyncio; await asyncio.sleep(0); return 7", Ok(7.into())),
    ];
    on_every_worker("values_pass_and_others_are_refused_with_their_place", |python| {
        for mut interpreter in both(python) {
            let mode = interpreter.mode();
            for (body, expected) in &cases {
                let kind = if body.contains("await") { "async def" } else { "def" };
                load(&mut *interpreter, &format!("{kind} f():\n    {body}"));
                let found = interpreter.call(Call::new("m", "f", vec![]), Deadline::NEVER);
                match (found, expected) {
                    (Ok(found), Ok(expected)) => assert_eq!(&found, expected, "{mode:?} {body}"),
                    (Err(CallError::Returned(text)), Err(part)) => {
                        assert!(text.contains(part), "{mode:?} {body}: {text}");
                    }
                    (found, _) => panic!("{mode:?} {body}: {found:?}"),
                }
            }
        }
    });
}

#[test]
fn arguments_arrive_as_they_are() {
    on_every_worker("arguments_arrive_as_they_are", |python| {
        let values = Value::Dict(vec![
            ("none".into(), Value::None),
            ("ints".into(), list([i64::MIN, 0, i64::MAX])),
            ("float".into(), f64::MIN_POSITIVE.into()),
            ("text".into(), text("\u{1f980}")),
            ("bytes".into(), Value::Bytes((0..=255).collect())),
            ("empty".into(), Value::Dict(vec![])),
        ]);
        for mut interpreter in both(python) {
            load(
                &mut *interpreter,
                "def f(*a, **k): return [list(a), k, [str(type(x)) for x in a]]",
            );
            let call = Call {
                keywords: vec![("k".into(), values.clone())],
                ..Call::new("m", "f", vec![values.clone(), true.into()])
            };
            let Value::List(parts) = interpreter.call(call, Deadline::NEVER).unwrap() else {
                panic!()
            };
            assert_eq!(parts[0], Value::List(vec![values.clone(), true.into()]));
            assert_eq!(parts[1], Value::Dict(vec![("k".into(), values.clone())]));
            assert_eq!(parts[2], list(["<class 'dict'>", "<class 'bool'>"]));
            let f8: Value = Tensor::zeros(DType::F8E5M2, Shape::SCALAR).unwrap().into();
            let refused = interpreter.call(Call::new("m", "f", vec![f8]), Deadline::NEVER);
            let Err(CallError::Argument(text)) = refused else { panic!("{refused:?}") };
            assert!(text.contains("f8e5m2"), "{text}");
            // Modules that can be imported need no loading, and names lead to attributes.
            let found =
                interpreter.call(Call::new("math", "sqrt", vec![4.into()]), Deadline::NEVER);
            assert_eq!(found, Ok(2.0.into()));
            let upper = Call::new("builtins", "str.upper", vec!["a".into()]);
            assert_eq!(interpreter.call(upper, Deadline::NEVER), Ok("A".into()));
        }
    });
}

const RAISING: &str = "
import sys

def inner(x):
    try:
        return 1 / x
    except ZeroDivisionError as e:
        raise ValueError('bad \\u00fc') from e

def outer(x):
    return inner(x)

def leave():
    sys.exit(3)

def deeper(n=0):
    return deeper(n + 1)

def compiled():
    compile('def', 'x.py', 'exec')

def surrogate():
    return '\\udc80'

def nameless():
    class Odd(Exception):
        def __str__(self): raise KeyError('no')
    raise Odd()

def empty():
    raise KeyboardInterrupt

async def later():
    raise LookupError('in a coroutine')
";

#[test]
fn exceptions_are_values() {
    // The function, the class, the message, and parts of the traceback.
    let cases: [(&str, &str, &str, &[&str]); 9] = [
        (
            "outer",
            "ValueError",
            "bad \u{fc}",
            &[
                "return 1 / x",
                "ZeroDivisionError: division by zero",
                "direct cause of the following exception",
                "    return inner(x)\n",
                "line 8, in inner",
                "ValueError: bad \u{fc}\n",
            ],
        ),
        ("leave", "SystemExit", "3", &["sys.exit(3)"]),
        ("deeper", "RecursionError", "maximum recursion depth exceeded", &["return deeper(n + 1)"]),
        ("compiled", "SyntaxError", "invalid syntax", &["\"x.py\""]),
        ("surrogate", "UnicodeEncodeError", "surrogates not allowed", &[]),
        (
            "nameless",
            "m.nameless.<locals>.Odd",
            "(an exception whose text cannot be had)",
            &["raise Odd()"],
        ),
        ("empty", "KeyboardInterrupt", "", &["raise KeyboardInterrupt"]),
        ("later", "LookupError", "in a coroutine", &["raise LookupError"]),
        ("missing", "AttributeError", "missing", &[]),
    ];
    on_every_worker("exceptions_are_values", |python| {
        let mut answers = BTreeMap::new();
        for mut interpreter in both(python) {
            let mode = interpreter.mode();
            load(&mut *interpreter, RAISING);
            for (name, kind, message, parts) in cases {
                let arguments = if name == "outer" { vec![0.into()] } else { vec![] };
                let error = interpreter.call(Call::new("m", name, arguments), Deadline::NEVER);
                let Err(CallError::Raised(error)) = error else {
                    panic!("{mode:?} {name} {error:?}")
                };
                assert_eq!(error.kind, kind, "{mode:?} {name}");
                assert!(error.message.contains(message), "{mode:?} {name}: {}", error.message);
                for part in parts {
                    assert!(error.traceback.contains(part), "{mode:?} {name}: {}", error.traceback);
                }
                // Where frames differ in number, or that of the event loop is another, only texts are compared.
                if name != "deeper" {
                    let same = (error.kind, error.message);
                    assert_eq!(answers.entry(name).or_insert_with(|| same.clone()), &same);
                }
            }
        }
    });
}

/// What is printed is a line with a name, and nothing of it reaches the outputs of this process.
#[test]
fn prints_are_lines_with_a_name() {
    on_every_worker("prints_are_lines_with_a_name", |python| {
        let source = "
import sys
print('loading')
def hello(x):
    print('hello', x)
    print('no end', end='', file=sys.stderr)
";
        for mut interpreter in both(python) {
            for name in ["first", "second"] {
                let module = ModuleSource { name: name.into(), source: source.into() };
                interpreter.load(&module, Deadline::NEVER).unwrap();
            }
            let hello = Call::new("second", "hello", vec!["\u{fc}".into()]);
            interpreter.call(hello, Deadline::NEVER).unwrap();
            // The name of another call ends the last line.
            interpreter.call(Call::new("math", "sqrt", vec![1.into()]), Deadline::NEVER).unwrap();
            let expected = [
                ("first", "loading"),
                ("second", "loading"),
                ("second", "hello \u{fc}"),
                ("second", "no end"),
            ];
            // They come by a pipe.
            while interpreter.output().len() < expected.len() {
                std::thread::yield_now();
            }
            let found = interpreter.output().into_iter().map(|line| (line.of, line.text));
            let expected = expected.map(|(of, text)| (of.to_owned(), text.to_owned()));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    });
}

/// Records of `logging` stand among what is printed, with their level and logger, however long they are.
#[test]
fn records_of_logging_are_lines_with_a_level() {
    on_every_worker("records_of_logging_are_lines_with_a_level", |python| {
        let source = "
import logging
from stead import logs
logs.install()
logs.install()
def work():
    logger = logging.getLogger('shop.search')
    print('before')
    logger.debug('not this')
    try:
        1 / 0
    except ZeroDivisionError:
        logger.exception('failed for \u{fc}')
    print('no end', end='')
    logger.info('x' * 3500)
    print('after')
";
        for mut interpreter in both(python) {
            load(&mut *interpreter, source);
            call(&mut *interpreter, "work", vec![]);
            while interpreter.output().len() < 6 {
                std::thread::yield_now();
            }
            let lines: Vec<String> =
                interpreter.output().into_iter().map(|line| line.text).collect();
            let [before, failed, open, long, rest, after] = lines.as_slice() else { panic!() };
            assert_eq!([before, open, after], ["before", "no end", "after"]);
            assert!(
                failed.starts_with("ERROR shop.search: failed for \u{fc}\nTraceback"),
                "{failed}"
            );
            assert!(failed.ends_with("\nZeroDivisionError: division by zero"), "{failed}");
            assert_eq!(long.len() + rest.len(), 3500 + 2 * "INFO shop.search: ".len());
        }
    });
}

#[test]
fn modules_that_fail_are_not_there() {
    on_every_worker("modules_that_fail_are_not_there", |python| {
        for mut interpreter in both(python) {
            let mut load = |name: &str, source: &str| {
                let module = ModuleSource { name: name.into(), source: source.into() };
                interpreter.load(&module, Deadline::NEVER).map_err(|e| e.to_string())
            };
            assert_eq!(
                load("net", "value = 1\nraise OSError('half')"),
                Err("OSError: half".into())
            );
            assert_eq!(
                load("user", "import net"),
                Err("ModuleNotFoundError: No module named 'net'".into())
            );
            assert_eq!(load("net", "def get(): return 1"), Ok(()));
            assert_eq!(load("user", "import net\ndef get(): return net.get()"), Ok(()));
            assert_eq!(
                load("net", "def broken(:"),
                Err("SyntaxError: invalid syntax (<net>, line 1)".into())
            );
            let text = "ImportError: a module named json is imported already; choose another name";
            assert_eq!(load("json_user", "import json"), Ok(()));
            assert_eq!(load("json", ""), Err(text.into()));
            let get = |name: &str| Call::new(name, "get", vec![]);
            assert_eq!(interpreter.call(get("user"), Deadline::NEVER), Ok(1.into()));
            assert_eq!(interpreter.call(get("net"), Deadline::NEVER), Ok(1.into()), "the old one");
        }
    });
}

const ARRAYS: &str = "
import numpy
kept = numpy.arange(5000.0)

def describe(x):
    try:
        x[...] = 0
        written = True
    except ValueError:
        written = False
    return [x.dtype.name, list(x.shape), x.tolist(), written, x.flags.aligned]

def fresh(n): return numpy.arange(float(n)).reshape(-1, 2)
def owned(n): return numpy.arange(float(n))
def shared(): return kept
def part(): return kept[:4000]
def strided(n): return numpy.arange(n)[::-2]
def transposed(): return numpy.arange(6).reshape(2, 3).T
def scalar(): return [numpy.float32(2.5), numpy.float64(2.5), numpy.bool_(True)]
def big_endian(): return numpy.arange(3, dtype='>i4')
def objects(): return {'x': numpy.array([None])}
def several(n): return {'a': [numpy.ones(n), numpy.ones(n)], 'b': numpy.zeros((0, 3))}
def rank(n): return numpy.zeros((1,) * n)
def address(x): return x.__array_interface__['data'][0]
def keep(x):
    global held
    held = x
def kept_sum(): return float(held.sum())
def drop():
    global held
    held = None
def same(x): return x
";

#[test]
fn arrays_pass_in_every_type_and_layout() {
    on_every_numpy("arrays_pass_in_every_type_and_layout", |python| {
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let mode = of.mode();
            load(of, ARRAYS);
            let types = [
                (DType::F32, "float32"),
                (DType::F64, "float64"),
                (DType::F16, "float16"),
                (DType::I8, "int8"),
                (DType::I16, "int16"),
                (DType::I32, "int32"),
                (DType::I64, "int64"),
                (DType::U8, "uint8"),
                (DType::U16, "uint16"),
                (DType::U32, "uint32"),
                (DType::U64, "uint64"),
                (DType::Bool, "bool"),
            ];
            for (dtype, name) in types {
                for dims in [&[][..], &[3], &[2, 3], &[0, 2], &[300, 100]] {
                    let tensor = Tensor::zeros(dtype, Shape::new(dims).unwrap()).unwrap();
                    let Value::List(parts) = call(of, "describe", vec![tensor.clone().into()])
                    else {
                        panic!()
                    };
                    let shape = list(dims.iter().map(|&dim| dim as i64));
                    assert_eq!(parts[..2], [name.into(), shape], "{mode:?}");
                    assert_eq!(parts[3..], [false.into(), true.into()], "{mode:?} {name} {dims:?}");
                    assert_eq!(
                        call(of, "same", vec![tensor.clone().into()]),
                        tensor.into(),
                        "{mode:?}"
                    );
                }
            }
            let values: Vec<f64> = (0..20_000).map(f64::from).collect();
            let expected: Value = Tensor::from_slice(&values, &[10_000, 2]).unwrap().into();
            assert_eq!(call(of, "fresh", vec![20_000.into()]), expected);
            let shared: Value = Tensor::from_slice(&values[..5000], &[5000]).unwrap().into();
            assert_eq!(call(of, "shared", vec![]), shared);
            let strided = Tensor::from_slice(&[5i64, 3, 1], &[3]).unwrap();
            assert_eq!(call(of, "strided", vec![6.into()]), strided.into());
            let transposed = Tensor::from_slice(&[0i64, 3, 1, 4, 2, 5], &[3, 2]).unwrap();
            assert_eq!(call(of, "transposed", vec![]), transposed.into());
            let scalars = vec![
                Tensor::scalar(2.5f32).unwrap().into(),
                2.5.into(),
                Tensor::scalar(stead_tensor::Bool(1)).unwrap().into(),
            ];
            assert_eq!(call(of, "scalar", vec![]), scalars.into());
            let ones: Value = Tensor::from_slice(&[1f64; 30_000], &[30_000]).unwrap().into();
            let none = Tensor::zeros(DType::F64, Shape::new(&[0, 3]).unwrap()).unwrap();
            let several = vec![
                ("a".to_owned(), vec![ones.clone(), ones].into()),
                ("b".to_owned(), none.into()),
            ];
            assert_eq!(call(of, "several", vec![30_000.into()]), Value::Dict(several));
            for (name, arguments, part) in [
                ("big_endian", vec![], "big-endian"),
                ("objects", vec![], "the result[\"x\"]: an array of elements \"O\""),
                ("rank", vec![9.into()], "the result: rank 9 is above the limit of 8"),
            ] {
                let error = of.call(Call::new("m", name, arguments), Deadline::NEVER);
                let Err(CallError::Returned(text)) = error else { panic!("{mode:?} {error:?}") };
                assert!(text.contains(part), "{mode:?} {text}");
            }
        }
    });
}

#[test]
fn arrays_in_process_lie_where_tensors_lie() {
    on_every_numpy("arrays_in_process_lie_where_tensors_lie", |python| {
        let start = || InProcess::start(python, &StartOptions::default()).unwrap();
        let (mut first, mut second) = (start(), start());
        load(&mut first, ARRAYS);
        load(&mut second, ARRAYS);
        let tensor = Tensor::from_slice(&vec![1f32; 100_000], &[100_000]).unwrap();
        let address = Value::Int(tensor.bytes().as_ptr() as i64);
        for of in [&mut first, &mut second] {
            assert_eq!(call(of, "address", vec![tensor.clone().into()]), address);
            call(of, "keep", vec![tensor.clone().into()]);
        }
        // The arrays hold the memory.
        drop(tensor);
        for of in [&mut first, &mut second] {
            assert_eq!(call(of, "kept_sum", vec![]), 100_000.0.into());
            call(of, "drop", vec![]);
        }
        // An array that nobody else has is read in place, also by the other interpreter; it stays when its own
        // interpreter has gone on.
        let Value::Tensor(fresh) = call(&mut first, "fresh", vec![20_000.into()]) else { panic!() };
        assert!(fresh.is_shared(), "read in place");
        let address = Value::Int(fresh.bytes().as_ptr() as i64);
        assert_eq!(call(&mut second, "address", vec![fresh.clone().into()]), address);
        let Value::Tensor(again) = call(&mut first, "fresh", vec![20_000.into()]) else { panic!() };
        assert_ne!(again.bytes().as_ptr(), fresh.bytes().as_ptr());
        drop(again);
        drop(first);
        assert_eq!(fresh.as_slice::<f64>().unwrap()[19_999], 19_999.0);
        // One that the module still has is copied: it may write to it.
        for (name, arguments, in_place) in [
            ("owned", vec![5000.into()], true),
            ("shared", vec![], false),
            ("part", vec![], false),
            ("owned", vec![5.into()], false),
        ] {
            let Value::Tensor(found) = call(&mut second, name, arguments) else { panic!() };
            assert_eq!(found.is_shared(), in_place, "{name}");
        }
    });
}

/// The memory of a tensor is given back when the last array over it is gone, and not before.
#[test]
fn tensors_are_given_back() {
    use std::sync::Arc;
    use stead_tensor::{AlignedBuf, SharedBytes};
    on_every_python("tensors_are_given_back", &[], |python| {
        let mut interpreter = InProcess::start(python, &StartOptions::default()).unwrap();
        load(&mut interpreter, "held = []\ndef hold(x): held.append(x)\ndef drop(): held.clear()");
        let owner = Arc::new(AlignedBuf::zeroed(4096).unwrap());
        let bytes = SharedBytes::new(owner.clone(), 0..4096).unwrap();
        let tensor = Tensor::from_shared(DType::U8, Shape::new(&[4096]).unwrap(), bytes).unwrap();
        for _ in 0..10 {
            call(&mut interpreter, "hold", vec![tensor.clone().into()]);
        }
        assert_eq!(Arc::strong_count(&owner), 12, "ours, the tensor's and ten buffers'");
        call(&mut interpreter, "drop", vec![]);
        assert_eq!(Arc::strong_count(&owner), 2);
    });
}

#[test]
fn without_numpy_arrays_are_views() {
    without_numpy("without_numpy_arrays_are_views", |python| {
        for mut interpreter in both(python) {
            let mode = interpreter.mode();
            load(
                &mut *interpreter,
                "def f(x): return [x.format, list(x.shape), x.readonly, x.tolist()]",
            );
            let tensor = Tensor::from_slice(&[1f32, 2.0], &[2, 1]).unwrap();
            let expected =
                vec!["f".into(), list([2, 1]), true.into(), vec![list([1.0]), list([2.0])].into()];
            assert_eq!(
                call(&mut *interpreter, "f", vec![tensor.into()]),
                expected.into(),
                "{mode:?}"
            );
            let empty = Tensor::zeros(DType::F32, Shape::new(&[0]).unwrap()).unwrap();
            let error = interpreter.call(Call::new("m", "f", vec![empty.into()]), Deadline::NEVER);
            assert!(error.unwrap_err().to_string().contains("needs numpy"), "{mode:?}");
        }
    });
}

/// Which modes there are is not left to chance: a Python that can run in process does.
#[test]
fn both_modes_are_there() {
    on_every_python("both_modes_are_there", &[], |python| {
        let modes: Vec<Mode> = both(python).iter().map(|interpreter| interpreter.mode()).collect();
        assert_eq!(modes, [Mode::Worker, Mode::InProcess]);
    });
}
