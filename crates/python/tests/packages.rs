//! Packages of `stead_package` in interpreters, which have its importer from stead.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{both, exported, on_every_numpy, on_every_worker};
use stead_python::{
    Call, CallError, Choice, Component, ComponentKind, Deadline, Host, HostCall, Interpreter,
    InterpreterManager, ManagerOptions, Mode, PackageFile, PackageSource, Value, call_components,
};
use stead_tensor::Tensor;

fn package(folder: &Path, name: &str) -> PackageFile {
    PackageFile { name: name.to_owned(), path: folder.join(format!("{name}.pkg")) }
}

fn ask(of: &mut dyn Interpreter, package: &str, name: &str) -> Result<Value, CallError> {
    of.call(Call::new("net", name, vec![]).of_package(package), Deadline::NEVER)
}

const TWO: &str = r#"
from stead_package import PackageExporter
for name, factor in (("one", 1), ("ten", 10)):
    with PackageExporter(f"{name}.pkg") as e:
        e.save_source_string("net", f"""
import helper
def run(): return helper.factor * 7
def name(): return __name__
def fail(): raise ValueError(helper.factor)
def endless():
    while True: pass
""")
        e.save_source_string("helper", f"factor = {factor}")
with open("broken.pkg", "wb") as file:
    file.write(open("one.pkg", "rb").read()[:-40])
"#;

/// Two packages with modules of the same names in one interpreter, without the library installed there.
#[test]
fn packages_with_modules_of_the_same_names_live_in_one_interpreter() {
    let name = "packages_with_modules_of_the_same_names_live_in_one_interpreter";
    on_every_worker(name, |python| {
        let folder = exported(python, TWO);
        for mut interpreter in both(python) {
            let of = &mut *interpreter;
            let mode = of.mode();
            for name in ["one", "ten"] {
                of.open(&package(&folder, name), Deadline::NEVER).unwrap();
            }
            assert_eq!(ask(of, "one", "run"), Ok(7.into()), "{mode:?}");
            assert_eq!(ask(of, "ten", "run"), Ok(70.into()), "{mode:?}");
            assert_ne!(ask(of, "one", "name"), ask(of, "ten", "name"), "{mode:?}");
            let bare = of.call(Call::new("net", "run", vec![]), Deadline::NEVER);
            let Err(CallError::Raised(error)) = bare else { panic!("{bare:?}") };
            assert_eq!(error.kind, "ModuleNotFoundError", "nothing of a package is outside of it");
            let Err(CallError::Raised(error)) = ask(of, "ten", "fail") else { panic!() };
            assert_eq!((error.kind.as_str(), error.message.as_str()), ("ValueError", "10"));
            assert!(
                error.traceback.contains("raise ValueError(helper.factor)"),
                "{}",
                error.traceback
            );
            let Err(CallError::Raised(error)) = ask(of, "none", "run") else { panic!() };
            assert_eq!(error.message, "no package none is open");
            let broken = of.open(&package(&folder, "broken"), Deadline::NEVER);
            let Err(CallError::Raised(error)) = broken else { panic!("{broken:?}") };
            assert_eq!(error.kind, "stead_package.errors.ArchiveError", "{}", error.traceback);
            // What is replaced after a deadline has its packages again; the others are still there.
            let soon = Deadline::after(Duration::from_millis(100));
            let endless = Call::new("net", "endless", vec![]).of_package("one");
            assert_eq!(of.call(endless, soon), Err(CallError::TimedOut), "{mode:?}");
            assert_eq!(ask(of, "ten", "run"), Ok(70.into()), "{mode:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

const COMPONENT: &str = r#"
from stead_package import PackageExporter
with PackageExporter("component.pkg") as e:
    e.save_source_string("shop", "", is_package=True)
    e.save_source_string("shop.web", """
import stead
class Web(stead.RequestHandler):
    def __init__(self, models: stead.Models):
        self.opened = [models.open("encoder.onnx"), stead.models.open("encoder.onnx"), models.open("files/root.onnx")]
    def handle(self, request):
        return stead.Response([evaluator.model for evaluator in self.opened])
""")
    e.save_binary("shop", "encoder.onnx", b"onnx" * 2000)
    e.save_binary("files", "root.onnx", b"other")
"#;

/// `stead` is there in packages, and models that lie in them are sent to stead once, whichever interpreter opens them.
#[test]
fn components_in_packages_open_the_models_beside_them() {
    on_every_worker("components_in_packages_open_the_models_beside_them", |python| {
        let folder = exported(python, COMPONENT);
        let sent: Arc<Mutex<BTreeMap<String, Vec<u8>>>> = Arc::default();
        let known = sent.clone();
        let host: Arc<dyn Host> = Arc::new(move |call: HostCall| {
            assert_eq!(call.name, "models.open");
            let [Value::Str(digest), bytes] = call.arguments.as_slice() else { panic!("{call:?}") };
            let mut known = known.lock().unwrap();
            match bytes {
                Value::Tensor(bytes) => {
                    assert_eq!(known.insert(digest.clone(), bytes.bytes().to_vec()), None);
                }
                _ if !known.contains_key(digest) => return Ok(Value::None),
                _ => {}
            }
            Ok(digest.as_str().into())
        });
        for mode in [Mode::Worker, Mode::InProcess] {
            let options = ManagerOptions { interpreters: 1, ..ManagerOptions::default() };
            let choice = Choice { mode, reason: None };
            if mode == Mode::InProcess && python.library.is_err() {
                continue;
            }
            let manager = InterpreterManager::new(python.clone(), choice, options);
            manager.register("shop", PackageSource::File(folder.join("component.pkg")));
            let mut session = manager.acquire("shop", Deadline::NEVER).unwrap();
            let web = [Arc::new(Component {
                id: "web".into(),
                generation: 1,
                kind: ComponentKind::Handler,
                package: Some("shop".into()),
                module: "shop.web".into(),
                class: "Web".into(),
                settings: Value::Dict(Vec::new()),
                context: Value::Dict(Vec::new()),
            })];
            let request = ["method", "path"].map(|name| (name.to_owned(), "x".into()));
            let request = Value::Dict(request.into());
            let host = host.clone();
            let answer =
                call_components(&mut session, &web, "handle", request, host, Deadline::NEVER);
            let Ok(Value::Dict(answer)) = answer else { panic!("{mode:?} {answer:?}") };
            let (_, Value::Bytes(body)) = &answer[2] else { panic!("{answer:?}") };
            let sent = sent.lock().unwrap();
            let digests: Vec<&String> = sent.keys().collect();
            assert_eq!(sent.values().map(Vec::len).sum::<usize>(), 8005);
            let body = String::from_utf8(body.clone()).unwrap();
            assert!(digests.iter().all(|digest| body.contains(*digest)), "{body}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}

const WEIGHTS: &str = r#"
import numpy
from stead_package import PackageExporter
with PackageExporter("model.pkg") as e:
    e.save_pickle("model", "weights.pkl", {"w": numpy.arange(100000, dtype="float32").reshape(1000, 100)})
    e.save_source_string("net", """
import stead_package_importer
weights = stead_package_importer.load_pickle("model", "weights.pkl")
def score(x): return x @ weights["w"]
""")
    e.extern("numpy.**")
"#;

#[test]
fn a_manager_serves_a_package_with_weights() {
    on_every_numpy("a_manager_serves_a_package_with_weights", |python| {
        let folder = exported(python, WEIGHTS);
        let path = folder.join("model.pkg");
        for mode in [Mode::InProcess, Mode::Worker] {
            let choice = Choice { mode, reason: None };
            let options = ManagerOptions { interpreters: 2, ..ManagerOptions::default() };
            let manager = InterpreterManager::new(python.clone(), choice, options);
            manager.register("model", PackageSource::File(path.clone()));
            let mut sessions = [0, 1].map(|_| manager.acquire("model", Deadline::NEVER).unwrap());
            for session in &mut sessions {
                assert_eq!(session.mode(), Some(mode));
                let mut x = vec![0f32; 1000];
                x[3] = 2.0;
                let x = Tensor::from_slice(&x, &[1000]).unwrap();
                let score = Call::new("net", "score", vec![x.into()]).of_package("model");
                let found = session.call(score, Deadline::NEVER).unwrap();
                let expected: Vec<f32> = (300..400).map(|w| 2.0 * w as f32).collect();
                assert_eq!(found, Tensor::from_slice(&expected, &[100]).unwrap().into());
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}
