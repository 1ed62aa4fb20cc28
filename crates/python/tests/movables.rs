//! Objects that move between interpreters, and those that stay with their session.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::time::Duration;

use common::{exported, managers, on_every_numpy};
use stead_python::{
    AcquireError, CallError, Deadline, InterpreterSession, Mode, MovableObject, ObjectError, Value,
};
use stead_tensor::Tensor;

const NEVER: Deadline = Deadline::NEVER;

const PACKAGE: &str = r#"
import numpy
from stead_package import PackageExporter
with PackageExporter("shop.pkg") as e:
    e.extern(["numpy", "sys"])
    e.save_source_string("net", """
import os, signal, sys, weakref
import numpy

alive, loads = weakref.WeakSet(), 0

class Model:
    def __init__(self, weights):
        self.weights = weights
        alive.add(self)

    def __setstate__(self, state):
        global loads
        loads += 1
        self.__init__(state["weights"])

    def __call__(self, x, bias=0):
        return x @ self.weights + bias

    def memory(self):
        return place(self.weights.ctypes.data) + [self.weights.flags.writeable]

def place(address):
    "Address, rights, inode and file of the map in which an address lies."
    for line in open("/proc/self/maps"):
        span, rights, _, _, inode, *name = line.split(None, 5)
        start, end = (int(part, 16) for part in span.split("-"))
        if start <= address < end:
            return [address, rights, int(inode), name[0].strip() if name else ""]

def make(factor): return Model(numpy.full((1000, 100), factor, "float32"))
def of(weights): return Model(weights)
def counts(): return [loads, len(alive)]
def pid(): return os.getpid()
def die(): os.kill(os.getpid(), signal.SIGKILL)
def packages(): return len({name.partition(".")[0] for name in list(sys.modules) if name.startswith("<stead_package_")})
def unpicklable(): return [lambda: 1]
async def later(x): return [x, 1]
def fail(): raise KeyError("of the package")
def endless(x):
    while x: pass
    return "ended"
nothing = None
""")
    e.save_pickle("data", "weights.pkl", numpy.arange(100000, dtype="float32").reshape(1000, 100))
"#;

fn ask(session: &InterpreterSession, name: &str) -> Value {
    session.global("net", name).unwrap().call([]).unwrap().value().unwrap()
}

fn made(session: &InterpreterSession, factor: f64) -> MovableObject {
    let model = session.global("net", "make").unwrap().call([factor.into()]).unwrap();
    session.create_movable(&model).unwrap()
}

fn ones() -> Value {
    Tensor::from_slice(&[1f32; 1000], &[1000]).unwrap().into()
}

fn all(value: f32) -> Value {
    Tensor::from_slice(&[value; 100], &[100]).unwrap().into()
}

#[test]
fn a_movable_object_is_loaded_once_where_it_is_used_and_dropped_everywhere() {
    let name = "a_movable_object_is_loaded_once_where_it_is_used_and_dropped_everywhere";
    on_every_numpy(name, |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 3) {
            let package = manager.load_package("shop", &folder.join("shop.pkg"), NEVER).unwrap();
            let sessions = || [0; 3].map(|_| package.acquire_session(NEVER).unwrap());
            let counts = || sessions().map(|session| ask(&session, "counts"));
            let model = made(&package.acquire_session(NEVER).unwrap(), 2.0);
            let nowhere: Value = vec![0.into(), 0.into()].into();
            assert_eq!(counts(), [0; 3].map(|_| nowhere.clone()), "{mode:?}: pickled, not loaded");
            std::thread::scope(|scope| {
                for thread in 0..16 {
                    let model = &model;
                    scope.spawn(move || {
                        for i in 0..20 {
                            let bias = thread as f32 * 100.0 + i as f32;
                            let keywords = [("bias".to_owned(), f64::from(bias).into())];
                            let found = model.call_with([ones()], keywords, NEVER);
                            assert_eq!(found, Ok(all(2000.0 + bias)), "{mode:?}");
                        }
                    });
                }
            });
            drop([0; 3].map(|_| model.acquire_session(NEVER).unwrap()));
            let once: Value = vec![1.into(), 1.into()].into();
            assert_eq!(
                counts(),
                [0; 3].map(|_| once.clone()),
                "{mode:?}: by each interpreter once"
            );
            let again = model.clone();
            drop(model);
            assert_eq!(counts(), [0; 3].map(|_| once.clone()), "{mode:?}");
            drop(again);
            let gone: Value = vec![1.into(), 0.into()].into();
            assert_eq!(counts(), [0; 3].map(|_| gone.clone()), "{mode:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

/// The same memory in all interpreters, which cannot be written to: that of the object where it has its own, and the
/// package's file where it lies there.
#[test]
fn arrays_of_movable_objects_are_in_memory_once() {
    on_every_numpy("arrays_of_movable_objects_are_in_memory_once", |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 3) {
            let path = folder.join("shop.pkg");
            let package = manager.load_package("shop", &path, NEVER).unwrap();
            let session = package.acquire_session(NEVER).unwrap();
            let own = made(&session, 3.0);
            let load = session.this().unwrap().attr("load_pickle").unwrap();
            let weights = load.call(["data".into(), "weights.pkl".into()]).unwrap();
            let model = session.global("net", "of").unwrap().call([(&weights).into()]).unwrap();
            let packaged = session.create_movable(&model).unwrap();
            drop((model, weights, load));
            drop(session);
            let places = |of: &MovableObject| {
                let sessions = [0; 3].map(|_| of.acquire_session(NEVER).unwrap());
                sessions.map(|session| {
                    let memory = session.this().unwrap().attr("memory").unwrap();
                    let Value::List(place) = memory.call([]).unwrap().value().unwrap() else {
                        panic!()
                    };
                    <[Value; 5]>::try_from(place).unwrap()
                })
            };
            let [first, others @ ..] = places(&own);
            for [address, rights, inode, file, is_writable] in [&first].into_iter().chain(&others) {
                assert_eq!((inode, file), (&first[2], &"/memfd:stead-tensors (deleted)".into()));
                assert_eq!((rights, is_writable), (&"r--s".into(), &false.into()), "{mode:?}");
                assert!(mode == Mode::Worker || *address == first[0], "in process it is one map");
            }
            for [_, _, _, file, is_writable] in places(&packaged) {
                assert_eq!(file, path.to_str().unwrap().into(), "{mode:?}");
                assert_eq!(is_writable, false.into());
            }
            let mut third = vec![0f32; 1000];
            third[3] = 1.0;
            let third: Value = Tensor::from_slice(&third, &[1000]).unwrap().into();
            let row: Vec<f32> = (300..400).map(|i| i as f32).collect();
            let row: Value = Tensor::from_slice(&row, &[100]).unwrap().into();
            assert_eq!(packaged.call([third], NEVER), Ok(row));
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[test]
fn objects_of_another_session_are_refused() {
    on_every_numpy("objects_of_another_session_are_refused", |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 2) {
            let package = manager.load_package("shop", &folder.join("shop.pkg"), NEVER).unwrap();
            let (one, other) =
                (package.acquire_session(NEVER).unwrap(), package.acquire_session(NEVER).unwrap());
            let model = one.global("net", "make").unwrap().call([1.0.into()]).unwrap();
            let of = other.global("net", "of").unwrap();
            assert_eq!(of.call([(&model).into()]).err(), Some(CallError::Foreign), "{mode:?}");
            assert_eq!(other.create_movable(&model).err(), Some(CallError::Foreign), "{mode:?}");
            // Its own are its own, by position and by name.
            let of = one.global("net", "of").unwrap();
            assert!(of.call([(&model).into()]).is_ok());
            assert!(of.call_with([], [("weights", (&model).into())]).is_ok());
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[test]
fn sessions_give_values_objects_and_errors() {
    on_every_numpy("sessions_give_values_objects_and_errors", |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 1) {
            let missing = manager.load_package("none", &folder.join("none.pkg"), NEVER).err();
            let Some(AcquireError::Load { package, error: CallError::Raised(error) }) = missing
            else {
                panic!("{missing:?}")
            };
            assert_eq!((package.as_str(), error.kind.as_str()), ("none", "FileNotFoundError"));

            let package = manager.load_package("shop", &folder.join("shop.pkg"), NEVER).unwrap();
            let missing = package.load_pickle("data", "none.pkl", NEVER).err();
            let Some(ObjectError::Call(CallError::Raised(error))) = missing else {
                panic!("{missing:?}")
            };
            assert_eq!(error.kind, "stead_package.errors.ResourceNotFoundError");
            let weights = package.load_pickle("data", "weights.pkl", NEVER).unwrap();
            let refused = weights.call([], NEVER).err();
            let Some(ObjectError::Call(CallError::Raised(error))) = refused else { panic!() };
            assert_eq!(error.message, "'numpy.ndarray' object is not callable", "{mode:?}");

            let session = package.acquire_session(NEVER).unwrap();
            assert_eq!(session.mode(), Some(mode));
            let global = |name: &str| session.global("net", name).unwrap();
            let later = global("later").call([1.5.into()]).unwrap().value();
            assert_eq!(later, Ok(vec![1.5.into(), 1.into()].into()), "{mode:?}");
            assert_eq!(global("nothing").value(), Ok(Value::None));
            let value = global("make").value();
            let Err(CallError::Returned(text)) = value else { panic!("{value:?}") };
            assert!(text.contains("of type function"), "{text}");
            let raised = |found: Result<_, CallError>, kind: &str, text: &str| {
                let Err(CallError::Raised(error)) = found else { panic!("{kind}") };
                assert!(error.kind.ends_with(kind), "{}", error.kind);
                assert!(error.message.contains(text), "{}", error.message);
            };
            raised(global("fail").call([]).map(drop), "KeyError", "of the package");
            raised(global("fail").attr("none").map(drop), "AttributeError", "none");
            raised(session.global("net", "none").map(drop), "AttributeError", "none");
            raised(session.global("elsewhere", "x").map(drop), "ModuleNotFoundError", "elsewhere");
            let unpicklable = global("unpicklable").call([]).unwrap();
            raised(session.create_movable(&unpicklable).map(drop), "PicklingError", "<lambda>");
            // None can be moved too.
            let nothing = session.create_movable(&global("nothing")).unwrap();
            drop(unpicklable);
            drop(session);
            let session = nothing.acquire_session(NEVER).unwrap();
            assert_eq!(session.this().unwrap().value(), Ok(Value::None));
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

/// What a worker had is gone with it, and an error; movable objects are loaded by its successor.
#[test]
fn objects_of_a_process_that_ended_are_gone_and_movable_ones_come_back() {
    let name = "objects_of_a_process_that_ended_are_gone_and_movable_ones_come_back";
    on_every_numpy(name, |python| {
        let folder = exported(python, PACKAGE);
        let Some((_, manager)) = managers(python, 1).find(|(mode, _)| *mode == Mode::Worker) else {
            panic!()
        };
        let package = manager.load_package("shop", &folder.join("shop.pkg"), NEVER).unwrap();
        let model = made(&package.acquire_session(NEVER).unwrap(), 2.0);
        let session = model.acquire_session(NEVER).unwrap();
        let (this, die) = (session.this().unwrap(), session.global("net", "die").unwrap());
        let died = die.call([]).map(drop);
        assert!(matches!(died, Err(CallError::Died(_))), "{died:?}");
        assert_eq!(this.call([ones().into()]).err(), Some(CallError::Gone));
        assert_eq!(session.this().unwrap().call([ones().into()]).unwrap().value(), Ok(all(2000.0)));
        drop((this, die));
        drop(session);
        assert_eq!(model.call([ones()], NEVER), Ok(all(2000.0)));
        // The same where a deadline replaced it.
        let session = package.acquire_session(NEVER).unwrap();
        let endless = session.create_movable(&session.global("net", "endless").unwrap()).unwrap();
        drop(session);
        let soon = Deadline::after(Duration::from_millis(300));
        let late = endless.call([true.into()], soon).err();
        assert_eq!(late, Some(ObjectError::Call(CallError::TimedOut)));
        assert_eq!(endless.call([false.into()], NEVER), Ok("ended".into()));
        assert_eq!(model.call([ones()], NEVER), Ok(all(2000.0)));
        std::fs::remove_dir_all(folder).unwrap();
    });
}

/// A new version stands beside the old one, which goes with the last who has it.
#[test]
fn versions_of_a_package_stand_beside_each_other() {
    on_every_numpy("versions_of_a_package_stand_beside_each_other", |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 1) {
            let load = || manager.load_package("shop", &folder.join("shop.pkg"), NEVER).unwrap();
            let packages =
                |of: &stead_python::Package| ask(&of.acquire_session(NEVER).unwrap(), "packages");
            let first = load();
            assert_eq!((first.name(), packages(&first)), ("shop", 1.into()));
            let model = made(&first.acquire_session(NEVER).unwrap(), 2.0);
            for round in 0..5 {
                let second = load();
                assert_eq!(second.name(), "shop#2", "{mode:?} {round}");
                assert_eq!(packages(&second), 2.into());
                assert_eq!(model.call([ones()], NEVER), Ok(all(2000.0)));
            }
            drop(first);
            assert_eq!(model.call([ones()], NEVER), Ok(all(2000.0)), "it keeps its package");
            drop(model);
            let second = load();
            assert_eq!((second.name(), packages(&second)), ("shop", 1.into()), "{mode:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

const fn is_shared_by_threads<T: Send + Sync>() {}
const _: () = is_shared_by_threads::<MovableObject>();
