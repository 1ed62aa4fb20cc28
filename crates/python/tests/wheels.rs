//! Wheels with C code in six interpreters at once, from the first import on.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

mod common;

use std::path::PathBuf;
use std::process::Command;
use std::sync::Barrier;

use common::on_python;
use stead_python::{
    Call, Choice, Deadline, Installation, InterpreterManager, Isolation, ManagerOptions, Mode,
    ModuleSource, PackageSource, StartOptions, Value,
};

const INTERPRETERS: usize = 6;

/// The environment of `cargo xtask test data` that has them.
const ENVIRONMENT: &str = "py/trees";

const SOURCE: &str = "
import numpy, scipy.linalg, scipy.sparse, pandas, sklearn.ensemble, sklearn.linear_model, onnxruntime

def work(seed, model):
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((200, 6))
    y = x @ numpy.arange(6.0) + random.standard_normal(200)
    found = {}
    found['numpy'] = numpy.linalg.svd(x, compute_uv=False)
    found['scipy'] = scipy.linalg.solve(x.T @ x, x.T @ y)
    found['sparse'] = scipy.sparse.csr_matrix(x > 1).T @ y
    frame = pandas.DataFrame({'key': numpy.arange(200) % 7, 'value': y})
    found['pandas'] = frame.groupby('key')['value'].agg(['mean', 'std']).to_numpy()
    found['ridge'] = sklearn.linear_model.Ridge().fit(x, y).coef_
    forest = sklearn.ensemble.RandomForestRegressor(20, random_state=seed, n_jobs=2).fit(x, y)
    found['forest'] = forest.predict(x[:10])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    name = session.get_inputs()[0].name
    found['onnxruntime'] = session.run(None, {name: x[:, :4].astype('float32')})[0]
    return {key: numpy.ascontiguousarray(value) for key, value in found.items()}
";

fn manager(python: &Installation, isolation: Isolation) -> InterpreterManager {
    let one = |name: &str| (name.to_owned(), "1".to_owned());
    let variables = vec![one("OPENBLAS_NUM_THREADS"), one("OMP_NUM_THREADS")];
    let start = StartOptions { variables, ..StartOptions::default() };
    let options =
        ManagerOptions { interpreters: INTERPRETERS, isolation, start, ..Default::default() };
    let choice = Choice { mode: Mode::InProcess, reason: None };
    let manager = InterpreterManager::new(python.clone(), choice, options);
    let module = ModuleSource { name: "wheels".into(), source: SOURCE.into() };
    manager.register("wheels", PackageSource::Modules(vec![module]));
    manager
}

fn work(manager: &InterpreterManager, seed: i64) -> (Option<Mode>, Value) {
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/quickstart/models/ranker/1/model.onnx"
    );
    let mut session = manager.acquire("wheels", Deadline::NEVER).unwrap();
    let call = Call::new("wheels", "work", vec![seed.into(), model.into()]);
    (session.mode(), session.call(call, Deadline::NEVER).unwrap())
}

/// Sums are added in another order where arrays lie at other places.
fn compare(found: &Value, expected: &Value, label: &str) {
    let (Value::Dict(found), Value::Dict(expected)) = (found, expected) else { panic!("{label}") };
    assert_eq!(found.len(), expected.len());
    for ((name, found), (other, expected)) in found.iter().zip(expected) {
        let (found, expected) = (numbers(found), numbers(expected));
        assert_eq!((name, found.len()), (other, expected.len()), "{label}");
        assert!(!found.is_empty(), "{label}: {name}");
        for (a, b) in found.iter().zip(&expected) {
            let limit = if name == "onnxruntime" { 1e-5 } else { 1e-9 };
            assert!((a - b).abs() <= limit * b.abs().max(1.0), "{label}: {name}: {a} {b}");
        }
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    let Value::Tensor(tensor) = value else { panic!("{value:?}") };
    match tensor.as_slice::<f64>() {
        Ok(values) => values.to_vec(),
        Err(_) => tensor.as_slice::<f32>().unwrap().iter().map(|&v| v.into()).collect(),
    }
}

#[test]
fn wheels_run_in_six_interpreters_at_once() {
    let data = std::env::var_os("STEAD_TEST_DATA").map(PathBuf::from).unwrap_or_default();
    let python = Installation::of(&data.join(ENVIRONMENT));
    let Ok(python) = python else {
        println!("skipped: STEAD_TEST_DATA has no {ENVIRONMENT} (cargo xtask test data makes it)");
        return;
    };
    if let Err(reason) = &python.library {
        println!("skipped: the Python of {ENVIRONMENT} cannot run in process: {reason}");
        return;
    }
    let imports = ["-I", "-c", "import numpy, scipy, pandas, sklearn, onnxruntime"];
    let imported = Command::new(&python.executable).args(imports).output().unwrap();
    if !imported.status.success() {
        let text = String::from_utf8_lossy(&imported.stderr);
        println!("skipped: {ENVIRONMENT}: {}", text.trim().lines().last().unwrap_or_default());
        return;
    }
    // Room for libraries with thread-local memory of their own, as `stead serve` has it.
    let room = [("GLIBC_TUNABLES", "glibc.rtld.nns=16")];
    on_python("wheels_run_in_six_interpreters_at_once", &room, python, |python| {
        let expected = |seed| work(&manager(python, Isolation::Process), seed).1;
        let expected: Vec<Value> = (0..INTERPRETERS as i64).map(expected).collect();
        let manager = manager(python, Isolation::InProcess);
        let begin = Barrier::new(INTERPRETERS);
        std::thread::scope(|scope| {
            for (seed, expected) in expected.iter().enumerate() {
                let (manager, begin) = (&manager, &begin);
                scope.spawn(move || {
                    // The first round starts interpreters and imports everything, all at once.
                    begin.wait();
                    for round in 0..3 {
                        let (mode, found) = work(manager, seed as i64);
                        assert_eq!(mode, Some(Mode::InProcess));
                        compare(&found, expected, &format!("seed {seed}, round {round}"));
                    }
                });
            }
        });
        assert_eq!(manager.counts().in_process, INTERPRETERS);
    });
}
