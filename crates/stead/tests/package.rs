//! `stead package` as a user meets it.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a module `shop.net` and a recipe.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("shop/__init__.py", "");
    write("shop/prices.py", "import json\n\ndef price(n): return json.loads('2.5') * n\n");
    write(
        "shop/net.py",
        "
from . import prices

class Model:
    def __init__(self, factor): self.factor = factor
    def __call__(self, n): return {'price': prices.price(n) * self.factor}

def model(): return Model(3)
def score(n, discount=0):
    print('scoring', n)
    return prices.price(n) - discount
def fail(): raise KeyError('no such thing')
def raw(data): return data[::-1]
",
    );
    write("shop/plot.py", "import matplotlib.pyplot\n");
    write("words.txt", "a\nb\n");
    write(
        "shop.toml",
        r#"
rules = [{ intern = ["shop.**"] }, { extern = ["**"] }]
modules = ["shop.prices"]

[pickles]
"model/model.pkl" = "shop.net:model()"

[files]
"data/words.txt" = "words.txt"

[entry_points]
score = "shop.net:score"
model = "model/model.pkl"

[[examples]]
name = "two"
entry_point = "score"
inputs = { n = 2 }

[[examples]]
name = "of the model"
entry_point = "model"
inputs = [4]
"#,
    );
    folder
}

/// Runs the command in a folder; without a Python there is nothing to run.
fn stead(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
    command.arg("package").args(arguments).current_dir(folder).output().unwrap()
}

fn has_python() -> bool {
    let there = Command::new("python3").arg("--version").output().is_ok();
    if !there {
        println!("skipped: there is no python3");
    }
    there
}

fn good(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = stead(folder, arguments);
    let (out, err) = texts(&output);
    assert!(output.status.success(), "{arguments:?}: {out}{err}");
    (out, err)
}

fn bad(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = stead(folder, arguments);
    let (out, err) = texts(&output);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    err
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_package_of_targets_is_built_inspected_and_run() {
    if !has_python() {
        return;
    }
    let folder = folder();
    let path = folder.path();
    let (out, _) =
        good(path, &["build", "shop.net:score", "Model=shop.net:Model", "-o", "shop.pkg"]);
    assert!(out.contains("  shop.net\n  shop.prices\n"), "{out}");

    let (out, _) = good(path, &["inspect", "shop.pkg", "--json", "--verify"]);
    let found = parsed(&out);
    assert_eq!(found["modules"], json!(["shop.net", "shop.prices"]));
    assert_eq!((&found["verified"], &found["problems"]), (&json!(true), &json!([])));
    let names: Vec<&Value> =
        found["entry_points"].as_array().unwrap().iter().map(|entry| &entry["name"]).collect();
    assert_eq!(names, ["Model", "score"]);

    let (out, err) = good(path, &["run", "shop.pkg", "score", "--input", "4", "--json"]);
    assert_eq!((parsed(&out), err.as_str()), (json!(10.0), "scoring 4\n"));
    let (out, _) = good(path, &["run", "shop.pkg", "score", "--input", "n=4", "-i", "discount=1"]);
    assert_eq!(out, "9.0\n");
    let (out, _) =
        good(path, &["run", "shop.pkg", "shop.net:raw", "--input", "@words.txt", "-o", "sdrow"]);
    assert_eq!(
        (out.as_str(), std::fs::read(path.join("sdrow")).unwrap()),
        ("", b"\nb\na".to_vec())
    );

    let err = bad(path, &["run", "shop.pkg", "shop.net:fail"], 1);
    assert!(err.contains("KeyError: 'no such thing'") && err.contains("def fail()"), "{err}");
    let err = bad(path, &["run", "shop.pkg", "none"], 1);
    assert!(err.contains("has no entry point 'none'; it has ['Model', 'score']"), "{err}");
    let err = bad(path, &["run", "shop.pkg", "Model", "-i", "1"], 1);
    assert!(err.contains("the result is of type Model"), "{err}");
    let err = bad(path, &["run", "none.pkg", "score"], 1);
    assert_eq!(err, "error: none.pkg: there is no such file\n");
}

#[test]
fn examples_of_a_recipe_are_recorded_and_replayed_in_every_mode() {
    if !has_python() {
        return;
    }
    let folder = folder();
    let path = folder.path();
    let (out, _) = good(path, &["build", "--recipe", "shop.toml", "-o", "shop.pkg", "--json"]);
    let found = parsed(&out);
    assert_eq!(found["examples"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!(found["resources"][0], json!({"name": "data/words.txt", "size": 4}), "{found}");
    let (out, _) = good(path, &["run", "shop.pkg", "model", "-i", "2", "--json"]);
    assert_eq!(parsed(&out), json!({"price": 15.0}));

    let (out, _) = good(path, &["test", "shop.pkg", "--interpreters", "3", "--json"]);
    let lines: Vec<Value> = out.lines().map(parsed).collect();
    let (summary, runs) = lines.split_last().unwrap();
    let modes: &[&str] = match summary["not_in_process"].is_null() {
        true => &["in process", "worker process"],
        false => &["worker process"],
    };
    assert_eq!((&summary["runs"], &summary["failed"]), (&json!(6 * modes.len()), &json!(0)));
    for mode in modes {
        for interpreter in 0..3 {
            for example in ["two", "of the model"] {
                let is_it = |run: &&Value| {
                    run["mode"] == *mode
                        && run["interpreter"] == interpreter
                        && run["example"] == example
                        && run["passed"] == true
                };
                assert_eq!(runs.iter().filter(is_it).count(), 1, "{out}");
            }
        }
    }
}

#[test]
fn examples_that_give_something_else_fail() {
    if !has_python() {
        return;
    }
    let folder = folder();
    let path = folder.path();
    // What is recorded depends on where it runs.
    let module = "import os\ndef place(): return os.environ.get('STEAD_TEST_PLACE')\ndef fail(n):\n    if n: raise ValueError(n)\n";
    std::fs::write(path.join("shop/net.py"), module).unwrap();
    let recipe = "entry_points = { place = \"shop.net:place\" }\n[[examples]]\nname = \"here\"\nentry_point = \"place\"\ninputs = []\n";
    std::fs::write(path.join("shop.toml"), recipe).unwrap();
    let run = |arguments: &[&str], place: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stead"));
        command.arg("package").args(arguments).current_dir(path).env("STEAD_TEST_PLACE", place);
        command.output().unwrap()
    };
    let built = run(&["build", "--recipe", "shop.toml", "-o", "shop.pkg"], "here");
    assert!(built.status.success(), "{:?}", texts(&built));
    let (out, _) = texts(&run(&["test", "shop.pkg"], "here"));
    assert!(out.contains("here, worker process, interpreter 1: ok\n"), "{out}");
    let output = run(&["test", "shop.pkg"], "there");
    let (out, _) = texts(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(out.contains("FAILED\n  output is 'there' instead of 'here'\n"), "{out}");
    assert!(out.contains("0 of "), "{out}");

    // None is no success.
    good(path, &["build", "shop.net:place", "-o", "none.pkg"]);
    let output = stead(path, &["test", "none.pkg"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(texts(&output).0.contains("the package has no examples"), "{output:?}");
}

#[test]
fn what_makes_no_package_is_told_and_leaves_no_file() {
    if !has_python() {
        return;
    }
    let folder = folder();
    let path = folder.path();
    let build = |arguments: &[&str], code: i32| {
        let err = bad(path, &[&["build", "-o", "shop.pkg"], arguments].concat(), code);
        assert!(!path.join("shop.pkg").exists());
        err
    };
    let rules = ["shop.net:score", "--rule", "intern=shop.net", "--rule", "deny=shop.prices"];
    let err = build(&rules, 1);
    assert!(err.contains("shop.prices") && err.contains("shop.net"), "{err}");
    assert!(!err.contains("Traceback"), "{err}");
    let err = build(&["elsewhere.net:score"], 1);
    assert!(err.contains("elsewhere"), "{err}");
    let err = build(&["shop.net"], 64);
    assert!(err.contains("write [NAME=]module:attribute"), "{err}");
    let err = build(&[], 64);
    assert!(err.contains("required arguments"), "{err}");
    let recipe = "[pickles]\n\"a/b.pkl\" = \"shop.net:bad()\"\n";
    std::fs::write(path.join("bad.toml"), recipe).unwrap();
    std::fs::write(path.join("shop/net.py"), "def bad(): return {'x': [lambda: 1]}").unwrap();
    let err = build(&["--recipe", "bad.toml"], 1);
    assert!(err.contains("obj['x'][0] (function)"), "{err}");
}

#[test]
fn archives_of_torch_package_are_inspected_and_run() {
    if !has_python() {
        return;
    }
    let fixtures = "../../python/stead_package/tests/fixtures/torch_archives";
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixtures);
    for file in ["plain_1_12.pt", "plain_2_15.pt"] {
        let (out, _) = good(&path, &["inspect", file, "--json"]);
        let found = parsed(&out);
        assert_eq!(found["format"], "torch.package", "{found}");
        assert!(found["modules"].as_array().unwrap().contains(&json!("helpers")), "{found}");
        let greeting = ["-i", "texts", "-i", "greeting.txt", "--json"];
        let (out, _) =
            good(&path, &[&["run", file, "helpers:here.load_text"], &greeting[..]].concat());
        assert_eq!(parsed(&out), json!("hello "));
    }
}
