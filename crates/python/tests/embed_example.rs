//! The example of torch::deploy's paper, run as its README says.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;
#[path = "../../../examples/embed-python/main.rs"]
#[allow(dead_code)] // its `main`
mod embed_python;

use common::on_every_numpy;
use stead_python::{Choice, Mode};

#[test]
fn the_listing_of_torch_deploy_runs() {
    on_every_numpy("the_listing_of_torch_deploy_runs", |python| {
        let folder = std::env::temp_dir().join(format!("embed-python-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        embed_python::make_package(python, &folder).unwrap();
        let run = |mode| {
            let choice = Choice { mode, reason: None };
            embed_python::run(python.clone(), choice, &folder).unwrap()
        };
        let best = run(Mode::InProcess);
        assert_eq!(best.len(), 8);
        assert!(best.iter().all(|[_, probability]| (0.0..1.0).contains(probability)), "{best:?}");
        assert_eq!(run(Mode::Worker), best);
        std::fs::remove_dir_all(folder).unwrap();
    });
}
