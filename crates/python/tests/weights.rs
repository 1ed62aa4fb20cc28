//! Weights are in memory once, however many interpreters read them: counted by the kernel, page by page.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use common::{exported, managers, on_every_numpy};
use stead_python::{Deadline, InterpreterManager, MovableObject, Value};

const NEVER: Deadline = Deadline::NEVER;
const INTERPRETERS: usize = 4;
const BYTES: u64 = 32 << 20;

const PACKAGE: &str = r#"
import numpy
from stead_package import PackageExporter
with PackageExporter("weights.pkg") as e:
    e.extern("numpy")
    e.save_pickle("data", "weights.pkl", numpy.arange(4 << 20, dtype="int64"))
    e.save_source_string("net", """
import os
import numpy

class Model:
    def __init__(self, weights): self.weights = weights
    def read(self):
        # Touches every page.
        return [os.getpid(), self.weights.ctypes.data, int(self.weights.sum())]

def packaged():
    import stead_package_importer
    return Model(stead_package_importer.load_pickle("data", "weights.pkl"))

def own(): return Model(numpy.arange(4 << 20, dtype="int64"))
""")
"#;

/// Of the map in which an address lies: where it begins, and kilobytes by their names in `/proc/<pid>/smaps`.
fn map_of(process: i64, address: u64) -> (u64, impl Fn(&str) -> u64) {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let span = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some((number(start)?, number(rest.split(' ').next()?)?))
    };
    let mut lines = text.lines();
    let is_it = |line: &str| span(line).filter(|(start, end)| (*start..*end).contains(&address));
    let (start, _) = lines.find_map(is_it).unwrap();
    let fields: Vec<String> =
        lines.take_while(|line| span(line).is_none()).map(str::to_owned).collect();
    let kilobytes = move |name: &str| {
        let field = fields.iter().find(|line| line.split(':').next() == Some(name)).unwrap();
        field.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    (start, kilobytes)
}

/// All interpreters read all weights of an object; then the kernel is asked whose pages those are.
fn check(object: &MovableObject, label: &str) {
    let sessions: Vec<_> =
        (0..INTERPRETERS).map(|_| object.acquire_session(NEVER).unwrap()).collect();
    let mut places = Vec::new();
    for session in &sessions {
        let read = session.this().unwrap().attr("read").unwrap().call([]).unwrap();
        let Value::List(found) = read.value().unwrap() else { panic!() };
        let [Value::Int(process), Value::Int(address), Value::Int(sum)] = found[..] else {
            panic!()
        };
        let count = (BYTES / 8) as i64;
        assert_eq!(sum, count * (count - 1) / 2, "{label}");
        places.push((process, address as u64));
    }
    // Looked at when all have read: a page that several map counts for each of them in part.
    let (mut maps, mut total) = (std::collections::BTreeSet::new(), 0);
    for (process, address) in places {
        let (start, kilobytes) = map_of(process, address);
        assert!(kilobytes("Rss") * 1024 >= BYTES, "{label}: all of it was read");
        // What a process has copied for itself belongs to no file.
        assert_eq!(kilobytes("Anonymous"), 0, "{label}");
        if maps.insert((process, start)) {
            total += kilobytes("Pss") * 1024;
        }
    }
    // The file has some headers, and numbers are rounded down.
    let once = BYTES - (64 << 10)..BYTES + (1 << 20);
    assert!(once.contains(&total), "{label}: {total} bytes in {} maps", maps.len());
}

#[test]
fn weights_in_four_interpreters_are_in_memory_once() {
    on_every_numpy("weights_in_four_interpreters_are_in_memory_once", |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, INTERPRETERS) {
            let of = |manager: &InterpreterManager, name: &str| {
                let path = folder.join("weights.pkg");
                let package = manager.load_package("weights", &path, NEVER).unwrap();
                let session = package.acquire_session(NEVER).unwrap();
                let model = session.global("net", name).unwrap().call([]).unwrap();
                session.create_movable(&model).unwrap()
            };
            for (name, label) in [("packaged", "in the package"), ("own", "of an object")] {
                check(&of(&manager, name), &format!("{label}, {}", mode.name()));
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}
