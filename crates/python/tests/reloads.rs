//! A package that is replaced again and again, in both kinds of interpreters: nothing grows.
//!
//! `STEAD_RELOADS` says how often; `cargo xtask soak python` says 1,000.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a panic in a test is its report

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{exported, on_every_numpy};
use stead_python::{
    Call, Choice, Deadline, Installation, InterpreterManager, Isolation, ManagerOptions, Mode,
    PackageSource, namespaces_open,
};
use stead_tensor::{AlignedBuf, DType, Shape, Tensor};

/// Of a test among others.
const RELOADS: usize = 60;

/// What a process may have more of in the second half of the reloads: C libraries and Python itself keep some caches.
const RSS_SLACK: u64 = 24 << 20;
const MAPS_SLACK: usize = 40;

const EXPORT: &str = r#"
import numpy
from stead_package import PackageExporter
for number in range(4):
    weights = numpy.full(100_000, number, dtype="float32")
    with PackageExporter(f"v{number}.pkg") as e:
        e.extern("numpy")
        e.save_source_string("net", f"""
import json, logging, re
class Node:
    def __init__(self): self.me = self
nodes = [Node() for _ in range(2_000)]
def run(x): return [{number}, float(x.sum())]
""")
        e.save_pickle("model", "weights.pkl", weights)
"#;

/// What a process has.
#[derive(Debug, Clone, Copy)]
struct Held {
    files: usize,
    threads: usize,
    maps: usize,
    rss: u64,
    namespaces: usize,
}

impl Held {
    fn now() -> Held {
        let entries = |path: &str| std::fs::read_dir(path).unwrap().count();
        let text = |path: &str| std::fs::read_to_string(path).unwrap();
        let pages: u64 = text("/proc/self/statm").split(' ').nth(1).unwrap().parse().unwrap();
        Held {
            files: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            maps: text("/proc/self/maps").lines().count(),
            rss: pages * 4096,
            namespaces: namespaces_open(),
        }
    }
}

fn reloads() -> usize {
    std::env::var("STEAD_RELOADS").map_or(RELOADS, |text| text.parse().unwrap())
}

fn limit() -> Deadline {
    Deadline::after(Duration::from_secs(120))
}

/// Every interpreter is used after every reload: two sessions at a time.
fn reload_often(python: &Installation, isolation: Isolation, packages: &[PathBuf]) {
    let choice = Choice { mode: Mode::InProcess, reason: None };
    let options = ManagerOptions { interpreters: 2, isolation, ..ManagerOptions::default() };
    let manager = InterpreterManager::new(python.clone(), choice, options);
    let ones = AlignedBuf::copy_of(&1f32.to_ne_bytes().repeat(50_000)).unwrap();
    let ones = Tensor::from_buffer(DType::F32, Shape::new(&[50_000]).unwrap(), ones).unwrap();
    let times = reloads();
    let mut halfway = None;
    for time in 0..times {
        let number = time % packages.len();
        manager.register("shop", PackageSource::File(packages[number].clone()));
        let mut sessions =
            [manager.acquire("shop", limit()).unwrap(), manager.acquire("shop", limit()).unwrap()];
        for session in &mut sessions {
            let run = Call::new("net", "run", vec![ones.clone().into()]).of_package("shop");
            let expected = vec![(number as i64).into(), 50_000.0.into()].into();
            assert_eq!(session.call(run, limit()), Ok(expected), "reload {time}");
            let arguments = vec!["model".into(), "weights.pkl".into()];
            let weights = Call::new("stead_package_importer", "load_pickle", arguments);
            let weights = session.call(weights.of_package("shop"), limit()).unwrap();
            let weights = weights.into_tensor().unwrap();
            assert_eq!(weights.as_slice::<f32>().unwrap()[99_999], number as f32, "reload {time}");
        }
        if time == times / 2 {
            halfway = Some(Held::now());
        }
    }
    let (then, now) = (halfway.unwrap(), Held::now());
    println!("{isolation:?}, {times} reloads: {then:?} at half, {now:?} at the end");
    assert_eq!((now.files, now.threads), (then.files, then.threads));
    assert_eq!(now.namespaces, then.namespaces);
    assert!(now.maps <= then.maps + MAPS_SLACK, "maps: {then:?}, {now:?}");
    assert!(now.rss <= then.rss + RSS_SLACK, "memory: {then:?}, {now:?}");
    let counts = manager.counts();
    assert_eq!((counts.busy, counts.died, counts.filled), (0, 0, 0));
    let in_process = if isolation == Isolation::InProcess { 2 } else { 0 };
    assert_eq!((counts.in_process, counts.workers), (in_process, 2 - in_process));
}

#[test]
fn nothing_grows_when_packages_are_replaced() {
    on_every_numpy("nothing_grows_when_packages_are_replaced", |python| {
        let folder = exported(python, EXPORT);
        let path = |number: usize| Path::new(&folder).join(format!("v{number}.pkg"));
        let packages: Vec<PathBuf> = (0..4).map(path).collect();
        reload_often(python, Isolation::InProcess, &packages);
        reload_often(python, Isolation::Process, &packages);
    });
}
