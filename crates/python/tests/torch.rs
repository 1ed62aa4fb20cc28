//! Tensors of torch in packages and in objects that move between interpreters.
//!
//! `STEAD_TORCH_PYTHON` names a Python that has torch; `cargo xtask soak python` makes one.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // helpers of tests, and skipped tests say so

mod common;

use std::path::Path;

use common::{exported, managers, on_python};
use stead_python::{Deadline, Installation, Value};

const NEVER: Deadline = Deadline::NEVER;

const PACKAGE: &str = r#"
import torch
from stead_package import PackageExporter
with PackageExporter("net.pkg") as e:
    e.extern("numpy.**")
    e.save_source_string("net", """
import torch

class Pair:
    def __init__(self, factor):
        self.whole = torch.full((400, 300), float(factor))
        self.part = self.whole[1:, ::2]
        self.layer = torch.nn.Linear(300, 4)
        with torch.no_grad():
            self.layer.weight.fill_(factor)
            self.layer.bias.zero_()
        self.tied = self.layer.weight

    def __call__(self, x):
        with torch.no_grad():
            return self.layer(torch.as_tensor(x)).numpy()

def pair(factor): return Pair(factor)

def described(pair):
    shares = pair.whole.storage().data_ptr() == pair.part.storage().data_ptr()
    return [shares, pair.tied is pair.layer.weight, list(pair.part.stride()), float(pair.part.sum()),
            type(pair.layer.weight).__name__, pair.layer.weight.requires_grad]

def overwritten(pair):
    # Its own interpreter only may see it, or nobody.
    pair.whole.add_(1)
    return float(pair.part[0, 0])
""")
    weights = torch.arange(120_000, dtype=torch.float32).reshape(400, 300)
    e.save_pickle("data", "weights.pkl", {"all": weights, "turned": weights.T})
"#;

#[test]
fn tensors_of_torch_move_between_interpreters() {
    let Some(named) = std::env::var_os("STEAD_TORCH_PYTHON") else {
        println!("skipped: STEAD_TORCH_PYTHON names no Python with torch");
        return;
    };
    let python = Installation::of(Path::new(&named)).unwrap();
    on_python("tensors_of_torch_move_between_interpreters", &[], python, |python| {
        let folder = exported(python, PACKAGE);
        for (mode, manager) in managers(python, 2) {
            let package = manager.load_package("net", &folder.join("net.pkg"), NEVER).unwrap();
            let pair = {
                let session = package.acquire_session(NEVER).unwrap();
                let pair = session.global("net", "pair").unwrap().call([2.into()]).unwrap();
                session.create_movable(&pair).unwrap()
            };
            let sum = 2.0 * 399.0 * 150.0;
            let strides = Value::List(vec![300.into(), 2.into()]);
            let expected = Value::List(vec![
                true.into(),
                true.into(),
                strides,
                sum.into(),
                "Parameter".into(),
                true.into(),
            ]);
            // Held together, so that both interpreters have it.
            let sessions = [0; 2].map(|_| pair.acquire_session(NEVER).unwrap());
            for (i, session) in sessions.iter().enumerate() {
                let of = session.global("net", "described").unwrap();
                let found = of.call([(&session.this().unwrap()).into()]).unwrap().value();
                assert_eq!(found, Ok(expected.clone()), "{mode:?}, {i}");
            }
            for (i, expected) in [3.0, 3.0].into_iter().enumerate() {
                let of = sessions[i].global("net", "overwritten").unwrap();
                let found = of.call([(&sessions[i].this().unwrap()).into()]).unwrap().value();
                assert_eq!(found, Ok(expected.into()), "{mode:?}, {i}: its own memory");
            }
            drop(sessions);
            let x = vec![1.0f64.into(); 300];
            let found = pair.call([Value::List(x)], NEVER).unwrap().into_tensor().unwrap();
            assert_eq!(found.as_slice::<f32>().unwrap(), [600.0; 4], "{mode:?}");
            let loaded = package.load_pickle("data", "weights.pkl", NEVER).unwrap();
            let session = loaded.acquire_session(NEVER).unwrap();
            let weights = session.this().unwrap().attr("get").unwrap();
            let turned = weights.call(["turned".into()]).unwrap();
            let item = turned.attr("__getitem__").unwrap().call([7.into()]).unwrap();
            let item = item.attr("__getitem__").unwrap().call([3.into()]).unwrap();
            let found = item.attr("item").unwrap().call([]).unwrap().value();
            assert_eq!(found, Ok(907.0.into()), "{mode:?}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    });
}
