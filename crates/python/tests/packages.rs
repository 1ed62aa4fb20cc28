//! Packages of `stead_package` in interpreters, which have its importer from stead.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{both, on_every_numpy, on_every_worker};
use stead_python::{
    Call, CallError, Choice, Deadline, Installation, Interpreter, InterpreterManager,
    ManagerOptions, Mode, PackageFile, PackageSource, Value,
};
use stead_tensor::Tensor;

/// Runs Python code that has the whole library, as somebody does who makes a package; gives the folder.
fn exported(python: &Installation, code: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("stead-packages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/stead_package/src");
    let output = Command::new(&python.executable)
        .args(["-c", code])
        .env("PYTHONPATH", library)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder
}

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
